package simd

import (
	"math"
	"runtime"
)

// The plain loops. Each defines its primitive, and the assembly is tested against
// it. They also run on CPUs for which there is no assembly.

func goSet[T Float]() *Set[T] {
	return &Set[T]{
		name: "go",
		dot:  dotLoop[T], sum: sumLoop[T], sumSquares: sumSquaresLoop[T],
		axpy: axpyLoop[T], scaleAdd: scaleAddLoop[T], mul: mulLoop[T], rotate: rotateLoop[T], widen: widenLoop,
		dotRows: dotRowsLoop[T], sqDistRows: sqDistRowsLoop[T],
		dotListed: dotListedLoop[T], sqDistListed: sqDistListedLoop[T],
		dotBytes: dotBytesLoop, dotBytesPair: dotBytesPairLoop, roundBytes: roundBytesLoop,
		min: minLoop[T], argMax: argMaxLoop[T], minLabel: minLabelLoop[T], atMost: atMostLoop[T],
		relu: reluLoop[T], reluMask: reluMaskLoop[T], silu: siluLoop[T],
		tanh: tanhLoop[T], exp: expLoop[T], adam: adamLoop[T],
		mr: goTile, nr: goTile, tiles: goTiles[T](),
		packPanel: packPanelLoop[T], packPanelT: packPanelTLoop[T],
		fmaLoop: fmaLoopLoop[T],
	}
}

func dotLoop[T Float](x, y []T) T {
	var sum T
	for i, v := range x {
		sum += v * y[i]
	}
	return sum
}

func sumLoop[T Float](x []T) T {
	var sum T
	for _, v := range x {
		sum += v
	}
	return sum
}

func sumSquaresLoop[T Float](x []T) T {
	var sum T
	for _, v := range x {
		sum += v * v
	}
	return sum
}

func axpyLoop[T Float](dst, x []T, a T) {
	for i, v := range x {
		dst[i] += a * v
	}
}

func scaleAddLoop[T Float](dst, x []T, a, b T) {
	for i, v := range x {
		dst[i] = a*dst[i] + b*v
	}
}

func mulLoop[T Float](dst, x, y []T) {
	for i, v := range x {
		dst[i] = v * y[i]
	}
}

func rotateLoop[T Float](x, y []T, c, s T) {
	for i, v := range x {
		w := y[i]
		x[i] = c*v + s*w
		y[i] = c*w - s*v
	}
}

func widenLoop(dst []float64, src []float32) {
	for i, v := range src {
		dst[i] = float64(v)
	}
}

func dotRowsLoop[T Float](dst, q, rows []T, stride int) {
	for i := range dst {
		dst[i] = dotLoop(q, rows[i*stride:])
	}
}

func sqDistRowsLoop[T Float](dst, q, rows []T, stride int) {
	for i := range dst {
		row := rows[i*stride:]
		var sum T
		for j, v := range q {
			d := v - row[j]
			sum += d * d
		}
		dst[i] = sum
	}
}

func dotListedLoop[T Float](dst, q, rows []T, stride int, list []int32) {
	for i, row := range list {
		dst[i] = dotLoop(q, rows[int(row)*stride:])
	}
}

func sqDistListedLoop[T Float](dst, q, rows []T, stride int, list []int32) {
	for i, row := range list {
		sqDistRowsLoop(dst[i:i+1], q, rows[int(row)*stride:], stride)
	}
}

func dotBytesLoop(dst []int32, q []int16, rows []int8) {
	for i := range dst {
		row := rows[i*len(q):][:len(q)]
		var sum int32
		for j, v := range q {
			sum += int32(v) * int32(row[j])
		}
		dst[i] = sum
	}
}

func dotBytesPairLoop(dstQ, dstP []int32, q, p []int16, rows []int8) {
	dotBytesLoop(dstQ, q, rows)
	dotBytesLoop(dstP, p, rows)
}

// roundBytesLoop adds 1.5·2⁵² to a number below 2⁵¹, which rounds off its fraction and
// leaves the integer, with its sign, in the last bits. The product is rounded before, on CPUs
// that would fuse it with the sum, too. The two sums do not wait for each other.
func roundBytesLoop(k []int8, row []float64, perStep, step float64) float64 {
	const shift = 3 << 51
	even, odd := 0.0, 0.0
	for len(row) >= 2 && len(k) >= 2 {
		v, w := row[0], row[1]
		n, m := float64(v*perStep)+shift, float64(w*perStep)+shift
		k[0], k[1] = int8(math.Float64bits(n)), int8(math.Float64bits(m))
		v -= (n - shift) * step
		w -= (m - shift) * step
		even += v * v
		odd += w * w
		k, row = k[2:], row[2:]
	}
	for j, v := range row {
		n := float64(v*perStep) + shift
		k[j] = int8(math.Float64bits(n))
		v -= (n - shift) * step
		even += v * v
	}
	return even + odd
}

func minLoop[T Float](x []T) T {
	least := T(math.Inf(1))
	for _, v := range x {
		if v < least {
			least = v
		}
	}
	return least
}

func argMaxLoop[T Float](x []T) int {
	at := -1
	for i, v := range x {
		if v == v && (at < 0 || v > x[at]) {
			at = i
		}
	}
	return at
}

func minLabelLoop[T Float](dst []T, label []int32, x []T, id int32) {
	for i, v := range x {
		if v < dst[i] {
			dst[i], label[i] = v, id
		}
	}
}

func atMostLoop[T Float](list []int32, x []T, bound T) int {
	n := 0
	for i, v := range x {
		list[n] = int32(i) // kept only if n advances: no branch
		if v <= bound {
			n++
		}
	}
	return n
}

func reluLoop[T Float](dst, x []T) {
	for i, v := range x {
		if v < 0 {
			v = 0
		}
		dst[i] = v
	}
}

func reluMaskLoop[T Float](dst, g, y []T) {
	for i, v := range g {
		if !(y[i] > 0) {
			v = 0
		}
		dst[i] = v
	}
}

func siluLoop[T Float](dst, deriv, x []T) {
	for i, v := range x {
		s := 1 / (1 + math.Exp(-float64(v)))
		y := float64(v) * s
		dst[i], deriv[i] = T(y), T(s+y*(1-s))
	}
}

func tanhLoop[T Float](dst, x []T) {
	for i, v := range x {
		dst[i] = T(math.Tanh(float64(v)))
	}
}

func expLoop[T Float](dst, x []T) {
	for i, v := range x {
		dst[i] = T(math.Exp(float64(v)))
	}
}

func adamLoop[T Float](w, m, v, g []T, s *AdamStep[T]) {
	for i, d := range g {
		m[i] = s.Beta1*m[i] + s.Gain1*d
		v[i] = s.Beta2*v[i] + s.Gain2*d*d
		root := T(math.Sqrt(float64(v[i])))
		w[i] = s.Keep*w[i] - s.Rate*m[i]/(s.Root*root+s.Eps)
	}
}

// goTile is the tile size of the Go micro-kernel: sixteen running sums fit into
// the registers of most CPUs.
const goTile = 4

func goTiles[T Float]() []tileFunc[T] {
	tiles := make([]tileFunc[T], goTile+1)
	for rows := 1; rows <= goTile; rows++ {
		tiles[rows] = goTileOf[T](rows)
	}
	return tiles
}

// packPanelTLoop leaves all k rows to the caller's own loop.
func packPanelTLoop[T Float](_, _ []T, _, _ int) int { return 0 }

func packPanelLoop[T Float](dst, src []T, ld, k int) {
	for p := range k {
		copy(dst[p*goTile:][:goTile], src[p*ld:])
	}
}

func fmaLoopLoop[T Float](n int) int {
	var a, b, c, d T = 1, 2, 3, 4
	for range n {
		a, b = a*0.5+1, b*0.5+1
		c, d = c*0.5+1, d*0.5+1
	}
	runtime.KeepAlive(a + b + c + d) // otherwise the compiler drops the loop
	return 8 * n
}
