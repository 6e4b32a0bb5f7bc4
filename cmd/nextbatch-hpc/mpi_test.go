//go:build linux && (amd64 || arm64)

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nextbatch/nextbatch/cmd/nextbatch/cli"
	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/internal/device/mpi"
	"github.com/nextbatch/nextbatch/internal/place"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/matrix"
)

// asCommand has this test's program be the command.
const asCommand = "NEXTBATCH_TEST_COMMAND"

// asMeter has it measure how long ranks take to exchange numbers.
const asMeter = "NEXTBATCH_TEST_EXCHANGES"

func TestMain(m *testing.M) {
	if os.Getenv(asMeter) != "" {
		measure()
		os.Exit(0)
	}
	if os.Getenv(asCommand) != "" {
		os.Exit(cli.Run(os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// launchers are those that are installed. Without any, the test is skipped.
func launchers(t *testing.T) (list []string) {
	for _, name := range []string{"mpirun.openmpi", "mpirun.mpich"} {
		if path, err := exec.LookPath(name); err == nil {
			list = append(list, path)
		}
	}
	if len(list) == 0 {
		if path, err := exec.LookPath("mpirun"); err == nil {
			return []string{path}
		}
		if os.Getenv("NEXTBATCH_REQUIRE_MPI") == "1" {
			t.Fatal("there is no mpirun")
		}
		t.Skip("there is no mpirun: install Open MPI or MPICH")
	}
	return list
}

// over runs the command on ranks; without any, by itself.
func over(launcher string, ranks int, args ...string) *exec.Cmd {
	program, err := os.Executable()
	if err != nil {
		panic(err)
	}
	args = append(args, "--threads", "1", "-q")
	c := exec.Command(program, args...)
	if ranks > 0 {
		start := []string{"-np", fmt.Sprint(ranks)}
		if !strings.HasSuffix(launcher, "mpich") {
			start = append(start, "--oversubscribe")
		}
		c = exec.Command(launcher, append(append(start, program), append(args, "--mpi")...)...)
	}
	c.Env = append(os.Environ(), asCommand+"=1", "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
		"OMPI_MCA_rmaps_base_oversubscribe=1")
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return c
}

func run(t *testing.T, c *exec.Cmd) {
	t.Helper()
	if text, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", c.Args, err, text)
	}
}

func contents(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func save(t *testing.T, path string, m matrix.Dense[float32]) string {
	t.Helper()
	var b bytes.Buffer
	if err := source.WriteNPY(&b, m); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func normal(seed uint64, rows, cols int) matrix.Dense[float32] {
	m := matrix.New[float32](rows, cols)
	rng.FillNormal(rng.New(seed, "mpi test"), m.Data)
	return m
}

// features writes labelled rows, and a pool as one file and as files of unequal lengths.
func features(t *testing.T) (train, whole, parts string) {
	dir := t.TempDir()
	pool := normal(1, 6*place.Block+123, 6)
	cuts := []int{0, 5, place.Block + 1, 4 * place.Block, pool.Rows}
	for i := range len(cuts) - 1 {
		save(t, filepath.Join(dir, fmt.Sprintf("part-%d.npy", i)), pool.Slice(cuts[i], cuts[i+1]))
	}
	return save(t, filepath.Join(dir, "train.npy"), normal(2, 40, 6)), save(t, filepath.Join(dir, "whole.npy"), pool),
		filepath.Join(dir, "part-*.npy")
}

// TestRanksWriteTheSameBatch compares the files that one process and several write.
func TestRanksWriteTheSameBatch(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a hundred processes")
	}
	list := launchers(t)
	train, whole, parts := features(t)
	one, many := filepath.Join(t.TempDir(), "one.csv"), filepath.Join(t.TempDir(), "many.csv")
	for i, method := range []string{"lcmd-tp:features", "bait-f-p:features>train", "maxdist-tp:features",
		"kmeanspp-tp:features",
		"maxdet-p:features>train", "frankwolfe-p:features>train", "random", "lcmd-p:features"} {
		args := []string{"select", "--train-features", train, "-n", "12", "--method", method}
		run(t, over("", 0, append(args, "--pool-features", whole, "-o", one)...))
		counts := []int{3}
		if i < 2 {
			counts = []int{1, 2, 3, 4, 7}
		}
		for _, ranks := range counts {
			for _, launcher := range list[:map[bool]int{true: len(list), false: 1}[i < 2 && (ranks == 2 || ranks == 3)]] {
				os.Remove(many)
				run(t, over(launcher, ranks, append(args, "--pool-features", parts, "-o", many)...))
				if !bytes.Equal(contents(t, one), contents(t, many)) {
					t.Errorf("%s on %d ranks of %s: another batch", method, ranks, launcher)
				}
			}
		}
	}
}

// TestRanksTrainTheSame has every rank train the network, and embed its share of a table.
func TestRanksTrainTheSame(t *testing.T) {
	launcher := launchers(t)[0]
	dir := t.TempDir()
	table := filepath.Join(dir, "table.csv")
	var b bytes.Buffer
	b.WriteString("a,b,y\n")
	rows := normal(3, 2*place.Block+100, 2)
	for i := range rows.Rows {
		fmt.Fprintf(&b, "%g,%g,", rows.At(i, 0), rows.At(i, 1))
		if i%500 == 0 {
			fmt.Fprintf(&b, "%g", rows.At(i, 0)*rows.At(i, 1))
		}
		b.WriteByte('\n')
	}
	if err := os.WriteFile(table, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"select", table, "--target", "y", "-n", "8", "--hidden", "16,16", "--epochs", "8", "--method",
		"lcmd-tp:grad>sketch(32)"}
	run(t, over("", 0, append(args, "-o", filepath.Join(dir, "one.csv"))...))
	run(t, over(launcher, 2, append(args, "-o", filepath.Join(dir, "many.csv"))...))
	if !bytes.Equal(contents(t, filepath.Join(dir, "one.csv")), contents(t, filepath.Join(dir, "many.csv"))) {
		t.Error("two ranks pick another batch")
	}
}

// TestRanksFailTogether: what one rank cannot read ends all of them, with one message.
func TestRanksFailTogether(t *testing.T) {
	launcher := launchers(t)[0]
	train, _, parts := features(t)
	save(t, strings.Replace(parts, "*", "9", 1), normal(4, 10, 7))
	text, err := over(launcher, 3, "select", "--train-features", train, "--pool-features", parts,
		"-n", "12").CombinedOutput()
	if want := "it has 7 columns, but"; err == nil || strings.Count(string(text), want) != 1 {
		t.Errorf("%v, want one line with %q:\n%s", err, want, text)
	}
	text, err = over(launcher, 7, "select", "--train-features", train, "--pool-features",
		strings.Replace(parts, "*", "[01]", 1), "-n", "12").CombinedOutput()
	if want := "use at most 2 ranks"; err == nil || strings.Count(string(text), want) != 1 {
		t.Errorf("%v, want one line with %q:\n%s", err, want, text)
	}
}

// TestRanksEndAtARow: a number in the share of one rank that leaves the range of float32 ends all
// ranks, with one message that names its file and its row in the whole pool.
func TestRanksEndAtARow(t *testing.T) {
	launcher := launchers(t)[0]
	dir := t.TempDir()
	pool := normal(1, 2*place.Block, 40)
	for j := range pool.Cols {
		pool.Set(place.Block+5, j, 3e38)
	}
	save(t, filepath.Join(dir, "part-0.npy"), pool.Slice(0, 100))
	last := save(t, filepath.Join(dir, "part-1.npy"), pool.Slice(100, pool.Rows))
	train := save(t, filepath.Join(dir, "train.npy"), normal(2, 40, 40))
	c := over(launcher, 2, "select", "--train-features", train, "--pool-features", filepath.Join(dir, "part-*.npy"), "-n",
		"4", "--method", "lcmd-tp:features>sketch(64)")
	text, err := ends(t, c)
	row := fmt.Sprintf("(row %d is row %d of %s)", place.Block+5, place.Block-95, last)
	if err == nil || strings.Count(text, row) != 1 || !strings.Contains(text,
		"rank 1: lcmd-tp:features>sketch(64): pool: row ") {
		t.Errorf("%v, want one line with %q:\n%s", err, row, text)
	}
}

// ends runs a command that must not hang.
func ends(t *testing.T, c *exec.Cmd) (text string, err error) {
	t.Helper()
	hung := time.AfterFunc(time.Minute, func() { syscall.Kill(-c.Process.Pid, syscall.SIGKILL) })
	output, err := c.CombinedOutput()
	if !hung.Stop() {
		t.Errorf("%v did not end", c.Args)
	}
	return string(output), err
}

// TestLostRank kills one rank: the command fails and leaves no batch; it goes on from its
// checkpoint, to the batch of one process.
func TestLostRank(t *testing.T) {
	if testing.Short() {
		t.Skip("selects for seconds")
	}
	launcher := launchers(t)[0]
	train, whole, parts := features(t)
	out, kept := filepath.Join(t.TempDir(), "out.csv"), filepath.Join(t.TempDir(), "kept.jsonl")
	args := []string{"select", "--train-features", train, "-n", "1500", "--method", "maxdist-tp:features", "-o", out}
	many := append(args, "--pool-features", parts, "--checkpoint", kept)
	c := over(launcher, 3, many...)
	var log bytes.Buffer
	c.Stdout, c.Stderr = &log, &log
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	var ranks []string
	for {
		if text, err := os.ReadFile(kept); err == nil && bytes.Count(text, []byte("\n")) > 20 && len(ranks) == 3 {
			break
		}
		select {
		case err := <-ended:
			t.Fatalf("ended before it was killed: %v", err)
		case <-time.After(50 * time.Millisecond):
		}
		found, _ := exec.Command("pgrep", "-f", "--", "-o "+out+" ").Output()
		ranks = withoutLauncher(strings.Fields(string(found)), c.Process.Pid)
	}
	run(t, exec.Command("kill", "-9", ranks[1]))
	err := <-ended
	if text := strings.ToLower(log.String()); err == nil || !strings.Contains(text, "signal 9") &&
		!strings.Contains(text, "killed") && !strings.Contains(text, "the ranks lost each other") {
		t.Errorf("without one of its ranks it ends with %v, and does not say that one was lost: %s", err, text)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("there is a batch")
	}
	run(t, over(launcher, 2, many...))
	resumed := contents(t, out)
	run(t, over("", 0, append(args, "--pool-features", whole)...))
	if !bytes.Equal(resumed, contents(t, out)) {
		t.Error("going on gives another batch")
	}
	if _, err := os.Stat(kept); err == nil {
		t.Error("the checkpoint of a complete batch is still there")
	}
}

// TestRank0ReadsTheCheckpoint runs ranks in folders of their own, of which only that of rank 0 has
// the checkpoint: the others get its choices, and the batch is that of a run from start to end.
func TestRank0ReadsTheCheckpoint(t *testing.T) {
	launcher := launchers(t)[0]
	train, _, parts := features(t)
	args := []string{"select", "--train-features", train, "--pool-features", parts, "-n", "9",
		"--checkpoint", "kept.jsonl"}
	whole, full := filepath.Join(t.TempDir(), "whole.csv"), filepath.Join(t.TempDir(), "full.csv")
	home, away := t.TempDir(), t.TempDir()
	inHome := func(c *exec.Cmd) *exec.Cmd {
		c.Dir = home
		return c
	}
	run(t, inHome(over("", 0, append(args, "-o", whole)...)))
	if err := os.Symlink("/dev/full", full); err != nil {
		t.Fatal(err)
	}
	if text, err := inHome(over(launcher, 2, append(args, "-o", full)...)).CombinedOutput(); err == nil ||
		!strings.Contains(string(text), "no space left") {
		t.Fatalf("%v: %s", err, text)
	}
	kept := filepath.Join(home, "kept.jsonl")
	lines := bytes.SplitAfter(contents(t, kept), []byte("\n"))
	if len(lines) != 11 {
		t.Fatalf("the checkpoint has %d lines", len(lines))
	}
	if err := os.WriteFile(kept, bytes.Join(lines[:5], nil), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "out.csv")
	if text, err := ends(t, inFolders(over(launcher, 2, append(args, "-o", out)...), home, away)); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if !bytes.Equal(contents(t, whole), contents(t, out)) {
		t.Error("going on gives another batch")
	}
}

// inFolders has two ranks run in folders of their own.
func inFolders(c *exec.Cmd, first, second string) *exec.Cmd {
	at := slices.Index(c.Args, "2") // ranks
	rest := slices.DeleteFunc(slices.Clone(c.Args[at+1:]), func(arg string) bool { return arg == "--oversubscribe" })
	one := func(dir string) []string { return append([]string{"-np", "1", "-wdir", dir}, rest...) }
	c.Args = slices.Concat(c.Args[:1], one(first), []string{":"}, one(second))
	return c
}

func withoutLauncher(found []string, launcher int) (ranks []string) {
	for _, pid := range found {
		if pid != fmt.Sprint(launcher) {
			ranks = append(ranks, pid)
		}
	}
	return ranks
}

// BenchmarkExchanges prints how long the exchanges of a selection take on a number of ranks of
// this machine: the best row of all, a row that one rank lends, a sum along the chain.
func BenchmarkExchanges(b *testing.B) {
	launcher, err := exec.LookPath("mpirun")
	if err != nil {
		b.Skip("there is no mpirun: install Open MPI or MPICH")
	}
	for _, ranks := range []int{1, 2, 4} {
		b.Run(fmt.Sprint(ranks), func(b *testing.B) {
			c := over(launcher, ranks)
			c.Env = append(c.Env, asMeter+"=1")
			text, err := c.CombinedOutput()
			if err != nil {
				b.Fatalf("%v: %s", err, text)
			}
			b.Logf("%d ranks\n%s", ranks, text)
		})
	}
}

func measure() {
	w, err := mpi.Connect()
	if err != nil {
		panic(err)
	}
	const times = 2000
	for _, e := range []struct {
		name  string
		bytes int
		do    func(data, all []byte) error
	}{
		{"best", 40, func(data, all []byte) error { return w.Gather(all, data) }},
		{"lent", 512 * 4, func(data, _ []byte) error { return w.Broadcast(data, w.Size()-1) }},
		{"chained", 40, func(data, _ []byte) error { return alongChain(w, data) }},
		{"chained", 2 << 20, func(data, _ []byte) error { return alongChain(w, data) }},
	} {
		data, all := make([]byte, e.bytes), make([]byte, e.bytes*w.Size())
		runs := max(20, times*64/max(64, e.bytes))
		begin := time.Now()
		for range runs {
			if err := e.do(data, all); err != nil {
				panic(err)
			}
		}
		if w.Rank() == 0 {
			fmt.Printf("%-8s %8d bytes  %9.2f µs\n", e.name, e.bytes, time.Since(begin).Seconds()*1e6/float64(runs))
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
}

func alongChain(w *mpi.World, data []byte) error {
	last := w.Size() - 1
	if w.Rank() > 0 {
		if err := w.Receive(data, w.Rank()-1); err != nil {
			return err
		}
	}
	if w.Rank() < last {
		if err := w.Send(data, w.Rank()+1); err != nil {
			return err
		}
	}
	return w.Broadcast(data, last)
}
