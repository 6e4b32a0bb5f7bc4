package nextbatch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nextbatch/nextbatch/internal/compose"
	"github.com/nextbatch/nextbatch/internal/explain"
	"github.com/nextbatch/nextbatch/internal/kept"
	"github.com/nextbatch/nextbatch/internal/needs"
	"github.com/nextbatch/nextbatch/internal/place"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/selection"
	"github.com/nextbatch/nextbatch/spec"
)

// Problem is what Select picks from. Its matrices belong to the caller: Select only reads them and keeps none.
type Problem struct {
	// Models were trained on Train: one, or as many as ens(n) of the spec needs. Kernels of the rows themselves need none;
	// nngp and ntk take depth and constants from the first.
	Models []Model

	// Train and Pool hold the labelled rows and the candidates, scaled as the models saw them (see network.Model.Inputs);
	// with the kernel "features", the user's own features.
	Train, Pool matrix.Dense[float32]
	// Exact holds the rows of Train, Pool and Aims.Rows in float64, if they are the user's own features and the caller has
	// all their digits; the shapes are the same. Specs that compute in float64 use these rows. If Exact is empty, they use
	// Train, Pool and Aims.Rows. With Folder, Exact.Pool may be empty alone, where float32 holds all digits of the pool.
	Exact Sets[float64]
	// Labels are those of Train, a column for each target, standardised; NaN where one is
	// missing. Only rbf, matern and acs-rf-hyper use them.
	Labels matrix.Dense[float64]
	// Noise is how many times the usual variance of noise that of the labels of each row of Train is, for post and train;
	// nil means that it is the usual one.
	Noise []float64
	// Weights are those of the targets, for kernels that are fitted to labels; nil means 1
	// for each. Those of the outputs of models are in the models.
	Weights []float64
	// Learnt is what other learners than networks have learnt from Train, on rows as in Train
	// and Pool. The kernel leaf needs its trees, predictions its members; matern is the kernel of
	// its processes, one for each target, where there are any, and then uses no labels.
	Learnt Learnt

	// Pending are pool rows that are out being labelled. They are not picked and take no place in the batch, but they
	// count as selected (see package selection), and transformations that need no labels treat them as labelled rows.
	Pending []int

	Batch int    // rows to pick
	Seed  uint64 // of sketches, and of methods that draw
	// KernelSeed, unless nil, is the seed of sketches and other random features instead.
	KernelSeed *uint64

	// Kept, unless nil, keeps features of rows from one call of Select to the next, where Networks, kernel and seed are
	// the same. Networks is a name for the models: models of the same name give the same bits. The batch is the same. A
	// device keeps nothing, and neither do ranks or files.
	Kept     *kept.Features
	Networks string

	// Aims is the target distribution, which the batch should represent, if it is not that
	// of the pool: other rows, scaled as the pool's, or a weight for each pool row.
	Aims        selection.Aims[float32]
	Constraints selection.Constraints

	// Ranks, unless nil, are the processes that share the work. All of them call Select with the same problem and get the
	// same batch; each computes the kernel of its own share of the pool (place.Share). Pool is the whole pool on every
	// rank or, if Shared is its number of rows, the share of this one.
	Ranks  place.Ranks
	Shared int
	// RowName, unless nil, describes in messages where a row of the pool comes from, such as "row 17 of part-3.npy".
	RowName func(row int) string

	// Folder, unless empty, is where the embedded rows of the pool go: into a temporary file there that is mapped into
	// memory, because they take more memory than there is. Rows that are embedded as they are stay where they are, in a
	// file that the caller has mapped. The batch is the same. The file is gone when Select returns, or when the process
	// ends, in whatever way. It excludes Ranks.
	Folder string

	// Picked and Resume are those of selection.Problem, for runs that may be interrupted.
	Picked func(selection.Choice)
	Resume []selection.Choice

	// Progress, unless nil, is called from time to time, from the goroutine that called Select.
	Progress func(Progress)

	order []int // the rows of the pool in the order in which equal ones are picked; nil: by their numbers
}

// poolSize is the number of rows of the whole pool.
func (p Problem) poolSize() int { return max(p.Shared, p.Pool.Rows) }

func (p Problem) kernelSeed() uint64 {
	if p.KernelSeed != nil {
		return *p.KernelSeed
	}
	return p.Seed
}

// Learnt is what other learners than networks have learnt, as kernels need it.
type Learnt = kernel.Learnt

// Sets are labelled rows, candidates and rows of the target distribution.
type Sets[T matrix.Float] struct{ Train, Pool, Aims matrix.Dense[T] }

// Model is a trained network as a Problem needs it: it embeds blocks of rows. Models returns those of package network.
// Others may keep their parameters elsewhere, such as on a GPU, or come from another framework; one that has only
// features implements kernel.Taps with a single layer, whose input is the features, and serves the kernel ll.
//
// Select, Features, Gram and Plane call it from the goroutine that called them. They ask for taps once per kernel, not
// once per block, and use each from one goroutine at a time until they return. The model must not change in the
// meantime. The same rows must give the same bits, in whatever blocks they come.
type Model interface {
	// Inputs is how many columns a row has.
	Inputs() int
	// Taps returns taps for blocks of at most kernel.BlockRows rows, with memory of
	// their own: taps of the same model may be in use at the same time.
	Taps() kernel.Taps[float32]
	// Infinite describes the same network at infinite width, for the kernels nngp
	// and ntk, which use nothing else of a model.
	Infinite() kernel.InfiniteNetwork
}

// Models returns the networks of an ensemble as models. The kernel of a network with several outputs is the sum of the
// kernels of its outputs, each times its weight. Without weights, all are 1.
func Models(e network.Ensemble, weights ...float64) []Model {
	models := make([]Model, len(e))
	for i, net := range e {
		models[i] = compose.Perceptron{Net: net, Weights: weights}
	}
	return models
}

// Progress reports how far Select, Features or Gram has got.
type Progress struct {
	Stage    Stage
	Done, Of int
}

// Stage is what a call is doing.
type Stage string

const (
	Embedding Stage = "embedding" // rows go through the networks; Done and Of count them
	Picking   Stage = "picking"   // Done and Of count steps of the method
)

// Batch is what Select returns: the picks, in the order in which they were picked, and
// how they came about. The zero value is an empty batch.
type Batch struct {
	Spec      spec.Spec            `json:"spec"`
	Picks     []selection.Pick     `json:"picks"`
	Fallbacks []selection.Fallback `json:"fallbacks"` // where the method found no row and random ones were picked
	Removed   []selection.Removal  `json:"removed"`   // rows that a backward step removed, in that order

	// Runs are the groups of rows that share a value; empty without Constraints.Same.
	Runs []selection.Run `json:"runs,omitempty"`

	// Missing is the number of rows by which the batch is smaller than requested,
	// Short the reason; zero and empty for a full batch.
	Missing int    `json:"missing"`
	Short   string `json:"short"`

	// Typical is the median distance of candidates from the nearest labelled row, in the kernel; 0 without labelled rows.
	Typical float64 `json:"typical_distance"`

	Warnings []string `json:"warnings"` // what the user should know, including fallbacks

	// Device names the device that searched the rows; empty means the CPU.
	Device string `json:"device,omitempty"`

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

// Reason explains in one line why pick i is in the batch. The function returns the
// user's name of a row of train or pool.
func (b *Batch) Reason(i int, name func(set selection.Set, row int) string) string {
	return b.explained().Reason(i, name)
}

// explained is what reasons are made from.
func (b *Batch) explained() explain.Basis {
	return explain.Basis{Method: b.Spec.Method, Picks: b.Picks, Fallbacks: b.Fallbacks, Typical: b.Typical}
}

// WithFeatures returns the problem with the user's own features, in float64, for the kernel "features". Methods that
// compute in float32 round them once; train and target may be empty.
func (p Problem) WithFeatures(train, pool, target matrix.Dense[float64]) Problem {
	p.Exact = Sets[float64]{train, pool, target}
	p.Train, p.Pool, p.Aims.Rows = matrix.Converted[float32](train), matrix.Converted[float32](pool),
		matrix.Converted[float32](target)
	return p
}

// hasExact reports whether rows are given in float64.
func (p Problem) hasExact() bool { return p.Exact.Pool.Rows+p.Exact.Train.Rows+p.Exact.Aims.Rows > 0 }

// PoolRows returns a copy of some candidates.
func (p Problem) PoolRows(index []int) matrix.Dense[float32] {
	if p.Folder != "" && p.Exact.Pool.Rows > 0 { // then Pool has no numbers
		return matrix.Converted[float32](p.Exact.Pool.SelectRows(index))
	}
	return p.Pool.SelectRows(index)
}

// exactRows returns the rows of the problem in float64. A pool that exceeds memory is not copied.
func exactRows(p *Problem) compose.Rows[float64] {
	g := compose.Rows[float64]{Train: p.Exact.Train, Pool: p.Exact.Pool, Aims: p.Exact.Aims}
	if p.Exact.Pool.Rows > 0 {
		return g
	}
	if !p.hasExact() {
		g.Train, g.Aims = matrix.Converted[float64](p.Train), matrix.Converted[float64](p.Aims.Rows)
	}
	if p.Folder != "" {
		g.Single = p.Pool
	} else {
		g.Pool = matrix.Converted[float64](p.Pool)
	}
	return g
}

// check reports everything that is wrong with a problem for a spec.
func (p Problem) check(s spec.Spec) error {
	parts := partsOf(&p, s)
	var found []error
	complain := func(wrong bool, format string, args ...any) {
		if wrong {
			found = append(found, fmt.Errorf(format, args...))
		}
	}
	complain(p.poolSize() == 0, "the pool is empty")
	complain(p.Batch < 1, "the batch must have a positive number of rows, not %d", p.Batch)
	complain(s.Mode == spec.TP && p.Train.Rows == 0, "%v counts the labelled rows as selected, but there are none", s)
	complain(p.Train.Rows > 0 && p.Pool.Rows > 0 && p.Train.Cols != p.Pool.Cols,
		"the labelled rows have %d columns, the pool %d", p.Train.Cols, p.Pool.Cols)
	complain(p.Aims.Rows.Rows > 0 && p.Aims.Rows.Cols != p.Pool.Cols,
		"the target rows have %d columns, the pool %d", p.Aims.Rows.Cols, p.Pool.Cols)
	if exact := p.Exact; exact.Pool.Rows > 0 {
		complain(exact.Train.Shape() != p.Train.Shape() || exact.Pool.Shape() != p.Pool.Shape() ||
			exact.Aims.Shape() != p.Aims.Rows.Shape(),
			"the rows in float64 have other shapes than those in float32")
	}
	for _, row := range p.Pending {
		complain(row < 0 || row >= p.poolSize(), "row %d is pending, and the pool has %d rows", row, p.poolSize())
	}
	complain(p.Folder != "" && p.Ranks != nil, "ranks hold their shares of the pool in memory, not in files")
	complain(p.Shared > 0 && len(p.Pending) > 0 && slices.ContainsFunc(s.Transforms, conditions),
		"%v takes the features of pending rows, but ranks hold shares of the pool", s)
	needed := needs.Networks(s)
	complain(len(p.Models) < needed, "%v needs %d trained networks, but there are %d", s, needed, len(p.Models))
	for i, m := range p.Models {
		complain(needed > 0 && m.Inputs() != p.Pool.Cols, "network %d takes %d columns, the pool has %d", i,
			m.Inputs(), p.Pool.Cols)
	}
	complain(hasAims(p.Aims) && !s.Method.Info().Aims, "%s does not represent a distribution, so it cannot have a target",
		s.Method)
	complain(len(s.Terms) > 0 && p.Shared > 0 && (p.Train.Rows == 0 || len(p.Pending) > 0),
		"%v scales its terms by their variances over labelled and pending rows or, without any, over the pool, but ranks "+
			"hold shares of the pool", s)
	return errors.Join(append(found, parts.Check())...)
}

func hasAims(t selection.Aims[float32]) bool { return t.Rows.Rows > 0 || t.Weights != nil }

// conditions reports whether a transformation is the covariance after observing rows.
func conditions(t spec.Transform) bool { return t.Info().Conditions && !t.Info().NoCovariance }

// partsOf returns what the kernel of a spec is made from.
func partsOf(p *Problem, by spec.Spec) compose.Parts {
	parts := compose.Parts{
		Spec: by, Train: p.Train, Pool: p.Pool, Exact: compose.Rows[float64]{Train: p.Exact.Train,
			Pool: p.Exact.Pool, Aims: p.Exact.Aims},
		PoolRows: p.PoolRows, Labels: p.Labels, Noise: p.Noise, Weights: p.Weights, Learnt: p.Learnt,
		Pending: p.Pending, Seed: p.kernelSeed(),
		Networks: p.Networks, Folder: p.Folder, Across: p.Ranks != nil, PoolError: p.inPool,
		Taps:     func(member int) kernel.Taps[float32] { return p.Models[member].Taps() },
		Infinite: func() kernel.InfiniteNetwork { return p.Models[0].Infinite() },
	}
	if p.Progress != nil {
		parts.Progress = func(done, of int) { p.Progress(Progress{Embedding, done, of}) }
	}
	return parts
}

// together returns the same error on all ranks if one of them has one. Each rank calls it before it selects: at its
// first error, when it exchanges rows, and when its rows are embedded.
func (p *Problem) together(ctx context.Context, err error) error {
	if p.Ranks == nil {
		return err
	}
	return selection.Agree(ctx, p.Ranks, err)
}

// inPool numbers the row of an error as the whole pool does, and says where it comes from.
func (p *Problem) inPool(err error) error {
	var row *kernel.RowError
	if !errors.As(err, &row) {
		return err
	}
	if p.Ranks != nil {
		from, _ := place.Share(p.poolSize(), p.Ranks.Rank(), p.Ranks.Size())
		row.Row += from
	}
	if p.order != nil {
		row.Row = p.order[row.Row]
	}
	return p.named(err, row.Row)
}

// named adds to an error where a row of the pool comes from; row is -1 if there is none.
func (p *Problem) named(err error, row int) error {
	if p.RowName == nil || row < 0 {
		return err
	}
	return fmt.Errorf("%w (row %d is %s)", err, row, p.RowName(row))
}
