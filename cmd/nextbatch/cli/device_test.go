package cli

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/internal/device"
	"github.com/nextbatch/nextbatch/internal/device/devicetest"
	"github.com/nextbatch/nextbatch/internal/forecast"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/spec"
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
		out, log := must(t, c.code, "select", path, "--target", "y", "--id", "id", "-n", "5", "--learner", "network",
			"--epochs", "2", "--hidden", "16", "--device", "fake:0")
		if out != "" || !strings.Contains(log, c.word) {
			t.Errorf("%+v: %q, %q", c.card, out, log)
		}
	}
}

// TestMaxMemoryReachesTheDriver opens a card for every command that takes --device.
func TestMaxMemoryReachesTheDriver(t *testing.T) {
	limits := install(t, nil)
	counted := fakeDriver.open
	fakeDriver.open = func(number int, limit int64) (device.Device, error) {
		counted(number, limit)
		return nil, errors.New("the card is seen")
	}
	for _, command := range []string{"select", "features", "gram", "fit t.csv", "advise t.csv", "audit t.csv", "demo",
		"serve", "worker", "predict t.csv", "evaluate t.csv",
		"bench run", "campaign ask c.db", "campaign predict c.db", "campaign run c.db", "campaign status c.db --gain"} {
		*limits = nil
		_, log := must(t, exitUsage, append(strings.Fields(command), "--device", "fake:2", "--max-memory", "5MiB")...)
		if !slices.Equal(*limits, []int64{5 << 20}) || !strings.Contains(log, "--device fake:2: the card is seen") {
			t.Errorf("%s: the limits are %v: %s", command, *limits, log)
		}
	}
}

// TestDeviceHasALimit requires --max-memory of every command that has --device.
func TestDeviceHasALimit(t *testing.T) {
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		if c.Flags().Lookup(deviceFlag) != nil && c.Flags().Lookup("max-memory") == nil {
			t.Errorf("%s has no --max-memory", c.CommandPath())
		}
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(newRoot(io.Discard, io.Discard))
}

// TestWhatTrainsOnTheDevice has a card fail that only trainings use.
func TestWhatTrainsOnTheDevice(t *testing.T) {
	path := sample(t)
	store := filepath.Join(t.TempDir(), "c.db")
	must(t, exitOK, "campaign", "new", store, path, "--learner", "network", "--target", "y", "--id", "id", "-q")
	install(t, &devicetest.Fake{FailTraining: errors.New("the card is lost")})
	table := []string{path, "--target", "y", "--id", "id", "--epochs", "2", "--hidden", "16"}
	for name, args := range map[string][]string{
		"fit": append(table, "--out", filepath.Join(t.TempDir(), "net.safetensors")), "audit": table,
		"campaign predict": {store},
		"features":         append(table, "--out", filepath.Join(t.TempDir(), "pool.npy")),
	} {
		_, log := must(t, exitFailure, slices.Concat(strings.Fields(name), args, []string{"--device", "fake:0", "-q"})...)
		if !strings.Contains(log, "training on fake:0 test card: the card is lost") {
			t.Errorf("%s: %s", name, log)
		}
	}
}

// TestBlendSaysWhereItIsFitted: networks of a blend are trained on the card, the rest on the CPU.
func TestBlendSaysWhereItIsFitted(t *testing.T) {
	path, model := sample(t), filepath.Join(t.TempDir(), "m.nextbatch")
	install(t, &devicetest.Fake{})
	fit := []string{"fit", path, "--target", "y", "--id", "id", "--device", "fake:0", "--out", model}
	for line, more := range map[string][]string{
		"networks are trained on fake:0 test card, the other learners on the CPU": {"--epochs",
			"2", "--hidden", "16"},
		"the learner gp is fitted on the CPU, not on fake:0 test card, which trains networks only\n": {"--learner", "gp"},
	} {
		if _, log := must(t, exitOK, append(fit, more...)...); !strings.Contains(log, line) {
			t.Errorf("%q: %s", more, log)
		}
	}
	store := filepath.Join(t.TempDir(), "c.db")
	must(t, exitOK, "campaign", "new", store, path, "--learner", "gp", "--target", "y", "--id", "id", "-q")
	for _, command := range []string{"ask", "predict"} {
		if _, log := must(t, exitOK, "campaign", command, store, "--device", "fake:0"); !strings.Contains(log,
			"the learner gp is fitted on the CPU, not on fake:0") {
			t.Errorf("campaign %s: %s", command, log)
		}
	}
	if _, log := must(t, exitOK, append(fit, "--learner", "network", "--epochs", "2", "--hidden",
		"16")...); strings.Contains(log, "learners") {
		t.Error(log)
	}
}

// TestWhatPredictsOnTheDevice has a card fail that trains no network.
func TestWhatPredictsOnTheDevice(t *testing.T) {
	path, model := sample(t), filepath.Join(t.TempDir(), "net.safetensors")
	must(t, exitOK, "fit", path, "--target", "y", "--id", "id", "--learner", "network", "--epochs", "2", "--hidden",
		"16", "--out", model, "-q")
	predict := []string{"predict", path, "--model", model, "--id", "id", "-q"}
	evaluate := []string{"evaluate", path, "--model", model, "--target", "y", "-q"}
	onCPU, _ := must(t, exitOK, predict...)
	install(t, &devicetest.Fake{})
	onCard, _ := must(t, exitOK, append(predict, "--device", "fake:0")...)
	if strings.Count(onCard, "\n") != strings.Count(onCPU, "\n") ||
		strings.Split(onCard, "\n")[0] != strings.Split(onCPU, "\n")[0] {
		t.Errorf("%s\non the CPU\n%s", onCard, onCPU)
	}
	for _, args := range [][]string{predict, evaluate} {
		for sound := range 2 { // predictions, and intervals
			install(t, &devicetest.Fake{FailFeatures: errors.New("the card is lost"), Predictions: sound})
			_, log := must(t, exitFailure, append(args, "--device", "fake:0")...)
			if !strings.Contains(log, "predicting on fake:0 test card: the card is lost") {
				t.Errorf("%s: %s", args[0], log)
			}
		}
		must(t, exitOK, append(args, "--device", "cpu")...)
	}
}

// TestStatusLeavesTheCardAlone opens a card with --gain only.
func TestStatusLeavesTheCardAlone(t *testing.T) {
	store := filepath.Join(t.TempDir(), "c.db")
	must(t, exitOK, "campaign", "new", store, sample(t), "--learner", "network", "--target", "y", "--id", "id", "-q")
	limits := install(t, &devicetest.Fake{})
	must(t, exitOK, "campaign", "status", store, "--device", "fake:0")
	if len(*limits) > 0 {
		t.Error("the card was opened")
	}
}

// TestAuditSaysWhereItTrained has a card refuse to train.
func TestAuditSaysWhereItTrained(t *testing.T) {
	install(t, &refusing{})
	_, log := must(t, exitOK, "audit", sample(t), "--target", "y", "--epochs", "2", "--hidden", "16",
		"--folds", "2", "--repeats", "1")
	if !strings.Contains(log, "warning: the networks were trained on the CPU, not on fake:0 test card: it never trains") {
		t.Error(log)
	}
}

// refusing is a card that does not train.
type refusing struct{ devicetest.Fake }

func (*refusing) CannotTrain(*network.DeviceTraining) string { return "it never trains" }

// TestAutoWarnsOfADriverThatFails: without a driver there is nothing to say.
func TestAutoWarnsOfADriverThatFails(t *testing.T) {
	path := sample(t)
	t.Cleanup(func() { fakeDriver.count = noCards })
	for failure, want := range map[error]bool{device.ErrNone: false, errors.New("the driver does not start"): true} {
		fakeDriver.count = func() (int, error) { return 0, failure }
		_, log := must(t, exitOK, "select", path, "--target", "y", "--id", "id", "-n", "5", "--learner", "network",
			"--epochs", "2", "--hidden", "16", "-q")
		if warned := strings.Contains(log, "warning: computing on the CPU: "+failure.Error()); warned != want {
			t.Errorf("%v: %q", failure, log)
		}
	}
}

// TestDoctorOnDevices has doctor examine a sound card, cards that compute wrongly or cannot
// be opened, and a driver that fails.
func TestDoctorOnDevices(t *testing.T) {
	install(t, &devicetest.Fake{})
	out, _ := must(t, exitOK, "doctor")
	for _, line := range []string{"GPU         fake:0 test card, made of loops\n",
		"ok          selection on fake:0 (off by 0)\n", "ok          training on fake:0 (off by "} {
		if !strings.Contains(out, line) {
			t.Errorf("%q lacks %q", out, line)
		}
	}

	install(t, &devicetest.Fake{FailTraining: errors.New("lost"), FailSelection: errors.New("lost")})
	out, log := must(t, exitFailure, "doctor")
	for _, line := range []string{"FAILED      selection on fake:0 (off by +Inf)\n",
		"FAILED      training on fake:0 (off by +Inf)\n"} {
		if !strings.Contains(out, line) {
			t.Errorf("%q lacks %q", out, line)
		}
	}
	if !strings.Contains(log, "the self-test failed on fake:0; compute with --device cpu") ||
		strings.Contains(log, "NEXTBATCH_SIMD") {
		t.Error(log)
	}

	fakeDriver.open = func(int, int64) (device.Device, error) { return nil, errors.New("the card is busy") }
	if out, _ = must(t, exitFailure, "doctor"); !strings.Contains(out, "GPU         the card is busy\n") ||
		!strings.Contains(out, "FAILED      opening fake:0 ") {
		t.Error(out)
	}

	fakeDriver.count = func() (int, error) { return 0, errors.New("there is no driver") }
	if out, _ = must(t, exitOK, "doctor"); !strings.Contains(out, "GPU         there is no driver\n") {
		t.Error(out)
	}
}

// TestJobsOnADevice fits runs into the memory of a card: features, and a block of 1 GiB each.
func TestJobsOnADevice(t *testing.T) {
	kinds := []kindOfRun{
		{method: spec.MustParse("random"), sizes: forecast.Sizes{Pool: 10, Train: 10, Inputs: 2, Batch: 2}},
		{method: spec.MustParse("lcmd-tp:grad>sketch(512)"), sizes: forecast.Sizes{Pool: 100_000, Train: 1000,
			Inputs: 10, Batch: 256}},
	}
	each := forecast.Memory(kinds[1].method, kinds[1].sizes) + 1<<30
	for room, want := range map[int64]int{0: 1, each: 1, 2*each - 1: 1, 2 * each: 2, 5 * each: 5, 1000 * each: 64} {
		if got := jobsOn(&devicetest.Fake{Memory: room}, kinds); got != want {
			t.Errorf("%d runs on a card with %d bytes, not %d", got, room, want)
		}
	}
}

// TestDoctorOnTheCPU has a test of the CPU fail, alone and beside one of a card.
func TestDoctorOnTheCPU(t *testing.T) {
	h := health{Tests: []healthCheck{{Name: "selection"}, {Name: "training on fake:0", OK: true, device: "fake:0"}}}
	if err := h.failure(); err == nil || !strings.Contains(err.Error(), "NEXTBATCH_SIMD=go") ||
		strings.Contains(err.Error(), "--device") {
		t.Error(err)
	}
	h.Tests[1].OK = false
	if err := h.failure(); !strings.Contains(err.Error(), "NEXTBATCH_SIMD=go") ||
		!strings.Contains(err.Error(), "--device cpu") {
		t.Error(err)
	}
}

// TestBenchOnACardThatFails fails all runs on the card, or some of them.
func TestBenchOnACardThatFails(t *testing.T) {
	lost, full := errors.New("the card is lost; run again"), fmt.Errorf("3 GiB are too much: %w", device.ErrMemory)
	for _, c := range []struct {
		card  devicetest.Fake
		specs string
		code  int
	}{
		{devicetest.Fake{FailTraining: lost}, "maxdist-tp:ll; random", exitFailure},
		{devicetest.Fake{FailTraining: full}, "maxdist-tp:ll; random", exitMemory},
		{devicetest.Fake{FailFeatures: lost}, "maxdist-tp:ll", exitFailure},
		{devicetest.Fake{FailFeatures: full}, "maxdist-tp:ll", exitMemory},
		{devicetest.Fake{FailSelection: lost, Steps: 2}, "maxdist-tp:ll", exitFailure},
		{devicetest.Fake{FailFeatures: lost}, "maxdist-tp:ll; random", exitPartial},
	} {
		c.card.Memory = 8 << 30
		install(t, &c.card)
		_, log := bench(t, c.code, "run", "--table", smallTable(t), "--target", "y", "--id", "name", "--specs", c.specs,
			"--splits", "0", "--rounds", "1",
			"--batch", "4", "--start", "10", "--valid", "20", "--epochs", "2", "--hidden", "8", "--results",
			filepath.Join(t.TempDir(), "r.db"), "--device", "fake:0")
		if !strings.Contains(log, "tries them again") || c.code != exitPartial &&
			!strings.Contains(log, "nextbatch: all runs failed: ") {
			t.Errorf("%+v: %s", c.card, log)
		}
	}
}

// TestBenchRecordsTheDevice reads from the results where they come from.
func TestBenchRecordsTheDevice(t *testing.T) {
	install(t, &devicetest.Fake{Memory: 8 << 30})
	results, out := filepath.Join(t.TempDir(), "results.db"), filepath.Join(t.TempDir(), "r.csv")
	run := []string{"run", "--table", smallTable(t), "--target", "y", "--id", "name", "--specs", "maxdist-tp:ll",
		"--splits", "0", "--rounds", "1",
		"--batch", "4", "--start", "10", "--valid", "20", "--epochs", "2", "--hidden", "8", "--results", results}
	bench(t, exitOK, append(run, "--device", "fake:0")...)
	bench(t, exitOK, append(run, "--splits", "1", "--device", "cpu")...)
	bench(t, exitOK, "export", results, "--out", out)
	table, err := source.ReadFile(t.Context(), out, source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	where, err := table.Column("simd")
	if err != nil {
		t.Fatal(err)
	}
	for row, want := range []bool{true, true, false, false} {
		if got := strings.HasSuffix(where.Format(row), ", fake:0 test card"); got != want {
			t.Errorf("row %d of %d was computed on %q", row, table.Rows(), where.Format(row))
		}
	}
}
