package devicetest_test

import (
	"context"
	"testing"

	"github.com/nextbatch/nextbatch/internal/device/devicetest"
	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/network"
)

// TestCPU has the CPU pass what devices pass.
func TestCPU(t *testing.T) {
	on := func(ctx context.Context) context.Context { return linalg.WithThreads(ctx, 2) }
	devicetest.Selection(t, on)
	devicetest.Training(t, on)
}

// TestCPUAsDevice has it pass behind the seam, too.
func TestCPUAsDevice(t *testing.T) {
	on := func(ctx context.Context) context.Context { return network.WithDevice(ctx, devicetest.CPU{}) }
	devicetest.Training(t, on)
	devicetest.Predictions(t, on)
}

// TestPrograms compares what programs describe with what the CPU computes.
func TestPrograms(t *testing.T) { devicetest.Features(t, devicetest.Interpreter{}) }
