package nextbatch_test

import (
	"errors"
	"math"
	"testing"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/limits"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/tables"
)

// scaledCopy picks from a table whose inputs and labels are multiplied by powers of two.
func scaledCopy(t *testing.T, kind learner.Kind, inputs, labels int) (*nextbatch.Result, error) {
	t.Helper()
	draw, x, z, y := rng.New(1, "scaled copies"), dataset.NewNumeric("x"), dataset.NewNumeric("z"), dataset.NewNumeric("y")
	for i := range 80 {
		a, b := 2*draw.Float64()-1, 2*draw.Float64()-1
		x.Append(math.Ldexp(a, inputs))
		z.Append(math.Ldexp(b, inputs))
		if label := math.Ldexp(math.Sin(3*a)+b*b, labels); i < 40 {
			y.Append(label)
		} else {
			y.Append(math.NaN())
		}
	}
	table, err := dataset.NewTable(x, z, y)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := nextbatch.Request{
		Input: tables.Input{Table: table, TargetColumns: []string{"y"}}, Ask: limits.Ask{Batch: 6},
		Options: fitted.Options{Choices: fitted.Choices{Learner: kind, Network: network.Config{
			Architecture: network.Architecture{Hidden: []int{8}}, Training: network.Training{Epochs: 2},
		}}},
	}.Plan(t.Context())
	if err != nil {
		return nil, err
	}
	return plan.Select(t.Context())
}

// TestScaledCopies multiplies inputs and labels by powers of two, as other units do. With every learner, the
// predictions are those of the table as it was, in the other unit, or an error names the column.
func TestScaledCopies(t *testing.T) {
	t.Parallel()
	for _, kind := range []learner.Kind{learner.NetworkAlone, learner.GaussianOnly, learner.TreesOnly} {
		want, err := scaledCopy(t, kind, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		refused := 0
		for _, scale := range []struct{ inputs, labels int }{
			{-1050, 0}, {-530, 0}, {-140, 0}, {-110, 0}, {-60, 0}, {60, 0}, {110, 0}, {140, 0}, {600, 0},
			{0, -1050}, {0, -670}, {0, -530}, {0, -460}, {0, -300}, {0, 300}, {0, 490}, {0, 500},
			{0, 600}, {0, 1000}, {-60, 300},
		} {
			got, err := scaledCopy(t, kind, scale.inputs, scale.labels)
			if column := (*dataset.ColumnError)(nil); errors.As(err, &column) {
				refused++
				if fine := -112 < scale.inputs && scale.inputs < 120 && -464 < scale.labels && scale.labels < 494; fine {
					t.Errorf("%s, inputs × 2^%d, labels × 2^%d: %v", kind, scale.inputs, scale.labels, err)
				}
				continue
			}
			if err != nil {
				t.Fatalf("%s, inputs × 2^%d, labels × 2^%d: %v", kind, scale.inputs, scale.labels, err)
			}
			for i, p := range got.Predictions {
				if value := math.Ldexp(float64(p.Value),
					-scale.labels); !(math.Abs(value-float64(want.Predictions[i].Value)) < 1e-5) {
					t.Errorf("%s, inputs × 2^%d, labels × 2^%d: pick %d is predicted as %v, not %v",
						kind, scale.inputs, scale.labels, i, value, want.Predictions[i].Value)
					break
				}
			}
		}
		if refused < 5 {
			t.Errorf("%s: only %d tables are refused", kind, refused)
		}
	}
}
