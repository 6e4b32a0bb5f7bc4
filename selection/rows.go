package selection

import (
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/matrix"
)

// poolRows are the rows of a pool where they live: in memory (memory.go), or divided
// among files, devices or machines. It is the seam below the methods: what is kept per
// row lives with the rows, and a method makes a few calls per step, never one per row or
// product.
//
// The contract. The goroutine that called Select makes all calls, one at a time; an
// implementation spreads its work itself. Rows are numbered from 0 as in the pool. A
// matrix or slice in a call belongs to the caller and is read until the call returns;
// what a call returns belongs to the caller, except where it says otherwise. Every
// implementation returns the same bits: numbers of a row are those that the paper's
// algorithm computes for it, with the vector loops of internal/simd; a sum over rows is
// added block by block, in order, onto what the caller passes (blocks.go); and of equal
// rows the one with the lowest number is best. When the context has been cancelled, a
// call may return anything.
type poolRows[T matrix.Float] interface {
	// Mark says whether a row may be picked, and whether it is in the batch. An
	// implementation may collect marks until the next call that needs them.
	Mark(row int, open, selected bool)
	// Row returns a row and its k(x, x). The caller must not write to them.
	Row(row int) (matrix.Dense[T], T)
	// Block returns the rows from from to to-1, all of one block of sums (blocks.go).
	// They are valid until the next call; the caller must not write to them.
	Block(from, to int) matrix.Dense[T]
	// Largest returns the open row of largest k(x, x).
	Largest() (found, error)
	// Nearest starts a search for the nearest centre of each row. Lists keep the rows
	// of each cluster, for callers that often sum up few clusters.
	Nearest(size Size, lists bool) centreSearch[T]
	// Directions starts a search for the row of the closest direction. It fails if
	// the kernel has no explicit features.
	Directions() (directionSearch, error)
	// Variances starts a search for the row of largest variance, given the noise σ², and
	// fails likewise.
	Variances(sigma2 float64) (varianceSearch, error)
	// Totals starts a search for the row that lowers the summed variance most, and
	// fails likewise.
	Totals(sigma2, offset float64) (totalSearch, error)
	// Pivots, PrecisePivots and KernelDirections start the searches of MaxDet and
	// FrankWolfe in kernel space. They fail in float32.
	Pivots(sigma2 float64) (pivotSearch, error)
	PrecisePivots() (precisePivotSearch, error)
	KernelDirections() (kernelDirectionSearch, error)
}

// rowAdder is a search that adds rows of the pool by itself, without vectors from here. It
// returns false if it cannot.
type rowAdder interface {
	addRow(row int) bool
}

// found is the best of some rows, by a score; -1 if none is open. Where scores are
// divided by costs (percost.go), the best row is that of the largest quotient, and the
// score is still that of the row alone; in clusterSum, far is the quotient.
type found struct {
	row   int
	score float64
}

// centreSearch knows the nearest centre of each row.
type centreSearch[T matrix.Float] interface {
	// Add adds centres, with k(x, x) of each; first is the label of the first of them.
	Add(centres matrix.Dense[T], diag []T, first int) error
	// Farthest returns the open row of largest squared distance from its centre.
	Farthest() (found, error)
	// At returns a row's squared distance from its centre, and the centre's label.
	At(row int) (dist T, label int)
	// Sum adds the unselected rows of the clusters from label first on to sums.
	Sum(sums []clusterSum, first int)
	// Weigh sets the weight of each open row for draws: that of the row in the target
	// distribution, times its squared distance from its centre if there are centres,
	// times the scale of its cluster unless scale is nil. It returns the sum of each
	// block, valid until the next call.
	Weigh(centres bool, scale []float64) []float64
	// Draw draws a row of a block by its weight, with one number of the stream.
	Draw(block int, stream *rng.Stream) (int, error)
	// Gains adds to sums[0] the weighted squared distances of all rows, and to
	// sums[1+i] what the i-th of several rows would take from it as a centre.
	Gains(sums []float64, rows matrix.Dense[T], diag []T) error
}

// directionSearch knows the directions of the rows' features.
type directionSearch interface {
	// Sums adds all features to u, and returns r plus the norms of all rows.
	Sums(u []float64, r float64) float64
	// Best returns the open row of largest ⟨φ(x), residual⟩/‖φ(x)‖, -∞ if only rows
	// without a direction are open, and whether the score of every row that has one
	// is 0.
	Best(residual []float64) (best found, zero bool, err error)
}

// varianceSearch knows the variance φᵀSφ of each row under a covariance S of the
// weights, which starts as the identity.
type varianceSearch interface {
	// Prior returns the largest variance of all rows, before the first step.
	Prior() float64
	// Scales returns the largest magnitude of each feature.
	Scales() []float64
	// Rebase computes all variances from the base of S, without its changes.
	Rebase(s *covariance)
	// Step follows the latest change of S, to S − w·wᵀ, because a row was added: one of
	// the pool, or another if row is -1. It may keep the vectors of the changes, which
	// stay as they are.
	Step(s *covariance, row int)
	// Best returns the open row of largest variance.
	Best() (found, error)
	// At returns the variance of a row.
	At(row int) float64
}

// totalSearch knows c and v of each row (bait.go), for a root A of the covariance and
// the steps since then. The score of a row is v/(c + offset).
type totalSearch interface {
	// Prior returns the largest ‖φ(x)‖².
	Prior() float64
	// Moments adds Σ w(x)·ψ(x)ψ(x)ᵀ to m, with ψ = Aφ, or ψ = φ if a has no rows.
	Moments(m, a matrix.Dense[float64])
	// Summed adds Σ w(x)·⟨φ(x), y⟩² to the total of each of the given y.
	Summed(totals []float64, ys matrix.Dense[float64])
	// Rebase computes c and v for A and AMAᵀ, and returns the largest magnitude of v.
	Rebase(a, inner matrix.Dense[float64]) float64
	// Step does a step for all rows; w and p are its vectors, aw and ap are Aᵀw and
	// Aᵀp.
	Step(w, p, aw, ap []float64)
	// Best returns the open row of largest score, and its v.
	Best() (best found, v float64, err error)
	// At returns the score of a row.
	At(row int) float64
}

// pivotSearch knows c and the column of B of each row (maxdet_kernel.go).
type pivotSearch interface {
	// Prior returns the largest k(x, x).
	Prior() float64
	// Column returns B[·, x] and c[x] of a row.
	Column(row int) (column []float64, c float64)
	// AddMany adds L⁻¹k(X, ·) to B, for rows X, and lowers c.
	AddMany(rows, l matrix.Dense[float64]) error
	// Add adds (k(·, x) + σ²e_x − Bᵀcolumn)·scale to B and lowers c. at is the number
	// of x, or -1 if it is elsewhere.
	Add(x matrix.Dense[float64], at int, column []float64, scale float64) error
	// Best returns the open row of largest c.
	Best() (found, error)
}

// precisePivotSearch is pivotSearch with twice as many digits. Its c lacks the noise.
type precisePivotSearch interface {
	Column(row int) (column doubles, c double)
	// Add adds (k(·, x) − Bᵀcolumn)/pivot to B and lowers c. There is no σ²e_x: it
	// would matter for x alone, which is selected.
	Add(x matrix.Dense[float64], column doubles, pivot double) error
	// Best returns the open row of largest c, which is cut off at zero.
	Best() (found, error)
}

// kernelDirectionSearch knows c, u and v of each row (frankwolfe_kernel.go).
type kernelDirectionSearch interface {
	// Norms returns r plus the norms of all rows.
	Norms(r float64) float64
	// AddSums adds Σ k(x, x̃) over all rows x̃ to the sum of each of the given rows x.
	AddSums(sums []float64, rows matrix.Dense[float64]) error
	// Start sets u of all rows, once all sums have been computed.
	Start(u []float64)
	// At returns c, u and v of a row.
	At(row int) (c, u, v float64)
	// Step changes v to keep·v + weight·k(x, ·).
	Step(x matrix.Dense[float64], keep, weight float64) error
	// Best returns what directionSearch.Best does, for the scores (u − v)/c.
	Best() (best found, zero bool, err error)
}
