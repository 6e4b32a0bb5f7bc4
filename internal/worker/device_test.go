package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/internal/device"
	"github.com/nextbatch/nextbatch/internal/device/devicetest"
	"github.com/nextbatch/nextbatch/internal/wire"
)

// TestDeviceFailuresHaveTheirOwnKind has a device fail while it trains and picks.
func TestDeviceFailuresHaveTheirOwnKind(t *testing.T) {
	lost, full := errors.New("the card is lost"), fmt.Errorf("3 GiB: %w", device.ErrMemory)
	for _, c := range []struct {
		device devicetest.Fake
		kind   string
		word   string
	}{
		{devicetest.Fake{FailTraining: lost}, "device", "the card is lost"},
		{devicetest.Fake{FailFeatures: lost}, "device", "the card is lost"},
		{devicetest.Fake{FailSelection: lost, Steps: 2}, "device", "the card is lost"},
		{devicetest.Fake{FailTraining: full}, "memory", "3 GiB"},
		{devicetest.Fake{FailSelection: full, Steps: 2}, "memory", "3 GiB"},
	} {
		answer := askOn(t, device.With(t.Context(), &c.device), exampleSelect(40, 4))
		var f wire.Failure
		if err := json.Unmarshal(answer.Body, &f); err != nil || answer.Kind != "error" || f.Error != c.kind ||
			!strings.Contains(f.Message, c.word) {
			t.Errorf("%+v: %s %s, want %s with %q", c.device, answer.Kind, answer.Body, c.kind, c.word)
		}
	}
}

// askOn asks a server that computes under a context.
func askOn(t *testing.T, ctx context.Context, f Frame) Frame {
	t.Helper()
	requests, in := io.Pipe()
	out, answers := io.Pipe()
	c := &client{t: t, in: in, out: out}
	go func() {
		_ = Server{Version: "test"}.Serve(ctx, requests, answers)
		_ = answers.Close()
	}()
	defer in.Close()
	return c.ask(f)
}
