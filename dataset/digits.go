package dataset

import (
	"cmp"
	"fmt"
	"math"
	"strconv"

	"github.com/nextbatch/nextbatch/internal/median"
	"github.com/nextbatch/nextbatch/matrix"
)

// Numbers far from zero have few digits left for what distinguishes them: 1.7e9 seconds differ
// by at least 128 as float32. Encoders therefore subtract a number of the column, its centre,
// in float64, before anything is rounded to float32. What was rounded before that, in a file of
// float32 or because float64 has no more digits either, is lost; Coarse reports it.

// Centres returns the centre of the finite numbers of each column of x, zero where there is none.
func Centres[T matrix.Float](x matrix.Dense[T]) []float64 {
	centres, values := make([]float64, x.Cols), make([]float64, 0, x.Rows)
	for j := range centres {
		values = values[:0]
		for i := range x.Rows {
			if v := float64(x.At(i, j)); v-v == 0 {
				values = append(values, v)
			}
		}
		if len(values) > 0 {
			centres[j] = median.Upper(values)
		}
	}
	return centres
}

// Centre writes the rows of src less the centres to dst, which may be src itself. Nil centres are
// zeros.
func Centre[To, From matrix.Float](dst matrix.Dense[To], src matrix.Dense[From], centres []float64) {
	matrix.MustMatch("dataset.Centre", dst.Shape(), src.Shape())
	if centres == nil {
		matrix.Convert(dst, src)
		return
	}
	matrix.MustMatch("dataset.Centre", src.Shape(), matrix.Shape{Rows: src.Rows, Cols: len(centres)})
	for i := range src.Rows {
		to := dst.Row(i)
		for j, v := range src.Row(i) {
			to[j] = To(float64(v) - centres[j])
		}
	}
}

// Coarse describes numbers that lie so far from zero that the steps in which they are kept
// are not small compared to how they vary.
type Coarse struct {
	Column    string
	Around    float64 // the middle of their range
	Deviation float64
	Step      float64 // the distance of neighbouring numbers
	Single    bool    // these are numbers in float32, not in float64
}

// Coarse reports whether a column lost digits: whether its numbers are kept in steps of more
// than a part of their deviation, a hundredth if limit is 0. The steps are those of float64, or of float32 if the
// column was read from float32 numbers (FromSingle), or if rounded says that the numbers are
// rounded to it and that changes them. A single number may have been several if it is so large
// that whole numbers are rounded.
func (c *Numeric) Coarse(rounded bool, limit float64) (Coarse, bool) {
	return steps{c.Len(), c.Float, c.FromSingle, rounded}.coarser(c.name, cmp.Or(limit, coarse))
}

// coarse is the largest step, in deviations, that is fine.
const coarse = 0.01

// CoarseColumns returns the columns of x that lost digits, as Numeric.Coarse reports them. Their
// names are their numbers, from 0.
func CoarseColumns[T matrix.Float](x matrix.Dense[T]) (list []Coarse) {
	_, single := any(x).(matrix.Dense[float32])
	for j := range x.Cols {
		at := func(i int) float64 { return float64(x.At(i, j)) }
		if c, found := (steps{x.Rows, at, single, false}).coarser(strconv.Itoa(j), coarse); found {
			list = append(list, c)
		}
	}
	return list
}

// steps are numbers whose steps are to be compared with how they vary.
type steps struct {
	n                   int
	at                  func(i int) float64
	fromSingle, rounded bool
}

// enough returns by how much, relative to the larger, two numbers have to differ for the steps
// to be fine, whatever the others are. It spares nearly all columns the passes over all rows.
//
// Let M be the largest absolute value, R the range, and e the relative step. If two numbers differ
// by δ ≤ 1 times the larger of them, R ≥ δM/2. No deviation is smaller than R/√(2n), and no step
// larger than eM, so that the steps are within the limit if δ ≥ 2e√(2n)/limit.
func (s steps) enough(limit float64) float64 {
	relative := 0x1p-52
	if s.fromSingle || s.rounded {
		relative = 0x1p-23
	}
	if enough := 2 * relative * math.Sqrt(2*float64(s.n)) / limit; enough <= 1 {
		return enough
	}
	return math.Inf(1)
}

func (s steps) coarser(name string, limit float64) (Coarse, bool) {
	low, high := math.Inf(1), math.Inf(-1)
	first, enough := math.NaN(), s.enough(limit)
	exact := true // in float32
	for i := range s.n {
		v := s.at(i)
		if math.IsNaN(v) {
			continue
		}
		if math.IsNaN(first) {
			first = v
		}
		if math.Abs(v-first) > enough*max(math.Abs(v), math.Abs(first)) {
			return Coarse{}, false
		}
		low, high = min(low, v), max(high, v)
		exact = exact && float64(float32(v)) == v
	}
	found := Coarse{Column: name, Around: low + (high-low)/2, Single: s.fromSingle || s.rounded && !exact}
	found.Step = step(max(-low, high), found.Single)
	if low == high {
		found.Single = s.fromSingle
		found.Step = step(math.Abs(low), found.Single)
		return found, found.Step > 1
	}
	least := (high - low) / math.Sqrt(2*float64(s.n)) // no deviation is smaller
	if !(high > low) || found.Step <= limit*least {
		return found, false
	}
	count, sum, squares := 0.0, 0.0, 0.0
	for i := range s.n {
		if d := s.at(i) - found.Around; !math.IsNaN(d) {
			count, sum, squares = count+1, sum+d, squares+d*d
		}
	}
	mean := sum / count
	found.Deviation = math.Sqrt(max(0, squares/count-mean*mean))
	return found, found.Step > limit*found.Deviation
}

// step returns the distance of v to the next larger number.
func step(v float64, single bool) float64 {
	if single {
		return float64(math.Nextafter32(float32(v), float32(math.Inf(1)))) - float64(float32(v))
	}
	return math.Nextafter(v, math.Inf(1)) - v
}

func (c Coarse) kind() string {
	if c.Single {
		return "float32"
	}
	return "float64"
}

func (c Coarse) String() string {
	return fmt.Sprintf("its numbers lie around %.4g with a deviation of %.2g, in steps of %.2g, those of %s", c.Around,
		c.Deviation, c.Step, c.kind())
}
