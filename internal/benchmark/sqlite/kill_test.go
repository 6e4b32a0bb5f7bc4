package sqlite

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nextbatch/nextbatch/internal/benchmark"
	"github.com/nextbatch/nextbatch/internal/benchmark/storetest"
	"github.com/nextbatch/nextbatch/internal/rng"
)

// helperFile names the results file in the environment of a helper process.
const helperFile = "NEXTBATCH_TEST_RESULTS"

// TestHelperProcess is not a test: other tests start it as a separate process that
// performs the runs and prints a line per round.
func TestHelperProcess(t *testing.T) {
	path := os.Getenv(helperFile)
	if path == "" {
		t.Skip("only other tests start it")
	}
	s := open(t, path)
	storetest.Join(t, s)
	b := benchmark.Bench{Store: s, Settings: storetest.Settings(), Load: storetest.Waves, Jobs: 2,
		Watch: func(benchmark.Event) { fmt.Println("round") }}
	if _, err := b.Run(context.Background(), killed(t)); err != nil {
		t.Fatal(err)
	}
}

// killed returns runs of networks and of other learners.
func killed(t testing.TB) []benchmark.Run {
	return slices.Concat(storetest.Runs(t, 0, 1), storetest.Learners(t, 0)[:3])
}

func helper(path string) *exec.Cmd {
	c := exec.Command(os.Args[0], "-test.run=^TestHelperProcess$")
	c.Env = append(os.Environ(), helperFile+"="+path)
	c.Stderr = os.Stderr
	return c
}

// TestKilled kills processes while they work, without a chance to clean up, until
// 20 have died; the results are those of an undisturbed process.
func TestKilled(t *testing.T) {
	runs := killed(t)
	want := do(t, newPath(t), runs, 1)
	draw := rng.New(1, "kills")
	path, kills, atWork := newPath(t), 0, 0
	for kills < 20 {
		c := helper(path)
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		// Kill it while it opens the file, or after some rounds, which take a few
		// milliseconds each.
		lines, rounds := bufio.NewScanner(out), draw.IntN(7)
		for i := 0; i < rounds && lines.Scan(); i++ {
			atWork++
		}
		time.Sleep(time.Duration(draw.IntN(20)) * time.Millisecond)
		if err := c.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		finished := false
		for lines.Scan() {
			finished = finished || strings.Contains(lines.Text(), "PASS")
		}
		_ = c.Wait()
		if !finished {
			kills++
		}
		if finished || kills == 20 {
			storetest.MustBeSame(t, fmt.Sprintf("after %d kills", kills), do(t, path, runs, 2), want)
			path = newPath(t)
		}
	}
	if atWork == 0 {
		t.Error("no process was killed after a round")
	}
}

func TestProcessesShareTheWork(t *testing.T) {
	runs := killed(t)
	want := do(t, newPath(t), runs, 1)
	path := newPath(t)
	first, second := helper(path), helper(path)
	var printed [2]strings.Builder
	first.Stdout, second.Stdout = &printed[0], &printed[1]
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	if err := second.Run(); err != nil {
		t.Errorf("second: %v\n%s", err, &printed[1])
	}
	if err := first.Wait(); err != nil {
		t.Errorf("first: %v\n%s", err, &printed[0])
	}
	storetest.MustBeSame(t, "two processes", outcomes(t, path), want)
	rounds := [2]int{strings.Count(printed[0].String(), "round\n"), strings.Count(printed[1].String(), "round\n")}
	if rounds[0]+rounds[1] != len(want) {
		t.Errorf("%d and %d rounds were computed, want %d", rounds[0], rounds[1], len(want))
	}
}
