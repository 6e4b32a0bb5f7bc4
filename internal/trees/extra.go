package trees

import (
	"context"
	"errors"
	"math"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/rng"
)

// ExtraConfig holds the options of extra trees. The zero value of each means its default.
type ExtraConfig struct {
	Trees   int     // number of trees
	MinLeaf float64 // smallest sum of weights in a leaf; the weights have mean 1
}

// DefaultExtra is how many extra trees there are by default.
const DefaultExtra = 300

func (c ExtraConfig) withDefaults() ExtraConfig {
	fill(&c.Trees, DefaultExtra)
	fill(&c.MinLeaf, 1)
	return c
}

func (c ExtraConfig) check() error {
	return errors.Join(
		inRange("Trees", float64(c.Trees), 1, maxTrees),
		inRange("MinLeaf", c.MinLeaf, 1e-3, math.MaxFloat64))
}

// FitExtraTrees learns the labels by extremely randomised trees (Geurts, Ernst and
// Wehenkel, 2006): each split draws one threshold per feature, between the smallest and
// the largest value of its rows, and takes the feature whose threshold lowers the squared
// error most. The prediction is the mean over the trees, each grown on all rows.
func FitExtraTrees(ctx context.Context, d Data, c ExtraConfig, seed uint64) (*Model, error) {
	t, err := newTraining(d)
	if err != nil {
		return nil, err
	}
	c = c.withDefaults()
	if err := c.check(); err != nil {
		return nil, err
	}
	trees := make([][]node, c.Trees)
	linalg.TeamOf(ctx).OverPieces(c.Trees, 1, func(i, _, _ int) {
		if ctx.Err() == nil {
			trees[i] = growExtra(t, c, rng.New(seed, "trees: extra trees", uint64(i)))
		}
	})
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	m := &Model{scale: t.scale, encoder: t.encoder}
	for _, tree := range trees {
		m.append(tree)
	}
	return m, nil
}

// extra is one tree that grows.
type extra struct {
	config   ExtraConfig
	stream   *rng.Stream
	features [][]float32 // by feature and row
	gaps     []bool      // of each feature: whether values are missing
	labels   []float64
	weights  []float64

	rows   []int32 // those of a node side by side
	spare  []int32
	values []float32 // of one feature and the rows of the present node
	sums   []binSums // weighted labels and weights of these rows
	// varying holds the features; those that are constant in the present node come last.
	varying []int32
	tree    []node
	leaves  int32
}

func growExtra(t *training, c ExtraConfig, stream *rng.Stream) []node {
	n := len(t.labels)
	x := &extra{config: c, stream: stream, features: t.ordered(stream), labels: t.labels, weights: t.weights,
		rows: make([]int32, n), spare: make([]int32, n), values: make([]float32, n), sums: make([]binSums, n)}
	for i := range x.rows {
		x.rows[i] = int32(i)
	}
	for j, f := range x.features {
		x.varying = append(x.varying, int32(j))
		x.gaps = append(x.gaps, hasGaps(f))
	}
	x.grow(x.rows, len(x.varying))
	return x.tree
}

func hasGaps(values []float32) bool {
	for _, v := range values {
		if v != v {
			return true
		}
	}
	return false
}

// grow appends the nodes for some rows. The first features of varying may vary in them.
func (x *extra) grow(rows []int32, features int) {
	all, pure := x.gather(rows)
	best := draw{}
	if !pure && all.weight >= 2*x.config.MinLeaf {
		best, features = x.search(rows, all, features)
	}
	if !best.found {
		value := all.residual / all.weight / float64(x.config.Trees)
		x.tree = append(x.tree, node{split: isLeaf, value: float32(value), next: x.leaves})
		x.leaves++
		return
	}
	at := len(x.tree)
	x.tree = append(x.tree, best.node())
	middle := x.partition(rows, best)
	x.grow(rows[:middle], features)
	x.tree[at].next = int32(len(x.tree))
	x.grow(rows[middle:], features)
}

// gather adds up the rows of a node and reports whether all have the same label.
func (x *extra) gather(rows []int32) (all binSums, pure bool) {
	pure = true
	first := x.labels[rows[0]]
	for k, r := range rows {
		y, w := x.labels[r], x.weights[r]
		x.sums[k] = binSums{w * y, w}
		all.residual += w * y
		all.weight += w
		pure = pure && y == first
	}
	return all, pure
}

// draw is a random split.
type draw struct {
	found       bool
	score       float64
	feature     int32
	threshold   float32
	missingLeft bool
}

func (d draw) node() node {
	n := node{split: 2 * d.feature, value: d.threshold}
	if d.missingLeft {
		n.split++
	}
	return n
}

// search draws a threshold for each feature and returns the best of these splits. It
// also returns the number of features that vary.
func (x *extra) search(rows []int32, all binSums, features int) (best draw, varying int) {
	for k := 0; k < features; {
		f := x.varying[k]
		low, high, missing := x.read(f, rows)
		if !(low < high) && (missing == 0 || missing == len(rows)) {
			features--
			x.varying[k], x.varying[features] = x.varying[features], f
			continue
		}
		k++
		threshold := float32(float64(low) + x.stream.Float64()*(float64(high)-float64(low)))
		if !(low < high) {
			threshold = largest // all values against missing ones
		} else if threshold >= high {
			threshold = low
		}
		x.try(&best, draw{feature: f, threshold: threshold}, len(rows), missing, all)
	}
	return best, features
}

// read copies the values of a feature and finds their range.
func (x *extra) read(f int32, rows []int32) (low, high float32, missing int) {
	column, values := x.features[f], x.values[:len(rows)]
	low, high = largest, -largest
	for k, r := range rows {
		v := column[r]
		values[k] = v
		if v < low {
			low = v
		}
		if v > high {
			high = v
		}
	}
	if x.gaps[f] {
		for _, v := range values {
			if v != v {
				missing++
			}
		}
	}
	return low, high, missing
}

// try replaces the best split if another one is better, with missing values on the better
// side. If the node has none, they go where most rows go.
func (x *extra) try(best *draw, d draw, n, missing int, all binSums) {
	left, gap := x.below(d.threshold, n, missing)
	if missing == 0 {
		d.missingLeft = 2*left.weight >= all.weight
	}
	x.judge(best, d, left, all)
	if missing > 0 && d.threshold < largest {
		d.missingLeft = true
		x.judge(best, d, binSums{left.residual + gap.residual, left.weight + gap.weight}, all)
	}
}

func (x *extra) judge(best *draw, d draw, left, all binSums) {
	right := binSums{all.residual - left.residual, all.weight - left.weight}
	if left.weight < x.config.MinLeaf || right.weight < x.config.MinLeaf {
		return
	}
	d.score = left.residual*left.residual/left.weight + right.residual*right.residual/right.weight
	if d.found = true; !best.found || d.score > best.score {
		*best = d
	}
}

// below adds up the rows with values up to the threshold, and those without a value.
func (x *extra) below(threshold float32, n, missing int) (left, gap binSums) {
	values, sums := x.values[:n], x.sums[:n]
	for k, v := range values {
		// A branch would be taken at random: the mask is all ones for values up to
		// the threshold, and 0 for others.
		var is uint64
		if v <= threshold {
			is = 1
		}
		left.residual += math.Float64frombits(math.Float64bits(sums[k].residual) & -is)
		left.weight += math.Float64frombits(math.Float64bits(sums[k].weight) & -is)
	}
	if missing > 0 {
		for k, v := range values {
			if v != v {
				gap.residual += sums[k].residual
				gap.weight += sums[k].weight
			}
		}
	}
	return left, gap
}

// partition moves the rows that go left to the front, both sides in their old order, and
// returns their number.
func (x *extra) partition(rows []int32, d draw) (middle int) {
	column, right := x.features[d.feature], x.spare[:0]
	for _, r := range rows {
		if v := column[r]; v <= d.threshold || v != v && d.missingLeft {
			rows[middle] = r
			middle++
		} else {
			right = append(right, r)
		}
	}
	copy(rows[middle:], right)
	return middle
}
