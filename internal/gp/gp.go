package gp

import (
	"context"
	"fmt"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
)

// MostLabels is how many labels a model takes. Time grows with the third power of their
// number, and memory with the second: 8,192 labels take 512 MiB.
const MostLabels = 8192

// TooManyError reports more labels than MostLabels.
type TooManyError struct{ Labels int }

func (e *TooManyError) Error() string {
	return fmt.Sprintf("an exact Gaussian process takes at most %d labels, and there are %d", MostLabels, e.Labels)
}

// Data are labelled rows. All numbers must be finite.
type Data struct {
	Inputs matrix.Dense[float64] // one row per label
	Labels []float64
	// Weights are how precise the labels are: the variance of a label's noise is in
	// inverse proportion to its weight. They are positive; only their ratios matter. Nil
	// means equal weights.
	Weights []float64
	// Noise are variances of the labels that are known, in their unit squared, and add to the noise that is fitted. They
	// are not negative. Nil means none.
	Noise []float64
	// Sides say of which labels only a limit is known: -1 where the label is below the number, 1 where it is above. Nil
	// means none. With more than 1,024 labels, limits count as labels.
	Sides []int8
	// Groups lists columns that share a length scale, such as the one-hot columns of a
	// category. A column is in at most one group.
	Groups [][]int
	// Units are what prior beliefs take as the deviations of the inputs: those among the
	// rows to predict, if they are known, for example ones for standardised columns. Nil takes the
	// deviations of the labelled rows. Columns in groups have no use for it.
	Units []float64
}

// Config determines how a model is fitted. The zero value is usable.
type Config struct {
	Smooth bool   // the rbf kernel instead of Matérn-5/2
	Prior  Prior  // what is believed about the inputs
	Usual  *Model // of the same data with the usual beliefs, if there is one; other beliefs begin with it
	Seed   uint64 // of the random rows on which hyperparameters are fitted
}

// Hyperparameters are those of a fitted process, in the units of labels and inputs.
type Hyperparameters struct {
	Signal float64 // variance of the stationary part
	Noise  float64 // variance of the noise of a label of mean weight
	Mean   float64 // the constant, given the labels
	// Lengths are the length scales, one per input: math.MaxFloat64 for an input that
	// does not vary among the labelled rows, which is ignored.
	Lengths []float64
	// Slopes are the standard deviations of the linear part, one per input, before the labels
	// are known; 0 for an input that is ignored.
	Slopes []float64
	// LogLikelihood is the logarithm of the marginal likelihood of the labels, without
	// prior beliefs.
	LogLikelihood float64
}

// Fit fits hyperparameters to labelled rows and conditions the process on them.
func Fit(ctx context.Context, data Data, config Config) (*Model, error) {
	if err := data.check(ctx); err != nil {
		return nil, err
	}
	shape := kernel.Matern52
	if config.Smooth {
		shape = kernel.RBF
	}
	m := newModel(data, unitsOf(data))
	if data.censored() {
		return m, m.fitCensored(ctx, shape, config)
	}
	var err error
	var usual *ratios
	if config.Usual != nil {
		usual = &config.Usual.ratios
	}
	m.ratios, err = fitRatios(ctx, shape, config.Prior, m.sample.shuffled(config.Seed), m.units, usual)
	if err != nil {
		return nil, err
	}
	return m, m.condition(ctx)
}

// shuffled returns at most SearchRows rows. They are random ones if it matters which come
// first.
func (s sample) shuffled(seed uint64) sample {
	n := s.rows.Rows
	if n <= firstRows {
		return s
	}
	return s.at(rng.New(seed, "gp rows").Perm(n)[:min(n, SearchRows)])
}

func (d *Data) check(ctx context.Context) error {
	n := d.Inputs.Rows
	switch {
	case n == 0:
		return fmt.Errorf("a Gaussian process needs at least one labelled row")
	case n > MostLabels:
		return &TooManyError{n}
	case len(d.Labels) != n:
		return fmt.Errorf("%d labels for %d rows", len(d.Labels), n)
	case d.Weights != nil && len(d.Weights) != n:
		return fmt.Errorf("%d weights for %d rows", len(d.Weights), n)
	case d.Noise != nil && len(d.Noise) != n:
		return fmt.Errorf("%d variances of noise for %d rows", len(d.Noise), n)
	case d.Sides != nil && len(d.Sides) != n:
		return fmt.Errorf("%d sides of limits for %d rows", len(d.Sides), n)
	case d.Units != nil && len(d.Units) != d.Inputs.Cols:
		return fmt.Errorf("%d units for %d inputs", len(d.Units), d.Inputs.Cols)
	}
	d.Inputs.MustBeValid("gp.Fit")
	if err := checkFinite(ctx, d.Inputs); err != nil {
		return err
	}
	for i, y := range d.Labels {
		if !isFinite(y) {
			return fmt.Errorf("the label of row %d is %v, but must be finite", i, y)
		}
	}
	if i, w := firstNotPositive(d.Weights); i >= 0 {
		return fmt.Errorf("the weight of row %d is %v, but must be positive and finite", i, w)
	}
	for i, v := range d.Noise {
		if !(v >= 0) || !isFinite(v) {
			return fmt.Errorf("the variance of the noise of row %d is %v, but must be finite and not negative", i, v)
		}
	}
	if j, u := firstNotPositive(d.Units); j >= 0 {
		return fmt.Errorf("the unit of input %d is %v, but must be positive and finite", j, u)
	}
	return d.checkGroups()
}

func (d *Data) checkGroups() error {
	group := map[int]int{}
	for g, columns := range d.Groups {
		for _, j := range columns {
			if j < 0 || j >= d.Inputs.Cols {
				return fmt.Errorf("group %d has column %d, but there are %d inputs", g, j, d.Inputs.Cols)
			}
			if other, ok := group[j]; ok {
				return fmt.Errorf("column %d is in group %d and in group %d", j, other, g)
			}
			group[j] = g
		}
	}
	return nil
}

func checkFinite(ctx context.Context, rows matrix.Dense[float64]) error {
	if i, j, found := linalg.FirstNotFinite(linalg.TeamOf(ctx), rows); found {
		return fmt.Errorf("input %d of row %d is %v, but must be finite", j, i, rows.At(i, j))
	}
	return nil
}

func isFinite(x float64) bool { return x-x == 0 }

func firstNotPositive(values []float64) (int, float64) {
	for i, v := range values {
		if !(v > 0) || !isFinite(v) {
			return i, v
		}
	}
	return -1, 0
}
