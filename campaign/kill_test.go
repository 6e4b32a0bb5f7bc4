package campaign_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nextbatch/nextbatch/internal/postgresdb/postgrestest"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/campaign/postgres"
	"github.com/nextbatch/nextbatch/campaign/sqlite"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/internal/rng"
)

// Variables in the environment of a helper process: where the campaign is, what to do
// (a number of rounds of ask and tell, or 0 for anything without end), and its seed.
const (
	helperStore  = "NEXTBATCH_TEST_CAMPAIGN"
	helperRounds = "NEXTBATCH_TEST_ROUNDS"
	helperSeed   = "NEXTBATCH_TEST_SEED"
)

// TestHelperProcess is not a test: others start it as a process of its own, which
// works on a campaign and prints a line for each change that was acknowledged.
func TestHelperProcess(t *testing.T) {
	place := os.Getenv(helperStore)
	if place == "" {
		t.Skip("only other tests start it")
	}
	store, err := openPlace(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	c, err := campaign.Open(t.Context(), store, "c")
	if err != nil {
		t.Fatal(err)
	}
	seed, err := strconv.ParseUint(os.Getenv(helperSeed), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	h := &helper{t: t, c: c, seed: seed, draw: rng.New(seed, "helper")}
	rounds, err := strconv.Atoi(os.Getenv(helperRounds))
	if err != nil {
		t.Fatal(err)
	}
	for range rounds {
		h.ask()
		h.tell()
	}
	for rounds == 0 {
		h.anything()
	}
}

// openPlace opens a store by its address, or by the path of its file.
func openPlace(ctx context.Context, place string) (campaign.Store, error) {
	if strings.HasPrefix(place, "postgres:") {
		return postgres.Open(ctx, place)
	}
	return sqlite.Open(ctx, place)
}

// helper works on a campaign.
type helper struct {
	t    *testing.T
	c    *campaign.Campaign
	seed uint64
	draw *rng.Stream
	out  []string // rows that it was handed and has not told
	done int
}

// acknowledge prints a change that is durable.
func (h *helper) acknowledge(err error, words ...any) {
	if err != nil {
		h.t.Fatal(err)
	}
	fmt.Println(append([]any{"ack"}, words...)...)
}

func (h *helper) anything() {
	switch h.draw.IntN(10) {
	case 0:
		h.add()
	case 1:
		if n := len(h.out); n > 0 {
			_, err := h.c.Fail(h.t.Context(), ada, h.out[n-1:], "broke", false)
			h.acknowledge(err, "failed", h.out[n-1])
			h.out = h.out[:n-1]
		}
	case 2, 3, 4, 5:
		h.tell()
	default:
		h.ask()
	}
}

func (h *helper) add() {
	first := int(h.seed+1)*1000*1000 + h.done
	_, err := h.c.Add(h.t.Context(), ada, pool(first, 3))
	h.done += 3
	h.acknowledge(err, "added", fmt.Sprintf("r%03d", first))
}

func (h *helper) ask() {
	batch, err := h.c.Ask(h.t.Context(), ada, campaign.Ask{Rows: 2, Lease: -1})
	if errors.Is(err, campaign.ErrNothingOpen) {
		h.add()
		return
	}
	if err != nil {
		h.t.Fatal(err)
	}
	h.out = append(h.out, ids(batch)...)
	h.acknowledge(nil, "asked", strings.Join(ids(batch), " "))
}

func (h *helper) tell() {
	var list []campaign.Entry
	words := []any{"told"}
	for _, id := range h.out {
		value := math.Floor(1e15 * h.draw.Float64())
		list = append(list, campaign.Entry{ID: id, Values: []float64{value}})
		words = append(words, id, strconv.FormatFloat(value, 'f', 0, 64))
	}
	if len(list) == 0 {
		return
	}
	_, err := h.c.Tell(h.t.Context(), ada, campaign.Tell{Entries: list})
	h.acknowledge(err, words...)
	h.out = nil
}

func start(t *testing.T, place string, rounds int, seed uint64) (*exec.Cmd, io.Reader) {
	t.Helper()
	c := exec.Command(os.Args[0], "-test.run=^TestHelperProcess$")
	c.Env = append(os.Environ(), helperStore+"="+place, fmt.Sprint(helperRounds, "=", rounds),
		fmt.Sprint(helperSeed, "=", seed))
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	return c, out
}

// newPlace creates a store of a kind with a campaign of n rows.
func newPlace(t *testing.T, kind string, n int) string {
	t.Helper()
	place := filepath.Join(t.TempDir(), "c.db")
	if kind == "postgres" {
		place = postgrestest.Schema(t)
	}
	store, err := openPlace(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	settings := campaign.Settings{Spec: "kmeanspp-p:linear", Choices: fitted.Choices{Network: tiny()}}
	if _, err := campaign.New(t.Context(), store, "c", campaign.Start{Table: pool(0, n), IDColumn: "name",
		Targets: []string{"y"}, Settings: settings}); err != nil {
		t.Fatal(err)
	}
	return place
}

// record is what was acknowledged.
type record struct {
	asked, failed, added []string
	told                 map[string]float64
	batches              []string
}

func (r *record) note(t *testing.T, line string) {
	t.Helper()
	words := strings.Fields(line)
	if len(words) < 3 || words[0] != "ack" {
		return
	}
	switch rest := words[2:]; words[1] {
	case "asked":
		r.asked, r.batches = append(r.asked, rest...), append(r.batches, strings.Join(rest, " "))
	case "failed":
		r.failed = append(r.failed, rest...)
	case "added":
		r.added = append(r.added, rest...)
	case "told":
		for i := 0; i+1 < len(rest); i += 2 {
			value, err := strconv.ParseFloat(rest[i+1], 64)
			if err != nil {
				t.Fatal(err)
			}
			r.told[rest[i]] = value
		}
	}
}

// check compares a campaign with what was acknowledged. The log may have more: of changes
// that nobody lived to acknowledge.
func (r *record) check(t *testing.T, place string) {
	t.Helper()
	store, err := openPlace(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	c, err := campaign.Open(t.Context(), store, "c") // which folds the log
	if err != nil {
		t.Fatal(err)
	}
	log, err := c.History(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	times, batches, blobs := map[string]int{}, map[string]bool{}, []string{}
	for _, e := range log {
		switch {
		case e.Asked != nil:
			var list []string
			for _, row := range e.Asked.Rows {
				times[row.ID]++
				list = append(list, row.ID)
			}
			batches[strings.Join(list, " ")] = true
			blobs = append(blobs, e.Asked.Result)
		case e.Added != nil:
			blobs = append(blobs, e.Added.Blocks[0].Blob)
		}
	}
	for id, n := range times {
		if n > 1 {
			t.Errorf("row %s was handed out %d times", id, n)
		}
	}
	for _, batch := range r.batches {
		if !batches[batch] {
			t.Errorf("the batch %s is lost", batch)
		}
	}
	for _, key := range blobs {
		if _, err := store.Blob(t.Context(), "c", key); err != nil {
			t.Errorf("blob %q: %v", key, err)
		}
	}
	r.checkRows(t, state(t, c))
}

func (r *record) checkRows(t *testing.T, s *campaign.State) {
	t.Helper()
	row := map[string]int64{}
	for _, status := range []campaign.Status{campaign.StatusLabelled, campaign.StatusFailed, campaign.StatusAsked} {
		for _, ref := range s.With(status) {
			row[ref.ID] = ref.Row
		}
	}
	for id, value := range r.told {
		at, there := row[id]
		if !there || s.Status(at) != campaign.StatusLabelled || s.Label(at)[0] != value {
			t.Errorf("the label %v of row %s is lost: %v", value, id, s.Label(at))
		}
	}
	for _, id := range r.failed {
		if at, there := row[id]; !there || s.Status(at) != campaign.StatusFailed {
			t.Errorf("the failure of row %s is lost", id)
		}
	}
	if got := s.Total(); got < int64(3*len(r.added)) {
		t.Errorf("there are %d rows, although %d times 3 were added", got, len(r.added))
	}
}

// TestSoakKilled kills processes while they ask, tell, add and fail, without a chance to
// clean up. No acknowledged change may be lost, and no row be handed out twice.
func TestSoakKilled(t *testing.T) {
	kills, perCampaign := 20, 20
	if os.Getenv("NEXTBATCH_SOAK") == "1" {
		kills, perCampaign = 500, 25
	}
	for _, kind := range []string{"sqlite", "postgres"} {
		t.Run(kind, func(t *testing.T) {
			draw, atWork, acknowledged := rng.New(1, "kills "+kind), 0, 0
			for done := 0; done < kills; done += perCampaign {
				place, r := newPlace(t, kind, 40), &record{told: map[string]float64{}}
				for k := range perCampaign {
					lines := killOne(t, place, uint64(done+k), draw)
					if acknowledged += len(lines); len(lines) > 0 {
						atWork++
					}
					for _, line := range lines {
						r.note(t, line)
					}
				}
				if r.check(t, place); t.Failed() {
					t.Fatalf("after %d kills", done+perCampaign)
				}
			}
			if t.Logf("%d kills, %d of them at work; %d acknowledged changes", kills, atWork, acknowledged); atWork == 0 {
				t.Error("no process was killed at work")
			}
		})
	}
}

// killOne starts a process, kills it at a random moment, and returns what it had
// acknowledged.
func killOne(t *testing.T, place string, seed uint64, draw *rng.Stream) (lines []string) {
	t.Helper()
	c, out := start(t, place, 0, seed)
	text, most := bufio.NewScanner(out), draw.IntN(8)
	for len(lines) < most && text.Scan() {
		lines = append(lines, text.Text())
	}
	time.Sleep(time.Duration(draw.IntN(30)) * time.Millisecond)
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for text.Scan() {
		lines = append(lines, text.Text())
	}
	if err := c.Wait(); err == nil || slices.ContainsFunc(lines,
		func(l string) bool { return strings.Contains(l, "FAIL") }) {
		t.Errorf("the process ended by itself: %v\n%s", err, strings.Join(lines, "\n"))
	}
	return slices.DeleteFunc(lines, func(l string) bool { return !strings.HasPrefix(l, "ack ") })
}

// TestSixteenProcesses has many processes ask and tell at once.
func TestSixteenProcesses(t *testing.T) {
	const processes, rounds = 16, 3
	for _, kind := range []string{"sqlite", "postgres"} {
		t.Run(kind, func(t *testing.T) {
			place, r := newPlace(t, kind, 2*processes*rounds), &record{told: map[string]float64{}}
			outputs := make([][]byte, processes)
			var all sync.WaitGroup
			for i := range processes {
				c, out := start(t, place, rounds, uint64(i))
				all.Go(func() {
					text, err := io.ReadAll(out)
					if outputs[i] = text; err != nil {
						t.Error(err)
					}
					if err := c.Wait(); err != nil {
						t.Errorf("process %d: %v\n%s", i, err, text)
					}
				})
			}
			all.Wait()
			for _, text := range outputs {
				for line := range strings.Lines(string(text)) {
					r.note(t, line)
				}
			}
			if len(r.asked) != 2*processes*rounds || len(r.told) != len(r.asked) {
				t.Errorf("%d rows were handed out and %d told, want %d", len(r.asked), len(r.told), 2*processes*rounds)
			}
			r.check(t, place)
		})
	}
}
