package nextbatch_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/internal/device"
	"github.com/nextbatch/nextbatch/internal/device/devicetest"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection"
	"github.com/nextbatch/nextbatch/spec"
)

// failing returns devices that fail at each of their operations.
func failing(cause error) map[string]*devicetest.Fake {
	return map[string]*devicetest.Fake{
		"training":        {FailTraining: cause},
		"features":        {FailFeatures: cause},
		"the first step":  {FailSelection: cause},
		"a later step":    {FailSelection: cause, Steps: 3},
		"the last step":   {FailSelection: cause, Steps: 4},
		"after the steps": {FailSelection: cause, Steps: 5},
		"too late":        {FailSelection: cause, Steps: 6},
	}
}

// TestDeviceFailuresAreNotTheDatas has a device fail while it trains, computes features and
// picks. There is an error that says so, and no batch.
func TestDeviceFailuresAreNotTheDatas(t *testing.T) {
	lost, full := errors.New("the card is lost"), fmt.Errorf("3 GiB: %w", device.ErrMemory)
	for _, cause := range []error{lost, full} {
		for when, d := range failing(cause) {
			for _, method := range []string{"lcmd-tp:grad>sketch(16)", "maxdist-tp:grad>sketch(16)"} {
				r := asked(t)
				r.Spec = spec.MustParse(method)
				plan, err := r.Plan(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				result, err := plan.Select(device.With(t.Context(), d))
				if d.FailTraining == nil && d.FailFeatures == nil && d.Steps > r.Batch {
					if err != nil || len(result.Indices) != r.Batch {
						t.Errorf("%s, %s: %v", when, method, err)
					}
					continue
				}
				if result != nil || !errors.Is(err, cause) || !device.Failed(err) || errors.As(err, new(*nextbatch.DataError)) {
					t.Errorf("%s, %s: %+v, %v", when, method, result, err)
				}
				if errors.Is(err, device.ErrMemory) != (cause == full) || err != nil &&
					!strings.Contains(err.Error(), "fake:0 test card: "+cause.Error()) {
					t.Errorf("%s, %s: the error is %v", when, method, err)
				}
			}
		}
	}
}

// TestDataFailuresAreNotTheDevices has a device reject no data: a row that cannot be used
// is still one.
func TestDataFailuresAreNotTheDevices(t *testing.T) {
	p := smallProblem(t)
	p.Pool = p.Pool.Clone()
	p.Pool.Row(3)[0] = float32(math.Inf(1))
	_, err := nextbatch.Select(device.With(t.Context(), &devicetest.Fake{}), spec.MustParse("lcmd-tp:grad>sketch(16)"), p)
	if err == nil || device.Failed(err) {
		t.Errorf("the error is %v", err)
	}
}

// TestBatchOnADevice compares batches that a device picked with those of the CPU: batches for
// which it goes ahead once, and several times, and one whose groups forbid that.
func TestBatchOnADevice(t *testing.T) {
	p := smallProblem(t)
	groups := make([]int, p.Pool.Rows)
	for i := range groups {
		groups[i] = i % 50
	}
	for _, method := range []string{"maxdiag:grad>sketch(16)", "maxdist-tp:grad>sketch(16)", "maxdist-p:grad>sketch(16)",
		"lcmd-tp:grad>sketch(16)"} {
		for _, c := range []selection.Constraints{{}, {Exclude: []int{3}, Require: []int{5, 9}},
			{Group: groups, PerGroup: 2}} {
			for _, p.Batch = range []int{2, 12, 80} {
				p.Constraints = c
				s := spec.MustParse(method)
				want, err := nextbatch.Select(t.Context(), s, p)
				if err != nil {
					t.Fatal(err)
				}
				got, err := nextbatch.Select(device.With(t.Context(), &devicetest.Fake{}), s, p)
				if err != nil || got.Device == "" || !slices.Equal(got.Rows(), want.Rows()) {
					t.Errorf("%s, %d rows: %+v, %v, on the CPU %v", method, p.Batch, got, err, want.Rows())
				}
			}
		}
	}
}

// TestBlendsOnADevice: the default methods of blends, with few labels and with more, pick on a device what they pick on
// the CPU. That of trees is left out: many of its distances are equal, and rounding then decides.
func TestBlendsOnADevice(t *testing.T) {
	for _, test := range []struct {
		learner  learner.Kind
		labelled int
	}{{learner.Auto, 16}, {learner.Auto, 60}} {
		picked := func(ctx context.Context) *nextbatch.Result {
			r := blendRequest(t, test.labelled)
			r.Learner = test.learner
			plan, err := r.Plan(ctx)
			if err != nil {
				t.Fatal(err)
			}
			result, err := plan.Select(ctx)
			if err != nil {
				t.Fatalf("%+v: %v", test, err)
			}
			return result
		}
		got, want := picked(device.With(t.Context(), &devicetest.Fake{})), picked(t.Context())
		if !slices.Equal(got.IDs, want.IDs) || got.Spec != want.Spec || got.Device == "" {
			t.Errorf("%+v: %s picks %v on %q, %s on the CPU %v", test, got.Spec, got.IDs, got.Device, want.Spec, want.IDs)
		}
	}
}

// TestFeaturesOnADevice compares features and kernel matrices that a device computed with
// those of the CPU, and counts the rows.
func TestFeaturesOnADevice(t *testing.T) {
	on := device.With(t.Context(), &devicetest.Fake{})
	p := smallProblem(t)
	for _, text := range []string{"lcmd-tp:grad>sketch(16)", "bait-f-p:grad>sketch(8)>train", "lcmd-tp:ll",
		"lcmd-tp:grad>sketch(16)+0.5*linear", "bait-f-p:(0.1*linear+grad>sketch(8))>train"} {
		s, counted := spec.MustParse(text), 0
		p.Progress = func(done nextbatch.Progress) { counted = done.Done }
		want, err := nextbatch.Features(t.Context(), s, p, p.Pool)
		if err != nil {
			t.Fatal(err)
		}
		got, err := nextbatch.Features(on, s, p, p.Pool)
		if err != nil || len(got.Warnings) > 0 || counted != p.Pool.Rows {
			t.Fatalf("%s: %d rows counted, warnings %q, %v", text, counted, got.Warnings, err)
		}
		requireNear(t, text, got, want)
		if want, err = nextbatch.Gram(t.Context(), s, p, p.Pool, p.Train); err != nil {
			t.Fatal(err)
		}
		if got, err = nextbatch.Gram(on, s, p, p.Pool, p.Train); err != nil {
			t.Fatal(err)
		}
		requireNear(t, text, got, want)
	}
}

// requireNear compares numbers, up to rounding in float32; those of a device have other bits.
func requireNear(t *testing.T, text string, got, want nextbatch.Numbers) {
	t.Helper()
	a, b := append(matrix.Converted[float64](got.Single).Data, got.Double.Data...),
		append(matrix.Converted[float64](want.Single).Data, want.Double.Data...)
	largest := 0.0
	for _, v := range b {
		largest = max(largest, math.Abs(v))
	}
	if len(a) != len(b) {
		t.Fatalf("%s: %d numbers, on the CPU %d", text, len(a), len(b))
	}
	for i, v := range a {
		if !(math.Abs(v-b[i]) <= 1e-4*largest) {
			t.Fatalf("%s: number %d is %v, on the CPU %v", text, i, v, b[i])
		}
	}
}

// TestFeaturesThatADeviceDoesNotCompute reads the word about a network of the caller's own, and
// the error about a feature that is not finite.
func TestFeaturesThatADeviceDoesNotCompute(t *testing.T) {
	on := device.With(t.Context(), &devicetest.Fake{})
	p := smallProblem(t)
	far := p.Pool.Clone()
	for j := range far.Row(5) {
		far.Row(5)[j] = math.MaxFloat32
	}
	for _, ctx := range []context.Context{t.Context(), on} {
		_, err := nextbatch.Features(ctx, spec.MustParse("lcmd-tp:linear>sketch(16)"), p, far)
		if bad := (*kernel.RowError)(nil); !errors.As(err, &bad) || bad.Row != 5 || bad.What != "feature" {
			t.Errorf("the error is %v", err)
		}
	}
	learnt := learntProblem(t)
	for _, text := range learntSpecs {
		if !strings.HasPrefix(text, "lcmd") && !strings.HasPrefix(text, "maxdist") {
			continue // which the test card does not compute
		}
		batch, err := nextbatch.Select(on, spec.MustParse(text), learnt)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		ties := strings.Contains(text, ":leaf") // many rows are equally far, up to rounding
		if want := mustSelect(t, spec.MustParse(text), learnt); !ties && !slices.Equal(batch.Rows(), want.Rows()) {
			t.Errorf("%s: picked %v, on the CPU %v, %q", text, batch.Rows(), want.Rows(), batch.Warnings)
		}
		if all := strings.Join(batch.Warnings, "\n"); strings.Contains(text, "rff") &&
			!strings.Contains(all, "the features were computed on the CPU, not on fake:0 test card") {
			t.Errorf("%s: warnings %q", text, all)
		}
	}
	p.Models = []nextbatch.Model{opaque{p.Models[0]}}
	blocks := 0
	err := nextbatch.EachFeatures(on, spec.MustParse("lcmd-tp:ll"), p, p.Pool, func(n nextbatch.Numbers) error {
		blocks++
		if all := strings.Join(n.Warnings, "\n"); !strings.Contains(all,
			"the features were computed on the CPU, not on fake:0 test card") {
			t.Errorf("warnings %q", all)
		}
		return nil
	})
	if err != nil || blocks != 1 {
		t.Errorf("%d blocks, %v", blocks, err)
	}
}

// opaque is a model that does not describe itself.
type opaque struct{ nextbatch.Model }

func (m opaque) Taps() kernel.Taps[float32] { return struct{ kernel.Taps[float32] }{m.Model.Taps()} }
