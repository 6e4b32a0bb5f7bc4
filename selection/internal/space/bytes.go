package space

// Rows of bytes: bounds of products that read one byte per feature instead of eight.
// A row x and a vector w are rounded to multiples of a step of their own,
//
//	x = s·k + δ,  k whole, |k_i| ≤ 127        w = t·m + ε,  m whole, |m_i| ≤ 2¹⁵
//
// and by Cauchy and Schwarz
//
//	|⟨x, w⟩ − s·t·⟨k, m⟩| ≤ ‖δ‖·‖w‖ + s‖k‖·‖ε‖.
//
// ⟨k, m⟩ is a sum of integers without rounding. ‖δ‖ is about a hundredth of ‖x‖,
// whatever the data, and known for each row; ‖ε‖ is far smaller. So a row keeps
// one number, off ≥ ‖δ‖ and ≥ 2⁻¹⁰(‖x‖ + ‖δ‖), and
//
//	|⟨x, w⟩ − s·t·⟨k, m⟩| ≤ off·reach,   reach = ‖w‖ + 2¹⁰‖ε‖.
//
// Why that is safe under rounding. The computed product that is bounded is off by
// (d+8)·2⁻⁵³·‖x‖‖w‖, the three factors of s·t·⟨k, m⟩ by some 2⁻⁵³ of it, norms by
// (d+8)·2⁻⁵³ of themselves. As off ≥ 2⁻¹⁰‖x‖, all of it is below 2⁻²²·off·reach for
// d ≤ mostByteCols, and reach has 2⁻¹⁶ of itself to spare. Rows that are themselves
// computed, as Aφ, have a rounding error of their own, see set. Numbers so small that
// their squares underflow are not rounded but become part of δ.

import (
	"math"
	"unsafe"

	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
)

const (
	leastByteCols = 64   // with fewer features bytes do not pay
	mostByteCols  = 8192 // with more, sums might not fit into 32 bits
	largestByte   = 127
	leastRounded  = 1e-140 // rows and vectors without a larger number are not rounded
)

// LeastByteRows is the size of a pool from which bytes pay; tests change it.
var LeastByteRows = 2048

// byteRows are rounded rows.
type byteRows struct {
	cols, width int // features; the same, padded with zeros
	k           []int8
	step        []float64 // s
	off         []float64
}

// newByteRows returns nil where bytes do not pay, or in the plain version.
func newByteRows[T matrix.Float](s *space[T], rows, cols int) *byteRows {
	if s.Plain || cols < leastByteCols || cols > mostByteCols || rows < LeastByteRows {
		return nil
	}
	width := (cols + simd.ByteBlock - 1) / simd.ByteBlock * simd.ByteBlock
	return &byteRows{cols: cols, width: width, k: allocBytes(rows * width),
		step: matrix.Alloc[float64](rows), off: matrix.Alloc[float64](rows)}
}

// allocBytes returns n bytes, a multiple of four, on huge pages.
func allocBytes(n int) []int8 {
	return unsafe.Slice((*int8)(unsafe.Pointer(unsafe.SliceData(matrix.Alloc[float32](n/4)))), n)
}

// set rounds row i. The row itself may be off by extra.
func (b *byteRows) set(i int, row []float64, extra float64) {
	k := b.k[i*b.width:][:len(row)]
	largest := largestOf(row)
	if !(largest > leastRounded) {
		clear(k)
		b.step[i], b.off[i] = 0, extra+(largest+math.SmallestNonzeroFloat64)*math.Sqrt(float64(len(row)))*(1+1.0/1024)
		return
	}
	step := largest / largestByte
	perStep := 1 / step
	norm := math.Sqrt(simd.For[float64]().SumSquares(row))
	rest := math.Sqrt(simd.For[float64]().RoundBytes(k, row, perStep, step))
	b.step[i] = step
	b.off[i] = extra + max(rest, (norm+rest)/1024)*(1+1.0/1024)
}

// largestOf returns the largest magnitude, or NaN if there is one: the bits of numbers
// without their sign, as integers, are ordered by magnitude, with NaN last.
func largestOf(v []float64) float64 {
	if set := simd.For[float64](); finiteSum(v) {
		return max(v[set.ArgMax(v)], -set.Min(v))
	}
	largest := uint64(0)
	for _, x := range v {
		largest = max(largest, math.Float64bits(x)&^(1<<63))
	}
	return math.Float64frombits(largest)
}

// byteQuery is a rounded vector.
type byteQuery struct {
	m     []int16
	step  float64 // t
	rough float64 // 2¹⁰‖ε‖
	reach float64
}

// newQuery allocates a vector.
func (b *byteRows) newQuery() *byteQuery { return &byteQuery{m: make([]int16, b.width)} }

// set rounds a vector.
func (q *byteQuery) set(w []float64) {
	most := min(math.MaxInt16, math.MaxInt32/largestByte/len(q.m))
	largest := largestOf(w)
	if !(largest > leastRounded) {
		clear(q.m)
		q.step, q.rough = 0, 1025*(largest+math.SmallestNonzeroFloat64)*math.Sqrt(float64(len(w)))
		q.reach = 2 * q.rough
		return
	}
	q.step = largest / float64(most)
	rest, norm := 0.0, 0.0
	for j, v := range w {
		n := math.RoundToEven(v / q.step)
		q.m[j] = int16(n)
		d := v - n*q.step
		rest += d * d
		norm += v * v
	}
	q.rough = 1024 * math.Sqrt(rest) * (1 + 1.0/65536)
	q.reach = math.Sqrt(norm)*(1+1.0/65536) + q.rough
}

// bytes is the number of bytes that a pass over all rows reads, including step and off.
func (b *byteRows) bytes() int { return len(b.k) + 16*len(b.step) }

// dots writes ⟨k, m⟩ of the rows from from on to dst.
func (b *byteRows) dots(dst []int32, q *byteQuery, from int) {
	simd.For[float64]().DotBytes(dst, q.m, b.k[from*b.width:])
}

// dotsPair is dots for two vectors.
func (b *byteRows) dotsPair(dstQ, dstP []int32, q, p *byteQuery, from int) {
	simd.For[float64]().DotBytesPair(dstQ, dstP, q.m, p.m, b.k[from*b.width:])
}
