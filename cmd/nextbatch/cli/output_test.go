package cli

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/internal/wire"
)

// TestOutputsDiffer: no command overwrites its input or writes two results to
// one file, whatever the name.
func TestOutputsDiffer(t *testing.T) {
	table, model := sample(t), fittedFile(t)
	dir := filepath.Dir(table)
	link := filepath.Join(dir, "link.csv")
	if err := os.Symlink(table, link); err != nil {
		t.Skip(err)
	}
	roundabout := dir + "/../" + filepath.Base(dir) + "/table.csv"
	npy := filepath.Join(dir, "f.npy")
	for _, c := range []struct {
		one, other string
		args       []string
	}{
		{"TABLE", "--out", []string{"select", table, "--target", "y", "-n", "2", "--out", table}},
		{"TABLE", "--out", []string{"select", table, "--target", "y", "-n", "2", "--out", link}},
		{"TABLE", "--out", []string{"select", table, "--target", "y", "-n", "2", "--out", roundabout}},
		{"--pool", "--out", []string{"select", "--train", sample(t), "--pool", table, "--target", "y", "-n",
			"2", "--out", roundabout}},
		{"--exclude", "--out", []string{"select", sample(t), "--target", "y", "-n", "2", "--exclude", "@" +
			table, "--out", table}},
		{"--out", "--report", []string{"select", table, "--target", "y", "-n", "2", "--out", dir + "/x.html",
			"--report", dir + "/./x.html"}},
		{"--out", "--train-out", []string{"features", table, "--target", "y", "--out", npy, "--train-out", dir + "/./f.npy"}},
		{"TABLE", "--out", []string{"gram", table, "--target", "y", "--out", table}},
		{"TABLE", "--out", []string{"fit", table, "--target", "y", "--out", table}},
		{"TABLE", "--out", []string{"predict", table, "--model", model, "--out", link}},
		{"--model", "--out", []string{"predict", table, "--model", model, "--out", model}},
	} {
		before, err := os.ReadFile(table)
		if err != nil {
			t.Fatal(err)
		}
		_, log := must(t, exitUsage, c.args...)
		if !strings.Contains(log, c.one) || !strings.Contains(log, c.other+" name the same file") {
			t.Errorf("%q: %s", c.args, log)
		}
		if after, err := os.ReadFile(table); err != nil || string(after) != string(before) {
			t.Errorf("%q changed the table: %v", c.args, err)
		}
	}
}

// TestNumbersWithoutValue: what JSON cannot express is null, not an error.
func TestNumbersWithoutValue(t *testing.T) {
	for _, v := range []any{
		wire.BenchmarkStatus{Methods: []wire.MethodStatus{{Seconds: number(math.Inf(1))}}},
		nextbatch.Plan{Seconds: &nextbatch.Seconds{Train: number(math.NaN())}},
	} {
		var out bytes.Buffer
		if err := printJSON(&out, v); err != nil || !strings.Contains(out.String(), ":null") {
			t.Errorf("%v: %s", err, out.String())
		}
	}
}
