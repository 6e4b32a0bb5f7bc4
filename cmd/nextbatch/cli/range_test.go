package cli

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch"
)

// yields is a table whose labels, 0 to 100, say little about how they go on beyond them.
func yields(t *testing.T, last string) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("id,x,z,y\n")
	for i := range 60 {
		y := ""
		if i < 40 {
			y = fmt.Sprint(min(100, i*100/35))
		}
		if i == 39 {
			y = last
		}
		fmt.Fprintf(&b, "r%d,%d,%d,%s\n", i, i, i*7%5, y)
	}
	return write(t, "yields.csv", b.String())
}

// outside counts the numbers of a CSV text in columns of predictions that are not within 0..100.
func outside(t *testing.T, text string) (count, seen int) {
	t.Helper()
	lines, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for j, name := range lines[0] {
		if name != "prediction" && name != "low" && name != "high" {
			continue
		}
		for _, line := range lines[1:] {
			v, err := strconv.ParseFloat(line[j], 64)
			if err != nil {
				t.Fatal(err)
			}
			if seen++; v < 0 || v > 100 {
				count++
			}
		}
	}
	return count, seen
}

// TestRange: with a declared range, no prediction and no limit of an interval is beyond it, and no label.
func TestRange(t *testing.T) {
	table, bad, dir := yields(t, "100"), yields(t, "103"), t.TempDir()
	model, bounded := filepath.Join(dir, "a.nextbatch"), filepath.Join(dir, "b.nextbatch")
	fit := []string{"fit", table, "--target", "y", "--id", "id", "--learner", "gp", "--out"}
	must(t, exitOK, append(fit, model)...)
	must(t, exitOK, append(fit, bounded, "--range", "0..100")...)
	predict := func(args ...string) string {
		t.Helper()
		out, _ := must(t, exitOK, append([]string{"predict", table, "--id", "id"}, args...)...)
		return out
	}
	if n, seen := outside(t, predict("--model", model)); n == 0 || seen != 180 {
		t.Fatalf("without a range %d of %d numbers are outside; the test needs some", n, seen)
	}
	for _, args := range [][]string{{"--model", bounded}, {"--model", model, "--range", "0..100"}} {
		if n, _ := outside(t, predict(args...)); n != 0 {
			t.Errorf("%q: %d numbers are outside", args, n)
		}
	}
	selecting := []string{table, "--target", "y", "--id", "id", "-n", "5", "--learner", "gp"}
	beyond := func(r []number) bool {
		for _, v := range r {
			if v < 0 || v > 100 {
				return true
			}
		}
		return false
	}
	limits := func(args ...string) (list []number) {
		t.Helper()
		out, _ := must(t, exitOK, append(append([]string{"select", "--json"}, selecting...), args...)...)
		var r nextbatch.Result
		if err := json.Unmarshal([]byte(out), &r); err != nil {
			t.Fatal(err)
		}
		for _, p := range r.Predictions {
			list = append(list, p.Value, *p.Low, *p.High)
		}
		return list
	}
	if free := limits(); !beyond(free) {
		t.Fatalf("%v; the test needs some outside", free)
	}
	if list := limits("--range", "0..100"); beyond(list) || len(list) != 15 {
		t.Errorf("select: %v", list)
	}
	for _, args := range [][]string{
		{"select", bad, "-n", "5", "--target", "y", "--range", "0..100"},
		{"fit", bad, "--target", "y", "--range", "0..100", "--out", filepath.Join(dir, "c.nextbatch")},
		{"audit", bad, "--target", "y", "--range", "0..100"},
		{"campaign", "new", filepath.Join(dir, "bad.db"), bad, "--target", "y", "--range", "0..100"},
	} {
		_, log := must(t, exitData, args...)
		if !strings.Contains(log, "the label 103 is outside the declared range 0..100") || !strings.Contains(log, "line 41") {
			t.Errorf("%q: %s", args, log)
		}
	}
	for _, wrong := range []string{"0-100", "100..0", "0..100,0..1"} {
		if _, log := must(t, exitUsage, append([]string{"select", "--range", wrong},
			selecting...)...); !strings.Contains(log, "range") {
			t.Errorf("%s: %s", wrong, log)
		}
	}
}

// TestRangeOfCampaign: the setting is kept with the campaign.
func TestRangeOfCampaign(t *testing.T) {
	store := filepath.Join(t.TempDir(), "c.db")
	must(t, exitOK, "campaign", "new", store, yields(t, "100"), "--target", "y", "--id", "id", "--learner", "gp")
	predict := func() string {
		t.Helper()
		out, _ := must(t, exitOK, "campaign", "predict", store)
		return out
	}
	if n, _ := outside(t, predict()); n == 0 {
		t.Fatal("no number is outside without a range; the test needs some")
	}
	must(t, exitUsage, "campaign", "settings", store, "--range", "0..50")
	must(t, exitOK, "campaign", "settings", store, "--range", "0..100")
	if n, seen := outside(t, predict()); n != 0 || seen != 60 {
		t.Errorf("%d of %d numbers are outside", n, seen)
	}
	labels := write(t, "labels.csv", "id,y\nr50,103\n")
	if _, log := must(t, exitData, "campaign", "tell", store, labels); !strings.Contains(log,
		"the label 103 is outside the declared range 0..100") {
		t.Error(log)
	}
	must(t, exitOK, "campaign", "settings", store, "--range", "..")
	must(t, exitOK, "campaign", "tell", store, labels)
}
