package benchmark

import (
	"context"
	"math"
	"testing"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/internal/golden"
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

func TestGoldenEffectiveDimension(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"gradsketch", "gradsketch_scaled", "gradsketch_post", "ll_scaled",
		"mixture24", "lowdim3"} {
		t.Run(name, func(t *testing.T) {
			var want struct {
				Centred float64 `json:"reference_centered"`
				Paper   float64 `json:"paper_uncentered"`
			}
			golden.Entry(t, "effdim/"+name, &want)
			rows := golden.Matrix(t, "sel/"+name+"/F_pool.npy")
			gram, err := nextbatch.Gram(t.Context(), spec.MustParse("maxdet-p:features"),
				nextbatch.Problem{}.WithFeatures(matrix.Dense[float64]{}, rows, matrix.Dense[float64]{}), rows, rows)
			if err != nil {
				t.Fatal(err)
			}
			got := []float64{dimension(gram.Double, false), dimension(gram.Double, true)}
			golden.MustMatchVector(t, name, got, []float64{want.Paper, want.Centred}, 1e-6)
		})
	}
}
