package selection

import (
	"context"
	"errors"
	"unsafe"

	"github.com/nextbatch/nextbatch/internal/place"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection/internal/ahead"
	"github.com/nextbatch/nextbatch/selection/internal/space"
)

// Mode determines which rows count as selected from the start.
type Mode int

const (
	P  Mode = iota // none: the kernel accounts for the training rows
	TP             // the training rows
)

func (m Mode) String() string {
	if m == TP {
		return "tp"
	}
	return "p"
}

// Problem is what to select from, and how much. Its matrices belong to the caller:
// Select only reads them and keeps none.
type Problem[T matrix.Float] struct {
	Pool  matrix.Dense[T] // one row per candidate
	Train matrix.Dense[T] // labelled rows; needed in mode TP, used by BAIT and in the report otherwise
	// Placed are the features of the pool on a device, instead of Pool (place.Embed). Select
	// does not close them.
	Placed place.DeviceFeatures[T]

	// InFile means that Pool is mapped from a file. Its rows are then never copied: rows
	// that would have to be scaled are an error.
	InFile bool
	// Single, in a problem in float64, holds the features of the pool in float32, in a
	// file, and Pool is empty: each row is converted when it is read, without loss. Only
	// methods of which ReadsSingle holds take it.
	Single matrix.Dense[float32]

	// Kernel takes the rows of Pool and Train. Nil means that they are features
	// and that the kernel is their inner product.
	Kernel kernel.Kernel[T]

	Mode    Mode
	Pending []int  // pool rows that count as selected, but are not part of the batch (pending.go)
	Batch   int    // rows to pick
	Seed    uint64 // for methods that draw, and for fallbacks

	// Order, unless empty, holds the number of each row of the pool, because the rows are in an order of their own: of
	// equally good candidates the first one is picked. All other fields, and the result, number rows as Order does.
	Order []int

	Aims        Aims[T]
	Constraints Constraints

	// Progress, unless nil, is called after each step with its number and the
	// number of all steps, from the goroutine that called Select.
	Progress func(step, of int)

	// Picked, unless nil, is called with each row that the method chooses, in order, from
	// the goroutine that called Select. Resume holds the choices of a run of the same
	// problem that was cut off: the result is that of a run from start to end (resume.go).
	Picked func(Choice)
	Resume []Choice

	// Plain computes everything for every row, as the paper's algorithms are
	// written. The batch is the same: it is for comparisons.
	Plain bool
}

// Aims is the distribution that a batch should represent, if it is not that of the
// pool: another set of rows, or a weight for each pool row, not both. LCMD and KMeansPP
// use it instead of the pool, BAIT instead of train and pool.
type Aims[T matrix.Float] struct {
	Rows    matrix.Dense[T]
	Weights []float64
}

// question is a problem without its rows.
type question struct {
	shapes      shapes
	mode        Mode
	pending     []int
	batch       int
	seed        uint64
	weights     []float64
	constraints Constraints
	progress    func(step, of int)
	picked      func(Choice)
	resume      []Choice
	order       []int
	plain       bool
	run         *present // the run that is picked; nil: the batch has none (runs.go)
}

// present is the run that is picked, among the others.
type present struct {
	runs         *ahead.Runs
	byCost       []int32 // those of the limits
	value        int     // by number
	fixed, later []int   // those of ahead.Runs
}

// shapes are those of the rows of a problem, and what else their check needs.
type shapes struct {
	pool, train, target              matrix.Shape // of the pool wherever it is
	memory, placed, single, isKernel bool         // which pools there are, and a kernel
	float32                          bool
}

// questionOf and sourceOf take a problem apart. They are functions: methods of Problem would be
// compiled wherever one is made.
func questionOf[T matrix.Float](p *Problem[T]) question {
	p.Pool.MustBeValid("selection.Select, pool")
	p.Single.MustBeValid("selection.Select, single")
	p.Train.MustBeValid("selection.Select, train")
	p.Aims.Rows.MustBeValid("selection.Select, target")
	var zero T
	of := shapes{pool: p.Pool.Shape(), train: p.Train.Shape(), target: p.Aims.Rows.Shape(),
		memory: p.Pool.Rows > 0, placed: p.Placed != nil, single: p.Single.Rows > 0, isKernel: p.Kernel != nil,
		float32: unsafe.Sizeof(zero) == 4}
	switch {
	case of.placed:
		of.pool = p.Placed.Shape()
	case of.single:
		of.pool = p.Single.Shape()
	}
	return question{of, p.Mode, p.Pending, p.Batch, p.Seed, p.Aims.Weights, p.Constraints,
		p.Progress, p.Picked, p.Resume, p.Order, p.Plain, nil}
}

func sourceOf[T matrix.Float](p *Problem[T], q *question, use space.Use) space.Source[T] {
	return space.Source[T]{Pool: p.Pool, Train: p.Train, Target: p.Aims.Rows, Placed: p.Placed, InFile: p.InFile,
		Single: p.Single, Kernel: p.Kernel,
		Weights: q.weights, Price: q.price(), Use: use}
}

// fetchPlaced fetches features that are on a device, unless the method searches them
// there.
func fetchPlaced[T matrix.Float](ctx context.Context, p *Problem[T], there bool) (err error) {
	if d := place.DeviceOf(ctx); p.Placed == nil || d != nil && p.Placed.On() == d && !p.Plain && there {
		return nil
	}
	p.Pool, err = place.Fetched(p.Placed)
	p.Placed = nil
	return err
}

// price is what scores are divided by; nil: by nothing.
func (q *question) price() []float64 {
	if !q.constraints.PerCost {
		return nil
	}
	return q.constraints.Cost
}

// check returns everything that is wrong with the problem; pool is the number of rows in the
// pool on all ranks together.
func (q *question) check(pool int) error {
	var c complaints
	of, cols := q.shapes, q.shapes.pool.Cols
	c.when(of.placed && (of.memory || of.isKernel), "Placed", "features on a device exclude a pool in memory and a kernel")
	c.when(pool == 0, "Pool", "the pool is empty")
	c.when(pool > 0 && cols == 0, "Pool", "the rows of the pool have no columns")
	c.when(of.single && (of.memory || of.placed || of.isKernel || of.float32), "Single",
		"it goes with features in float64, and with no other pool")
	c.when(q.batch <= 0, "Batch", "the batch must have a positive number of rows, not %d", q.batch)
	c.when(q.mode != P && q.mode != TP, "Mode", "there is no mode %d", q.mode)
	c.when(q.mode == TP && of.train.Rows == 0, "Train", "mode TP counts the training rows as selected, but there are none")
	c.when(of.train.Rows > 0 && of.train.Cols != cols, "Train",
		"training rows have %d columns, pool rows %d", of.train.Cols, cols)
	q.checkAims(&c, pool)
	checkPending(&c, q.pending, q.constraints.Require, pool)
	q.constraints.check(&c, pool, q.batch)
	q.checkOrder(&c, pool)
	c.when(q.constraints.Same != nil && len(q.resume) > 0, "Resume",
		"runs that share a value are compared with others, so a run that was cut off starts again")
	return errors.Join(c...)
}

func (q *question) checkAims(c *complaints, pool int) {
	rows, weights := q.shapes.target, q.weights
	c.when(rows.Rows > 0 && weights != nil, "Aims", "target rows and weights of pool rows exclude each other")
	c.when(rows.Rows > 0 && rows.Cols != q.shapes.pool.Cols, "Aims.Rows",
		"target rows have %d columns, pool rows %d", rows.Cols, q.shapes.pool.Cols)
	checkNumbers(c, "Aims.Weights", weights, pool)
	c.when(weights != nil && !anyPositive(weights), "Aims.Weights", "no weight is positive")
}

// checkOrder reports an order that is not one of the pool.
func (q *question) checkOrder(c *complaints, pool int) {
	seen := make([]bool, pool)
	for _, row := range q.order {
		if row < 0 || row >= pool || seen[row] {
			c.when(true, "Order", "it does not hold each of the %d rows once", pool)
			return
		}
		seen[row] = true
	}
	c.when(len(q.order) > 0 && len(q.order) != pool, "Order", "it holds %d rows, the pool %d", len(q.order), pool)
}
