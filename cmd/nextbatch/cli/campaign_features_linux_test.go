package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nextbatch/nextbatch/internal/wire"
)

// TestSoakAskKeepsFeatures measures asks of a campaign of 100,000 rows with 10 inputs that has gained
// 1,000 rows, with and without the file of features, in processes of their own that take turns:
//
//	NEXTBATCH_SOAK=1 go test ./cmd/nextbatch/cli -run TestSoakAskKeepsFeatures -v
func TestSoakAskKeepsFeatures(t *testing.T) {
	if os.Getenv("NEXTBATCH_SOAK") != "1" {
		t.Skip("it takes a minute: NEXTBATCH_SOAK=1 runs it")
	}
	const rows, more, labelled, turns = 100_000, 1000, 256, 3
	program := filepath.Join(t.TempDir(), "nextbatch")
	if out,
		err := exec.Command("go", "build", "-o", program,
		"github.com/nextbatch/nextbatch/cmd/nextbatch").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	raw, err := os.ReadFile(generatedTable(t, rows+more, labelled, 1))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(raw), "\n")
	table, added := write(t, "table.csv", strings.Join(lines[:1+rows], "")),
		write(t, "more.csv", lines[0]+strings.Join(lines[1+rows:], ""))
	store := filepath.Join(t.TempDir(), "c.db")
	must(t, exitOK, "campaign", "new", store, table, "--learner", "network", "--target", "y1", "-q")
	answered, ended, _ := timedAsk(t, program, store)
	info, err := os.Stat(store + keptEnding)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the first ask, which trains: %.2f s to the batch, %.2f s to the end; the file has %.0f MB", answered, ended,
		float64(info.Size())/1e6)
	must(t, exitOK, "campaign", "add", store, added, "-q")
	best := map[bool][2]float64{true: {math.Inf(1), math.Inf(1)}, false: {math.Inf(1), math.Inf(1)}}
	var batches []string
	for range turns {
		for _, kept := range []bool{false, true} {
			again := copied(t, store)
			if kept {
				if err := os.Link(store+keptEnding, again+keptEnding); err != nil {
					t.Fatal(err)
				}
			}
			answered, ended, batch := timedAsk(t, program, again)
			now, err := os.Stat(again + keptEnding)
			if err != nil || now.Size() <= info.Size() {
				t.Fatalf("the features of the new rows were not written, for want of space perhaps: %v", err)
			}
			if err := os.Remove(again + keptEnding); err != nil {
				t.Fatal(err)
			}
			batches = append(batches, batch)
			t.Logf("with the file: %-5v %.2f s to the batch, %.2f s to the end", kept, answered, ended)
			best[kept] = [2]float64{min(best[kept][0], answered), min(best[kept][1], ended)}
		}
	}
	t.Logf("best, to the batch and to the end: without the file %.2f s, with it %.2f s", best[false], best[true])
	for _, batch := range batches {
		if batch != batches[0] {
			t.Errorf("the batches are %v", batches)
		}
	}
}

// timedAsk asks in a process of its own, and returns the seconds until the batch was printed and
// until the process ended.
func timedAsk(t *testing.T, program, store string) (answered, ended float64, batch string) {
	t.Helper()
	c := exec.Command(program, "campaign", "ask", store, "-n", "64", "--json", "-q")
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	var r wire.Asked
	err = json.NewDecoder(out).Decode(&r)
	answered = time.Since(began).Seconds()
	if err := errors.Join(err, c.Wait()); err != nil {
		t.Fatal(err)
	}
	return answered, time.Since(began).Seconds(), fmt.Sprint(r.IDs, r.Scores)
}
