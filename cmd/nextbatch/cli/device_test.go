package cli

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/device"
	"github.com/nextbatch/nextbatch/device/devicetest"
)

// fakeDriver is what the driver "fake" offers: nothing, unless a test installs a card.
var fakeDriver = struct {
	count func() (int, error)
	open  func(number int, limit int64) (device.Device, error)
}{count: noCards}

func noCards() (int, error) { return 0, nil }

func init() {
	device.Register(device.Driver{
		Name:  "fake",
		Count: func() (int, error) { return fakeDriver.count() },
		Open:  func(number int, limit int64) (device.Device, error) { return fakeDriver.open(number, limit) },
	})
}

// install has the driver offer a card until the test ends, and returns the limits of memory
// that it was opened with.
func install(t *testing.T, card device.Device) (limits *[]int64) {
	t.Helper()
	limits = new([]int64)
	fakeDriver.count = func() (int, error) { return 1, nil }
	fakeDriver.open = func(_ int, limit int64) (device.Device, error) {
		*limits = append(*limits, limit)
		return card, nil
	}
	t.Cleanup(func() { fakeDriver.count = noCards })
	return limits
}

// TestDeviceFailures has a card fail while it trains, computes features and picks.
func TestDeviceFailures(t *testing.T) {
	path := sample(t)
	lost, full := errors.New("the card is lost; run again"), fmt.Errorf("3 GiB are too much: %w", device.ErrMemory)
	for _, c := range []struct {
		card devicetest.Fake
		code int
		word string
	}{
		{devicetest.Fake{FailTraining: lost}, exitFailure, lost.Error()},
		{devicetest.Fake{FailFeatures: lost}, exitFailure, lost.Error()},
		{devicetest.Fake{FailSelection: lost, Steps: 2}, exitFailure, lost.Error()},
		{devicetest.Fake{FailTraining: full}, exitMemory, full.Error()},
		{devicetest.Fake{FailFeatures: full}, exitMemory, full.Error()},
		{devicetest.Fake{FailSelection: full, Steps: 2}, exitMemory, full.Error()},
	} {
		install(t, &c.card)
		out, log := must(t, c.code, "select", path, "--target", "y", "--id", "id", "-n", "5", "--epochs", "2", "--hidden", "16", "--device", "fake:0")
		if out != "" || !strings.Contains(log, c.word) {
			t.Errorf("%+v: %q, %q", c.card, out, log)
		}
	}
}

// TestAutoWarnsOfADriverThatFails: without a driver there is nothing to say.
func TestAutoWarnsOfADriverThatFails(t *testing.T) {
	path := sample(t)
	t.Cleanup(func() { fakeDriver.count = noCards })
	for failure, want := range map[error]bool{device.ErrNone: false, errors.New("the driver does not start"): true} {
		fakeDriver.count = func() (int, error) { return 0, failure }
		_, log := must(t, exitOK, "select", path, "--target", "y", "--id", "id", "-n", "5", "--epochs", "2", "--hidden", "16", "-q")
		if warned := strings.Contains(log, "warning: computing on the CPU: "+failure.Error()); warned != want {
			t.Errorf("%v: %q", failure, log)
		}
	}
}
