package cli

import (
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/internal/footprint"
	"github.com/nextbatch/nextbatch/internal/forecast"
	"github.com/nextbatch/nextbatch/internal/rowfile"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/spec"
	"github.com/nextbatch/nextbatch/tables"
)

// memory is what a command may use: the limit of --max-memory, or what the
// machine has available.
type memory struct {
	text  string // of the flag
	bytes int64  // 0: unknown
	held  int64  // by the files that were read

	overflow *rowfile.Store // takes tables that are large for it; nil if nothing does
}

// left is what the next file may take; 0 if that is not known.
func (m *memory) left() int64 {
	if m.bytes == 0 {
		return 0
	}
	return max(1, m.bytes-m.held)
}

func (m *memory) register(c *cobra.Command) {
	c.Flags().StringVar(&m.text, "max-memory", "",
		"use no more memory than this, such as 4GiB (default what the machine has available)")
}

// check reads the flag.
func (m *memory) check() (err error) {
	if m.text != "" {
		m.bytes, err = parseBytes("--max-memory", m.text)
	}
	return err
}

// garbagePercent is how much garbage may accumulate, relative to the memory in
// use. Most memory is in a few large matrices, so collecting costs little.
const garbagePercent = 25

// begin limits garbage until the returned function is called, and asks the
// machine how much memory is available, before anything large is read.
func (m *memory) begin() (end func()) {
	percent := debug.SetGCPercent(garbagePercent)
	limit := debug.SetMemoryLimit(-1)
	if m.text == "" {
		m.bytes = availableMemory()
	} else {
		debug.SetMemoryLimit(m.bytes)
	}
	return func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}
}

// forRequests is what a request to a worker may use: the limit, or what the machine has
// available by then.
func (m *memory) forRequests() int64 {
	if m.text != "" {
		return m.bytes
	}
	return availableMemory()
}

// forJobs is what the jobs of a service may use together, beside what the process has taken
// already: caches, maps, kept features, tables that are being uploaded.
func (m *memory) forJobs() int64 {
	if m.text == "" {
		return availableMemory()
	}
	taken := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(taken)
	return max(1, m.bytes-int64(taken[0].Value.Uint64()-taken[1].Value.Uint64()))
}

// memoryError reports that something would not fit.
type memoryError struct {
	what         string
	need, limit  int64
	byMachine    bool // the limit is the machine's, not the flag's
	alternatives []string
}

func (e memoryError) Error() string {
	try := strings.Join(e.alternatives, ", or ")
	if e.byMachine {
		return fmt.Sprintf(
			"%s would need about %s, but the machine has %s available; try %s; --max-memory %s tries it anyway",
			e.what, words.Memory(e.need), words.Memory(e.limit), try, strings.ReplaceAll(words.Memory(e.need), " ", ""))
	}
	return fmt.Sprintf("%s would need about %s, but --max-memory is %s; try %s", e.what, words.Memory(e.need),
		words.Memory(e.limit), try)
}

// admit rejects what would need more memory than is available.
func (m *memory) admit(what string, need int64, alternatives ...string) error {
	if m.bytes == 0 || need <= m.bytes {
		return nil
	}
	return memoryError{what, need, m.bytes, m.text == "", alternatives}
}

// rowBytes returns the memory of encoded rows.
func rowBytes(z tables.Sizes) int64 {
	return footprint.Float32(z.Train+z.Pool+z.Aims, z.Inputs)
}

// fitNeed forecasts the memory of fitting a model to the rows of a table, and of saving it, for which the file is put
// together in memory. The networks of a fold are trained while those of the model are kept, and those of the fold
// before may still be in memory.
func fitNeed(table *dataset.Table, z tables.Sizes, c fitted.Choices, folds int) int64 {
	fit, kept := c.Memory(z.Train, z.Inputs, z.Outputs, 0)
	switch {
	case c.Learner.Blends():
		fit = max(fit, 3*kept)
	case folds > 0:
		fit += 4 * kept
	default:
		fit += 2 * kept
	}
	return footprint.Resident(table.Bytes() + rowBytes(z) + fit)
}

// replayNeed forecasts the memory of replays on labelled rows when jobs of them run
// at the same time. Each divides and scales the rows for itself.
func replayNeed(table int64, z forecast.Sizes, c network.Config, specs []spec.Spec, jobs int) int64 {
	rows, most := footprint.Float32(z.InMemory(), z.Inputs), int64(0)
	z.Hidden, c.Architecture.Outputs = c.WithDefaults().Architecture.Hidden, max(z.Outputs, 1)
	for _, method := range specs {
		fit, kept := c.Memory(z.Inputs, z.Train, method.Members())
		most = max(most, fit, kept+forecast.Memory(method, z))
	}
	return footprint.Resident(table + rows + footprint.Bytes(float64(jobs)*float64(rows+most)))
}

// forwardRows run through a network at the same time.
const forwardRows = 1024

// parseBytes reads the amount of memory that a flag has, such as 4GiB, 500MB or 1e9.
func parseBytes(flag, text string) (int64, error) {
	units := []struct {
		name string
		size float64
	}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
		{"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"K", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30}, {"B", 1}}
	number, size := strings.TrimSpace(text), 1.0
	for _, u := range units {
		if rest, ok := strings.CutSuffix(strings.ToUpper(number), strings.ToUpper(u.name)); ok {
			number, size = rest, u.size
			break
		}
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || !(v*size >= 1) || v*size > math.MaxInt64/2 {
		return 0, usagef("%s %q is not an amount of memory, such as 4GiB", flag, text)
	}
	return int64(v * size), nil
}

// availableMemory is what the system can give this process, or 0 if it does not
// say.
func availableMemory() int64 { return availableIn(os.DirFS("/")) }

// availableIn reads Linux's figures: the available memory, but no more than the
// control groups of the process still allow.
func availableIn(root fs.FS) int64 {
	raw, err := fs.ReadFile(root, "proc/meminfo")
	if err != nil {
		return 0
	}
	available := field(raw, "MemAvailable:") << 10 // is in KiB
	groups, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return available
	}
	for line := range strings.Lines(string(groups)) {
		_, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, name, _ := strings.Cut(rest, ":")
		switch controllers {
		case "": // version 2
			available = leastOf(root, available, "sys/fs/cgroup", name, "memory.max", "memory.current", "inactive_file")
		case "memory": // version 1
			available = leastOf(root, available, "sys/fs/cgroup/memory", name, "memory.limit_in_bytes",
				"memory.usage_in_bytes", "total_inactive_file")
		}
	}
	return available
}

// leastOf returns the least of the given amount and what a group and those
// above it still allow. Inside a container the group itself may not be visible:
// the visible top of the tree then takes its place. A group at its limit leaves a byte: 0
// would mean that nothing is known.
func leastOf(root fs.FS, available int64, top, group, most, used, cache string) int64 {
	for {
		dir := path.Join(top, group)
		limit, errLimit := numberIn(root, path.Join(dir, most))
		now, errUsed := numberIn(root, path.Join(dir, used))
		if errLimit == nil && errUsed == nil {
			stat, _ := fs.ReadFile(root, path.Join(dir, "memory.stat")) // without it, caches count as used
			available = min(available, max(1, limit-now+field(stat, cache)))
		}
		if dir == top {
			return available
		}
		group = path.Dir(path.Join("/", group))
	}
}

// numberIn reads a file that holds one number; "max", which means no limit, is an
// error.
func numberIn(root fs.FS, name string) (int64, error) {
	raw, err := fs.ReadFile(root, name)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 64)
}

// field returns the number after a name in a file of name-number lines, or 0 if
// the name is absent.
func field(raw []byte, name string) int64 {
	for line := range strings.Lines(string(raw)) {
		if words := strings.Fields(line); len(words) > 1 && words[0] == name {
			n, _ := strconv.ParseInt(words[1], 10, 64)
			return n
		}
	}
	return 0
}
