package trees

import (
	"context"
	"math"
	"testing"

	"github.com/nextbatch/nextbatch/internal/rng"
)

// TestExtraTreesKeepTheirRules follows the training rows through every tree: both sides of
// a split have enough rows, its threshold lies within the range of the values, a leaf holds
// the mean label of its rows, and only leaves that cannot be divided remain.
func TestExtraTreesKeepTheirRules(t *testing.T) {
	for _, least := range []float64{1, 4} {
		d := simulated(120, 3)
		trained := must(newTraining(d))(t)
		c := ExtraConfig{Trees: 10, MinLeaf: least}
		for k := range uint64(10) {
			tree := growExtra(trained, c, rng.New(k, "rules"))
			if !isTree(tree, len(trained.features)) {
				t.Fatal("the nodes are not a tree")
			}
			rows := make([]int, 120)
			for i := range rows {
				rows[i] = i
			}
			f := follower{t, trained, c, tree, trained.ordered(rng.New(k, "rules"))}
			f.follow(0, rows)
		}
	}
}

type follower struct {
	t        *testing.T
	trained  *training
	config   ExtraConfig
	tree     []node
	features [][]float32
}

func (f follower) follow(at int32, rows []int) {
	n := f.tree[at]
	if n.split == isLeaf {
		f.check(n, rows)
		return
	}
	low, high := float32(math.Inf(1)), float32(math.Inf(-1))
	var left, right []int
	for _, r := range rows {
		v := f.features[n.split/2][r]
		goesLeft := v <= n.value
		if v != v {
			goesLeft = n.split%2 == 1
		} else {
			low, high = min(low, v), max(high, v)
		}
		if goesLeft {
			left = append(left, r)
		} else {
			right = append(right, r)
		}
	}
	if least := int(f.config.MinLeaf); len(left) < least || len(right) < least {
		f.t.Fatalf("a split of %d rows sends %d left", len(rows), len(left))
	}
	if n.value != largest && !(low <= n.value && n.value < high) {
		f.t.Fatalf("a threshold of %v for values from %v to %v", n.value, low, high)
	}
	f.follow(at+1, left)
	f.follow(n.next, right)
}

func (f follower) check(n node, rows []int) {
	mean, varies := 0.0, false
	for _, r := range rows {
		mean += f.trained.labels[r] / float64(len(rows))
		varies = varies || f.trained.labels[r] != f.trained.labels[rows[0]]
	}
	if want := mean / float64(f.config.Trees); math.Abs(float64(n.value)-want) > 1e-6 {
		f.t.Fatalf("a leaf has the value %v, want %v", n.value, want)
	}
	if f.config.MinLeaf == 1 && varies {
		for _, values := range f.features {
			for _, r := range rows {
				if a, b := values[r], values[rows[0]]; a != b && (a == a || b == b) {
					f.t.Fatalf("a leaf of %d rows with different labels was not divided", len(rows))
				}
			}
		}
	}
}

// TestExtraTreesInterpolate checks that trees with leaves of one row reproduce labels.
func TestExtraTreesInterpolate(t *testing.T) {
	d := numeric(200, 3, 1)
	m := must(FitExtraTrees(context.Background(), d, ExtraConfig{Trees: 50, MinLeaf: 1}, 1))(t)
	mustBeClose(t, "prediction", predict(t, m, d.Inputs), d.Labels, 1e-5)
}

// TestOwnLabelDoesNotLeak checks that the target statistics of a training row, and of the
// rows before it, do not depend on its label.
func TestOwnLabelDoesNotLeak(t *testing.T) {
	trained := must(newTraining(simulated(100, 1)))(t)
	order := rng.New(1, "order").Perm(100)
	want := trained.orderedMeans(5, 40, order)
	trained.labels[order[50]] += 100
	changed := 0
	for k, i := range order {
		got := trained.orderedMeans(5, 40, order)[i]
		if same := got == want[i] || got != got && want[i] != want[i]; !same && k <= 50 {
			t.Errorf("the label of row 50 changes the statistic of row %d", k)
		} else if !same {
			changed++
		}
	}
	if changed == 0 {
		t.Error("the label of row 50 changes no later statistic")
	}
}
