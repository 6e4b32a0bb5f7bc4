package cli

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network/onnx"
)

// TestForeignIntervals calibrates a network from elsewhere on rows that it has not seen: its
// intervals contain the labels of further rows about as often as they should.
func TestForeignIntervals(t *testing.T) {
	t.Parallel()
	const file, unseen, further, coverage = "../../../network/onnx/testdata/keras_residual.onnx", 300, 2000, 0.8
	net, err := onnx.Load(file, onnx.Options{})
	if err != nil {
		t.Fatal(err)
	}
	draw := rng.New(1, "rows")
	x := matrix.New[float32](unseen+further, net.Inputs())
	for i := range x.Data {
		x.Data[i] = float32(draw.NormFloat64())
	}
	y, err := net.Predict(t.Context(), x)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	labels := make([]float64, x.Rows)
	write := func(name string, first, last int, labelled bool) string {
		var text strings.Builder
		text.WriteString("a,b,c,d,e,f")
		if labelled {
			text.WriteString(",y")
		}
		for i := first; i < last; i++ {
			labels[i] = float64(y.At(i, 0)) + 0.3*math.Exp(draw.NormFloat64()) - 0.2
			text.WriteString("\n" + strings.Trim(strings.Join(strings.Fields(fmt.Sprint(x.Row(i))), ","), "[]"))
			if labelled {
				fmt.Fprintf(&text, ",%v", labels[i])
			}
		}
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text.String()+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	known, table := write("unseen.csv", 0, unseen, true), write("table.csv", unseen, x.Rows, false)
	out := filepath.Join(folder, "predicted.csv")
	args := []string{"predict", table, "--model", file, "--calibrate", known, "--target", "y", "--coverage",
		fmt.Sprint(coverage), "--out", out, "-q"}
	if code := Run(args, io.Discard, os.Stderr); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	predicted, err := source.ReadFile(t.Context(), out, source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	low, err := predicted.Numeric("low")
	if err != nil {
		t.Fatal(err)
	}
	high, err := predicted.Numeric("high")
	if err != nil {
		t.Fatal(err)
	}
	held := 0
	for i, label := range labels[unseen:] {
		if low.Float(i) <= label && label <= high.Float(i) {
			held++
		}
	}
	share, deviation := float64(held)/further, math.Sqrt(coverage*(1-coverage)*(1.0/unseen+1.0/further))
	if math.Abs(share-coverage) > 3*deviation {
		t.Errorf("intervals contain %.3f of the labels, want %v ± %.3f", share, coverage, 3*deviation)
	}
}
