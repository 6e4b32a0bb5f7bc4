package trees

import (
	"context"
	"fmt"
	"math"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/matrix"
)

// CrossFitted is what CrossFitBoosting returns.
type CrossFitted struct {
	Rounds      int         // with the lowest error on the held-out rows, over all models
	Models      []*Model    // one for each list of held-out rows, with that many trees
	Predictions [][]float64 // of each model, for the rows that it has not seen
}

// CrossFitBoosting fits one model for each list of held-out rows, on all other rows. The
// models grow side by side until their common error on held-out rows has not fallen for
// a number of rounds. With one list, this is early stopping on held-out rows.
func CrossFitBoosting(ctx context.Context, d Data, held [][]int, c BoostingConfig, seed uint64) (*CrossFitted, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	r := race{config: c.withDefaults(len(d.Labels))}
	for i, rows := range held {
		one, err := newRunner(linalg.TeamOf(ctx), d, rows, r.config, seed)
		if err != nil {
			return nil, fmt.Errorf("held-out rows, list %d: %w", i, err)
		}
		r.runners = append(r.runners, one)
	}
	if len(held) == 0 {
		return nil, fmt.Errorf("trees: there are no held-out rows to choose the number of rounds by")
	}
	if err := r.run(ctx); err != nil {
		return nil, err
	}
	return r.result(ctx, d, held)
}

// folds cuts n rows into at most five lists at random.
func folds(n int, seed uint64) [][]int {
	held := make([][]int, min(5, n))
	for i, r := range rng.New(seed, "trees: folds").Perm(n) {
		held[i%len(held)] = append(held[i%len(held)], r)
	}
	return held
}

// race is several boostings that grow side by side.
type race struct {
	config  BoostingConfig
	runners []*runner
	best    int // round with the lowest error
	lowest  float64
}

// runner is one boosting and its held-out rows.
type runner struct {
	booster *booster
	rows    matrix.Dense[float32] // features of the held-out rows
	weights []float64
	unit    float64   // of the model's labels, relative to the largest label of all rows
	left    []float64 // residuals of the held-out rows, relative to that label, too
	errors  []float64 // weighted sum of squared residuals after each round
}

func newRunner(team *linalg.Team, d Data, held []int, c BoostingConfig, seed uint64) (*runner, error) {
	out := make([]bool, len(d.Labels))
	for _, r := range held {
		if r < 0 || r >= len(out) || out[r] {
			return nil, fmt.Errorf("trees: row %d is listed twice or is not a row", r)
		}
		out[r] = true
	}
	var train []int
	for r := range out {
		if !out[r] {
			train = append(train, r)
		}
	}
	b, err := newBooster(team, d.Subset(train), c, seed)
	if err != nil {
		return nil, err
	}
	h := d.Subset(held)
	most := largestOf(d.Labels)
	r := &runner{booster: b, rows: b.model.encoder.encode(h.Inputs), weights: h.Weights,
		unit: b.model.scale.unit / most, left: h.Labels}
	for i, y := range r.left {
		r.left[i] = y/most - b.model.scale.offset/most
	}
	r.errors = []float64{r.error()}
	return r, nil
}

// largestOf returns the largest absolute value, or 1 if all are 0. Relative to it, squares
// of labels of any size are finite.
func largestOf(labels []float64) float64 {
	most := 0.0
	for _, y := range labels {
		most = max(most, math.Abs(y))
	}
	if most == 0 {
		return 1
	}
	return most
}

func (r *runner) error() float64 {
	sum := 0.0
	for i, v := range r.left {
		w := 1.0
		if r.weights != nil {
			w = r.weights[i]
		}
		sum += w * v * v
	}
	return sum
}

// step adds some trees.
func (r *runner) step(rounds int) {
	for range rounds {
		r.booster.round()
		m := r.booster.model
		tree := m.tree(m.Trees() - 1)
		for i := range r.left {
			r.left[i] -= r.unit * float64(leaf(tree, r.rows.Row(i)).value)
		}
		r.errors = append(r.errors, r.error())
	}
}

// stride is the number of rounds after which the models meet. The context is checked as
// often.
const stride = 10

func (r *race) run(ctx context.Context) error {
	r.judge(0)
	for done := 0; done < r.config.MaxRounds && done-r.best < r.config.Patience; {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		rounds := min(stride, r.config.MaxRounds-done)
		linalg.TeamOf(ctx).OverPieces(len(r.runners), 1, func(i, _, _ int) { r.runners[i].step(rounds) })
		for range rounds {
			done++
			r.judge(done)
		}
	}
	return nil
}

// judge compares the common error after a round with the lowest so far.
func (r *race) judge(round int) {
	sum := 0.0
	for _, one := range r.runners {
		sum += one.errors[round]
	}
	if round == 0 || sum < r.lowest {
		r.best, r.lowest = round, sum
	}
}

func (r *race) result(ctx context.Context, d Data, held [][]int) (*CrossFitted, error) {
	c := &CrossFitted{Rounds: r.best}
	for i, one := range r.runners {
		m := one.booster.model
		m.truncate(r.best)
		p, err := m.Predict(ctx, d.Inputs.SelectRows(held[i]))
		if err != nil {
			return nil, err
		}
		c.Models, c.Predictions = append(c.Models, m), append(c.Predictions, p)
	}
	return c, nil
}
