package space

// The inner seam: where the rows of a pool are. It is the seam of seam.go for the pool alone,
// with rows in place of candidates; the same contract holds.

import (
	"github.com/nextbatch/nextbatch/internal/place"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/matrix"
)

// poolRows are the rows of a pool. Rows are numbered from 0 as in the pool. A sum over rows
// is added block by block, in order, onto what the caller passes (blocks.go).
type poolRows[T matrix.Float] interface {
	Mark(row int, open, selected bool)
	// Row returns a row and its k(x, x). The caller must not write to them.
	Row(row int) (matrix.Dense[T], T)
	// Block returns the rows from from to to-1, all of one block of sums (blocks.go).
	// They are valid until the next call; the caller must not write to them.
	Block(from, to int) matrix.Dense[T]

	Largest() (Found, error)
	Nearest(size place.Size, lists bool) centreSearch[T]
	Directions() (Directions, error)
	Variances(sigma2 float64) (Variances, error)
	Totals(sigma2, offset float64) (totalSearch, error)
	Pivots(sigma2 float64) (Pivots, error)
	PrecisePivots() (PrecisePivots, error)
	KernelDirections() (kernelDirectionSearch, error)
}

// centreSearch is Centres for one set of rows.
type centreSearch[T matrix.Float] interface {
	// Add adds centres, with k(x, x) of each; first is the label of the first of them.
	Add(centres matrix.Dense[T], diag []T, first int) error
	Farthest() (Found, error)
	At(row int) (dist T, label int)
	Sum(sums []Sum, first int)
	Weigh(centres bool, scale []float64) []float64
	Draw(block int, stream *rng.Stream) (int, error)
	// Gains adds to sums[0] the weighted squared distances of all rows, and to
	// sums[1+i] what the i-th of several rows would take from it as a centre.
	Gains(sums []float64, rows matrix.Dense[T], diag []T) error
}

// kernelDirectionSearch is KernelDirections for one set of rows.
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
	// Best returns what Directions.Best does, for the scores (u − v)/c.
	Best() (best Found, zero bool, err error)
}
