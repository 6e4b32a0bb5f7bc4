package learner

import (
	"bytes"
	"context"
	"math"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/matrix"
)

// tired gives up, or returns nonsense.
type tired struct {
	list []*CrossFitted
}

func (tired) Name() string            { return "tired" }
func (tired) Refuses(int, int) string { return "" }
func (l tired) CrossFit(context.Context, *Task) ([]*CrossFitted, error) {
	return l.list, nil
}

// TestLearnersThatGiveUp: a learner of somebody's own that gives up without predictions is left out with its reason,
// and one whose results are incomplete is an error.
func TestLearnersThatGiveUp(t *testing.T) {
	m := fit(t, t.Context(), made(30), processLearner{}, tired{[]*CrossFitted{{Left: "too tired"}}})
	if c := m.Candidates()[1]; c.Left != "too tired" || c.Weight != 0 {
		t.Errorf("%+v", c)
	}
	for _, list := range [][]*CrossFitted{nil, {nil}, {{Means: make([]float64, 3)}}} {
		if _,
			err := fitBlend(t.Context(), made(30), small(), func(int) []Learner {
			return []Learner{processLearner{},
				tired{list}}
		}); err == nil || !strings.Contains(err.Error(), "tired: it ") {
			t.Errorf("%v: %v", list, err)
		}
	}
}

// TestFileWithWrongDeviations: a file that says boosting predicts deviations, which it does not, predicts all the same.
func TestFileWithWrongDeviations(t *testing.T) {
	raw, err := fit(t, t.Context(), made(40), boostedTrees{}).MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	changed := bytes.Replace(raw[:len(raw)-4], []byte(`"factor":0,"constant"`), []byte(`"factor":1,"constant"`), 1)
	if bytes.Equal(changed, raw[:len(raw)-4]) {
		t.Fatal("the file has no factor of boosting")
	}
	var m Model
	if err := m.UnmarshalBinary(sealed(changed[len(magic):])); err != nil {
		t.Fatal(err)
	}
	predict(t, t.Context(), &m, made(5).X)
}

// TestRareLevels: a level, or a missing value, that one row in ten thousand has is told from the others.
func TestRareLevels(t *testing.T) {
	rows := matrix.New[float32](10000, 4)
	for i := range rows.Rows {
		rows.Set(i, 0, float32(i%2)) // two levels, as one-hot of three
		rows.Set(i, 1, float32(1-i%2))
		rows.Set(i, 3, 1) // the second of two levels
	}
	rows.Set(7, 0, 0)
	rows.Set(7, 1, 0)
	rows.Set(7, 2, 1)
	rows.Set(7, 3, 0)
	scaling, err := encode.FitScalerAll(encode.Population, rows)
	if err != nil {
		t.Fatal(err)
	}
	f := newFolding([]Column{{First: 0, Width: 3, Category: true}, {First: 3, Width: 1, Category: true}}, scaling)
	got := f.rows(scaledBy(scaling, rows).Scaled)
	if got.At(7, 0) != 2 || got.At(7, 1) != 0 || got.At(8, 0) != 1 || got.At(8, 1) != 1 {
		t.Errorf("rows 7 and 8 are %v and %v", got.Row(7), got.Row(8))
	}
}

// TestFoldsShareSparseTargets: with five targets of ten labels each, every fold has labels of each.
func TestFoldsShareSparseTargets(t *testing.T) {
	labels := matrix.New[float64](200, 5)
	draw := rng.New(1, "sparse targets")
	for i := range labels.Data {
		labels.Data[i] = math.NaN()
	}
	for k := range 5 {
		for _, row := range draw.Perm(200)[:10] {
			labels.Set(row, k, 1)
		}
	}
	folds := cutFolds(labels, DefaultFolds, 3)
	for i, fold := range folds {
		for k := range 5 {
			n := 0
			for _, row := range fold {
				if !math.IsNaN(labels.At(row, k)) {
					n++
				}
			}
			if n == 0 || n > 4 {
				t.Errorf("fold %d has %d labels of target %d", i, n, k)
			}
		}
	}
}
