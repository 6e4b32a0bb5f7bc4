package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/internal/report"
)

// TestDemo runs one round of the demo and reads what it prints for machines.
func TestDemo(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "of pictures")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	out, _ := must(t, exitOK, "demo", "--rounds", "1", "--start", "64", "-n", "32", "--repeats", "1",
		"--out", dir, "--json")
	var result report.DemoResult
	if err := json.Unmarshal([]byte(out), &result); err != nil {
		t.Fatalf("%v in %q", err, out)
	}
	if len(result.Labels) != 2 || result.Labels[1] != 96 || len(result.RMSE) != 2 {
		t.Fatalf("unexpected result %+v", result)
	}
	for spec, errors := range result.RMSE {
		// The labels deviate by about 40 from their mean: a network that has
		// learnt nothing is not below that.
		if len(errors) != 2 || errors[0] > 20 || errors[1] > 20 || errors[0] == errors[1] {
			t.Errorf("%s: RMSE %v", spec, errors)
		}
	}
	for i, start := range []string{"site,radius_m,", "<!DOCTYPE html>", "\x89PNG"} {
		if raw, err := os.ReadFile(result.Files[i]); err != nil || !bytes.HasPrefix(raw, []byte(start)) {
			t.Errorf("%s: %.20q, %v", result.Files[i], raw, err)
		}
	}
}

func TestDemoTable(t *testing.T) {
	var out bytes.Buffer
	r := report.DemoResult{Labels: []int{5, 9, 13}, Repeats: 1, RMSE: map[string][]float64{"random": {1.25, 1.1, 1},
		report.DemoSpecs()[0]: {1.25, 0.9, 0.5}}}
	if err := r.Table(demoTest).WriteText(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"1.250", "With 13 labels, the error is 50 % lower than with random rows.",
		"random rows reach with 13 labels takes 9.", "Mean of 1 repetition,"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("there is no %q in %s", want, out.String())
		}
	}
	r.RMSE[report.DemoSpecs()[0]] = []float64{1.25, 1.3, 1.4}
	if got := r.Headline(); got != "With 13 labels, the error is 40 % higher than with random rows." {
		t.Error(got)
	}
}

// TestUsage: a wrong command line is told by the exit code, names what is wrong
// and prints no result.
func TestUsage(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"demo", "--nonsense"}, "--nonsense"},
		{[]string{"demo", "extra"}, "extra"},
		{[]string{"demo", "--batch", "0"}, "--batch"},
		{[]string{"demo", "--start", "1"}, "--start"},
		{[]string{"demo", "--repeats", "0"}, "--repeats"},
		{[]string{"demo", "--rounds", "1000"}, "4672"},
		{[]string{"nonsense"}, "nonsense"},
	} {
		var out, log bytes.Buffer
		if code := Run(c.args, &out, &log); code != exitUsage {
			t.Errorf("%v: exit code %d", c.args, code)
		}
		if !strings.Contains(log.String(), c.want) || out.Len() > 0 {
			t.Errorf("%v: says %q, prints %q", c.args, log.String(), out.String())
		}
	}
}

func TestDemoFolder(t *testing.T) {
	if _, log := must(t, exitFailure, "demo", "--out", "no-such-folder"); !strings.Contains(log, "no-such-folder") {
		t.Error(log)
	}
}

func TestHelp(t *testing.T) {
	var out, log bytes.Buffer
	if code := Run(nil, &out, &log); code != exitOK || !strings.Contains(out.String(), "demo") {
		t.Fatalf("exit code %d, %q %q", code, out.String(), log.String())
	}
}
