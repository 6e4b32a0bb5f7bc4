package gp

// Out-of-fold predictions in closed form. Let B be the rows and columns of C^{-1} that
// belong to the fold S. Given all labels but those of S, the labels of S are normal with
// the covariance v·B^{-1}, and their mean differs from them by B^{-1}·α_S. So the labels
// of other folds need no factorisation of their own.

import (
	"context"
	"fmt"
	"slices"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/matrix"
)

// OutOfFold returns what the process predicts for each labelled row from the rows of
// other folds: the posterior mean and variance of the function, as Predict. folds has the
// number of each row's fold; a fold of its own for each row is leave-one-out.
//
// The hyperparameters, and the mean and deviation by which labels are standardised, are
// those that were fitted to all labels, so the errors are too small where labels are few: on twenty
// real tables, five folds of 64 labels have errors that are 10 to 20 % below those of new rows, and 256
// labels the same as new rows. The time does not depend much on the number of folds: it is about that of two
// factorisations.
func (m *Model) OutOfFold(ctx context.Context, folds []int) (mean, variance []float64, err error) {
	n := len(m.data.Labels)
	if len(folds) != n {
		return nil, nil, fmt.Errorf("%d numbers of folds for %d labelled rows", len(folds), n)
	}
	team, inverse := linalg.TeamOf(ctx), m.factor.Clone()
	if err := linalg.InvertLower(team, inverse); err != nil {
		return nil, nil, err
	}
	mean, variance = make([]float64, n), make([]float64, n)
	for _, rows := range membersOf(folds) {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		if err := m.holdOut(team, mean, variance, inverse, rows); err != nil {
			return nil, nil, err
		}
	}
	return mean, variance, nil
}

// membersOf returns the rows of each fold, in the order of the folds' numbers.
func membersOf(folds []int) (members [][]int) {
	rows := map[int][]int{}
	for i, f := range folds {
		rows[f] = append(rows[f], i)
	}
	numbers := make([]int, 0, len(rows))
	for f := range rows {
		numbers = append(numbers, f)
	}
	slices.Sort(numbers)
	for _, f := range numbers {
		members = append(members, rows[f])
	}
	return members
}

// holdOut writes the predictions for the rows of one fold.
func (m *Model) holdOut(team *linalg.Team, mean, variance []float64, inverse matrix.Dense[float64], rows []int) error {
	k := len(rows)
	columns, residual := matrix.New[float64](inverse.Rows, k), make([]float64, k)
	for i := range inverse.Rows {
		to, from := columns.Row(i), inverse.Row(i)
		for c, r := range rows {
			to[c] = from[r]
		}
	}
	for c, r := range rows {
		residual[c] = m.alpha[r]
	}
	factor := matrix.New[float64](k, k) // of B
	linalg.Syrk(team, factor, 1, columns, linalg.Trans, 0)
	if err := linalg.Cholesky(team, factor); err != nil {
		return err
	}
	if err := linalg.SolveLowerVec(residual, factor, linalg.NoTrans); err != nil {
		return err
	}
	if err := linalg.SolveLowerVec(residual, factor, linalg.Trans); err != nil {
		return err
	}
	if err := linalg.InvertLower(team, factor); err != nil {
		return err
	}
	for c, r := range rows {
		own := 0.0 // of B^{-1}
		for i := c; i < k; i++ {
			own += square(factor.At(i, c))
		}
		mean[r] = m.data.Labels[r] - m.deviation*residual[c]
		variance[r] = m.signal * square(m.deviation) * max(0, own-m.sample.noise(&m.ratios, r))
	}
	return nil
}
