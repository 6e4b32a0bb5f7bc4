package encode

import (
	"errors"
	"iter"
	"math"
	"slices"

	"github.com/nextbatch/nextbatch/matrix"
)

// softClip bounds scaled inputs to (-softClip, softClip).
const softClip = 5

// divisor is what the sum of squared deviations is divided by.
type divisor uint8

const (
	Population divisor = iota // n, as in the paper
	Sample                    // n-1, as in the published code
)

// Scaler standardises inputs and soft-clips them (paper, appendix
// "Preprocessing"):
//
//	x' = 5·tanh((x - mean) / (5·deviation))
//
// for each column. A column that was constant when the scaler was fitted has
// Deviation 0 and becomes 0 in every row, as it carries no information.
type Scaler struct {
	Mean, Deviation []float64
}

// FitScaler computes the mean and deviation of each column over the given rows
// of x, in the order given; without rows, over all. The paper uses those of
// train and pool: FitScaler(x, Population, split.Train, split.Pool). A number
// that is not finite, or too large to square, is a *RangeError.
func FitScaler[T matrix.Float](x matrix.Dense[T], divisor divisor, rows ...[]int) (Scaler, error) {
	return selection[T]{[]matrix.Dense[T]{x}, rows}.fit(divisor)
}

// FitScalerAll is FitScaler over all rows of several matrices, one below the
// other, without stacking them. Those without rows are ignored; the others have
// the same columns.
func FitScalerAll[T matrix.Float](divisor divisor, sets ...matrix.Dense[T]) (Scaler, error) {
	sets = slices.DeleteFunc(slices.Clone(sets), func(x matrix.Dense[T]) bool { return x.Rows == 0 })
	for _, x := range sets {
		matrix.MustMatch("dataset.FitScalerAll", x.Shape(), matrix.Shape{Rows: x.Rows, Cols: sets[0].Cols})
	}
	return selection[T]{sets: sets}.fit(divisor)
}

func deviation(sumOfSquares float64, n int, divisor divisor) float64 {
	if divisor == Sample {
		n = max(n-1, 1)
	}
	return math.Sqrt(sumOfSquares / float64(n))
}

// Scale writes the scaled rows of src to dst, which may be src itself.
func Scale[T matrix.Float](dst, src matrix.Dense[T], s Scaler) {
	matrix.MustMatch("dataset.Scale", dst.Shape(), src.Shape())
	matrix.MustMatch("dataset.Scale", src.Shape(), matrix.Shape{Rows: src.Rows, Cols: len(s.Mean)})
	for i := range src.Rows {
		to := dst.Row(i)
		for j, v := range src.Row(i) {
			to[j] = T(s.scale(j, float64(v)))
		}
	}
}

func (s Scaler) scale(column int, v float64) float64 {
	if s.Deviation[column] == 0 {
		return 0
	}
	return softClip * math.Tanh((v-s.Mean[column])/(softClip*s.Deviation[column]))
}

// selection is the rows of one set in the given lists, or all rows of all sets if
// there are no lists.
type selection[T matrix.Float] struct {
	sets  []matrix.Dense[T]
	lists [][]int
}

func (s selection[T]) fit(divisor divisor) (Scaler, error) {
	n := s.len()
	if n == 0 {
		return Scaler{}, errors.New("there are no rows to fit the scaler to")
	}
	mean := s.mean()
	squares, rest, constant := s.squares(mean)
	if refine(mean, rest, squares, n) {
		squares, _, constant = s.squares(mean)
	}
	fitted := Scaler{Mean: mean, Deviation: make([]float64, len(mean))}
	for j, sum := range squares {
		if sum-sum != 0 { // NaN or infinite
			return Scaler{}, s.rangeError(j)
		}
		if !constant[j] {
			fitted.Deviation[j] = deviation(sum, n, divisor)
		}
	}
	return fitted, nil
}

func (s selection[T]) len() (n int) {
	for _, list := range s.lists {
		n += len(list)
	}
	if len(s.lists) > 0 {
		return n
	}
	for _, x := range s.sets {
		n += x.Rows
	}
	return n
}

// rows are those of the selection with their numbers; the rows of all sets are
// counted through.
func (s selection[T]) rows() iter.Seq2[int, []T] {
	return func(yield func(int, []T) bool) {
		for _, list := range s.lists {
			for _, i := range list {
				if !yield(i, s.sets[0].Row(i)) {
					return
				}
			}
		}
		if len(s.lists) > 0 {
			return
		}
		before := 0
		for _, x := range s.sets {
			for i := range x.Rows {
				if !yield(before+i, x.Row(i)) {
					return
				}
			}
			before += x.Rows
		}
	}
}

func (s selection[T]) mean() []float64 {
	mean := make([]float64, s.sets[0].Cols)
	for _, row := range s.rows() {
		for j, v := range row {
			mean[j] += float64(v)
		}
	}
	for j := range mean {
		mean[j] /= float64(s.len())
	}
	return mean
}

// refine adds to each mean what rounding kept from it, the mean of the deviations, where that is
// not tiny compared to the deviation: the sum of many numbers far from zero has no digits left
// for how they vary. It reports whether a mean changed.
func refine(mean, rest, squares []float64, n int) (changed bool) {
	const tiny = 1e-9
	for j := range mean {
		off := rest[j] / float64(n)
		if math.Abs(off) > tiny*math.Sqrt(squares[j]/float64(n)) && mean[j]+off != mean[j] {
			mean[j] += off
			changed = true
		}
	}
	return changed
}

// squares returns the sums of the squared deviations from the mean and of the deviations, and
// which columns are constant: rounding may put their mean an ulp off, so that the sums
// are not zero.
func (s selection[T]) squares(mean []float64) (sum, rest []float64, constant []bool) {
	sum, rest = make([]float64, s.sets[0].Cols), make([]float64, s.sets[0].Cols)
	constant = make([]bool, s.sets[0].Cols)
	var first []T
	for _, row := range s.rows() {
		if first == nil {
			first = row
			for j := range constant {
				constant[j] = true
			}
		}
		for j, v := range row {
			d := float64(v) - mean[j]
			sum[j] += d * d
			rest[j] += d
			if v != first[j] {
				constant[j] = false
			}
		}
	}
	return sum, rest, constant
}

// rangeError names the first number of the column that cannot be squared, or
// the last one where only their sum is too large.
func (s selection[T]) rangeError(column int) error {
	e := &RangeError{Column: column}
	for i, row := range s.rows() {
		e.Row, e.Value = i, float64(row[column])
		if !(math.Abs(e.Value) < 1e150) {
			break
		}
	}
	return e
}

// Standardisation returns what scales rows of float32 by the mean and deviation of the given sets.
func Standardisation(sets ...matrix.Dense[float32]) (func(matrix.Dense[float32]) (matrix.Dense[float32], error),
	error) {
	scaler, err := FitScalerAll(Population, sets...)
	if err != nil {
		return nil, err
	}
	return func(x matrix.Dense[float32]) (matrix.Dense[float32], error) {
		scaled := matrix.New[float32](x.Rows, x.Cols)
		Scale(scaled, x, scaler)
		return scaled, nil
	}, nil
}

// Unclipped is Standardisation by a set without the soft clip. A column that is constant there is only shifted.
func Unclipped(set matrix.Dense[float32]) (func(matrix.Dense[float32]) (matrix.Dense[float32], error), error) {
	scaler, err := FitScalerAll(Population, set)
	if err != nil {
		return nil, err
	}
	return func(x matrix.Dense[float32]) (matrix.Dense[float32], error) {
		dst := matrix.New[float32](x.Rows, x.Cols)
		for i := range x.Rows {
			to := dst.Row(i)
			for j, v := range x.Row(i) {
				unit := scaler.Deviation[j]
				if unit == 0 {
					unit = 1
				}
				to[j] = float32((float64(v) - scaler.Mean[j]) / unit)
			}
		}
		return dst, nil
	}, nil
}
