package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"

	"github.com/spf13/cobra"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/selftest"
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/spec"
)

// health is what doctor finds.
type health struct {
	Build     build          `json:"build"`
	CPUs      int            `json:"cpus"`
	Threads   int            `json:"threads"`
	SIMD      []string       `json:"simd"`              // instruction sets that the machine can run
	Available int64          `json:"available"`         // bytes of memory; 0 if unknown
	GFlops    float64        `json:"gflops"`            // of a matrix product in float32
	Devices   []deviceHealth `json:"devices,omitempty"` // besides the CPU
	Tests     []healthCheck  `json:"tests"`
	OK        bool           `json:"ok"`
}

type healthCheck struct {
	Name    string `json:"name"`
	OK      bool   `json:"ok"`
	Error   number `json:"error"`             // the largest deviation, relative
	Seconds number `json:"seconds,omitempty"` // that a learner took

	device string // that was tested; empty: the CPU
}

func newDoctor() *cobra.Command {
	asJSON := false
	c := &cobra.Command{
		Use:   "doctor [STORE]",
		Short: "Show what the machine offers and test the numerics, or check a store for damage",
		Example: `  nextbatch doctor --json
  nextbatch doctor campaigns.db`,
		Args: cobra.MaximumNArgs(1),
		RunE: performs(func(ctx context.Context, args []string) (*answer, error) {
			if len(args) == 1 {
				return doctorStore(ctx, args[0], asJSON)
			}
			h := examine()
			found := printed(asJSON, h, func(out io.Writer) error { printHealth(out, h); return nil })
			found.short = h.failure()
			return found, nil
		}),
		Long: `Prints the instruction set in use, threads and memory, and compares matrix
products, a Cholesky factorisation and a selection with plain computations. Fits a
Gaussian process, trees and a small blend with one thread and with all, and measures
their errors on new rows; with nextbatch-hpc, tests training and a selection on each
GPU, too.
Exits with code 1 if one of them is wrong.

With a STORE it checks that instead, and changes nothing: a campaign file, a results file of
'bench run' or a file of tokens. It reads every page, and every event and file of
rows or models of campaigns, and compares checksums. In a PostgreSQL database (postgres://…) it reads the
campaigns; the server itself checks the pages, if it was set up with
checksums. Exits with code 3 if something is damaged, and explains how to restore it.`,
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}

// doctorStore checks a store.
func doctorStore(ctx context.Context, address string, asJSON bool) (*answer, error) {
	h, err := examineStore(ctx, address)
	found := printed(asJSON, h, func(out io.Writer) error { printStoreHealth(out, h); return nil })
	found.short = h.failure()
	return found, err
}

func examine() health {
	h := health{Build: thisBuild(), CPUs: runtime.NumCPU(), Threads: (*linalg.Team)(nil).Threads(),
		Available: availableMemory(), OK: true}
	h.SIMD, h.GFlops = simd.Names(), selftest.GFlops()
	for _, c := range selftest.Run() {
		h.Tests = append(h.Tests, within(c.Name, c.Error, c.Tolerance))
	}
	h.Tests = append(h.Tests, within("selection", selectionError(context.Background()), 0))
	h.Tests = append(h.Tests, examineLearners()...)
	devices, tests := examineDevices()
	h.Devices, h.Tests = devices, append(h.Tests, tests...)
	for _, c := range h.Tests {
		h.OK = h.OK && c.OK
	}
	return h
}

// failure explains what to do about failed tests.
func (h health) failure() error {
	devices, cpu := []string{}, false
	for _, c := range h.Tests {
		switch {
		case c.OK:
		case c.device == "":
			cpu = true
		case !slices.Contains(devices, c.device):
			devices = append(devices, c.device)
		}
	}
	var failed []error
	if cpu {
		failed = append(failed, errors.New("the self-test failed; set NEXTBATCH_SIMD=go to use plain loops, and report this"))
	}
	if len(devices) > 0 {
		failed = append(failed, errorf("the self-test failed on %s; compute with --device cpu until it passes: "+
			"let other programs free the card, and see whether nvidia-smi shows it and the driver is up to date",
			words.List(devices)))
	}
	return errors.Join(failed...)
}

func within(name string, off, tolerance float64) healthCheck {
	return healthCheck{Name: name, OK: off <= tolerance, Error: number(off)} // NaN is not
}

// selectionError picks the farthest rows and counts the picks that differ from
// those of plain loops.
func selectionError(ctx context.Context) float64 {
	const rows, batch = 500, 10
	train, pool := selftest.Drawn[float32]("train", 3, 5), selftest.Drawn[float32]("pool", rows, 5)
	picked, err := nextbatch.Select(ctx, spec.MustParse("maxdist-tp:features"),
		nextbatch.Problem{Train: train, Pool: pool, Batch: batch})
	if err != nil {
		return math.Inf(1)
	}
	chosen := train.Clone()
	off := 0.0
	for _, row := range picked.Rows() {
		best, farthest := -1, -1.0
		for i := range rows {
			nearest := math.Inf(1)
			for c := range chosen.Rows {
				d := 0.0
				for j, v := range pool.Row(i) {
					d += float64(v-chosen.At(c, j)) * float64(v-chosen.At(c, j))
				}
				nearest = math.Min(nearest, d)
			}
			if nearest > farthest {
				best, farthest = i, nearest
			}
		}
		if row != best {
			off++
		}
		more := matrix.New[float32](chosen.Rows+1, 5)
		matrix.Copy(more.Slice(0, chosen.Rows), chosen)
		copy(more.Row(chosen.Rows), pool.Row(row))
		chosen = more
	}
	return off
}

func printHealth(out io.Writer, h health) {
	fmt.Fprintf(out, "nextbatch   %s, %s, %s\n", h.Build.Version, h.Build.Go, h.Build.Platform)
	fmt.Fprintf(out, "vectors     %s of %v\n", h.Build.SIMD, h.SIMD)
	fmt.Fprintf(out, "threads     %d of %d\n", h.Threads, h.CPUs)
	if h.Available > 0 {
		fmt.Fprintf(out, "memory      %s available\n", words.Memory(h.Available))
	}
	fmt.Fprintf(out, "products    %.0f GFLOP/s in float32\n", h.GFlops)
	for _, d := range h.Devices {
		fmt.Fprintf(out, "GPU         %s\n", cmp.Or(d.Description, d.Error))
	}
	for _, c := range h.Tests {
		verdict := "ok"
		if !c.OK {
			verdict = "FAILED"
		}
		took := ""
		if c.Seconds > 0 {
			took = fmt.Sprintf(", %.1f s", float64(c.Seconds))
		}
		fmt.Fprintf(out, "%-11s %s (off by %.2g%s)\n", verdict, c.Name, float64(c.Error), took)
	}
}
