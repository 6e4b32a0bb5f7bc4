//go:build linux && (amd64 || arm64)

package cuda_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/internal/device"
	"github.com/nextbatch/nextbatch/internal/golden"
	"github.com/nextbatch/nextbatch/selection"
)

// TestGoldenSelections compares the picks on the card with those of the published code, as
// far as they do not hang on rounding.
func TestGoldenSelections(t *testing.T) {
	card := open(t, 0)
	var table []struct {
		Features string  `json:"features"`
		Method   string  `json:"method"`
		Batch    int     `json:"batch"`
		Sigma    float64 `json:"sigma"`
		Status   *string `json:"status"`
		Prefix   int     `json:"robust_prefix"`
	}
	golden.Entry(t, "selection_table", &table)
	compared := 0
	for _, e := range table {
		m, mode := methodOf(e.Method, e.Sigma*e.Sigma, e.Status != nil)
		if m == nil {
			continue
		}
		r, err := selection.Select(device.With(t.Context(), card), m, selection.Problem[float64]{
			Pool:  golden.Matrix(t, "sel/"+e.Features+"/F_pool.npy"),
			Train: golden.Matrix(t, "sel/"+e.Features+"/F_train.npy"), Mode: mode, Batch: e.Batch})
		name := fmt.Sprintf("sel/%s/%s_b%d", e.Features, e.Method, e.Batch)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want := golden.Ints(t, name+".npy")
		if !slices.Equal(r.Rows()[:e.Prefix], want[:e.Prefix]) {
			t.Errorf("%s: %v, want %v", name, r.Rows()[:e.Prefix], want[:e.Prefix])
		}
		if r.Device == "" {
			t.Errorf("%s ran on the CPU", name)
		}
		compared++
	}
	if compared < 50 {
		t.Errorf("only %d of %d selections were compared", compared, len(table))
	}
}

// methodOf returns the method of a golden name such as bait_fb_p_sigma0.1, or nil for those
// in kernel space. Where the published code broke down, it kept the first picks of the
// forward step.
func methodOf(name string, sigma2 float64, brokeDown bool) (selection.Method, selection.Mode) {
	compat, mode := !strings.HasSuffix(name, "_no1e-8"), selection.P
	name = strings.TrimSuffix(strings.TrimSuffix(name, "_no1e-8"), "_sigma0.1")
	if base, ok := strings.CutSuffix(name, "_tp"); ok {
		name, mode = base, selection.TP
	}
	switch strings.TrimSuffix(name, "_p") {
	case "maxdetfs":
		return selection.MaxDet{Sigma2: sigma2, In: selection.InFeatureSpace}, mode
	case "bait_f":
		return selection.BAIT{Sigma2: sigma2, Compat: compat}, mode
	case "bait_fb":
		return selection.BAIT{Sigma2: sigma2, Backward: !brokeDown, Compat: compat}, mode
	case "fw":
		return selection.FrankWolfe{In: selection.InFeatureSpace}, mode
	case "maxdist":
		return selection.MaxDist{}, mode
	case "lcmd":
		return selection.LCMD{}, mode
	}
	return nil, mode
}
