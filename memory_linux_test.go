//go:build !race

// The race detector needs memory of its own, so this file is not built with it.

package nextbatch_test

import (
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/spec"
)

// resident returns the bytes of this process that are in RAM.
func resident(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip(err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(text))[1])
	if err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}

// TestMemoryComesBack: a process that goes on after large selections gives their memory
// back.
func TestMemoryComesBack(t *testing.T) {
	debug.FreeOSMemory()
	before, peak := resident(t), 0
	for _, text := range []string{"bait-f-p:features>train", "lcmd-tp:features", "maxdet-p:features"} {
		func() {
			x := matrix.New[float32](60_200, 200)
			rng.FillNormal(rng.New(1, "memory test"), x.Data)
			p := nextbatch.Problem{Train: x.Slice(0, 200), Pool: x.Slice(200, x.Rows), Batch: 4,
				Progress: func(nextbatch.Progress) { peak = max(peak, resident(t)) }}
			if _, err := nextbatch.Select(t.Context(), spec.MustParse(text), p); err != nil {
				t.Fatal(err)
			}
		}()
	}
	if peak < before+100<<20 {
		t.Fatalf("the selections took only %d MiB: too little to tell", (peak-before)>>20)
	}
	const slack = 40 << 20
	for range 50 { // cleanups run some time after a collection
		debug.FreeOSMemory()
		if resident(t) < before+slack {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("%d MiB before, %d at the peak, %d after", before>>20, peak>>20, resident(t)>>20)
}
