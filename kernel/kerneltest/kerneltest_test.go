package kerneltest_test

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/internal/kernels"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/kernel/kerneltest"
	"github.com/nextbatch/nextbatch/matrix"
)

// wrong is the linear kernel with a deliberate fault.
type wrong struct {
	kernel.FeatureMap[float64]
	spoilCross    func(dst, a, b matrix.Dense[float64])
	spoilDiag     func(dst []float64)
	spoilFeatures func(dst matrix.Dense[float64])
	ignoreErrors  bool
}

func (w wrong) Cross(ctx context.Context, dst, a, b matrix.Dense[float64]) error {
	err := w.FeatureMap.Cross(ctx, dst, a, b)
	if w.spoilCross != nil && err == nil {
		w.spoilCross(dst, a, b)
	}
	return w.filter(err)
}

func (w wrong) Diag(ctx context.Context, dst []float64, rows matrix.Dense[float64]) error {
	err := w.FeatureMap.Diag(ctx, dst, rows)
	if w.spoilDiag != nil {
		w.spoilDiag(dst)
	}
	return w.filter(err)
}

func (w wrong) Features(ctx context.Context, dst, rows matrix.Dense[float64]) error {
	err := w.FeatureMap.Features(ctx, dst, rows)
	if w.spoilFeatures != nil {
		w.spoilFeatures(dst)
	}
	return w.filter(err)
}

func (w wrong) filter(err error) error {
	if w.ignoreErrors {
		return nil
	}
	return err
}

// last changes the last element of a matrix.
func last(m matrix.Dense[float64], f func(float64) float64) {
	if m.Rows > 0 && m.Cols > 0 {
		row := m.Row(m.Rows - 1)
		row[m.Cols-1] = f(row[m.Cols-1])
	}
}

func TestConformFinds(t *testing.T) {
	rows := matrix.New[float64](12, 3)
	for i := range rows.Data {
		rows.Data[i] = math.Sin(float64(i * i))
	}
	more := func(v float64) float64 { return 1.01*v + 0.1 }
	for word, k := range map[string]wrong{
		"": {},
		"not symmetric": {spoilCross: func(dst, a, _ matrix.Dense[float64]) {
			for i := range min(dst.Rows, dst.Cols) {
				dst.Row(i)[0] += a.Row(i)[0]
			}
		}},
		"not positive semi-definite": {spoilCross: func(dst, _, _ matrix.Dense[float64]) {
			for i := range dst.Data {
				dst.Data[i] *= -1
			}
		}},
		"the diagonal differs": {spoilDiag: func(dst []float64) {
			last(matrix.View(1,
				len(dst), dst), more)
		}},
		"Diag in blocks": {spoilDiag: scaleLast},
		"Cross in blocks": {spoilCross: func(dst, _,
			_ matrix.Dense[float64]) {
			last(dst, more)
		}},
		"the inner products of features differ":        {spoilFeatures: func(dst matrix.Dense[float64]) { last(dst, more) }},
		"features in blocks":                           {spoilFeatures: func(dst matrix.Dense[float64]) { last(dst, more) }},
		"a number in row 0, column 2 is not finite":    {ignoreErrors: true},
		"a number in row 1025, column 2 is not finite": {ignoreErrors: true},
		"rows of the wrong width: Diag returns error":  {ignoreErrors: true},
	} {
		k.FeatureMap = kernel.NewLinear[float64](3)
		found := complaints(func(t testing.TB) { kerneltest.Conform[float64](t, k, rows, 1e-12) })
		if word == "" && len(found) > 0 || !strings.Contains(strings.Join(found, "\n"), word) {
			t.Errorf("complaints %q, want one with %q", found, word)
		}
	}
}

// roomy is an embedding that returns a list with spare capacity.
type roomy struct{ widths []int }

func (e roomy) Inputs() int   { return e.widths[0] }
func (e roomy) Widths() []int { return e.widths }

func (e roomy) Embed(ctx context.Context, rows matrix.Dense[float64]) ([]matrix.Dense[float64], error) {
	return []matrix.Dense[float64]{rows}, kernel.CheckRows(ctx, rows, e.Inputs())
}

func TestConformFindsSharedWidths(t *testing.T) {
	rows := matrix.New[float64](12, 3)
	for i := range rows.Data {
		rows.Data[i] = math.Sin(float64(i * i))
	}
	k := kernels.Compose[float64](roomy{append(make([]int, 0, 2), 3)}, kernels.Dot[float64]{})
	found := complaints(func(t testing.TB) { kerneltest.Conform(t, k, rows, 1e-12) })
	if len(found) != 1 || !strings.Contains(found[0], "which two callers that append to it share") {
		t.Errorf("complaints %q", found)
	}
}

func scaleLast(dst []float64) {
	if len(dst) > 0 {
		dst[len(dst)-1] *= 1 + float64(len(dst))*1e-15
	}
}

// recorder stands in for a test that is expected to fail.
type recorder struct {
	testing.TB
	found []string
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.found = append(r.found, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

func (r *recorder) Fatal(args ...any) { r.Fatalf("%s", fmt.Sprint(args...)) }

// complaints runs f in its own goroutine, which ends at the first fatal failure.
func complaints(f func(t testing.TB)) []string {
	r := &recorder{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(r)
	}()
	<-done
	return r.found
}
