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
	"time"

	"github.com/spf13/cobra"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/internal/simd"
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
	Name  string `json:"name"`
	OK    bool   `json:"ok"`
	Error number `json:"error"` // the largest deviation, relative

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
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return doctorStore(cmd.Context(), args[0], cmd.OutOrStdout(), asJSON)
			}
			h := examine()
			if asJSON {
				if err := printJSON(cmd.OutOrStdout(), h); err != nil {
					return err
				}
			} else {
				printHealth(cmd.OutOrStdout(), h)
			}
			return h.failure()
		},
		Long: `Prints the instruction set in use, threads and memory, and compares matrix
products, a Cholesky factorisation and a selection with plain computations; with
nextbatch-hpc, training and a selection on each GPU, too.
Exits with code 1 if one of them is wrong.

With a STORE it checks that instead, and changes nothing: a campaign file, a results file of
'bench run' or a file of tokens. Every page is read, and of campaigns every event and
every blob, with their checksums. Of a PostgreSQL database (postgres://…) it reads the
campaigns; the pages are the server's own, which checks them if it was set up with
checksums. Exits with code 3 if something is damaged, and says how to restore it.`,
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}

// doctorStore checks a store and prints what it finds.
func doctorStore(ctx context.Context, address string, out io.Writer, asJSON bool) error {
	h, err := examineStore(ctx, address)
	if err != nil {
		return err
	}
	if asJSON {
		err = printJSON(out, h)
	} else {
		printStoreHealth(out, h)
	}
	return errors.Join(err, h.failure())
}

func examine() health {
	h := health{Build: thisBuild(), CPUs: runtime.NumCPU(), Threads: (*linalg.Team)(nil).Threads(), Available: availableMemory(), OK: true}
	for _, set := range simd.Available[float32]() {
		h.SIMD = append(h.SIMD, set.Name())
	}
	h.GFlops = speedOfProducts()
	h.Tests = []healthCheck{
		within("matrix product, float32", productError(multiply[float32]), 1e-5),
		within("matrix product, float64", productError(multiply[float64]), 1e-13),
		within("large matrix product, float32", productError(multiplySplit), 3e-7),
		within("Cholesky factor", choleskyError(), 1e-11),
		within("selection", selectionError(context.Background()), 0),
	}
	devices, tests := examineDevices()
	h.Devices, h.Tests = devices, append(h.Tests, tests...)
	for _, c := range h.Tests {
		h.OK = h.OK && c.OK
	}
	return h
}

// failure says what helps against tests that failed.
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
			"let other programs free the card, and see whether nvidia-smi shows it and the driver is up to date", listed(devices)))
	}
	return errors.Join(failed...)
}

func within(name string, off, tolerance float64) healthCheck {
	return healthCheck{Name: name, OK: off <= tolerance, Error: number(off)} // NaN is not
}

func drawn[T matrix.Float](name string, rows, cols int) matrix.Dense[T] {
	stream := rng.New(1, "doctor "+name)
	m := matrix.New[T](rows, cols)
	for i := range m.Data {
		m.Data[i] = T(stream.NormFloat64())
	}
	return m
}

func speedOfProducts() float64 {
	const n, repeats = 512, 8
	a, b, c := drawn[float32]("a", n, n), drawn[float32]("b", n, n), matrix.New[float32](n, n)
	multiplySplit(c, a, b)
	begin := time.Now()
	for range repeats {
		multiplySplit(c, a, b)
	}
	return 2 * n * n * n * repeats / time.Since(begin).Seconds() / 1e9
}

func multiply[T matrix.Float](c, a, b matrix.Dense[T]) {
	linalg.Gemm(nil, c, 1, a, linalg.NoTrans, b, linalg.NoTrans, 0)
}

// multiplySplit multiplies as networks do.
func multiplySplit(c, a, b matrix.Dense[float32]) {
	linalg.GemmSplit(nil, c, 1, a, linalg.NoTrans, b, linalg.NoTrans, 0, nil)
}

// productError compares a product with sums in float64.
func productError[T matrix.Float](multiply func(c, a, b matrix.Dense[T])) float64 {
	const n, k = 131, 133 // multiples of no block size
	a, b, c := drawn[T]("a", n, k), drawn[T]("b", k, n), matrix.New[T](n, n)
	multiply(c, a, b)
	worst := 0.0
	for i := range n {
		for j := range n {
			sum := 0.0
			for l := range k {
				sum += float64(a.At(i, l)) * float64(b.At(l, j))
			}
			worst = math.Max(worst, math.Abs(sum-float64(c.At(i, j)))/k)
		}
	}
	return worst
}

// choleskyError multiplies the factor of a matrix with itself.
func choleskyError() float64 {
	const n = 70
	a, m := drawn[float64]("c", n, 2*n), matrix.New[float64](n, n)
	linalg.Gemm(nil, m, 1, a, linalg.NoTrans, a, linalg.Trans, 0)
	l := m.Clone()
	if err := linalg.Cholesky(nil, l); err != nil {
		return math.Inf(1)
	}
	worst := 0.0
	for i := range n {
		for j := range i + 1 {
			sum := 0.0
			for k := range j + 1 {
				sum += l.At(i, k) * l.At(j, k)
			}
			worst = math.Max(worst, math.Abs(sum-m.At(i, j))/n)
		}
	}
	return worst
}

// selectionError picks the farthest rows and counts the picks that differ from
// those of plain loops.
func selectionError(ctx context.Context) float64 {
	const rows, batch = 500, 10
	train, pool := drawn[float32]("train", 3, 5), drawn[float32]("pool", rows, 5)
	picked, err := nextbatch.Select(ctx, spec.MustParse("maxdist-tp:features"), nextbatch.Problem{Train: train, Pool: pool, Batch: batch})
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
		fmt.Fprintf(out, "memory      %s available\n", bytesText(h.Available))
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
		fmt.Fprintf(out, "%-11s %s (off by %.2g)\n", verdict, c.Name, float64(c.Error))
	}
}
