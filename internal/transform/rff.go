package transform

// Random Fourier features (Rahimi and Recht, 2007). A stationary kernel is v times the
// mean of cos ⟨ω, x − x'⟩ over its frequencies ω (kernels.Spectrum). With m frequencies that
// are drawn from them, the features
//
//	√(v/m)·(cos ⟨ω_1, x⟩, sin ⟨ω_1, x⟩, …, cos ⟨ω_m, x⟩, sin ⟨ω_m, x⟩)
//
// have the mean of v·cos ⟨ω_i, x − x'⟩ as their inner product, and exactly v as their squared
// norm. In a sum of stationary kernels, the variance of each term is its share of the
// frequencies, and v is the sum of the variances.

import (
	"context"
	"errors"
	"math"

	"github.com/nextbatch/nextbatch/internal/kernels"
	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
)

// RandomFourier returns a map of n random features whose kernel is close to k, which must be
// stationary or a sum of stationary kernels. Each frequency has two features, so n must be
// even. Numbers are drawn frequency by frequency.
func RandomFourier[T matrix.Float](k kernel.Kernel[T], n int, from kernel.Normals) (kernel.FeatureMap[T], error) {
	const op = "rff"
	if n < 2 || n%2 != 0 {
		return nil, &ParameterError{Op: op, Name: "the number of features n", Value: float64(n), Want: "positive and even"}
	}
	terms, ok := kernels.SpectraOf(k)
	if !ok {
		return nil,
			errors.New("rff: only stationary kernels, such as rbf, matern and laplace, have frequencies to draw, and this " +
				"kernel is not one")
	}
	if from == nil {
		panic(rng.NilError{Op: "transform"})
	}
	variance := 0.0
	for _, s := range terms {
		variance += s.Variance
	}
	m := &waves[T]{frequencies: matrix.New[T](n/2, k.Inputs()), scale: T(math.Sqrt(variance / float64(n/2)))}
	for i, term := range shares(terms, variance, n/2, from) {
		drawFrequency(m.frequencies.Row(i), terms[term], from)
	}
	return kernel.NewFeatureMap[T](m), nil
}

// shares returns the term of each of m frequencies: on average as many for each term as its share
// of the variance, and never a whole one more or less.
func shares(terms []kernels.Spectrum, variance float64, m int, from kernel.Normals) []int {
	of := make([]int, m)
	if len(terms) == 1 {
		return of
	}
	offset := math.Erfc(from.NormFloat64()/math.Sqrt2) / 2 // uniform in [0, 1]
	term, end := 0, terms[0].Variance
	for i := range of {
		at := (float64(i) + offset) / float64(m) * variance
		for at > end && term < len(terms)-1 {
			term++
			end += terms[term].Variance
		}
		of[i] = term
	}
	return of
}

// drawFrequency draws ω from a spectrum: normal numbers over the root of the mean of as many
// squared ones as there are degrees of freedom.
func drawFrequency[T matrix.Float](dst []T, s kernels.Spectrum, from kernel.Normals) {
	stretch := 1.0
	if !math.IsInf(s.Freedom, 1) {
		sum := 0.0
		for range int(s.Freedom) {
			z := from.NormFloat64()
			sum += z * z
		}
		stretch = math.Sqrt(s.Freedom / sum)
	}
	for j, over := range s.Over {
		dst[j] = T(from.NormFloat64() * stretch * over)
	}
}

// waves is the feature map.
type waves[T matrix.Float] struct {
	frequencies matrix.Dense[T] // one per row
	scale       T
	angles      kernels.Scratch[T]
}

func (m *waves[T]) Inputs() int { return m.frequencies.Cols }
func (m *waves[T]) Dim() int    { return 2 * m.frequencies.Rows }

func (m *waves[T]) Features(ctx context.Context, dst, rows matrix.Dense[T]) error {
	if err := kernel.CheckRows(ctx, rows, m.Inputs()); err != nil {
		return err
	}
	team, angles := linalg.TeamOf(ctx), m.angles.Matrix(rows.Rows, m.frequencies.Rows)
	linalg.Gemm(team, angles, 1, rows, linalg.NoTrans, m.frequencies, linalg.Trans, 0)
	team.Run(rows.Rows, &waveJob[T]{dst, angles, m.scale})
	return nil
}

// waveJob writes cosines and sines. Each of its parts is one row.
type waveJob[T matrix.Float] struct {
	dst, angles matrix.Dense[T]
	scale       T
}

func (j *waveJob[T]) Do(i, _ int) {
	dst := j.dst.Row(i)
	for k, angle := range j.angles.Row(i) {
		sin, cos := math.Sincos(float64(angle))
		dst[2*k], dst[2*k+1] = j.scale*T(cos), j.scale*T(sin)
	}
}
