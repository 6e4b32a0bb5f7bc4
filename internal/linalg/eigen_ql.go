package linalg

// The implicit QL and QR iterations on a symmetric tridiagonal matrix T: T is
// rotated into S·T·Sᵀ, S orthogonal, until what is off the diagonal vanishes;
// the same rotations turn the rows of Qᵀ into the eigenvectors. Which end of T
// is deflated first (QL: the first, QR: the last) follows from where its small
// elements are, which matters for graded matrices.
//
// The numbers of T are few and are kept in float64. The rotations of the rows
// are collected and then applied to one strip of columns after the other, which
// stays in the cache for many sweeps.

import (
	"math"

	"github.com/nextbatch/nextbatch/matrix"
)

// turn is a rotation of two rows: x ← c·x + s·y, y ← c·y − s·x.
type turn[T matrix.Float] struct {
	c, s T
	x, y int32
}

const (
	// maxTurns is the number of rotations that are collected.
	maxTurns = 8192
	// stripCols is the number of columns that they are applied to at a time.
	stripCols = 128
	// maxSweeps bounds the iteration, for each eigenvalue on average.
	maxSweeps = 30
)

// iterate makes T diagonal. It returns the index of an eigenvalue that does not
// converge, -1 if all do.
func (j *eigenJob[T]) iterate() int {
	if cap(j.turns) < maxTurns {
		j.turns = make([]turn[T], 0, maxTurns)
	}
	j.turns = j.turns[:0]
	sweeps := maxSweeps * j.n
	for first := 0; first < j.n; {
		last := first
		for last+1 < j.n && !j.negligible(last) {
			last++
		}
		if at := j.iterateBlock(first, last, &sweeps); at >= 0 {
			return at
		}
		first = last + 1
	}
	j.flush()
	return -1
}

// negligible tells whether e[i] is too small to matter to its neighbours, and
// sets it to zero then.
func (j *eigenJob[T]) negligible(i int) bool {
	const ulp, tiny = 0x1p-53, 0x1p-1022
	e := math.Abs(j.e[i])
	if !(e*e <= (ulp*math.Abs(j.d[i]))*(ulp*math.Abs(j.d[i+1]))+tiny) {
		return false // also if a number is NaN: then the sweeps run out
	}
	j.e[i] = 0
	return true
}

// iterateBlock makes rows first to last, which no zero splits, diagonal.
func (j *eigenJob[T]) iterateBlock(first, last int, sweeps *int) int {
	if math.Abs(j.d[last]) < math.Abs(j.d[first]) {
		return j.iterateUp(first, last, sweeps)
	}
	return j.iterateDown(first, last, sweeps)
}

// iterateDown finds the eigenvalues from the first to the last, by QL.
func (j *eigenJob[T]) iterateDown(first, last int, sweeps *int) int {
	for l := first; l <= last; {
		m := l
		for m < last && !j.negligible(m) {
			m++
		}
		if m == l {
			l++
			continue
		}
		if *sweeps--; *sweeps < 0 {
			return l
		}
		j.sweepQL(l, m)
	}
	return -1
}

// iterateUp finds the eigenvalues from the last to the first, by QR.
func (j *eigenJob[T]) iterateUp(first, last int, sweeps *int) int {
	for l := last; l >= first; {
		m := l
		for m > first && !j.negligible(m-1) {
			m--
		}
		if m == l {
			l--
			continue
		}
		if *sweeps--; *sweeps < 0 {
			return l
		}
		j.sweepQR(l, m)
	}
	return -1
}

// shifted returns d less Wilkinson's shift, the eigenvalue of
// [end e; e next] that is nearer to end.
func shifted(d, end, e, next float64) float64 {
	g := (next - end) / (2 * e)
	return d - end + e/(g+math.Copysign(math.Hypot(g, 1), g))
}

// sweepQL makes one QL step on rows l to m.
func (j *eigenJob[T]) sweepQL(l, m int) {
	d, e := j.d, j.e
	g := shifted(d[m], d[l], e[l], d[l+1])
	s, c, p := 1.0, 1.0, 0.0
	for i := m - 1; i >= l; i-- {
		f, b := s*e[i], c*e[i]
		var r float64
		c, s, r = rotation(g, f)
		if i < m-1 {
			e[i+1] = r
		}
		g = d[i+1] - p
		r = (d[i]-g)*s + 2*c*b
		p = s * r
		d[i+1] = g + p
		g = c*r - b
		j.turn(i+1, i, c, s)
	}
	d[l] -= p
	e[l] = g
}

// sweepQR makes one QR step on rows m to l.
func (j *eigenJob[T]) sweepQR(l, m int) {
	d, e := j.d, j.e
	g := shifted(d[m], d[l], e[l-1], d[l-1])
	s, c, p := 1.0, 1.0, 0.0
	for i := m; i < l; i++ {
		f, b := s*e[i], c*e[i]
		var r float64
		c, s, r = rotation(g, f)
		if i > m {
			e[i-1] = r
		}
		g = d[i] - p
		r = (d[i+1]-g)*s + 2*c*b
		p = s * r
		d[i] = g + p
		g = c*r - b
		j.turn(i, i+1, c, s)
	}
	d[l] -= p
	e[l-1] = g
}

// rotation returns c, s and r with c·g + s·f = r and c·f − s·g = 0.
func rotation(g, f float64) (c, s, r float64) {
	if f == 0 {
		return 1, 0, g
	}
	r = math.Sqrt(g*g + f*f)
	if r < 1e-140 { // the squares have lost digits
		r = math.Hypot(g, f)
	}
	return g / r, f / r, r
}

// turn collects a rotation of rows x and y.
func (j *eigenJob[T]) turn(x, y int, c, s float64) {
	if len(j.turns) == maxTurns {
		j.flush()
	}
	j.turns = append(j.turns, turn[T]{T(c), T(s), int32(x), int32(y)})
}

// flush applies the rotations that have been collected.
func (j *eigenJob[T]) flush() {
	j.task = rotateTask
	j.team.Run(ceilDiv(j.n, stripCols), j)
	j.turns = j.turns[:0]
}

// rotateStrip applies them to one strip of columns.
func (j *eigenJob[T]) rotateStrip(part int) {
	from := part * stripCols
	to := min(from+stripCols, j.n)
	strip := j.z.Block(0, j.n, from, to)
	for _, t := range j.turns {
		x := strip.Data[int(t.x)*strip.Stride:][:strip.Cols]
		y := strip.Data[int(t.y)*strip.Stride:][:strip.Cols]
		j.set.Rotate(x, y, t.c, t.s)
	}
}
