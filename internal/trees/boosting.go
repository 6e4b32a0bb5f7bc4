package trees

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/rng"
)

// BoostingConfig holds the options of gradient boosting. The zero value of each means
// its default.
type BoostingConfig struct {
	Rounds    int     // number of trees; by default cross-validation chooses it
	MaxRounds int     // largest number that cross-validation may choose
	Patience  int     // rounds without a lower validation error after which it stops
	Rate      float64 // share of each tree's correction that is applied
	Leaves    int     // largest number per tree
	MinLeaf   float64 // smallest sum of weights in a leaf; the weights have mean 1
	L2        float64 // added to the sum of weights of a leaf, which shrinks its value
	Features  float64 // share of the features that each tree may use
	Rows      float64 // share of the rows that each tree is grown on
	Bins      int     // largest number of bins per feature, at most 254
}

func (c BoostingConfig) withDefaults(rows int) BoostingConfig {
	fill(&c.MaxRounds, 1000)
	fill(&c.Patience, 50)
	fill(&c.Rate, 0.05)
	fill(&c.Leaves, 8)
	fill(&c.MinLeaf, 5)
	fill(&c.L2, 1)
	fill(&c.Features, 1)
	fill(&c.Rows, 0.8)
	fill(&c.Bins, 254)
	return c
}

func fill[T int | float64](option *T, byDefault T) {
	if *option == 0 {
		*option = byDefault
	}
}

// check reports all options that are out of range; defaults are filled in.
func (c BoostingConfig) check() error {
	return errors.Join(
		inRange("Rounds", float64(c.Rounds), 0, maxTrees),
		inRange("MaxRounds", float64(c.MaxRounds), 1, maxTrees),
		inRange("Patience", float64(c.Patience), 1, maxTrees),
		inRange("Rate", c.Rate, 1e-6, 1),
		inRange("Leaves", float64(c.Leaves), 2, 1<<20),
		inRange("MinLeaf", c.MinLeaf, 1e-3, math.MaxFloat64),
		inRange("L2", c.L2, 0, math.MaxFloat64),
		inRange("Features", c.Features, 1e-6, 1),
		inRange("Rows", c.Rows, 1e-6, 1),
		inRange("Bins", float64(c.Bins), 2, 254))
}

func inRange(name string, v, low, high float64) error {
	if v >= low && v <= high {
		return nil
	}
	return fmt.Errorf("trees: %s is %v, but it must be from %v to %v", name, v, low, high)
}

const (
	maxTrees = 1 << 20
	largest  = math.MaxFloat32
	// orders is the number of random orders of the rows in which target statistics
	// are computed. Trees take turns.
	orders = 4
)

// FitBoosting learns the labels by gradient boosting: each tree is fitted to the
// residuals of those before it. If the number of rounds is not given, 5-fold
// cross-validation chooses it first.
func FitBoosting(ctx context.Context, d Data, c BoostingConfig, seed uint64) (*Model, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	if c.Rounds == 0 && len(d.Labels) > 1 {
		crossed, err := CrossFitBoosting(ctx, d, folds(len(d.Labels), seed), c, seed)
		if err != nil {
			return nil, err
		}
		c.Rounds = crossed.Rounds
	}
	b, err := newBooster(linalg.TeamOf(ctx), d, c, seed)
	if err != nil {
		return nil, err
	}
	for range c.Rounds {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		b.round()
	}
	return b.model, nil
}

// booster is a boosting in progress.
type booster struct {
	config    BoostingConfig
	seed      uint64
	model     *Model
	encodings []encoding // of the training rows, one for each order
	grower    *grower
	sample    []int32
}

// encoding is the features of the training rows and their bins.
type encoding struct {
	features [][]float32
	codes    [][]uint8
}

func newBooster(team *linalg.Team, d Data, c BoostingConfig, seed uint64) (*booster, error) {
	t, err := newTraining(d)
	if err != nil {
		return nil, err
	}
	n := len(t.labels)
	c = c.withDefaults(n)
	if err := c.check(); err != nil {
		return nil, err
	}
	b := &booster{config: c, seed: seed, model: &Model{scale: t.scale, encoder: t.encoder}}
	b.grower = &grower{team: team, config: c, weights: t.weights, residuals: make([]float64, n),
		spare: make([]int32, n), ordered: make([]binSums, n)}
	for i, y := range t.labels {
		b.grower.residuals[i] = t.weights[i] * y
	}
	b.encode(t)
	return b, nil
}

// encode computes the features in each order, the bins over all of them, and the codes.
func (b *booster) encode(t *training) {
	n := 1
	if t.hasStatistics() {
		n = orders
	}
	for k := range n {
		features := t.ordered(rng.New(b.seed, "trees: order for boosting", uint64(k)))
		b.encodings = append(b.encodings, encoding{features, make([][]uint8, len(features))})
	}
	g := b.grower
	g.offsets = []int{0}
	for j := range t.features {
		values := b.encodings[0].features[j]
		for _, e := range b.encodings[1:] {
			if t.features[j] == nil {
				values = append(values[:len(values):len(values)], e.features[j]...)
			}
		}
		g.bins = append(g.bins, newBins(values, b.config.Bins))
		g.offsets = append(g.offsets, g.offsets[j]+g.bins[j].count())
		for k, e := range b.encodings {
			if e.codes[j] = b.encodings[0].codes[j]; k == 0 || t.features[j] == nil {
				e.codes[j] = g.bins[j].codes(e.features[j])
			}
		}
	}
}

func (b bins) codes(values []float32) []uint8 {
	codes := make([]uint8, len(values))
	for i, v := range values {
		codes[i] = b.of(v)
	}
	return codes
}

// round adds a tree.
func (b *booster) round() {
	number := b.model.Trees()
	g, e := b.grower, b.encodings[number%len(b.encodings)]
	stream := rng.New(b.seed, "trees: boosting", uint64(number))
	g.codes = e.codes
	g.features = choose(stream, g.features[:0], len(g.bins), b.config.Features)
	b.sample = choose(stream, b.sample[:0], len(g.residuals), b.config.Rows)
	root := g.grow(b.sample)
	var leaves int32
	tree := g.flatten(nil, root, &leaves)
	b.model.append(tree)
	b.update(tree, root, e)
}

// update subtracts the new tree from the residuals.
func (b *booster) update(tree []node, root *branch, e encoding) {
	for i := range b.grower.residuals {
		v := leafOf(tree, e.features, i).value
		b.grower.residuals[i] -= b.grower.weights[i] * float64(v)
	}
}

// leafOf is leaf for features that are stored by column.
func leafOf(tree []node, features [][]float32, row int) *node {
	at := int32(0)
	for {
		n := &tree[at]
		if n.split < 0 {
			return n
		}
		v := features[n.split>>1][row]
		if v <= n.value || v != v && n.split&1 == 1 {
			at++
		} else {
			at = n.next
		}
	}
}

// choose appends a random share of the numbers below n, at least one, in ascending order.
func choose[T int | int32](stream *rng.Stream, to []T, n int, share float64) []T {
	wanted := max(1, int(math.Round(share*float64(n))))
	for i := range n {
		if wanted == n-i || stream.Float64()*float64(n-i) < float64(wanted) {
			to = append(to, T(i))
			wanted--
		}
	}
	return to
}
