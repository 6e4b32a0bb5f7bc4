package nextbatch_test

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/internal/needs"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/internal/rowfile"
	"github.com/nextbatch/nextbatch/internal/source/formats"
	"github.com/nextbatch/nextbatch/internal/tally"
	"github.com/nextbatch/nextbatch/limits"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/spec"
)

var (
	soakRows  = flag.Int("pool-rows", 10_000_000, "candidates of TestSoakLargePool, 2 KB each")
	soakSpecs = flag.String("pool-specs",
		"lcmd-tp:features; maxdist-tp:features; kmeanspp-tp:features; maxdet-p:features; bait-f-p:features",
		"methods of TestSoakLargePool")
	soakMemory = flag.Int("pool-memory", 0, "rows of TestSoakLargePool that are also selected from in memory, to compare")
	soakFile   = flag.String("pool-file", "", "file with these candidates (default one that is written, and removed)")
	soakFolder = flag.String("pool-folder", "", "folder for its file (default that of temporary files)")
)

// TestSoakLargePool selects from a file that exceeds memory, with several methods, and prints
// how long that takes, what is read, and what one sequential read of the file takes. With as
// many rows in memory, it compares the batches.
//
//	NEXTBATCH_SOAK=1 go test . -run TestSoakLargePool -v -timeout 4h -pool-rows 10000000
func TestSoakLargePool(t *testing.T) {
	if os.Getenv("NEXTBATCH_SOAK") == "" {
		t.Skip("it takes many minutes and 20 GB of disk; set NEXTBATCH_SOAK=1")
	}
	const cols, limit = 512, int64(8 << 30)
	dir := *soakFolder
	if dir == "" {
		dir = rowfile.Folder()
	}
	path := *soakFile
	if path == "" {
		path = filepath.Join(dir, fmt.Sprintf("nextbatch-soak-%d.npy", os.Getpid()))
		t.Cleanup(func() { _ = os.Remove(path) })
		writeLargePool(t, path, *soakRows, cols)
	}
	begin := time.Now()
	readOnce(t, path)
	once := time.Since(begin)
	size := float64(rowfile.Bytes[float32](*soakRows, cols))
	t.Logf("%d x %d, %.1f GB; one sequential read: %.1f s", *soakRows, cols, size/1e9, once.Seconds())

	train := decaying(1, 2048, cols)
	defer debug.SetGCPercent(debug.SetGCPercent(25))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(limit))
	for text := range strings.SplitSeq(*soakSpecs, "; ") {
		inMemory, batch := selectInMemory(t, path, dir, text, train)
		forgetCache(t, path)
		shards, err := formats.OpenShards(path)
		if err != nil {
			t.Fatal(err)
		}
		pool, err := formats.MapShards[float32](t.Context(), shards, dir)
		if err != nil {
			t.Fatal(err)
		}
		request := soakRequest(text, train)
		request.InFile, request.Folder, request.Features.Pool = true, dir, pool.Rows
		request.Admit = func(need int64, _ ...string) error {
			if need > limit {
				return fmt.Errorf("it would need %d bytes", need)
			}
			return nil
		}
		plan, err := request.Plan(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ctx, count := tally.With(t.Context())
		readBefore, faultsBefore, usedBefore, begin := ioBytes(t), majorFaults(t), cpuTime(t), time.Now()
		result, err := plan.Select(ctx)
		if err != nil {
			t.Fatal(err)
		}
		took, used, read := time.Since(begin), cpuTime(t)-usedBefore, float64(ioBytes(t)-readBefore)
		t.Logf("%-20s %6.1f s, %4.1f times a sequential read; %5.1f GB read, %.2f times the file; %d major faults; %.4f %% "+
			"of row and step pairs computed; %.1f GiB in memory of %.1f forecast; first pick %s",
			text, took.Seconds(), took.Seconds()/once.Seconds(), read/1e9, read/size, majorFaults(t)-faultsBefore,
			100*count.Computed(), float64(anonymous(t))/(1<<30), float64(plan.Memory)/(1<<30), result.IDs[0])
		t.Logf("%-20s %6.1f s of CPU", text, used.Seconds())
		if *soakMemory == *soakRows && !slices.Equal(result.IDs, batch) {
			t.Errorf("%s: the batch is not the one in memory", text)
		}
		if inMemory > 0 {
			goal := 3*once + inMemory
			t.Logf("%-20s in memory, as many rows would take %.1f s; with three sequential reads %.1f s, of which it took %.2f",
				text, inMemory.Seconds(), goal.Seconds(), took.Seconds()/goal.Seconds())
		}
		pool.Close()
		runtime.GC()
		debug.FreeOSMemory()
	}
}

// soakRequest selects from rows that are features.
func soakRequest(text string, train matrix.Dense[float32]) nextbatch.Request {
	request := nextbatch.Request{Own: nextbatch.Own{OwnFeatures: true}, Ask: limits.Ask{Batch: 256},
		Spec: spec.MustParse(text)}
	if needs.ComputesInDouble(request.Spec) {
		request.Exact.Train = matrix.Converted[float64](train)
	} else {
		request.Features.Train = train
	}
	return request
}

// selectInMemory selects from the first rows of the file in memory, and returns how long that
// would take for all rows, and the batch.
func selectInMemory(t *testing.T, path, dir, text string, train matrix.Dense[float32]) (time.Duration, []string) {
	t.Helper()
	if *soakMemory == 0 {
		return 0, nil
	}
	shards, err := formats.OpenShards(path)
	if err != nil {
		t.Fatal(err)
	}
	pool, err := formats.MapShards[float32](t.Context(), shards, dir)
	if err != nil {
		t.Fatal(err)
	}
	request, first := soakRequest(text, train), pool.Rows.Slice(0, *soakMemory)
	if needs.ComputesInDouble(request.Spec) {
		request.Exact.Pool = matrix.Converted[float64](first)
	}
	request.Features.Pool = first.Clone()
	pool.Close()
	plan, err := request.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	usedBefore, begin := cpuTime(t), time.Now()
	result, err := plan.Select(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	took := time.Since(begin)
	t.Logf("%-20s %d rows in memory: %.1f s, %.1f s of CPU", text, *soakMemory, took.Seconds(),
		(cpuTime(t) - usedBefore).Seconds())
	runtime.GC()
	debug.FreeOSMemory()
	return took * time.Duration(*soakRows / *soakMemory), result.IDs
}

// cpuTime returns the time that this process has had of all processors.
func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// writeLargePool writes rows block by block.
func writeLargePool(t *testing.T, path string, rows, cols int) {
	t.Helper()
	err := formats.WriteMatrixRows(path, rows, func(file *formats.NPYRows) error {
		const together = 1 << 14
		stream := rng.New(2, "soak")
		block := matrix.New[float32](together, cols)
		for from := 0; from < rows; from += together {
			part := block.Slice(0, min(together, rows-from))
			rng.FillNormal(stream, part.Data[:part.Rows*cols])
			for i := range part.Rows {
				for j := range cols {
					part.Row(i)[j] /= float32(1 + j)
				}
			}
			if err := file.Write(part); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// forgetCache has the system drop what it keeps of a file in memory.
func forgetCache(t *testing.T, path string) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := unix.Fadvise(int(file.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
		t.Fatal(err)
	}
}

func readOnce(t *testing.T, path string) {
	t.Helper()
	forgetCache(t, path)
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{file},
		make([]byte, 4<<20)); err != nil {
		t.Fatal(err)
	}
}

// ioBytes is how much this process has read from disk.
func ioBytes(t *testing.T) int64 { return procNumber(t, "io", "read_bytes:") }

// anonymous is the memory of this process without files that are mapped.
func anonymous(t *testing.T) int64 { return procNumber(t, "status", "RssAnon:") << 10 }

func procNumber(t *testing.T, file, name string) (n int64) {
	t.Helper()
	raw, err := os.ReadFile("/proc/self/" + file)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(raw), "\n"+name)
	if _, err := fmt.Sscan(rest, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

func majorFaults(t *testing.T) int64 {
	t.Helper()
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return int64(usage.Majflt)
}
