// Package space holds the rows that a selection picks from, wherever they are: in memory, in
// a file, on a device, or shared by the ranks of several processes.
//
// Methods of package selection see them through Rows, the seam. What a method asks for is
// what its formula needs: the nearest centre of each row and sums over clusters (Centres),
// directions, variances under a covariance, totals of variances, pivots of a kernel matrix.
// Candidates are numbers: pool rows from 0, training rows from PoolSize. Nothing at the seam
// has a type parameter, so package selection and those above it compile none of this again.
//
// Below the seam, rows in one precision are a space[T]; where its pool is, is a second,
// inner seam (poolRows), with three implementations: memory*.go, device*.go and ranks*.go.
// Both seams make a few calls per step, never one per row or product.
package space

import (
	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/place"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection/internal/double"
	"github.com/nextbatch/nextbatch/selection/internal/posterior"
)

// Rows are the pool, the training rows and the target of a selection.
//
// The contract. The goroutine that called Select makes all calls, one at a time; an
// implementation spreads its work itself. A matrix or slice in a call belongs to the caller
// and is read until the call returns; what a call returns belongs to the caller, except
// where it says otherwise. Wherever the rows are, the same bits come out, except on devices:
// numbers of a row are those that the paper's algorithm computes for it, with the vector
// loops of internal/simd; a sum over rows is added block by block, in order (blocks.go); and
// of equal rows the one with the lowest number is best. When the context has been
// cancelled, a call may return anything.
type Rows interface {
	Numbers
	Searches

	// Mark sets whether a row may be picked, and whether it is in the batch. An
	// implementation may collect marks until the next call that needs them.
	Mark(row int, open, selected bool)
	// GoAhead sets how many rows will be picked before any other decision: 0 if a pick
	// may close other rows. Devices do these steps by themselves.
	GoAhead(steps int)
	// AgreeToEnd is Cancelled at the start of a step, where ranks tell each other.
	AgreeToEnd() bool
	// Ended returns why the selection cannot continue: the context's error, or one of
	// another rank.
	Ended() error
	// Device returns the name of the device that has the rows, or why they are not on the
	// one of the context.
	Device() (name, note string)
	// Labelled returns the nearest training row of each pool row of a list, and how far it is.
	Labelled(list []int) (at []int, distance []float64, err error)
	// Close frees what the rows have elsewhere, and returns the first failure there.
	Close() error
}

// Numbers are what a method may ask of a space at any time.
type Numbers interface {
	PoolSize() int
	TrainSize() int
	HasTarget() bool // the batch should represent another distribution than the pool's
	Explicit() bool  // rows are features, whose inner product is the kernel
	Cols() int       // of a row
	Cancelled() bool // the context has ended

	// InUnits converts a number to the unit of the caller's features: with power 1 for a
	// distance, 2 for a squared distance.
	InUnits(v float64, power int) float64
	// Diag returns k(x, x) of the pool rows.
	Diag() []float64
	// Kernel writes k(x, y) of each pool row x and the candidate y to dst, SqDist the
	// squared distance.
	Kernel(dst []float64, candidate int) error
	SqDist(dst []float64, candidate int) error
	// Float64 returns the rows of candidates.
	Float64(candidates []int) matrix.Dense[float64]
	// Gram returns the kernel matrix of rows. It fails in float32.
	Gram(rows matrix.Dense[float64]) (matrix.Dense[float64], error)
	// Covariance returns that of the weights, before any row is observed.
	Covariance(sigma2 float64) *posterior.Covariance
	// Team is the threads of the selection.
	Team() *linalg.Team
}

// Searches find the row to pick. Each method has the search that its formula needs.
type Searches interface {
	// Largest returns the open row of largest k(x, x).
	Largest() (Found, error)
	// Nearest starts a search for the nearest centre of each row. Lists keep the rows
	// of each cluster, for callers that often sum up few clusters.
	Nearest(size place.Size, lists bool) Centres
	// Directions starts a search for the row of the closest direction. It fails if
	// the kernel has no explicit features.
	Directions() (Directions, error)
	// SumTrain adds the features of the training rows to u, and returns r plus their norms.
	SumTrain(u []float64, r float64) float64
	// Variances starts a search for the row of largest variance, given the noise σ², and
	// fails like Directions.
	Variances(sigma2 float64) (Variances, error)
	// Totals starts a search for the row that lowers the summed variance most, and
	// fails like Directions.
	Totals(sigma2, offset float64) (Totals, error)
	// Pivots and PrecisePivots start the searches of MaxDet in kernel space. They fail in
	// float32.
	Pivots(sigma2 float64) (Pivots, error)
	PrecisePivots() (PrecisePivots, error)
	// KernelDirections starts the search of FrankWolfe in kernel space, and fails likewise.
	// The candidates are the pool and, if train holds, the training rows.
	KernelDirections(train bool) (KernelDirections, error)
}

// Found is the best of some rows, by a score; -1 if none is open. Where scores are
// divided by costs, the best row is that of the largest quotient, and the
// score is still that of the row alone; in Sum, Far is the quotient.
type Found struct {
	Row   int
	Score float64
}

// Centres knows the nearest centre of each row.
type Centres interface {
	// Add makes candidates centres. Their labels follow those of the centres before.
	Add(candidates []int) error
	// Farthest returns the open row of largest squared distance from its centre.
	Farthest() (Found, error)
	// At returns a row's squared distance from its centre, and the centre's label.
	At(row int) (dist float64, label int)
	// Sums returns the clusters from label first on, over the unselected rows.
	Sums(first, clusters int) []Sum
	// Sum adds the unselected rows of the clusters from label first on to sums.
	Sum(sums []Sum, first int)
	// OtherTarget reports whether the batch should represent other rows than the pool.
	OtherTarget() bool
	// TargetSums is Sums over these rows.
	TargetSums(first, clusters int) []Sum
	// Weigh sets the weight of each open row for draws: that of the row in the target
	// distribution, times its squared distance from its centre if there are centres,
	// times the scale of its cluster unless scale is nil. It returns the sum of each
	// block, valid until the next call.
	Weigh(centres bool, scale []float64) []float64
	// Draw draws a row of a block by its weight, with one number of the stream.
	Draw(block int, stream *rng.Stream) (int, error)
	// Gains adds to sums[0] the weighted squared distances of all rows of the target, and to
	// sums[1+i] what the i-th of several candidates would take from it as a centre.
	Gains(sums []float64, candidates []int) error
}

// ClusterKeeper is what Centres may offer that keep the sizes of all clusters themselves.
type ClusterKeeper interface {
	// FarthestInLargest returns the farthest row of the largest clusters that have an
	// open row.
	FarthestInLargest() (Sum, error)
}

// RowDrawer is what Centres may offer that draw by squared distances themselves.
type RowDrawer interface {
	// DrawRow draws a row. It returns a row below 0 if there is none.
	DrawRow(stream *rng.Stream) (int, error)
}

// Sum is a cluster, summed up over some rows.
type Sum struct {
	Size float64
	Rows int     // unselected rows
	Open float64 // squared distances of those that are open
	Top  int     // the open row that is farthest from the centre; -1: none is open
	Far  float64 // its squared distance, per price if there are prices
}

// NoRows is the sum of a cluster over no rows.
var NoRows = Sum{Top: -1}

// merge adds the sum over later rows.
func (s *Sum) merge(later Sum) {
	s.Size += later.Size
	s.Rows += later.Rows
	s.Open += later.Open
	if later.Top >= 0 && (s.Top < 0 || later.Far > s.Far) {
		s.Top, s.Far = later.Top, later.Far
	}
}

// Directions knows the directions of the rows' features.
type Directions interface {
	// Sums adds all features to u, and returns r plus the norms of all rows.
	Sums(u []float64, r float64) float64
	// AddRow moves v towards a row of the pool, if v is kept where the rows are, and
	// returns false otherwise.
	AddRow(row int) bool
	// Best returns the open row of largest ⟨φ(x), u − v⟩/‖φ(x)‖, -∞ if only rows
	// without a direction are open, and whether the score of every row that has one
	// is 0. Rows that keep v take it, and r, from the first call.
	Best(u, v []float64, r float64) (best Found, zero bool, err error)
}

// Variances knows the variance φᵀSφ of each row under a covariance S of the
// weights, which starts as the identity.
type Variances interface {
	// Prior returns the largest variance of all rows, before the first step.
	Prior() float64
	// Scales returns the largest magnitude of each feature.
	Scales() []float64
	// Rebase computes all variances from the base of S, without its changes.
	Rebase(s *posterior.Covariance)
	// AddRow adds a row of the pool, if S is kept where the rows are, and returns the
	// row's variance before. Otherwise it returns false.
	AddRow(row int) (variance float64, done bool)
	// Step follows the latest change of S, to S − w·wᵀ, because a row was added: one of
	// the pool, or another if row is -1. It may keep the vectors of the changes, which
	// stay as they are.
	Step(s *posterior.Covariance, row int)
	// Best returns the open row of largest variance.
	Best() (Found, error)
	// At returns the variance of a row.
	At(row int) float64
}

// Totals knows c and v of each row of the pool (package selection, bait.go), for a root A of
// the covariance and the steps since then. The score of a row is v/(c + offset). The rows
// that Moments and Summed add up are the target or, without one, train and pool.
type Totals interface {
	totalSearch
	// Of writes c and v of other rows for A and AMAᵀ.
	Of(rows, a, inner matrix.Dense[float64], c, v []float64)
}

// totalSearch is Totals for one set of rows.
type totalSearch interface {
	// Prior returns the largest ‖φ(x)‖².
	Prior() float64
	// Moments adds Σ w(x)·ψ(x)ψ(x)ᵀ to m, with ψ = Aφ, or ψ = φ if a has no rows.
	Moments(m, a matrix.Dense[float64])
	// Summed adds Σ w(x)·⟨φ(x), y⟩² to the total of each of the given y.
	Summed(totals []float64, ys matrix.Dense[float64])
	// Rebase computes c and v for A and AMAᵀ, and returns the largest magnitude of v.
	Rebase(a, inner matrix.Dense[float64]) float64
	// AddRow adds a row of the pool, if the covariance is kept where the rows are, and
	// returns false otherwise.
	AddRow(row int) bool
	// Step does a step for all rows; w and p are its vectors, aw and ap are Aᵀw and
	// Aᵀp.
	Step(w, p, aw, ap []float64)
	// Best returns the open row of largest score, and its v.
	Best() (best Found, v float64, err error)
	// At returns the score of a row.
	At(row int) float64
}

// Pivots knows c and the column of B of each row (package selection, maxdet_kernel.go).
type Pivots interface {
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
	Best() (Found, error)
}

// PrecisePivots is Pivots with twice as many digits. Its c lacks the noise.
type PrecisePivots interface {
	Column(row int) (column double.Vector, c double.Number)
	// Add adds (k(·, x) − Bᵀcolumn)/pivot to B and lowers c. There is no σ²e_x: it
	// would matter for x alone, which is selected.
	Add(x matrix.Dense[float64], column double.Vector, pivot double.Number) error
	// Best returns the open row of largest c, which is cut off at zero.
	Best() (Found, error)
}

// KernelDirections knows c, u and v of each candidate (package selection,
// frankwolfe_kernel.go).
type KernelDirections interface {
	// Norms returns the sum of c.
	Norms() float64
	// At returns c, u and v of a candidate.
	At(candidate int) (c, u, v float64)
	// Step changes v to keep·v + weight·k(x, ·).
	Step(x int, keep, weight float64) error
	// Best returns what Directions.Best does, for the scores (u − v)/c.
	Best() (best Found, zero bool, err error)
}
