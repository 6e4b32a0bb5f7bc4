package selection_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/internal/golden"
	"github.com/nextbatch/nextbatch/selection"
)

// goldenEntry is a line of selection_table.
type goldenEntry struct {
	Features string  `json:"features"`
	Method   string  `json:"method"`
	Batch    int     `json:"batch"`
	Sigma    float64 `json:"sigma"`
	Status   *string `json:"status"`
	Prefix   int     `json:"robust_prefix"`
}

// goldenMethod returns the method, the mode and σ² for a name such as
// bait_fb_p_sigma0.1.
func goldenMethod(t *testing.T, e goldenEntry) (selection.Method, selection.Mode) {
	t.Helper()
	name, mode := e.Method, selection.P
	compat := !strings.HasSuffix(name, "_no1e-8")
	name = strings.TrimSuffix(strings.TrimSuffix(name, "_no1e-8"), "_sigma0.1")
	if base, ok := strings.CutSuffix(name, "_tp"); ok {
		name, mode = base, selection.TP
	} else {
		name = strings.TrimSuffix(name, "_p")
	}
	sigma2 := e.Sigma * e.Sigma
	switch name {
	case "maxdet":
		return selection.MaxDet{Sigma2: sigma2, In: selection.InKernelSpace}, mode
	case "maxdetfs":
		return selection.MaxDet{Sigma2: sigma2, In: selection.InFeatureSpace}, mode
	case "bait_f", "bait_fb":
		return selection.BAIT{Sigma2: sigma2, Backward: name == "bait_fb", Compat: compat}, mode
	case "fw":
		return selection.FrankWolfe{In: selection.InFeatureSpace}, mode
	case "fwkernel":
		return selection.FrankWolfe{In: selection.InKernelSpace}, mode
	case "maxdist":
		return selection.MaxDist{}, mode
	case "lcmd":
		return selection.LCMD{}, mode
	}
	t.Fatalf("unknown method %s", e.Method)
	return nil, mode
}

func TestGoldenSelections(t *testing.T) {
	t.Parallel()
	var table []goldenEntry
	golden.Entry(t, "selection_table", &table)
	for _, e := range table {
		t.Run(fmt.Sprintf("%s/%s_b%d", e.Features, e.Method, e.Batch), func(t *testing.T) {
			m, mode := goldenMethod(t, e)
			if b, ok := m.(selection.BAIT); ok && b.Backward && e.Status != nil {
				// The published code broke down on the way and kept the first
				// picks of the forward step.
				b.Backward = false
				m = b
			}
			p := goldenFeatures(t, e.Features)
			p.Mode, p.Batch = mode, e.Batch
			r, err := selection.Select(t.Context(), m, p)
			if err != nil {
				t.Fatal(err)
			}
			name := fmt.Sprintf("sel/%s/%s_b%d", e.Features, e.Method, e.Batch)
			mustAgree(t, r.Rows(), golden.Ints(t, name+".npy"), e.Prefix)
			mustScore(t, r, name, e)
			if strings.HasPrefix(e.Method, "bait_fb") && e.Status == nil && e.Prefix == e.Batch {
				mustRemove(t, r, name)
			}
		})
	}
}

// mustScore compares the scores of the robust picks. Rows that a backward step
// took out have had steps of their own.
func mustScore(t *testing.T, r *selection.Result, name string, e goldenEntry) {
	t.Helper()
	best := golden.Vector(t, name+"_best.npy")
	noise := 0.0
	if strings.HasPrefix(e.Method, "maxdet") {
		noise = e.Sigma * e.Sigma // the golden score has σ² in it
	}
	// What cancellation leaves has few digits in the published code.
	share := 2e-3
	if strings.HasPrefix(e.Method, "bait_f_tp") {
		share = 5e-2
	}
	for i, p := range r.Picks[:e.Prefix] {
		got, want := p.Score+noise, best[p.Step-1]
		if math.Abs(got-want) > 1e-6*best[0]+share*want {
			t.Errorf("score of pick %d is %v, want %v", i, got, want)
		}
	}
}

func mustRemove(t *testing.T, r *selection.Result, name string) {
	t.Helper()
	rows, scores := golden.Ints(t, name+"_removed.npy"), golden.Vector(t, name+"_removed_score.npy")
	if len(r.Removed) != len(rows) {
		t.Fatalf("%d rows were removed, want %d", len(r.Removed), len(rows))
	}
	for i, got := range r.Removed {
		if got.Row != rows[i] || math.Abs(got.Score-scores[i]) > 1e-3*scores[i] {
			t.Errorf("removal %d is row %d with score %v, want %d with %v", i, got.Row, got.Score, rows[i], scores[i])
		}
	}
}

var featureSets = []string{"gradsketch", "gradsketch_scaled", "gradsketch_post", "ll_scaled", "mixture24", "lowdim3"}

func TestGoldenMaxDiag(t *testing.T) {
	t.Parallel()
	for _, set := range featureSets {
		for _, batch := range []int{16, 64} {
			t.Run(fmt.Sprintf("%s_b%d", set, batch), func(t *testing.T) {
				p := goldenFeatures(t, set)
				p.Batch = batch
				r, err := selection.Select(t.Context(), selection.MaxDiag{}, p)
				if err != nil {
					t.Fatal(err)
				}
				want := golden.Ints(t, fmt.Sprintf("sel/%s/maxdiag_b%d.npy", set, batch))
				slices.Reverse(want) // it lists the smallest first
				mustAgree(t, r.Rows(), want, batch)
			})
		}
	}
}

func goldenFeatures(t *testing.T, name string) selection.Problem[float64] {
	t.Helper()
	return selection.Problem[float64]{
		Pool:  golden.Matrix(t, "sel/"+name+"/F_pool.npy"),
		Train: golden.Matrix(t, "sel/"+name+"/F_train.npy"),
	}
}

// mustAgree compares the first picks.
func mustAgree(t *testing.T, got, want []int, prefix int) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d picks, want %d", len(got), len(want))
	}
	for i := range prefix {
		if got[i] != want[i] {
			t.Fatalf("pick %d is row %d, want %d; robust to %d", i, got[i], want[i], prefix)
		}
	}
}
