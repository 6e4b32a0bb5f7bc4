package linalg

// The implicit QL and QR iterations on a symmetric tridiagonal matrix T: they
// rotate T into S·T·Sᵀ, S orthogonal, until the off-diagonal elements vanish; the
// same rotations turn the rows of Qᵀ into the eigenvectors. Which end of T is
// deflated first (QL: the first, QR: the last) depends on where its small elements
// are, which matters for graded matrices.
//
// T has few numbers, which are kept in float64. The rotations of the rows are
// collected and then applied to one strip of columns after another; a strip stays
// in the cache for many sweeps.

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
	// maxTurns is the number of rotations that are collected before they are
	// applied.
	maxTurns = 8192
	// stripCols is the number of columns that they are applied to at a time.
	stripCols = 128
	// maxSweeps bounds the average number of sweeps per eigenvalue.
	maxSweeps = 30
)

// iterate makes T diagonal. It returns the index of an eigenvalue that does not
// converge, or -1 if all converge.
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

// negligible reports whether e[i] is too small to affect its neighbours, and if so
// sets it to zero.
func (j *eigenJob[T]) negligible(i int) bool {
	const ulp, tiny = 0x1p-53, 0x1p-1022
	e := math.Abs(j.e[i])
	if !(e*e <= (ulp*math.Abs(j.d[i]))*(ulp*math.Abs(j.d[i+1]))+tiny) {
		return false // even if a number is NaN: the limit on sweeps ends the iteration
	}
	j.e[i] = 0
	return true
}

// iterateBlock diagonalises rows first to last, whose off-diagonal elements are all
// nonzero.
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

// shifted returns d minus Wilkinson's shift, the eigenvalue of [end e; e next]
// that is closer to end.
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
	if r < 1e-140 { // the squares lost digits to underflow
		r = math.Hypot(g, f)
	}
	return g / r, f / r, r
}

// turn adds a rotation of rows x and y to those to be applied.
func (j *eigenJob[T]) turn(x, y int, c, s float64) {
	if len(j.turns) == maxTurns {
		j.flush()
	}
	j.turns = append(j.turns, turn[T]{T(c), T(s), int32(x), int32(y)})
}

// flush applies the collected rotations.
func (j *eigenJob[T]) flush() {
	j.task = rotateTask
	j.team.Run(ceilDiv(j.n, stripCols), j)
	j.turns = j.turns[:0]
}

// rotateStrip applies the collected rotations to one strip of columns.
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
