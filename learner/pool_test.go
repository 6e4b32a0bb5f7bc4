package learner

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
)

// TestRowsStandForThePool: of rows that were labelled nine times as often on one side, those on the other
// side stand for more rows of the pool, about as many times; rows that were drawn at random stand for about one each.
func TestRowsStandForThePool(t *testing.T) {
	draw := rng.New(3, "learner: rows on two sides")
	sample := func(rows int, right float64) matrix.Dense[float32] {
		x := matrix.New[float32](rows, 2)
		for i := range rows {
			side := draw.Float64()
			if draw.Float64() >= right {
				side = -side
			}
			x.Set(i, 0, float32(side))
			x.Set(i, 1, float32(draw.NormFloat64()))
		}
		return x
	}
	stand := func(labelled matrix.Dense[float32]) []float64 {
		task, err := newTask(t.Context(), network.Sample{X: labelled, Y: make([]float64, labelled.Rows),
			Unlabelled: sample(3000, 0.5)}, Options{Kind: Auto})
		if err != nil {
			t.Fatal(err)
		}
		return task.Stand
	}
	biased := sample(300, 0.9)
	for _, pool := range []matrix.Dense[float32]{sample(3000, 0.5), biased} {
		y := make([]float64, biased.Rows)
		for i := range y {
			y[i] = float64(biased.At(i, 0)) + draw.NormFloat64()
		}
		random := make([]bool, biased.Rows) // intervals rely on these, which says nothing of the errors
		for i := range 50 {
			random[i] = true
		}
		m, err := Fit(t.Context(), network.Sample{X: biased, Y: y, Unlabelled: pool, Random: random},
			Options{Kind: TreesOnly, Only: []string{"extra-trees"}})
		if err != nil {
			t.Fatal(err)
		}
		var loaded Model
		if raw, err := m.MarshalBinary(); err != nil || loaded.UnmarshalBinary(raw) != nil {
			t.Fatal(err)
		}
		if unlike := pool.Rows != biased.Rows; m.CountsPool() != unlike || loaded.CountsPool() != unlike {
			t.Errorf("the pool is unlike the labelled rows: %v, and they count for it: %v, when loaded %v", unlike,
				m.CountsPool(), loaded.CountsPool())
		}
	}
	sums, counts := [2]float64{}, [2]float64{}
	for i, v := range stand(biased) {
		side := 0
		if biased.At(i, 0) > 0 {
			side = 1
		}
		sums[side], counts[side] = sums[side]+v, counts[side]+1
	}
	if ratio := sums[0] / counts[0] / (sums[1] / counts[1]); !(ratio > 3 && ratio < 20) {
		t.Errorf("rows of the side that was labelled less stand for %.1f times as many rows, want about 9", ratio)
	}
	if v := stand(sample(300, 0.5)); v != nil && (slices.Max(v) > 2 || slices.Min(v) < 0.5 || math.IsNaN(v[0])) {
		t.Errorf("random rows stand for %.2f to %.2f", slices.Min(v), slices.Max(v))
	}
}

// TestIntervalsRelyOnRandomRows: where enough labelled rows are known to be random, the others count a quarter of what
// they stand for, and the intervals are those of the random rows, not of the harder ones that were picked.
func TestIntervalsRelyOnRandomRows(t *testing.T) {
	s := made(120)
	s.Random = make([]bool, 120)
	r := rng.New(9, "learner: picked rows")
	for i := range s.Y {
		if s.Random[i] = i%2 == 0; !s.Random[i] {
			s.Y[i] += 2 * r.NormFloat64() // picked where labels are noisy
		}
	}
	wide := s
	wide.Random = nil
	length := func(s network.Sample) (float64, *Model) {
		m := fit(t, t.Context(), s, processLearner{})
		low, high, err := m.PredictInterval(t.Context(), s.Unlabelled, 0.9)
		if err != nil {
			t.Fatal(err)
		}
		return high[0] - low[0], m
	}
	short, m := length(s)
	long, unknown := length(wide)
	if how := m.Intervals(); how.Random != 60 || unknown.Intervals().Random != 0 ||
		!strings.Contains(how.String(), "in 5 folds (of which 60 were drawn at random and count most)") {
		t.Errorf("the intervals: %v; unknown: %v", how, unknown.Intervals())
	}
	if !(short < 0.85*long) {
		t.Errorf("the length is %v with random rows, and %v if they are not known", short, long)
	}
	raw, err := m.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	var back Model
	if err := back.UnmarshalBinary(raw); err != nil || back.Intervals() != m.Intervals() {
		t.Errorf("the loaded model says %v, %v", back.Intervals(), err)
	}
	few := s
	few.Random = make([]bool, 120)
	few.Random[0] = true
	if got, one := length(few); got != long || one.Intervals().Random != 0 {
		t.Errorf("one random row changes the length from %v to %v", long, got)
	}
	few.Random = few.Random[:100]
	if _, err := Fit(t.Context(), few, Options{Kind: GaussianOnly}); err == nil ||
		!strings.Contains(err.Error(), "for 100 it is known") {
		t.Errorf("the error of too short a list is %v", err)
	}
}

// TestIntervalsOfAllFolds: where networks are trained for some folds only, random rows of the others count for the
// intervals, too.
func TestIntervalsOfAllFolds(t *testing.T) {
	s := made(60)
	s.Random = slices.Repeat([]bool{true, false}, 30)
	n := networkLearner{Options: small().Network, Folds: 2}
	m := fit(t, t.Context(), s, processLearner{}, n, biased{name: "own", off: 1})
	if m.Candidates()[1].Weight == 0 {
		t.Fatalf("the network has no weight: %s", m.Choice())
	}
	if how := m.Intervals(); how.Rows != 60 || how.Random != 30 || how.Outside != 36 || how.Folds != 5 ||
		m.Provenance().ValidRows != 24 || len(m.Residuals()) != 24 {
		t.Errorf("%+v; %d validation rows, %d residuals", how, m.Provenance().ValidRows, len(m.Residuals()))
	}
	low, high, err := m.PredictInterval(t.Context(), made(300).X, 0.9)
	if err != nil {
		t.Fatal(err)
	}
	inside := 0
	for i, y := range made(300).Y {
		if low[i] <= y && y <= high[i] {
			inside++
		}
	}
	if inside < 230 {
		t.Errorf("%d of 300 labels are in their intervals", inside)
	}
	if got := fit(t, t.Context(), s, n).Intervals(); got.Rows != 24 || got.Outside != 0 {
		t.Errorf("a network that is the only candidate: %+v", got)
	}
	s.Random = slices.Repeat([]bool{true, true, false}, 20)
	if got := fit(t, t.Context(), s, processLearner{}, n, biased{name: "own", off: 1}).Intervals(); got.Rows != 24 ||
		got.Outside != 0 || got.Random == 0 {
		t.Errorf("with mostly random rows: %+v", got)
	}
}
