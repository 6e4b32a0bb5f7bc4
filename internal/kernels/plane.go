package kernels

// The plane in which rows vary most (kernel principal component analysis). With
// a sample s of n rows and the eigenvalues λ_1 ≥ λ_2 of its centred matrix
// H·k(s, s)·H, v_1 and v_2 the eigenvectors, the row x has the coordinates
//
//	c_k(x) = λ_k^(−1/2)·Σ_i v_k[i]·(k(x, s_i) − m(x) − m(s_i) + m)
//
// where m(x) is the mean of k(x, s_j) over j, and m that of m(s_i) over i. For a
// kernel with features these are the first two principal components of φ.

import (
	"context"
	"math"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
)

// Plane places rows in two dimensions: row i of At holds the two coordinates of
// row i. Share is the fraction of the sample's variance along each coordinate.
type Plane struct {
	At    matrix.Dense[float64]
	Share [2]float64
}

// PrincipalPlane computes the principal plane of the sample and the coordinates
// of the rows in it. A direction without variance has zeros. The work is cubic
// in the size of the sample. The context is checked once per block of rows.
func PrincipalPlane[T matrix.Float](ctx context.Context, k kernel.Kernel[T], sample,
	rows matrix.Dense[T]) (Plane, error) {
	p := Plane{At: matrix.New[float64](rows.Rows, 2)}
	if sample.Rows == 0 {
		return p, nil
	}
	prepared, sets, err := Prepare(ctx, k, sample, rows)
	if err != nil {
		return p, err
	}
	axes, err := newAxes(ctx, prepared, sets[0])
	if err != nil {
		return p, err
	}
	p.Share = axes.share
	var scratch Scratch[T]
	return p, kernel.OverBlocks(ctx, rows.Rows, func(from, to int) error {
		block := scratch.Matrix(to-from, sample.Rows)
		if err := prepared.Cross(ctx, block, sets[1].Slice(from, to), sets[0]); err != nil {
			return err
		}
		for i := range block.Rows {
			axes.place(p.At.Row(from+i), matrix.Converted[float64](block.Slice(i, i+1)).Row(0))
		}
		return nil
	})
}

// axes are the two directions, expressed in the sample.
type axes struct {
	means   []float64 // m(s_i)
	mean    float64   // m
	vectors [2][]float64
	share   [2]float64
}

func newAxes[T matrix.Float](ctx context.Context, k kernel.Kernel[T], sample matrix.Dense[T]) (*axes, error) {
	gram, err := gramMatrix(ctx, k, sample)
	if err != nil {
		return nil, err
	}
	a := &axes{means: make([]float64, gram.Cols)}
	linalg.ColumnMeans(linalg.TeamOf(ctx), a.means, gram)
	for _, m := range a.means {
		a.mean += m / float64(len(a.means))
	}
	centreGram(ctx, gram)
	values, vectors := make([]float64, gram.Rows), matrix.New[float64](gram.Rows, gram.Rows)
	if err := linalg.SymEigen(linalg.TeamOf(ctx), values, vectors, gram); err != nil {
		return nil, err
	}
	total := 0.0
	for _, v := range values {
		total += math.Max(v, 0)
	}
	for d := range a.vectors {
		a.vectors[d] = make([]float64, gram.Rows)
		at := len(values) - 1 - d
		if at < 0 || !(values[at] > 1e-12*total) {
			continue
		}
		simd.For[float64]().Axpy(a.vectors[d], vectors.Row(at), 1/math.Sqrt(values[at]))
		a.share[d] = values[at] / total
	}
	return a, nil
}

// place computes the coordinates of a row from its kernel values with the
// sample, and centres those values in place.
func (a *axes) place(at, values []float64) {
	own := 0.0
	for _, v := range values {
		own += v / float64(len(values))
	}
	for i := range values {
		values[i] += a.mean - own - a.means[i]
	}
	for d, v := range a.vectors {
		at[d] = simd.For[float64]().Dot(values, v)
	}
}

// gramMatrix returns k(X, X).
func gramMatrix[T matrix.Float](ctx context.Context, k kernel.Kernel[T],
	rows matrix.Dense[T]) (matrix.Dense[float64], error) {
	own := matrix.New[T](rows.Rows, rows.Rows)
	if err := k.Cross(ctx, own, rows, rows); err != nil {
		return matrix.Dense[float64]{}, err
	}
	return matrix.Converted[float64](own), nil
}

// centreGram replaces a kernel matrix K by H·K·H, where H subtracts from each vector its mean.
func centreGram(ctx context.Context, gram matrix.Dense[float64]) {
	means, mean := make([]float64, gram.Cols), 0.0
	linalg.ColumnMeans(linalg.TeamOf(ctx), means, gram)
	for _, m := range means {
		mean += m / float64(len(means))
	}
	for i := range gram.Rows {
		row := gram.Row(i)
		for j := range row {
			row[j] += mean - means[i] - means[j]
		}
	}
}
