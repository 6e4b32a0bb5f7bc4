package campaign_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/campaign/storetest"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/internal/space"
)

// large is a space of any number of candidates, small one of twelve.
const (
	large = `cost = "1 + hours"
[[factor]]
name = "temperature"
range = [20, 120]
unit = "°C"
[[factor]]
name = "hours"
range = [1, 24]
log = true
[[factor]]
name = "solvent"
categories = ["DMF", "water", "ethanol"]
[[factor]]
name = "pressure"
integers = [2, 10]
when = { solvent = "water" }
[[mixture]]
name = "blend"
parts = ["A", "B", "C"]
[[constraint]]
linear = "A + 2*B <= 1.5"
`
	small = `[[factor]]
name = "a"
levels = [1, 2, 3, 4]
[[factor]]
name = "b"
categories = ["x", "y", "z"]
`
)

func spaceOf(t *testing.T, text string) *space.Space {
	t.Helper()
	path := filepath.Join(t.TempDir(), "space.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := space.Read(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func beginSpace(t *testing.T, store campaign.Store, text string, seed uint64) *campaign.Campaign {
	t.Helper()
	c, err := campaign.New(t.Context(), store, "c", campaign.Start{Space: spaceOf(t, text), Targets: []string{"y"},
		Settings: campaign.Settings{Choices: fitted.Choices{Network: tiny(), Seed: seed}}, By: ada, Clock: newClock().Now})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// inputsOf returns the rows of a batch as texts.
func inputsOf(t *testing.T, c *campaign.Campaign, rows []campaign.RowRef) (list []string) {
	t.Helper()
	table, err := c.Inputs(t.Context(), rows)
	if err != nil {
		t.Fatal(err)
	}
	for row := range table.Rows() {
		var cells []string
		for _, column := range table.Columns()[1:] {
			cells = append(cells, column.Name()+"="+column.Format(row))
		}
		list = append(list, strings.Join(cells, " "))
	}
	return list
}

func refsOf(b *campaign.Batch) (list []campaign.RowRef) {
	for _, row := range b.Rows {
		list = append(list, row.RowRef)
	}
	return list
}

// rounds asks four times for 16 rows and tells labels; it returns the inputs of each batch.
func rounds(t *testing.T, c *campaign.Campaign) (all [][]string) {
	t.Helper()
	for round := range 4 {
		batch := ask(t, c, campaign.Ask{Rows: 16})
		if got, want := ids(batch), slices.Collect(func(yield func(string) bool) {
			for i := range 16 {
				if !yield(fmt.Sprint(16*round + i)) {
					return
				}
			}
		}); !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))) {
			t.Fatalf("round %d: %q", round, got)
		}
		if text := strings.Join(batch.Result.Reasons, "; "); strings.Contains(text, "(candidate") {
			t.Errorf("round %d: %s", round, text)
		}
		for i, row := range batch.Rows {
			if batch.Result.IDs[i] != row.ID || int64(batch.Result.Indices[i]) != row.Row {
				t.Errorf("round %d: %s is %s and %d", round, row.ID, batch.Result.IDs[i], batch.Result.Indices[i])
			}
		}
		if round == 3 && (batch.Model == "" || batch.Rows[0].Predictions == nil) {
			t.Error("no model")
		}
		inputs := inputsOf(t, c, refsOf(batch))
		all = append(all, inputs)
		var labels []any
		for i, row := range batch.Rows {
			labels = append(labels, row.ID, math.Sin(float64(len(inputs[i])*7+i)))
		}
		tell(t, c, labels...)
	}
	return all
}

// TestAsksFromASpace: each ask has candidates that none had before; the same seed gives the same ones, also from a
// handle that has just been opened, and after an export; a part of them is near others.
func TestAsksFromASpace(t *testing.T) {
	t.Parallel()
	store, other := &storetest.Memory{}, &storetest.Memory{}
	c := beginSpace(t, store, large, 7)
	if s := state(t, c); s.Total() != 0 || s.Created.Space == "" {
		t.Errorf("%d rows", s.Total())
	}
	first, again := rounds(t, c), rounds(t, beginSpace(t, other, large, 7))
	seen := map[string]bool{}
	for i, batch := range first {
		if !slices.Equal(batch, again[i]) {
			t.Errorf("round %d: %q, and %q", i, batch, again[i])
		}
		for _, row := range batch {
			if seen[row] {
				t.Errorf("%s was asked for twice", row)
			}
			seen[row] = true
		}
	}
	if another := rounds(t, beginSpace(t, &storetest.Memory{}, large, 8)); slices.Equal(another[0], first[0]) {
		t.Error("another seed asks for the same rows")
	}

	var file bytes.Buffer
	if err := c.Export(t.Context(), &file); err != nil {
		t.Fatal(err)
	}
	moved, err := campaign.Import(t.Context(), &storetest.Memory{}, "", bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		t.Fatal(err)
	}
	opened, err := campaign.Open(t.Context(), other, "c")
	if err != nil {
		t.Fatal(err)
	}
	kept, imported := ask(t, opened, campaign.Ask{Rows: 8}), ask(t, moved, campaign.Ask{Rows: 8})
	if a, b := inputsOf(t, opened, refsOf(kept)), inputsOf(t, moved, refsOf(imported)); !slices.Equal(a, b) {
		t.Errorf("%q, and after an export %q", a, b)
	}
	if _, err := moved.Standing(t.Context(), ""); err != nil {
		t.Error(err)
	}
	if predicted, err := moved.Predict(t.Context(), campaign.Ask{}); err != nil || len(predicted.Rows) != 0 {
		t.Errorf("%+v, %v", predicted, err)
	}
	if shown, err := moved.Map(t.Context(), campaign.Ask{}, 500); err != nil || len(shown.Rows) != 72 {
		t.Errorf("%+v, %v", shown, err)
	}
}

// TestSmallSpaceEnds: asks share all candidates of a small space, and then there are none; those of an ask that was
// undone, or is returned, are candidates again.
func TestSmallSpaceEnds(t *testing.T) {
	t.Parallel()
	c := beginSpace(t, &storetest.Memory{}, small, 1)
	undone := ask(t, c, campaign.Ask{Rows: 5})
	if _, err := c.Undo(t.Context(), ada, undone.Seq, "by mistake"); err != nil {
		t.Fatal(err)
	}
	if s := state(t, c); s.Total() != 0 {
		t.Errorf("%d rows", s.Total())
	}
	seen := map[string]bool{}
	for _, n := range []int{5, 5, 2} {
		batch := ask(t, c, campaign.Ask{Rows: 5})
		if len(batch.Rows) != n || batch.Rows[0].Row < 5 {
			t.Fatalf("%d rows from %d on, not %d", len(batch.Rows), batch.Rows[0].Row, n)
		}
		for _, row := range inputsOf(t, c, refsOf(batch)) {
			if seen[row] {
				t.Errorf("%s twice", row)
			}
			seen[row] = true
		}
	}
	if _, err := c.Ask(t.Context(), ada, campaign.Ask{Rows: 1}); !errors.Is(err, campaign.ErrNothingOpen) {
		t.Error(err)
	}
	if _, err := c.Return(t.Context(), ada, []string{"6"}, ""); err != nil {
		t.Fatal(err)
	}
	if batch := ask(t, c, campaign.Ask{Rows: 5}); !slices.Equal(ids(batch), []string{"6"}) {
		t.Errorf("%q", ids(batch))
	}
}

// TestAsksOfASpaceAtOnce: asks of several programs share the candidates, and labels of rows of their own that arrive in
// the meantime do not take the numbers of others.
func TestAsksOfASpaceAtOnce(t *testing.T) {
	t.Parallel()
	store := &storetest.Memory{}
	first := ask(t, beginSpace(t, store, small, 1), campaign.Ask{Rows: 2, Lease: -1})
	batches, failed := make([]*campaign.Batch, 3), make([]error, 4)
	var programs sync.WaitGroup
	for i := range failed {
		programs.Go(func() {
			c, err := campaign.Open(t.Context(), store, "c")
			if err == nil && i < len(batches) {
				batches[i], err = c.Ask(t.Context(), ada, campaign.Ask{Rows: 3})
			} else if err == nil {
				told := campaign.Tell{Entries: entries(first.Rows[0].ID, 1.5)}
				told.Entries[0].Inputs = map[string]string{"a": "2.4"}
				_, err = c.Tell(t.Context(), ada, told)
			}
			failed[i] = err
		})
	}
	programs.Wait()
	if err := errors.Join(failed...); err != nil {
		t.Fatal(err)
	}
	c, err := campaign.Open(t.Context(), store, "c")
	if err != nil {
		t.Fatal(err)
	}
	seen, s := map[string]bool{}, state(t, c)
	again := inputsOf(t, c, refsOf(first))[0] // which an ask may have got after the label of another row
	for _, batch := range append(batches, first) {
		for _, row := range inputsOf(t, c, refsOf(batch)) {
			if seen[row] && row != again {
				t.Errorf("%s twice, in %q, where %s may be", row, ids(batch), again)
			}
			seen[row] = true
		}
	}
	if counts := s.Counts(); counts.Asked+counts.Open != int64(len(seen)) || counts.Labelled != 1 || len(seen) < 10 {
		t.Errorf("%+v, %d rows asked for", counts, len(seen))
	}
}

// TestWhatWasReallySet: a label with another number than the row has is that of a row of its own, once; the row that
// was asked for is open again.
func TestWhatWasReallySet(t *testing.T) {
	t.Parallel()
	c := beginSpace(t, &storetest.Memory{}, small, 1)
	batch := ask(t, c, campaign.Ask{Rows: 3})
	if !slices.Equal(ids(batch), []string{"0", "1", "2"}) {
		t.Fatalf("%q", ids(batch))
	}
	told := campaign.Tell{Entries: entries("0", 1.5, "1", 2.5)}
	told.Entries[1].Inputs = map[string]string{"a": "2.4"}
	result, err := c.Tell(t.Context(), ada, told)
	if err != nil || len(result.Rows) != 2 || result.Rows[1].ID != "3" {
		t.Fatalf("%+v, %v", result, err)
	}
	s := state(t, c)
	if s.Total() != 4 || s.Status(1) != campaign.StatusOpen || s.Status(3) != campaign.StatusLabelled ||
		s.Label(3)[0] != 2.5 {
		t.Errorf("%d rows, %s and %s", s.Total(), s.Status(1), s.Status(3))
	}
	rows := inputsOf(t, c, []campaign.RowRef{{Row: 1, ID: "1"}, {Row: 3, ID: "3"}})
	if asked := strings.Fields(rows[0]); rows[1] != "a=2.4 "+asked[1] {
		t.Errorf("%q", rows)
	}
	if result, err = c.Tell(t.Context(), ada, told); err != nil || result.Seq != 0 || result.Known != 2 {
		t.Errorf("%+v, %v", result, err)
	}
	told.Entries[1].Inputs = map[string]string{"b": "q"}
	var wrong *campaign.TellError
	if _, err = c.Tell(t.Context(), ada, told); !errors.As(err, &wrong) {
		t.Error(err)
	}
	told.Entries = entries("0", 7.5)
	told.Entries[0].Inputs = map[string]string{"a": "2.7"}
	if _, err = c.Correct(t.Context(), ada, told); !errors.As(err, &wrong) ||
		!strings.Contains(wrong.Faults[0].Reason, "other inputs") {
		t.Error(err)
	}
}

// TestRowsOfASpace: rows that were measured before join the campaign, and are no candidates.
func TestRowsOfASpace(t *testing.T) {
	t.Parallel()
	c := beginSpace(t, &storetest.Memory{}, small, 1)
	first := ask(t, c, campaign.Ask{Rows: 11})
	inputs, err := c.Inputs(t.Context(), refsOf(first))
	if err != nil {
		t.Fatal(err)
	}
	another := beginSpace(t, &storetest.Memory{}, small, 1)
	if added := add(t, another, without(inputs, "row")); len(added.NewLevels) > 0 || added.Rows != 11 {
		t.Errorf("%+v", added)
	}
	if _, err := another.Retire(t.Context(), ada, []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10"},
		""); err != nil {
		t.Fatal(err)
	}
	if batch := ask(t, another, campaign.Ask{Rows: 5}); !slices.Equal(ids(batch), []string{"11"}) {
		t.Errorf("%q", ids(batch))
	}
}

// TestRefusedSpaces: what a campaign of a space cannot have.
func TestRefusedSpaces(t *testing.T) {
	t.Parallel()
	for _, start := range []campaign.Start{
		{Space: spaceOf(t, small), Targets: []string{"a"}},
		{Space: spaceOf(t, small), Targets: []string{"y"}, IDColumn: "a"},
		{Space: spaceOf(t, small), Targets: []string{"y"}, Table: pool(0, 3)},
		{Space: spaceOf(t, small+"[[constraint]]\nlinear = \"a > 7\"\n"), Targets: []string{"y"}},
	} {
		var wrong *campaign.RowsError
		if _, err := campaign.New(t.Context(), &storetest.Memory{}, "c", start); !errors.As(err, &wrong) {
			t.Errorf("%+v: %v", start, err)
		}
	}
}
