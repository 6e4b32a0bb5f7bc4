//go:build linux && (amd64 || arm64)

package cuda

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/nextbatch/nextbatch/internal/device"
	"github.com/nextbatch/nextbatch/internal/options"
)

// TestAdvice has each failure of the driver advise what helps against it.
func TestAdvice(t *testing.T) {
	for advice, codes := range map[string][]int{
		"free memory of the card":                       {2},
		"the stub of NVIDIA's toolkit":                  {34},
		"another program has the card":                  {46},
		"whether the driver sees the card":              {100, 802},
		"older than this program needs":                 {200, 209, 218, 222},
		"the card has lost its state":                   {214, 220, 700, 702, 714, 715, 716, 717, 718, 719, 999},
		"of different versions: restart":                {803},
		"compatibility package does not":                {804},
		"run nextbatch-hpc doctor, or say --device cpu": {1, 101, 713, 720, 801, 805},
	} {
		for _, code := range codes {
			err := error(&Error{Call: "cuCall", Code: code, Symbol: "CUDA_ERROR_SUCH", Text: "such a thing"})
			text := options.Error(options.Flag, err)
			if !strings.HasPrefix(text, fmt.Sprintf("the GPU failed: cuCall: such a thing (CUDA_ERROR_SUCH, error %d); ",
				code)) || !strings.Contains(text, advice) {
				t.Errorf("%q lacks %q", text, advice)
			}
			if errors.Is(err, device.ErrMemory) != (code == 2) || errors.Is(err, device.ErrNone) != (code == 100) {
				t.Errorf("error %d is that of memory: %v, of no card: %v", code, errors.Is(err, device.ErrMemory),
					errors.Is(err, device.ErrNone))
			}
		}
	}
}

// TestMemoryErrors has what does not fit be device.ErrMemory.
func TestMemoryErrors(t *testing.T) {
	c := &Card{limit: 5 << 20}
	err := c.reserve(7<<20 + 1)
	if !errors.Is(err, device.ErrMemory) || !strings.Contains(err.Error(),
		"would need 8 MiB of its memory, but may use 5 MiB") {
		t.Error(err)
	}
}

// TestDriversThatCannotBeUsed tells a machine without a driver from one with an old driver.
func TestDriversThatCannotBeUsed(t *testing.T) {
	_, old := functions(func(name string) (uintptr, error) {
		if name == "cuMemAllocAsync" {
			return 0, errors.New("undefined symbol")
		}
		return 1, nil
	})
	if old == nil || errors.Is(old, device.ErrNone) || !strings.Contains(old.Error(),
		"too old: libcuda.so.1 has no cuMemAllocAsync; install driver 580") {
		t.Errorf("an old driver: %v", old)
	}
	none := error(&NoDriverError{"no such file"})
	if !errors.Is(none, device.ErrNone) || !strings.Contains(none.Error(),
		"there is no CUDA driver on this machine (no such file)") {
		t.Errorf("no driver: %v", none)
	}
}

// pretended is a driver whose functions do nothing, except that copies to the card return a
// code.
func pretended(copying *int) driver {
	d := driver{}
	succeed := purego.NewCallback(func() uintptr { return 0 })
	for _, name := range driverNames {
		d[name] = succeed
	}
	d["cuMemHostAlloc"] = purego.NewCallback(func(at *unsafe.Pointer, bytes, _ uintptr) uintptr {
		*at = unsafe.Pointer(unsafe.SliceData(make([]byte, bytes)))
		return 0
	})
	d["cuMemcpyHtoDAsync_v2"] = purego.NewCallback(func() uintptr { return uintptr(*copying) })
	return d
}

// TestFailedStagesAreDropped has a copy fail, and then succeed.
func TestFailedStagesAreDropped(t *testing.T) {
	code := codeUnknown
	c := &Card{driver: pretended(&code), pinned: map[int][]unsafe.Pointer{}}
	copied := func() error {
		s := c.takeStage()
		send(s.queue, 0, s.bytes[:8])
		defer c.giveStage(s)
		return s.wait()
	}
	if err := copied(); err == nil || len(c.stages) != 0 {
		t.Errorf("%v, and %d stages are kept", err, len(c.stages))
	}
	code = 0
	if err := copied(); err != nil || len(c.stages) != 1 {
		t.Errorf("%v, and %d stages are kept", err, len(c.stages))
	}
}
