package benchmark

import (
	"context"
	"math"
	"testing"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/spec"
)

// For the linear kernel on rows with independent columns of known mean and
// deviation, the eigenvalues are known up to sampling error.
func TestEffectiveDimension(t *testing.T) {
	t.Parallel()
	rows := matrix.New[float32](4000, 3)
	rng.FillNormal(rng.New(1, "rows"), rows.Data)
	for i := range rows.Rows {
		rows.Row(i)[0] = 2*rows.Row(i)[0] + 10
	}
	for text, want := range map[string]float64{
		"lcmd-p:linear":        (100 + 4 + 1 + 1) / 104.,
		"lcmd-p:linear@compat": (4 + 1 + 1) / 4.,
	} {
		p := nextbatch.Problem{Pool: rows}
		got, err := effectiveDimension(context.Background(), spec.MustParse(text), p)
		if err != nil || math.Abs(got/want-1) > 0.1 {
			t.Errorf("%s: %v (%v), want about %v", text, got, err, want)
		}
	}
	if d := dimension(matrix.New[float64](3, 3), false); !math.IsNaN(d) {
		t.Errorf("a zero kernel has dimension %v", d)
	}
	if d := dimension(matrix.FromRows([][]float64{{2, 0}, {0, 1}}), false); math.Abs(d-1.5) > 1e-6 {
		t.Errorf("diagonal: %v", d)
	}
}
