package trees

import (
	"slices"

	"github.com/nextbatch/nextbatch/internal/linalg"
)

// binSums are the sums over the rows of a leaf whose feature lies in one bin: of the
// weighted residuals and of the weights.
type binSums struct{ residual, weight float64 }

// branch is a node of a tree that grows: a leaf as long as it has no children.
type branch struct {
	from, to    int // its rows
	sum         binSums
	histogram   []binSums
	best        split
	left, right *branch
}

// split is the best way found to divide a leaf; without any, its gain is 0.
type split struct {
	gain        float64
	feature     int
	bin         int // the last one that goes left
	missingLeft bool
}

// grower grows trees leaf by leaf on binned features (as LightGBM does): the leaf whose
// split lowers the squared error most is divided next.
type grower struct {
	team     *linalg.Team
	config   BoostingConfig
	bins     []bins    // of each feature
	codes    [][]uint8 // of each feature: the bin of each row
	offsets  []int     // where the bins of each feature start in a histogram
	features []int     // those that the present tree may use

	residuals, weights []float64 // by row

	rows    []int32 // of the present tree, those of a leaf side by side
	spare   []int32
	ordered []binSums   // residuals and weights of one leaf, in the order of its rows
	free    [][]binSums // histograms that may be reused
}

// smallestGain is the smallest gain of a split. The labels have variance 1, so this is
// rounding noise.
const smallestGain = 1e-9

// grow returns the root of a tree for the rows, and leaves them in g.rows in the order of
// its leaves.
func (g *grower) grow(rows []int32) *branch {
	g.rows = rows
	root := &branch{to: len(rows)}
	root.histogram = g.histogram()
	g.fill(root)
	for _, c := range g.binsOf(root.histogram, g.features[0]) {
		root.sum.residual += c.residual
		root.sum.weight += c.weight
	}
	g.search(root)
	leaves := []*branch{root}
	for len(leaves) < g.config.Leaves {
		at := widest(leaves)
		if leaves[at].best.gain == 0 {
			break
		}
		g.divide(leaves[at], len(leaves)+1 < g.config.Leaves)
		leaves = append(leaves, leaves[at].right)
		leaves[at] = leaves[at].left
	}
	for _, l := range leaves {
		g.release(l)
	}
	return root
}

// widest returns the first leaf with the largest gain.
func widest(leaves []*branch) int {
	at := 0
	for i, l := range leaves {
		if l.best.gain > leaves[at].best.gain {
			at = i
		}
	}
	return at
}

// divide splits a leaf. The histogram of the larger child is that of the leaf minus that
// of the smaller one. If the children cannot be split later, they need no histograms.
func (g *grower) divide(b *branch, further bool) {
	middle, left := g.partition(b)
	b.left = &branch{from: b.from, to: middle, sum: left}
	b.right = &branch{from: middle, to: b.to, sum: binSums{b.sum.residual - left.residual, b.sum.weight - left.weight}}
	if !further {
		g.release(b)
		return
	}
	small, large := b.left, b.right
	if small.to-small.from > large.to-large.from {
		small, large = large, small
	}
	large.histogram, b.histogram = b.histogram, nil
	if large.to-large.from < 2 || !g.divisible(large) { // so the small one cannot be split either
		return
	}
	small.histogram = g.histogram()
	g.fill(small)
	g.subtract(large.histogram, small.histogram)
	g.search(small)
	g.search(large)
}

// divisible reports whether both children of a leaf can be large enough.
func (g *grower) divisible(b *branch) bool { return b.sum.weight >= 2*g.config.MinLeaf }

// partition moves the rows that go left to the front, both sides in their old order. It
// returns where the right side starts, and the sums of the left side.
func (g *grower) partition(b *branch) (middle int, left binSums) {
	codes, last, missing := g.codes[b.best.feature], uint8(b.best.bin), b.best.missingLeft
	rows, right := g.rows[b.from:b.to], g.spare[:0]
	k := 0
	for _, r := range rows {
		if c := codes[r]; c <= last && c > 0 || c == 0 && missing {
			rows[k] = r
			k++
		} else {
			right = append(right, r)
		}
	}
	copy(rows[k:], right)
	for bin, c := range g.binsOf(b.histogram, b.best.feature)[:last+1] {
		if bin > 0 || missing {
			left.residual += c.residual
			left.weight += c.weight
		}
	}
	return b.from + k, left
}

// manyCells is the number of rows times features from which more than one thread works
// on a histogram.
const manyCells = 1 << 16

// fill computes the histogram of a leaf from its rows.
func (g *grower) fill(b *branch) {
	rows := g.rows[b.from:b.to]
	ordered := g.ordered[:len(rows)]
	for k, r := range rows {
		ordered[k] = binSums{g.residuals[r], g.weights[r]}
	}
	one := func(_, from, to int) {
		for _, f := range g.features[from:to] {
			count(g.binsOf(b.histogram, f), g.codes[f], rows, ordered)
		}
	}
	if len(rows)*len(g.features) < manyCells {
		one(0, 0, len(g.features))
		return
	}
	g.team.OverPieces(len(g.features), 1, one)
}

func count(h []binSums, codes []uint8, rows []int32, ordered []binSums) {
	clear(h)
	ordered = ordered[:len(rows)]
	for k, r := range rows {
		c := &h[codes[r]]
		c.residual += ordered[k].residual
		c.weight += ordered[k].weight
	}
}

func (g *grower) subtract(from, what []binSums) {
	for _, f := range g.features {
		a, b := g.binsOf(from, f), g.binsOf(what, f)
		for i := range a {
			a[i].residual -= b[i].residual
			a[i].weight -= b[i].weight
		}
	}
}

// search finds the best split of a leaf.
func (g *grower) search(b *branch) {
	if b.to-b.from < 2 || !g.divisible(b) {
		return
	}
	s := search{l2: g.config.L2, least: g.config.MinLeaf, all: b.sum}
	s.floor = s.score(b.sum) + smallestGain
	s.top = s.floor
	for _, f := range g.features {
		s.over(f, g.binsOf(b.histogram, f))
	}
	if b.best = s.best; s.top > s.floor {
		b.best.gain = s.top - s.floor
	}
}

// search is the state of one search over the splits of a leaf.
type search struct {
	l2, least  float64
	all        binSums
	floor, top float64 // scores without a split, and of the best one
	best       split
}

// score is what a leaf with these sums subtracts from the squared error.
func (s *search) score(c binSums) float64 { return c.residual * c.residual / (c.weight + s.l2) }

// over tries all splits between the bins of a feature, with missing values on the right
// and, if there are any, on the left.
func (s *search) over(feature int, h []binSums) {
	s.sweep(feature, h, binSums{}, false)
	if h[0].weight > 0 {
		s.sweep(feature, h, h[0], true)
	}
}

func (s *search) sweep(feature int, h []binSums, left binSums, missingLeft bool) {
	// Where missing values go right, the split between all others and them counts, too.
	end := len(h)
	if missingLeft || h[0].weight <= 0 {
		end--
	}
	for bin := 1; bin < end; bin++ {
		left.residual += h[bin].residual
		left.weight += h[bin].weight
		if left.weight < s.least {
			continue
		}
		right := binSums{s.all.residual - left.residual, s.all.weight - left.weight}
		if right.weight < s.least {
			return
		}
		if score := s.score(left) + s.score(right); score > s.top {
			s.top = score
			s.best = split{feature: feature, bin: bin, missingLeft: missingLeft}
		}
	}
}

func (g *grower) binsOf(histogram []binSums, feature int) []binSums {
	return histogram[g.offsets[feature]:g.offsets[feature+1]]
}

// histogram returns memory for a histogram, with any content.
func (g *grower) histogram() []binSums {
	if n := len(g.free); n > 0 {
		h := g.free[n-1]
		g.free = g.free[:n-1]
		return h
	}
	return make([]binSums, g.offsets[len(g.offsets)-1])
}

func (g *grower) release(b *branch) {
	if b.histogram != nil {
		g.free = append(g.free, b.histogram)
		b.histogram = nil
	}
}

// value is the mean residual of a leaf, shrunk.
func (g *grower) value(b *branch) float32 {
	return float32(g.config.Rate * b.sum.residual / (b.sum.weight + g.config.L2))
}

// flatten appends the nodes below a branch in preorder. leaves counts those before it.
func (g *grower) flatten(tree []node, b *branch, leaves *int32) []node {
	if b.left == nil {
		tree = append(tree, node{split: isLeaf, value: g.value(b), next: *leaves})
		*leaves++
		return tree
	}
	at := len(tree)
	tree = append(tree, node{split: int32(2 * b.best.feature), value: g.threshold(b.best)})
	if g.missingLeft(b) {
		tree[at].split++
	}
	tree = g.flatten(tree, b.left, leaves)
	tree[at].next = int32(len(tree))
	return g.flatten(tree, b.right, leaves)
}

func (g *grower) threshold(s split) float32 {
	cuts := g.bins[s.feature].cuts
	if s.bin == len(cuts)+1 { // all values against missing ones
		return largest
	}
	return cuts[s.bin-1]
}

// missingLeft decides where missing values go. If the leaf had none, they go where most
// rows went.
func (g *grower) missingLeft(b *branch) bool {
	codes := g.codes[b.best.feature]
	if slices.ContainsFunc(g.rows[b.from:b.to], func(r int32) bool { return codes[r] == 0 }) {
		return b.best.missingLeft
	}
	return b.left.sum.weight >= b.right.sum.weight
}
