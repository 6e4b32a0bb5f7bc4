package benchmark

import (
	"os"
	"testing"

	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/internal/sets"
	"github.com/nextbatch/nextbatch/matrix"
)

// TestSoakAdvise: on tables with a known gain and with none, the verdict is right in at
// least nine of ten runs. It takes several minutes; make soak runs it.
func TestSoakAdvise(t *testing.T) {
	t.Parallel()
	if os.Getenv("NEXTBATCH_SOAK") == "" {
		t.Skip("takes several minutes: make soak")
	}
	for _, c := range []struct {
		name  string
		table func(rows int, seed uint64) *sets.Regression
		runs  int
		gain  bool
	}{
		{"gain", gainTable, 50, true},
		{"linear", linearTable, 25, false},
		{"noise", noiseTable, 25, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			right, counts := 0, map[Verdict]int{}
			for seed := range uint64(c.runs) {
				a := advised(t, c.table(400, seed), 0)
				counts[a.Verdict]++
				if (a.Verdict == Beats) == c.gain {
					right++
				} else {
					t.Logf("seed %d: %s: %s", seed, a.Answer(), a.Because)
				}
			}
			t.Logf("right in %d of %d runs: %v", right, c.runs, counts)
			if 10*right < 9*c.runs {
				t.Errorf("right in only %d of %d runs", right, c.runs)
			}
		})
	}
}

// advised asks about a table, with networks that are small but learn it. 0 repeats mean
// the default.
func advised(t *testing.T, data *sets.Regression, repeats int) *Advice {
	t.Helper()
	q := Question{Data: data, Specs: []string{"lcmd-tp:linear", "lcmd-tp:grad>sketch(64)"}, Hidden: []int{32},
		Epochs: 100, Repeats: repeats}
	a, err := q.Advise(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// gainTable has a gain by construction. One row in two is of a common kind, of which
// there are two; the others spread over fifty rare kinds, and each kind has a label of
// its own. Random selection misses many rare kinds until late; a method that covers the
// inputs misses none.
func gainTable(rows int, seed uint64) *sets.Regression {
	const common, rare = 2, 50
	effect := make([]float64, common+rare)
	rng.FillNormal(rng.New(seed, "effects"), effect)
	return syntheticTable(rows, len(effect), seed, func(stream *rng.Stream, x []float64) float64 {
		kind := stream.IntN(common)
		if stream.Float64() < 0.5 {
			kind = common + stream.IntN(rare)
		}
		clear(x)
		x[kind] = 1
		return effect[kind] + 0.1*stream.NormFloat64()
	})
}

// linearTable has no gain: a linear label with noise, over inputs that are all alike.
func linearTable(rows int, seed uint64) *sets.Regression {
	return syntheticTable(rows, 3, seed, func(stream *rng.Stream, x []float64) float64 {
		sum := 0.0
		for i := range x {
			x[i] = stream.Float64()
			sum += x[i]
		}
		return sum + 0.5*stream.NormFloat64()
	})
}

// noiseTable has labels that have nothing to do with the inputs.
func noiseTable(rows int, seed uint64) *sets.Regression {
	return syntheticTable(rows, 3, seed, func(stream *rng.Stream, x []float64) float64 {
		rng.FillNormal(stream, x)
		return stream.NormFloat64()
	})
}

// syntheticTable draws rows; the function fills in the inputs of one and returns its label.
func syntheticTable(rows, inputs int, seed uint64, row func(stream *rng.Stream,
	x []float64) float64) *sets.Regression {
	stream := rng.New(seed, "advise table")
	data := &sets.Regression{X: matrix.New[float32](rows, inputs), Y: make([]float64, rows)}
	x := make([]float64, inputs)
	for i := range rows {
		data.Y[i] = row(stream, x)
		for j, v := range x {
			data.X.Set(i, j, float32(v))
		}
	}
	return data
}
