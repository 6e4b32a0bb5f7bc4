package dataset

import (
	"fmt"
	"math"
	"strconv"

	"github.com/nextbatch/nextbatch/matrix"
)

// Numbers far from zero have few digits left for what distinguishes them: 1.7e9 seconds differ
// by at least 128 as float32. Encoders therefore subtract a number of the column, its centre,
// in float64, before anything is rounded to float32. What was rounded before that, in a file of
// float32 or because float64 has no more digits either, is lost; Coarse reports it.

// centre returns a number in the middle of the list: the upper median. As it is one of them,
// adding a constant to all numbers, exactly, changes no difference to it, not even in the last
// bit. It reorders the list, which has no NaN and is not empty.
func centre(values []float64) float64 { return nth(values, len(values)/2) }

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
			centres[j] = centre(values)
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
// than a hundredth of their deviation. The steps are those of float64, or of float32 if the
// column was read from float32 numbers (FromSingle), or if rounded says that the numbers are
// rounded to it and that changes them. A single number may have been several if it is so large
// that whole numbers are rounded.
func (c *Numeric) Coarse(rounded bool) (Coarse, bool) { return c.coarser(coarse, rounded) }

// coarse is the largest step, in deviations, that is fine.
const coarse = 0.01

// coarser is Coarse with another limit.
func (c *Numeric) coarser(limit float64, rounded bool) (Coarse, bool) {
	return steps{c.Len(), c.Float, c.fromSingle, rounded}.coarser(c.name, limit)
}

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

// singleValue words the warning that all numbers of a column are the same, and where they may have differed.
func (c *Numeric) singleValue() string {
	if lost, found := c.Coarse(false); found {
		return fmt.Sprintf("%s in %s, where numbers so large differ by at least %.2g; if they did differ, subtract an "+
			"offset before the column is saved", hasSingleValue, lost.kind(), lost.Step)
	}
	return hasSingleValue
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

// The least spreads of numbers that are not all equal: inputs are rounded to float32, which has few digits below 1e-38,
// and labels are squared, which leaves float64 few below 1e-154.
const (
	leastInputSpread = 1e-34
	leastLabelSpread = 1e-140
)

// CheckInput reports a column whose numbers differ, but by too little to compute with.
func (c *Numeric) CheckInput() error { return checkSpread(c.name, c.Len(), c.Float, leastInputSpread) }

// largestLabel is the largest absolute value that a label may have: the sum of the squares of as many labels as there
// can be is still a finite number, so they can be standardised.
const largestLabel = 1e149

// FaultOfLabel says what is wrong with a label that is there; it is empty if nothing is.
func FaultOfLabel(v float64) string {
	switch {
	case math.IsInf(v, 0):
		return "a label must be finite"
	case math.Abs(v) > largestLabel:
		return fmt.Sprintf("the label %v is too large: no label may exceed %v; correct it, or change the unit", v,
			largestLabel)
	}
	return ""
}

// CheckLabels reports labels of a column, NaN where there is none, that are too large, or differ by too little.
func CheckLabels(column string, labels []float64) error {
	for row, v := range labels {
		if fault := FaultOfLabel(v); fault != "" {
			return &ColumnError{Column: column, Row: row, Problem: fault}
		}
	}
	return checkSpread(column, len(labels), func(i int) float64 { return labels[i] }, leastLabelSpread)
}

func checkSpread(column string, n int, at func(i int) float64, least float64) error {
	low, high := math.Inf(1), math.Inf(-1)
	for i := range n {
		if v := at(i); !math.IsNaN(v) {
			low, high = min(low, v), max(high, v)
		}
		if high-low >= least {
			return nil
		}
	}
	if !(high > low) {
		return nil
	}
	return &ColumnError{Column: column, Row: -1,
		Problem: fmt.Sprintf(
			"has values that differ by %.2g at most, too little to compute with; multiply them by a power of ten", high-low)}
}
