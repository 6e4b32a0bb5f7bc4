package trees

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/nextbatch/nextbatch/internal/rng"
)

// plainLeaf is a leaf of the plain version of the grower: its rows and its best split.
type plainLeaf struct {
	rows        []int32
	gain        float64
	left, right []int32
}

// plainTree grows a tree leaf by leaf as grower does, but tries every split of every leaf
// by adding up its rows, without histograms. It returns the rows of each leaf.
func plainTree(g *grower, rows []int32) [][]int32 {
	leaves := []plainLeaf{plainBest(g, rows)}
	for len(leaves) < g.config.Leaves {
		at := 0
		for i := range leaves {
			if leaves[i].gain > leaves[at].gain {
				at = i
			}
		}
		l := leaves[at]
		if l.gain == 0 {
			break
		}
		leaves[at] = plainBest(g, l.left)
		leaves = append(leaves, plainBest(g, l.right))
	}
	var groups [][]int32
	for _, l := range leaves {
		groups = append(groups, l.rows)
	}
	return groups
}

func plainBest(g *grower, rows []int32) plainLeaf {
	best := plainLeaf{rows: rows}
	for _, f := range g.features {
		for bin := 0; bin < g.bins[f].count(); bin++ {
			for _, missingLeft := range []bool{false, true} {
				var left, right []int32
				for _, r := range rows {
					if c := int(g.codes[f][r]); c > 0 && c <= bin || c == 0 && missingLeft {
						left = append(left, r)
					} else {
						right = append(right, r)
					}
				}
				if gain := plainScore(g, left) + plainScore(g, right) - plainScore(g, rows); gain > best.gain+1e-9 {
					best.gain, best.left, best.right = gain, left, right
				}
			}
		}
	}
	return best
}

func plainScore(g *grower, rows []int32) float64 {
	var residual, weight float64
	for _, r := range rows {
		residual += g.residuals[r]
		weight += g.weights[r]
	}
	if weight < g.config.MinLeaf {
		return math.Inf(-1)
	}
	return residual * residual / (weight + g.config.L2)
}

func plainValue(g *grower, rows []int32) float64 {
	var residual, weight float64
	for _, r := range rows {
		residual += g.residuals[r]
		weight += g.weights[r]
	}
	return g.config.Rate * residual / (weight + g.config.L2)
}

func sortGroups(groups [][]int32) [][]int32 {
	for _, g := range groups {
		slices.Sort(g)
	}
	slices.SortFunc(groups, slices.Compare)
	return groups
}

// TestGrowEqualsThePlainVersion compares whole trees, on data with missing values,
// categories and weights, over several rounds of boosting.
func TestGrowEqualsThePlainVersion(t *testing.T) {
	for seed := range uint64(6) {
		d := simulated(90, seed)
		if seed%2 == 1 {
			d.Weights = make([]float64, 90)
			for i, s := 0, rng.New(seed, "weights"); i < 90; i++ {
				d.Weights[i] = s.Float64() + 0.1
			}
		}
		c := BoostingConfig{Leaves: 9, MinLeaf: 2.5, Bins: 20, Rate: 0.3}
		b := must(newBooster(nil, d, c, seed))(t)
		for round := range 5 {
			g := b.grower
			// The plain version sees what round sees: the same features, sample and residuals.
			before := slices.Clone(g.residuals)
			b.round()
			shadow := *g
			shadow.residuals = before
			want := sortGroups(plainTree(&shadow, slices.Clone(b.sample)))
			values := map[int32]float32{}
			e := b.encodings[round%len(b.encodings)]
			got := map[int32][]int32{}
			tree := b.model.tree(round)
			for _, r := range b.sample {
				n := leafOf(tree, e.features, int(r))
				got[n.next] = append(got[n.next], r)
				values[n.next] = n.value
			}
			var groups [][]int32
			for leaf, rows := range got {
				groups = append(groups, rows)
				if v := plainValue(&shadow, rows); math.Abs(v-float64(values[leaf])) > 1e-6 {
					t.Errorf("leaf %d has the value %v, want %v", leaf, values[leaf], v)
				}
			}
			if groups = sortGroups(groups); fmt.Sprint(groups) != fmt.Sprint(want) {
				t.Fatalf("seed %d, round %d: the leaves are\n%v, want\n%v", seed, round, groups, want)
			}
		}
	}
}

// TestWeightTwoIsTwoRows checks that splits are the same for a row with weight 2 and for
// two equal rows.
func TestWeightTwoIsTwoRows(t *testing.T) {
	d := numeric(60, 3, 1)
	d.Weights = make([]float64, 60)
	var twice []int
	for i := range d.Weights {
		d.Weights[i] = 1
		twice = append(twice, i)
		if i%3 == 0 {
			d.Weights[i] = 2
			twice = append(twice, i)
		}
	}
	c := BoostingConfig{Rounds: 10, Rows: 1, Features: 1, MinLeaf: 0.001, L2: 1e-9}
	weighted := must(FitBoosting(context.Background(), d, c, 0))(t)
	double := d.Subset(twice)
	double.Weights = nil
	doubled := must(FitBoosting(context.Background(), double, c, 0))(t)
	mustBeClose(t, "prediction", predict(t, weighted, d.Inputs), predict(t, doubled, d.Inputs), 1e-5)
}

func TestOnlyRelativeWeightsCount(t *testing.T) {
	for name, fit := range kindsOfModel {
		d := simulated(60, 2)
		d.Weights = slices.Repeat([]float64{0.5, 1}, 30)
		one := saved(t, fit(t, d, 3))
		d.Weights = slices.Repeat([]float64{4, 8}, 30)
		if !slices.Equal(saved(t, fit(t, d, 3)), one) {
			t.Errorf("%s: other weights of the same proportion give another model", name)
		}
	}
}

// TestRowsWithoutWeightAreIgnored adds rows with weight 0 at the end.
func TestRowsWithoutWeightAreIgnored(t *testing.T) {
	d := simulated(80, 3)
	d.Weights = slices.Concat(slices.Repeat([]float64{1}, 50), make([]float64, 30))
	first := make([]int, 50)
	for i := range first {
		first[i] = i
	}
	without := d.Subset(first)
	one := must(FitExtraTrees(context.Background(), d, ExtraConfig{Trees: 5}, 1))(t)
	other := must(FitExtraTrees(context.Background(), without, ExtraConfig{Trees: 5}, 1))(t)
	if !slices.Equal(saved(t, one), saved(t, other)) {
		t.Error("rows with weight 0 change the model")
	}
}

// TestMonotoneTransformation checks that boosting groups the training rows the same way
// if inputs are transformed by increasing functions.
func TestMonotoneTransformation(t *testing.T) {
	d := numeric(150, 4, 5)
	c := BoostingConfig{Rounds: 15}
	want := must(FitBoosting(context.Background(), d, c, 0))(t)
	bent := d
	bent.Inputs = d.Inputs.Clone()
	for i, v := range bent.Inputs.Data {
		bent.Inputs.Data[i] = float32(math.Exp(float64(v)))
	}
	got := must(FitBoosting(context.Background(), bent, c, 0))(t)
	a := must(want.Leaves(context.Background(), d.Inputs))(t)
	b := must(got.Leaves(context.Background(), bent.Inputs))(t)
	if !slices.Equal(a, b) {
		t.Error("the transformed inputs lead to other leaves")
	}
}

// TestOrderOfRowsDoesNotMatter checks boosting without subsampling; only rounding may
// differ.
func TestOrderOfRowsDoesNotMatter(t *testing.T) {
	d := numeric(120, 4, 6)
	c := BoostingConfig{Rounds: 20, Rows: 1, Features: 1}
	shuffled := d.Subset(rng.New(1, "shuffle").Perm(120))
	one := must(FitBoosting(context.Background(), d, c, 0))(t)
	other := must(FitBoosting(context.Background(), shuffled, c, 0))(t)
	mustBeClose(t, "prediction", predict(t, one, d.Inputs), predict(t, other, d.Inputs), 1e-5)
}

func TestBins(t *testing.T) {
	values := []float32{3, nan, 1, 1, 2, 7, 7, 7}
	b := newBins(values, 10)
	if want := []float32{1.5, 2.5, 5}; !slices.Equal(b.cuts, want) {
		t.Errorf("the cuts are %v, want %v", b.cuts, want)
	}
	if got, want := b.codes(values), []uint8{3, 0, 1, 1, 2, 4, 4, 4}; !slices.Equal(got, want) {
		t.Errorf("the codes are %v, want %v", got, want)
	}
	for _, limit := range []int{2, 7, 100, 254} {
		many := make([]float32, 3000)
		rng.FillNormal(rng.New(uint64(limit), "bins"), many)
		b := newBins(many, limit)
		if n := len(b.cuts) + 1; n != limit {
			t.Errorf("%d bins, want %d", n, limit)
		}
		counts := make([]int, b.count())
		for _, c := range b.codes(many) {
			counts[c]++
		}
		if least, most := slices.Min(counts[1:]), slices.Max(counts[1:]); most > least+1 {
			t.Errorf("with %d bins, one has %d values and another %d", limit, least, most)
		}
	}
}

func TestBinsOfFrequentValues(t *testing.T) {
	values := slices.Repeat([]float32{5}, 1000) // one value that fills most bins
	for i := range 400 {
		values = append(values, float32(i)/40)
	}
	b := newBins(values, 50)
	if n := len(b.cuts) + 1; n > 50 || n < 40 {
		t.Errorf("%d bins, want about 50", n)
	}
	if !slices.IsSorted(b.cuts) || len(slices.Compact(slices.Clone(b.cuts))) != len(b.cuts) {
		t.Error("the cuts do not ascend")
	}
}

func TestBetween(t *testing.T) {
	for _, pair := range [][2]float32{{1, 2}, {1, math.Nextafter32(1, 2)}, {-math.MaxFloat32, math.MaxFloat32},
		{0, math.SmallestNonzeroFloat32}} {
		if m := between(pair[0], pair[1]); !(pair[0] <= m && m < pair[1]) {
			t.Errorf("between %v and %v is %v", pair[0], pair[1], m)
		}
	}
}
