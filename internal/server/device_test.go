package server

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/internal/device"
	"github.com/nextbatch/nextbatch/internal/device/devicetest"
	"github.com/nextbatch/nextbatch/internal/wire"
	"github.com/nextbatch/nextbatch/network"
)

// TestJobsComputeOnTheDevice has the device fail, so that only a job on the device does.
func TestJobsComputeOnTheDevice(t *testing.T) {
	t.Parallel()
	v := newServiceOn(t, &devicetest.Fake{FailTraining: errors.New("the card is lost; run again")})
	must[Campaign](t, v, "owner", "POST", small, sample(60))
	must[wire.Changed](t, v, "owner", "PUT", "/v1/campaigns/small/settings", settings)
	j := v.finish(t, "labeller", must[wire.Job](t, v, "labeller", "POST", "/v1/campaigns/small/asks",
		map[string]any{"rows": 4}))
	if j.State != wire.Failed ||
		!strings.Contains(j.Problem, "training on fake:0 test card: the card is lost; run again") {
		t.Errorf("the job ended as %+v", j)
	}
}

// TestDeviceFailuresAreNotTheCallers requires a status of the server, with the advice.
func TestDeviceFailuresAreNotTheCallers(t *testing.T) {
	t.Parallel()
	v := newService(t)
	for want, cause := range map[int]error{500: errors.New("lost"), 507: fmt.Errorf("too large: %w", device.ErrMemory)} {
		err := v.server.problem(context.Background(), &nextbatch.DataError{Cause: &network.DeviceError{Work: "predicting",
			Device: "fake:0", Cause: cause}})
		var status huma.StatusError
		if !errors.As(err, &status) || status.GetStatus() != want || !strings.Contains(err.Error(), cause.Error()) {
			t.Errorf("%v: %v, want status %d", cause, err, want)
		}
	}
}
