package cli

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/internal/golden"
)

// reactions writes a table of 3,696 reactions, of which 48 have a yield, and a conversion.
func reactions(t *testing.T) string {
	t.Helper()
	r := rand.New(rand.NewPCG(4, 4))
	labelled := r.Perm(3696)[:48]
	var b strings.Builder
	b.WriteString("id,ligand,base,temperature,conversion,yield\n")
	for i := range 3696 {
		ligand, base, temperature := r.IntN(12), r.IntN(6), 20+10*r.IntN(8)
		conversion := min(100, 0.5*float64(temperature)+4*float64(ligand*7%12)+3*float64(base*5%6)+6*r.NormFloat64())
		fmt.Fprintf(&b, "r%d,L%d,B%d,%d,", i, ligand, base, temperature)
		if slices.Contains(labelled, i) {
			fmt.Fprintf(&b, "%.1f,%.1f", conversion, conversion*(0.8+0.1*r.Float64()))
		} else {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
	}
	return write(t, "reactions.csv", b.String())
}

// TestMeasuredTogether: no command that learns takes a column that is measured together with the label for an input,
// unless it is kept.
func TestMeasuredTogether(t *testing.T) {
	t.Parallel()
	leak := func(name string) string {
		return filepath.Join("..", "..", "..", "tables", "testdata", "leaks", name+".csv")
	}
	for _, c := range []struct{ path, column, why string }{
		{reactions(t), "conversion",
			"it has values in 48 of 48 labelled rows and in 0 of 3,648 others, so it is measured together with the label"},
		{leak("renamed"), "outcome", "it equals the label in all 24 rows that have both"},
		{leak("notes"), "notes", "it has values in 19 of 24 labelled rows and in 0 of 276 others"},
	} {
		want := fmt.Sprintf("column %q is not used: %s", c.column, c.why)
		kept := "--keep " + c.column + " makes it an input"
		columns := []string{c.path, "--target", "yield", "--id", "id"}
		var plan struct{ Dropped, Warnings []string }
		for _, flags := range [][]string{{"select", "--dry-run", "--json", "-n", "4"},
			{"fit", "--json", "--learner", "gp", "-o", filepath.Join(t.TempDir(), "m.nextbatch")}} {
			out, log := must(t, exitOK, slices.Concat(flags, columns)...)
			if !strings.Contains(log, want) || !strings.Contains(log, kept) {
				t.Errorf("%s: %s", flags[0], log)
			}
			if err := json.Unmarshal([]byte(out), &plan); err != nil ||
				!strings.Contains(strings.Join(plan.Warnings, "\n"), want) {
				t.Errorf("%s: %v, %q", flags[0], err, plan)
			}
			if !slices.Contains(plan.Dropped, c.column) && flags[0] == "select" {
				t.Errorf("dropped %q", plan.Dropped)
			}
			_, log = must(t, exitOK, slices.Concat(flags, columns, []string{"--keep", c.column})...)
			if strings.Contains(log, "is not used") {
				t.Errorf("%s, kept: %s", flags[0], log)
			}
		}
		if _, log := must(t, exitOK, slices.Concat([]string{"audit", "--learner", "gp"},
			columns)...); !strings.Contains(log, want) {
			t.Errorf("audit: %s", log)
		}
	}
}

// TestLeaks: select and new campaigns say what they must of each table of the corpus.
func TestLeaks(t *testing.T) {
	t.Parallel()
	for _, want := range golden.Leaks(t) {
		columns := []string{want.Path, "--target", want.Target, "--id", "id"}
		out, said := must(t, exitOK, slices.Concat([]string{"select", "--dry-run", "--json", "-n", "4"}, columns)...)
		var plan struct{ Dropped []string }
		if err := json.Unmarshal([]byte(out), &plan); err != nil {
			t.Fatal(err)
		}
		want.Check(t, "select", plan.Dropped, said)
		_, said = must(t, exitOK, slices.Concat([]string{"campaign", "new", filepath.Join(t.TempDir(), "c.db")}, columns)...)
		if len(want.Dropped) > 0 {
			want.Check(t, "campaign new", want.Dropped, said)
		} else if strings.Contains(said, "is not used") {
			t.Errorf("%s, campaign new: %s", want.Name, said)
		}
	}
}

// TestCampaignMeasuredTogether: a campaign says so when it begins, when labels come with new rows, and at each ask.
func TestCampaignMeasuredTogether(t *testing.T) {
	t.Parallel()
	path, store := reactions(t), filepath.Join(t.TempDir(), "c.db")
	want := `column "conversion" is not used: it has values in 48 of 48 labelled rows and in 0 of 3,648 others, so ` +
		"it is measured together with the label; campaign settings --keep conversion makes it an input"
	for _, args := range [][]string{
		{"new", store, path, "--target", "yield", "--id", "id", "--learner", "gp"},
		{"ask", store, "-n", "4"},
	} {
		if _, log := must(t, exitOK, slices.Concat([]string{"campaign"}, args)...); !strings.Contains(log, want) {
			t.Errorf("%s: %s", args[0], log)
		}
	}
	more := write(t, "more.csv", "id,ligand,base,temperature,conversion,yield\nn1,L1,B1,60,40,35\nn2,L2,B2,70,,\n")
	want = `it has values in 49 of 49 labelled rows and in 0 of 3,649 others`
	if _, log := must(t, exitOK, "campaign", "add", store, more); !strings.Contains(log, want) {
		t.Error(log)
	}
	must(t, exitOK, "campaign", "settings", store, "--keep", "conversion")
	if _, log := must(t, exitOK, "campaign", "ask", store, "-n", "4"); strings.Contains(log, "is not used") {
		t.Error(log)
	}
}

// TestFilledTogether: what was measured together with the label comes back with it. It identifies no row; merge brings
// it into the table, and a campaign says that it does not keep it.
func TestFilledTogether(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for _, c := range []struct{ table, column, cell string }{{"conversion", "conversion", "61.5"},
		{"notes", "notes", "cloudy, warm"}, {"placeholder", "conversion", "61.5"}} {
		path := filepath.Join("..", "..", "..", "tables", "testdata", "leaks", c.table+".csv")
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
		var open []string // rows that had no label, with one
		for _, line := range lines[1:] {
			if strings.HasSuffix(line, ",") && len(open) < 3 {
				cells := strings.Split(line, ",")
				open = append(open, strings.Join(cells[:4], ",")+`,"`+c.cell+`",55.`+fmt.Sprint(len(open)))
			}
		}
		back := write(t, "back.csv", lines[0]+"\n"+strings.Join(open, "\n")+"\n")
		merged, store := filepath.Join(folder, c.table+".csv"), filepath.Join(folder, c.table+".db")
		_, log := must(t, exitOK, "merge", path, back, "--target", "yield", "--id", "id", "--out", merged)
		if !strings.Contains(log, fmt.Sprintf("3 values come into column %q beside the labels", c.column)) {
			t.Errorf("%s, merged: %s", c.table, log)
		}
		if now, err := os.ReadFile(merged); err != nil || strings.Count(string(now),
			c.cell) != strings.Count(string(raw), c.cell)+3 {
			t.Errorf("%s, merged: %s, %v", c.table, now, err)
		}
		if _, log := must(t, exitOK, "merge", merged, back, "--target", "yield", "--id", "id", "--out",
			merged); strings.Contains(log, "values") {
			t.Errorf("%s, merged again: %s", c.table, log)
		}
		wrong := write(t, "wrong.csv", strings.Replace(lines[0]+"\n"+open[0]+"\n", strings.Split(open[0], ",")[1], "61", 1))
		must(t, exitData, "merge", path, wrong, "--target", "yield", "--id", "id", "--out", merged)

		must(t, exitOK, "campaign", "new", store, path, "--target", "yield", "--id", "id")
		_, log = must(t, exitOK, "campaign", "tell", store, back, "--accept")
		if !strings.Contains(log,
			fmt.Sprintf("column %q: 3 values are not kept, because it is not an input: its values come with the "+
				"labels", c.column)) {
			t.Errorf("%s, told: %s", c.table, log)
		}
		must(t, exitData, "campaign", "tell", store, wrong)
		must(t, exitOK, "campaign", "settings", store, "--keep", c.column)
		if _, log := must(t, exitData, "campaign", "tell", store, back, "--accept"); !strings.Contains(log,
			fmt.Sprintf("column %q has %q", c.column, c.cell)) {
			t.Errorf("%s, told and kept: %s", c.table, log)
		}
	}
}
