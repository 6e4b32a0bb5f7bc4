package incontext

import (
	"math"
	"slices"

	"github.com/nextbatch/nextbatch/matrix"
)

// What the network is shown of a cell: the number and its rank among the labelled rows, the share of them that is
// equal, whether it is missing, whether its column is nominal, that it is a cell, and signs that stand for a level.
const (
	signCount = 24
	cellSize  = 6 + signCount
	labelSize = 4
	nameSize  = 16
)

// encoder shows the cells of a column. All it knows comes from the labelled rows.
type encoder struct {
	nominal         bool
	seed            uint64
	mean, deviation float32
	sorted          []float32
}

// newEncoder learns a column from its cells in labelled rows, NaN where missing.
func newEncoder(cells []float32, nominal bool, seed uint64) encoder {
	e := encoder{nominal: nominal, seed: seed}
	sum := 0.0
	for _, v := range cells {
		if v == v {
			e.sorted, sum = append(e.sorted, v), sum+float64(v)
		}
	}
	slices.Sort(e.sorted)
	mean, squares := sum/max(1, float64(len(e.sorted))), 0.0
	for _, v := range e.sorted {
		squares += (float64(v) - mean) * (float64(v) - mean)
	}
	e.mean = float32(mean)
	e.deviation = float32(math.Sqrt(squares / max(1, float64(len(e.sorted)-1))))
	return e
}

// put writes what the network is shown of a cell.
func (e *encoder) put(to []float32, v float32) {
	clear(to)
	to[5] = 1
	if e.nominal {
		to[4] = 1
	}
	if v != v {
		to[3] = 1
		return
	}
	rank, equal := e.rank(v)
	to[2] = equal
	if e.nominal {
		putSigns(to[6:], uint64(min(max(v, 0), 1e5))+e.seed<<17)
		return
	}
	to[0] = softClip((v - e.mean) / (e.deviation + 1e-6*abs(e.mean) + 1e-9))
	to[1] = rank
}

// rank returns where a number is among the known ones, from -1 to 1, and the share that equals it.
func (e *encoder) rank(v float32) (rank, equal float32) {
	below, _ := slices.BinarySearch(e.sorted, v)
	upTo, _ := slices.BinarySearchFunc(e.sorted, v, func(a, b float32) int {
		if a <= b {
			return -1
		}
		return 1
	})
	n := float32(max(1, len(e.sorted)))
	equal = float32(upTo-below) / n
	return 2*(float32(below)/n+0.5*equal) - 1, equal
}

// softClip leaves numbers up to 3 as they are; beyond, they grow like logarithms, up to 8.
func softClip(z float32) float32 {
	a := abs(z)
	if a <= 3 {
		return z
	}
	return float32(math.Copysign(min(8, 3+math.Log1p(float64(a-3))), float64(z)))
}

func abs(v float32) float32 { return float32(math.Abs(float64(v))) }

// labels shows labels to the network, and takes its answers back to their unit.
type labels struct {
	encoder         encoder // of the standardised labels
	mean, deviation float64
	size            float32 // how many there are, on the network's scale
}

func newLabels(values []float64) labels {
	mean, squares := 0.0, 0.0
	for _, y := range values {
		mean += y / float64(len(values))
	}
	for _, y := range values {
		squares += (y - mean) * (y - mean)
	}
	l := labels{mean: mean, deviation: math.Sqrt(squares / max(1, float64(len(values)-1)))}
	if l.deviation == 0 {
		l.deviation = 1
	}
	l.size = float32(math.Log(float64(len(values))) / 7)
	z := make([]float32, len(values))
	for i, y := range values {
		z[i] = l.standardised(y)
	}
	l.encoder = newEncoder(z, false, 0)
	return l
}

func (l *labels) standardised(y float64) float32 { return float32((y - l.mean) / l.deviation) }

func (l *labels) put(to []float32, y float64) {
	z := l.standardised(y)
	rank, _ := l.encoder.rank(z)
	to[0], to[1], to[2], to[3] = softClip(z), rank, 1, l.size
}

// pairs returns the cells of some rows as the network reads them: for each pair of columns a row for each row of
// the table, one pair after the other. Where the columns are odd, the last pair has an empty half.
func (v view) pairs(encoders []encoder, rows matrix.Dense[float32]) matrix.Dense[float32] {
	list := matrix.New[float32](len(v.names)*rows.Rows, 2*cellSize)
	for k := range encoders {
		half := k % 2 * cellSize
		for i := range rows.Rows {
			to := list.Row(k/2*rows.Rows + i)[half : half+cellSize]
			encoders[k].put(to, rows.At(i, v.order[k]))
		}
	}
	return list
}
