package devicetest_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nextbatch/nextbatch/internal/device"
	"github.com/nextbatch/nextbatch/internal/device/devicetest"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection"
)

// TestFake compares the batches of the fake device with those of the CPU.
func TestFake(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	rows := matrix.New[float32](90, 4)
	for i := range rows.Data {
		rows.Data[i] = float32(random.NormFloat64())
	}
	p := selection.Problem[float32]{Train: rows.Slice(0, 10), Pool: rows.Slice(10, 90), Batch: 12, Mode: selection.TP}
	for _, m := range []selection.Method{selection.MaxDiag{}, selection.MaxDist{}, selection.LCMD{},
		selection.BAIT{Sigma2: 0.1}, selection.BAIT{}, selection.BAIT{Backward: true}} {
		want, err := selection.Select(t.Context(), m, p)
		if err != nil {
			t.Fatal(err)
		}
		got, err := selection.Select(device.With(t.Context(), &devicetest.Fake{}), m, p)
		if err != nil || !slices.Equal(got.Rows(), want.Rows()) || got.Device != "fake:0 test card" {
			t.Errorf("%s: %+v, %v, on the CPU %v", m.Name(), got, err, want.Rows())
		}
	}
}
