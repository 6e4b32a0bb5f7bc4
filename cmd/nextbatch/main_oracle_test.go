//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nextbatch/nextbatch/internal/postgresdb/postgrestest"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/campaign/postgres"
	"github.com/nextbatch/nextbatch/campaign/sqlite"
	"github.com/nextbatch/nextbatch/internal/rng"
)

// A run of an oracle is killed with signal 9 at random moments, again and again, until every row has its
// label. No label that was told is ever lost, every row has one label in the end, and no process of the
// oracle is left behind. NEXTBATCH_SOAK=1 kills 1,000 times for each store.

const (
	killsInCI   = 20 // for each store
	killsInSoak = 1000
	oracleRows  = 60
)

func TestKilledRunSQLite(t *testing.T) {
	killRuns(t, filepath.Join(t.TempDir(), "c.db"), func(ctx context.Context, path string) (campaign.Store,
		error) {
		return sqlite.Open(ctx, path)
	})
}

func TestKilledRunPostgres(t *testing.T) {
	killRuns(t, postgrestest.Schema(t), func(ctx context.Context, address string) (campaign.Store, error) {
		return postgres.Open(ctx, address)
	})
}

func killRuns(t *testing.T, address string, open func(context.Context, string) (campaign.Store, error)) {
	kills, seed := killsInCI, uint64(time.Now().UnixNano())
	if os.Getenv("NEXTBATCH_SOAK") != "" {
		kills = killsInSoak
	}
	t.Logf("seed %d", seed)
	draw := rng.New(seed, "kill")
	store, err := open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for number := 0; kills > 0; number++ {
		k := newKilled(t, address, store, fmt.Sprintf("c%d", number))
		for done := false; !done; {
			// A few hundred milliseconds: some runs die before they ask, some while they label.
			done = k.run(time.Duration(draw.IntN(400)) * time.Millisecond)
			if k.check(); !done {
				kills--
			}
			if kills <= 0 {
				done = k.run(time.Minute)
			}
		}
		k.finish()
	}
}

// killed is a campaign whose runs are killed.
type killed struct {
	t                      *testing.T
	dir, address, campaign string
	store                  campaign.Store
	told                   int64 // labels that were there before
}

const killedOracle = `read -r row
sleep 600 >/dev/null 2>&1 &
echo $$ $! >>pids
sleep 0.02
echo "${1#r}"
`

func newKilled(t *testing.T, address string, store campaign.Store, name string) *killed {
	t.Helper()
	k := &killed{t: t, dir: t.TempDir(), address: address, campaign: name, store: store}
	var table strings.Builder
	table.WriteString("id,a,y\n")
	for row := range oracleRows {
		fmt.Fprintf(&table, "r%d,%d.5,\n", row, row%7)
	}
	for file, text := range map[string]string{"table.csv": table.String(), "oracle.sh": killedOracle} {
		if err := os.WriteFile(filepath.Join(k.dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := k.command("new", "table.csv", "--target", "y", "--id", "id", "--epochs", "1", "--hidden", "4", "--batch",
		"7", "--method", "random")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return k
}

func (k *killed) command(verb string, args ...string) *exec.Cmd {
	c := nextbatch(append([]string{"campaign", verb, k.address, "--campaign", k.campaign}, args...)...)
	c.Dir = k.dir
	return c
}

// run lets the oracle work for a while, and reports whether it finished in that time.
func (k *killed) run(while time.Duration) (done bool) {
	k.t.Helper()
	c := k.command("run", "--oracle", "sh oracle.sh {id}", "--parallel", "4", "--quiet")
	log := &strings.Builder{}
	c.Stderr = log
	if err := c.Start(); err != nil {
		k.t.Fatal(err)
	}
	kill := time.AfterFunc(while, func() { _ = c.Process.Kill() })
	defer kill.Stop()
	err := c.Wait()
	if err != nil && c.ProcessState.ExitCode() != -1 {
		k.t.Fatalf("%v: %s", err, log)
	}
	return err == nil
}

// check makes sure that no label is lost and none is wrong.
func (k *killed) check() *campaign.State {
	k.t.Helper()
	c, err := campaign.Open(k.t.Context(), k.store, k.campaign)
	if err != nil {
		k.t.Fatal(err)
	}
	s, err := c.State(k.t.Context())
	if err != nil {
		k.t.Fatal(err)
	}
	labelled := s.With(campaign.StatusLabelled)
	if int64(len(labelled)) < k.told {
		k.t.Errorf("there were %d labels, now there are %d", k.told, len(labelled))
	}
	k.told = int64(len(labelled))
	for _, ref := range labelled {
		m := s.Measurements(ref.Row)
		if len(m) != 1 || m[0].Values[0] != float64(ref.Row) {
			k.t.Errorf("row %s has the measurements %+v", ref.ID, m)
		}
	}
	return s
}

// finish makes sure that every row has a label, and that no process is left.
func (k *killed) finish() {
	k.t.Helper()
	if counts := k.check().Counts(); counts.Labelled != oracleRows {
		k.t.Errorf("in the end there are %+v", counts)
	}
	text, err := os.ReadFile(filepath.Join(k.dir, "pids"))
	if err != nil {
		k.t.Fatal(err)
	}
	left := fmt.Sprintf("ps -o pid=,args= -p %s | grep 'oracle.sh\\|sleep 600'",
		strings.Join(pidsIn(k.t, string(text)), ","))
	for begin := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		out, _ := exec.Command("sh", "-c", left).Output() // grep finds none
		if len(out) == 0 {
			return
		}
		if time.Since(begin) > time.Minute {
			k.t.Errorf("processes are left behind: %s", out)
			return
		}
	}
}

func pidsIn(t *testing.T, text string) (list []string) {
	for _, word := range strings.Fields(text) {
		if _, err := strconv.Atoi(word); err != nil {
			t.Error(err)
		}
		list = append(list, word)
	}
	return list
}
