package kernel

import (
	"context"

	"github.com/nextbatch/nextbatch/matrix"
)

// Learnt is what other learners than networks have learnt from the labelled rows. Kernels
// use it as it is and fit nothing again. All of it takes rows as the kernels see them.
type Learnt struct {
	Processes []Process // the fitted Gaussian process of each target; empty where there is none
	Leaves    Leaves    // fitted trees; nil where there are none
	Members   Members   // the members of an ensemble; nil where there are none
}

// Process is the stationary part of a fitted Gaussian process, and the variance of the
// noise in the same unit, the square of that of the labels.
type Process struct {
	Stationary
	Noise float64
}

// Shape is how a stationary kernel falls with the distance.
type Shape int

const (
	RBF      Shape = iota // infinitely smooth; also called Gaussian or squared exponential
	Matern52              // twice differentiable
)

// Stationary describes a kernel that depends on x − x' alone.
type Stationary struct {
	Shape    Shape
	Variance float64   // v = k(x, x)
	Lengths  []float64 // ℓ_j, one for each input
}

// Leaves are fitted trees as the leaf kernel needs them. The kernel calls them from one
// goroutine at a time. The same row must be in the same leaves in whatever block it comes.
type Leaves interface {
	// Inputs is the width of a row.
	Inputs() int
	// Sizes are the numbers of leaves of the trees.
	Sizes() []int
	// Leaves returns, row by row, the number of the leaf in each tree, from 0.
	Leaves(ctx context.Context, rows matrix.Dense[float32]) ([]int32, error)
}

// Members are the members of an ensemble as the kernel of their predictions needs them.
// The kernel calls them from one goroutine at a time. The same row must get the same
// predictions in whatever block it comes.
type Members interface {
	// Inputs is the width of a row.
	Inputs() int
	// Members is their number.
	Members() int
	// Predictions returns the prediction of each member (across) for each row (down), in
	// deviations of the label.
	Predictions(ctx context.Context, rows matrix.Dense[float32]) (matrix.Dense[float32], error)
}
