package learner

import (
	"context"
	"slices"

	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/internal/trees"
	"github.com/nextbatch/nextbatch/matrix"
)

// Labelled rows that a method picked are unlike the rest of the pool, on which the model will be used.
// With π(x) the share of pool rows among labelled and pool rows near x, where both sets count alike,
// labelled row i stands for
//
//	v_i ∝ π(x_i)/(1 - π(x_i))
//
// rows of the pool. Boosting learns π, and predicts each row out of fold. Where it cannot tell the two sets
// apart, as for labels that were drawn at random, it grows no trees, and all rows count alike. The weights of the
// blend, the errors of the candidates and the intervals are of rows that count v_i.

const (
	fewestToWeigh = 40   // labels: with fewer, boosting cannot tell the sets apart
	poolSample    = 2000 // rows of the pool that boosting sees
	mostStand     = 5.0  // the most, and the inverse of the least, that v_i may be before its mean is 1
)

// weighByPool sets how many rows of the pool each labelled row stands for. Nil means that all stand for
// as many.
func (t *Task) weighByPool(ctx context.Context, pool matrix.Dense[float32]) error {
	n := t.Rows.Len()
	if n < fewestToWeigh || pool.Rows < fewestToWeigh {
		return nil
	}
	if pool.Rows > poolSample {
		pool = pool.SelectRows(rng.New(t.Seed, "learner pool").Perm(pool.Rows)[:poolSample])
	}
	data, fold := t.forTrees()
	data.Inputs = matrix.Stack(data.Inputs, fold.rows(scaledBy(t.Scaling, pool).Scaled))
	data.Labels, data.Weights = make([]float64, n+pool.Rows), make([]float64, n+pool.Rows)
	folds := make([][]int, len(t.Folds))
	for k, held := range t.Folds {
		folds[k] = append(folds[k], held...)
	}
	for i := range data.Labels {
		data.Weights[i] = 1
		if i >= n {
			data.Labels[i], data.Weights[i] = 1, float64(n)/float64(pool.Rows)
			folds[i%len(folds)] = append(folds[i%len(folds)], i)
		}
	}
	crossed, err := trees.CrossFitBoosting(ctx, data, folds, trees.BoostingConfig{}, t.Seed)
	if err != nil || crossed.Rounds == 0 {
		return err
	}
	t.Stand = make([]float64, n)
	for k, held := range t.Folds {
		for i, row := range held {
			p := crossed.Predictions[k][i]
			t.Stand[row] = min(max(p/max(1-p, 1e-9), 1/mostStand), mostStand)
		}
	}
	normalise(t.Stand)
	return nil
}

// Labelled rows that were drawn from the pool at random are like the rest of it, whatever the inputs show, so intervals
// rely on them. The others count less, but they are many: with random rows alone, chance would decide the length. On 28
// replayed campaigns of 256 labels, 88 of them random, a quarter, a half and 1 were about equally good, and better than
// 0.
const (
	fewestRandom = 24   // labels: with fewer, all count alike
	pickedShare  = 0.25 // of a row that was picked, times what it stands for
)

// calibrating returns how much each of some rows counts for the intervals, 1 on average, and how many of them were
// drawn at random, if that makes a difference. Nil means that all count alike.
func (t *Task) calibrating(rows []int) (counts []float64, random int) {
	if counts = t.stand(rows); t.countRandom() >= fewestRandom {
		if counts == nil {
			counts = slices.Repeat([]float64{1}, len(rows))
		}
		for i, row := range rows {
			if t.Random[row] {
				counts[i] = 1
				random++
			} else {
				counts[i] *= pickedShare
			}
		}
	}
	if random == len(rows) {
		return t.stand(rows), 0
	}
	if counts != nil {
		normalise(counts)
	}
	return counts, random
}

// countRandom returns how many of the labelled rows are known to be random.
func (t *Task) countRandom() (n int) {
	for row, random := range t.Random {
		if random && !t.unlabelled(row) {
			n++
		}
	}
	return n
}

// normalise makes the mean of numbers 1.
func normalise(v []float64) {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	for i := range v {
		v[i] *= float64(len(v)) / sum
	}
}
