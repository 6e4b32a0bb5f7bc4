package nextbatch_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/device"
	"github.com/nextbatch/nextbatch/device/devicetest"
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
				if errors.Is(err, device.ErrMemory) != (cause == full) || err != nil && !strings.Contains(err.Error(), "fake:0 test card: "+cause.Error()) {
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
	for _, method := range []string{"maxdist-tp:grad>sketch(16)", "maxdist-p:grad>sketch(16)", "lcmd-tp:grad>sketch(16)"} {
		for _, c := range []selection.Constraints{{}, {Exclude: []int{3}, Require: []int{5, 9}}, {Group: groups, PerGroup: 2}} {
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
