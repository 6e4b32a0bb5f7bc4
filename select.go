package nextbatch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection"
	"github.com/nextbatch/nextbatch/spec"
)

// Problem is what Select picks from. Its matrices belong to the caller: Select only
// reads them and keeps none.
type Problem struct {
	// Models were trained on Train: one, or as many as ens(n) of the spec needs.
	// Kernels of the rows themselves need none; nngp and ntk take depth and constants
	// from the first.
	Models []Model

	// Train and Pool hold the labelled rows and the candidates, scaled as the
	// models saw them (see network.Model.Inputs); with the kernel "features", the
	// user's own features.
	Train, Pool matrix.Dense[float32]
	// Exact holds the rows of Train, Pool and Target.Rows in float64, if they are the
	// user's own features and the caller has all their digits; the shapes are the same.
	// Specs that compute in float64 (spec.Spec.ComputesInDouble) use these rows. If
	// Exact is empty, they use Train, Pool and Target.Rows.
	Exact Sets[float64]
	// Labels are those of Train, a column for each target, standardised; NaN where one is
	// missing. Only rbf, matern and acs-rf-hyper use them.
	Labels matrix.Dense[float64]
	// Weights are those of the targets, for kernels that are fitted to labels; nil means 1
	// for each. Those of the outputs of models are in the models.
	Weights []float64

	// Pending are pool rows whose labels are on their way. They are not picked and take no
	// place in the batch, but they count as selected (see package selection), and
	// transformations that need no labels take them for labelled rows.
	Pending []int

	Batch int    // rows to pick
	Seed  uint64 // of sketches, and of methods that draw

	// Target is the distribution that the batch is to represent, if it is not that of
	// the pool: other rows, scaled as the pool's, or a weight for each pool row.
	Target      selection.Target[float32]
	Constraints selection.Constraints

	// Progress, unless nil, is called from time to time, from the goroutine that
	// called Select.
	Progress func(Progress)
}

// Sets are labelled rows, candidates and rows of the target distribution.
type Sets[T matrix.Float] struct{ Train, Pool, Target matrix.Dense[T] }

// WithFeatures returns the problem with the user's own features, in float64, for the
// kernel "features". Methods that compute in float32 round them once; train and target
// may be empty.
func (p Problem) WithFeatures(train, pool, target matrix.Dense[float64]) Problem {
	p.Exact = Sets[float64]{train, pool, target}
	p.Train, p.Pool, p.Target.Rows = matrix.Converted[float32](train), matrix.Converted[float32](pool), matrix.Converted[float32](target)
	return p
}

// exact returns the rows of the problem in float64.
func (p Problem) exact() Sets[float64] {
	if p.Exact.Pool.Rows > 0 {
		return p.Exact
	}
	return Sets[float64]{matrix.Converted[float64](p.Train), matrix.Converted[float64](p.Pool), matrix.Converted[float64](p.Target.Rows)}
}

// Batch is what Select returns: the picks, in the order in which they were picked, and
// how they came about. The zero value is an empty batch.
type Batch struct {
	Spec      spec.Spec            `json:"spec"`
	Picks     []selection.Pick     `json:"picks"`
	Fallbacks []selection.Fallback `json:"fallbacks"` // where the method found no row and random ones were picked
	Removed   []selection.Removal  `json:"removed"`   // rows that a backward step removed, in that order

	// Missing is the number of rows by which the batch is smaller than requested,
	// Short the reason; zero and empty for a full batch.
	Missing int    `json:"missing"`
	Short   string `json:"short"`

	// Typical is the median distance of candidates from the nearest labelled row, in the
	// kernel; 0 without labelled rows.
	Typical float64 `json:"typical_distance"`

	Warnings []string `json:"warnings"` // what the user should know, including fallbacks

	Kernel time.Duration    `json:"kernel_ns"` // taken to compute the kernel
	Timing selection.Timing `json:"timing"`    // of the selection
}

// Rows returns the pool rows of the batch, in the order in which they were picked.
func (b *Batch) Rows() []int {
	rows := make([]int, len(b.Picks))
	for i, p := range b.Picks {
		rows[i] = p.Row
	}
	return rows
}

func newBatch(c *composer, r *selection.Result, kernel time.Duration) *Batch {
	b := &Batch{
		Spec: c.spec, Warnings: []string{}, Picks: r.Picks, Fallbacks: r.Fallbacks, Removed: r.Removed, Missing: r.Missing, Short: r.Short,
		Typical: r.Typical, Kernel: kernel, Timing: r.Timing,
	}
	for _, f := range r.Fallbacks {
		b.Warnings = append(b.Warnings, fmt.Sprintf("from step %d on, %s drawn at random: %s", f.Step, words.Count(len(f.Rows), "row was", "rows were"), f.Reason))
	}
	b.Warnings = append(append(b.Warnings, c.warnings...), r.Notes...)
	return b
}

// Select picks the rows to label next, with the method that the spec names. The same
// problem, spec and seed give the same batch, whatever the number of threads. The
// context is checked once per step and once per block of rows.
func Select(ctx context.Context, spec spec.Spec, p Problem) (*Batch, error) {
	if err := errors.Join(spec.Validate(), p.check(spec)); err != nil {
		return nil, err
	}
	begin := time.Now()
	c := newComposer(ctx, spec, p)
	k32, k64, err := c.kernel()
	if err != nil {
		return nil, fmt.Errorf("%v: %w", spec, err)
	}
	method, settings := spec.Method.Info(), selection.Settings{Sigma2: spec.NoiseVariance(), Compat: spec.Compat}
	if k64 != nil {
		rows := p.exact()
		return pick(c, begin, method.Double(settings), k64, rows.Train, rows.Pool, selection.Target[float64]{Rows: rows.Target, Weights: p.Target.Weights})
	}
	return pick(c, begin, method.Single(settings), k32, p.Train, p.Pool, p.Target)
}

// check reports everything that is wrong with a problem for a spec.
func (p Problem) check(s spec.Spec) error {
	var found []error
	complain := func(wrong bool, format string, args ...any) {
		if wrong {
			found = append(found, fmt.Errorf(format, args...))
		}
	}
	complain(p.Pool.Rows == 0, "the pool is empty")
	complain(p.Batch < 1, "the batch must have a positive number of rows, not %d", p.Batch)
	complain(s.Mode == spec.TP && p.Train.Rows == 0, "%v counts the labelled rows as selected, but there are none", s)
	complain(p.Train.Rows > 0 && p.Pool.Rows > 0 && p.Train.Cols != p.Pool.Cols,
		"the labelled rows have %d columns, the pool %d", p.Train.Cols, p.Pool.Cols)
	complain(p.Target.Rows.Rows > 0 && p.Target.Rows.Cols != p.Pool.Cols,
		"the target rows have %d columns, the pool %d", p.Target.Rows.Cols, p.Pool.Cols)
	if exact := p.Exact; exact.Pool.Rows > 0 {
		complain(exact.Train.Shape() != p.Train.Shape() || exact.Pool.Shape() != p.Pool.Shape() || exact.Target.Shape() != p.Target.Rows.Shape(),
			"the rows in float64 have other shapes than those in float32")
	}
	for _, row := range p.Pending {
		complain(row < 0 || row >= p.Pool.Rows, "row %d is pending, and the pool has %d rows", row, p.Pool.Rows)
	}
	needed := s.Networks()
	complain(len(p.Models) < needed, "%v needs %d trained networks, but there are %d", s, needed, len(p.Models))
	for i, m := range p.Models {
		complain(needed > 0 && m.Inputs() != p.Pool.Cols, "network %d takes %d columns, the pool has %d", i, m.Inputs(), p.Pool.Cols)
	}
	complain(hasTarget(p.Target) && !s.Method.Info().Target, "%s does not represent a distribution, so it cannot have a target", s.Method)
	complain(s.Kernel.Info().Train && p.Train.Rows == 0, "%v needs labelled rows, but there are none", s.Kernel)
	complain(s.Kernel.Info().Labels && !p.hasLabels(), "%v needs the labels of the %d labelled rows, but there are %d", s.Kernel, p.Train.Rows, p.Labels.Rows)
	complain(p.Weights != nil && len(p.Weights) != p.Labels.Cols, "there are %d weights, but %d targets", len(p.Weights), p.Labels.Cols)
	for _, t := range s.Transforms {
		complain(t.Info().Train && p.Train.Rows == 0, "%v needs labelled rows, but there are none", t)
		complain(t.Info().Labels && !p.hasLabels(), "%v needs the labels of the %d labelled rows, but there are %d", t, p.Train.Rows, p.Labels.Rows)
		complain(t.Info().Labels && p.Labels.Cols > 1, "%v fits its hyperparameters to the labels of one target, but there are %d targets; use acs-rf, which needs no labels", t, p.Labels.Cols)
	}
	return errors.Join(found...)
}

func (p Problem) hasLabels() bool { return p.Labels.Rows == p.Train.Rows && p.Labels.Cols > 0 }

func hasTarget(t selection.Target[float32]) bool { return t.Rows.Rows > 0 || t.Weights != nil }

// observesPending reports whether the kernel is a covariance that conditions on the
// pending rows, and the method would do so again.
func (c *composer) observesPending() bool {
	conditions := func(t spec.Transform) bool { return t.Info().Conditions && !t.Info().NoCovariance }
	return c.spec.Method.Info().Noise && c.spec.Mode != spec.TP && slices.ContainsFunc(c.spec.Transforms, conditions)
}

// pick runs the selection method on rows in the precision of the kernel.
func pick[T matrix.Float](c *composer, begin time.Time, method selection.Method[T], k kernel.Kernel[T], train, pool matrix.Dense[T], target selection.Target[T]) (*Batch, error) {
	s, p := c.spec, c.problem
	question := selection.Problem[T]{
		Batch: p.Batch, Seed: p.Seed, Constraints: p.Constraints,
		Target: selection.Target[T]{Weights: target.Weights},
	}
	if s.Mode == spec.TP {
		question.Mode = selection.TP
	}
	if c.observesPending() {
		question.Constraints.Exclude = slices.Concat(p.Constraints.Exclude, p.Pending)
	} else {
		question.Pending = p.Pending
	}
	if p.Progress != nil {
		question.Progress = func(step, of int) { p.Progress(Progress{Picking, step, of}) }
	}
	c.embedding.expect((pool.Rows + train.Rows + target.Rows.Rows) * s.Members())
	prepared := k
	for _, set := range []struct {
		name string
		rows matrix.Dense[T]
		dst  *matrix.Dense[T]
	}{
		{"pool", pool, &question.Pool}, {"labelled rows", train, &question.Train}, {"target rows", target.Rows, &question.Target.Rows},
	} {
		if set.rows.Rows == 0 {
			continue
		}
		ready, rows, err := kernel.Prepare(c.ctx, k, set.rows)
		if err != nil {
			return nil, fmt.Errorf("%v: %s: %w", s, set.name, err)
		}
		prepared, *set.dst = ready, rows[0]
	}
	if !kernel.IsLinear(prepared) {
		question.Kernel = prepared
	}
	taken := time.Since(begin)
	result, err := selection.Select(c.ctx, method, question)
	if err != nil {
		return nil, fmt.Errorf("%v: %w", s, err)
	}
	return newBatch(c, result, taken), nil
}
