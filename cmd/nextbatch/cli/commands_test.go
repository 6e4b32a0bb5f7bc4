package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/nextbatch/nextbatch/dataset/source"
)

// fitted saves a network of the sample table.
func fittedFile(t *testing.T, more ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "net.safetensors")
	must(t, exitOK, slices.Concat([]string{"fit", sample(t), "--target", "y", "--id", "id", "--out",
		path}, quick, more)...)
	return path
}

func TestFitPredictEvaluate(t *testing.T) {
	model, table := fittedFile(t, "--ensemble", "2"), sample(t)
	predicted := filepath.Join(t.TempDir(), "p.csv")
	must(t, exitOK, "predict", table, "--model", model, "--id", "id", "--coverage", "0.8", "--out", predicted)
	p, err := source.ReadFile(t.Context(), predicted, source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"id", "row", "prediction", "uncertainty", "low", "high"}; !slices.Equal(p.Names(),
		want) || p.Rows() != 120 {
		t.Fatalf("%d rows of %q", p.Rows(), p.Names())
	}
	value := func(name string) float64 {
		c, err := p.Numeric(name)
		if err != nil {
			t.Fatal(err)
		}
		return c.Float(7)
	}
	if !(value("low") < value("prediction") && value("prediction") < value("high")) {
		t.Errorf("%v is not between %v and %v", value("prediction"), value("low"), value("high"))
	}
	out, log := must(t, exitOK, "predict", table, "--model", model, "--coverage", "0.999")
	if !strings.HasPrefix(out, "row,prediction,uncertainty\n") || !strings.Contains(log, "held-out rows") {
		t.Errorf("%.60s, %s", out, log)
	}
	out, _ = must(t, exitOK, "evaluate", table, "--model", model, "--target", "y", "--coverage", "0.8", "--json")
	if !strings.Contains(out, `"warnings":[]`) {
		t.Errorf("evaluate: %s", out)
	}
	var e evaluateResult
	if err := json.Unmarshal([]byte(out), &e); err != nil || e.Rows != 40 || !(e.RMSE > 0) || e.Coverage == nil {
		t.Errorf("%v, %+v", err, e)
	}
	if out, _ := must(t, exitOK, "evaluate", table, "--model", model, "--target", "y"); !strings.Contains(out, "RMSE") {
		t.Error(out)
	}
	for _, args := range [][]string{
		{"fit", table, "--out", "x.safetensors"}, {"fit", table, "--target", "y"},
		{"fit", table, "--target", "y", "--out", "x.net"},
		{"predict", table}, {"predict", table, "--model", model, "--coverage", "1"},
		{"evaluate", table, "--target", "y"}, {"evaluate", table, "--model", model}, {"fit"},
	} {
		must(t, exitUsage, args...)
	}
	for _, args := range [][]string{
		{"predict", write(t, "t.csv", "x0,x1\n1,2\n"), "--model", model},
		{"predict", table, "--model", table},
		{"predict", write(t, "t.csv", strings.Replace(sampleText(func(int) bool { return true }), ",red,", ",pink,", 1)),
			"--model", model, "--missing", "refuse"},
		{"evaluate", table, "--model", model, "--target", "x0"},
		{"evaluate", write(t, "t.csv", sampleText(func(int) bool { return false })), "--model", model, "--target", "y"},
		{"fit", write(t, "t.csv", "a,y\n1,2\n2,\n"), "--target", "y", "--out", filepath.Join(t.TempDir(), "n.safetensors")},
	} {
		must(t, exitData, args...)
	}
}

func TestFitJSON(t *testing.T) {
	path := filepath.Join(t.TempDir(), "net.safetensors")
	out,
		_ := must(t, exitOK, slices.Concat([]string{"fit", sample(t), "--target", "y", "--id", "id", "--out",
		path, "--json"}, quick)...)
	var r fitResult
	if err := json.Unmarshal([]byte(out), &r); err != nil || r.Rows != 32 || r.ValidRows != 8 ||
		len(r.ValidRMSE) != 1 || len(r.Inputs) < 4 {
		t.Errorf("%v, %+v", err, r)
	}
}

// TestSelectModel: a saved network gives the batch of the one that select trains.
func TestSelectModel(t *testing.T) {
	// fit knows no cost and group, so that all columns but the id are inputs.
	args := []string{sample(t), "--target", "y", "-n", "8", "--id", "id"}
	trained, loaded := selectJSON(t, args...), selectJSON(t, append(args, "--model", fittedFile(t))...)
	if !slices.Equal(trained.IDs, loaded.IDs) || loaded.Timings.Train != 0 {
		t.Errorf("%v and %v", trained.IDs, loaded.IDs)
	}
	pool := selectJSON(t, "--pool", write(t, "p.csv", sampleText(func(int) bool { return false })), "-n", "8", "--model",
		fittedFile(t), "--method", "maxdist-p:ll")
	if len(pool.Indices) != 8 {
		t.Errorf("%+v", pool)
	}
	must(t, exitUsage, append([]string{"select", "--model", fittedFile(t), "--method",
		"maxdet-p:ll>ens(3)>train"}, args...)...)
}

func TestFeaturesAndGram(t *testing.T) {
	table, dir := sample(t), t.TempDir()
	pool, train, k := filepath.Join(dir, "p.npy"), filepath.Join(dir, "t.npy"), filepath.Join(dir, "k.npy")
	must(t, exitOK, slices.Concat([]string{"features", table, "--target", "y", "--id", "id", "--method",
		"lcmd-tp:grad>sketch(8)", "--out", pool, "--train-out", train}, quick)...)
	for path, rows := range map[string]int{pool: 80, train: 40} {
		m, err := source.ReadMatrix[float32](t.Context(), path, source.Options{})
		if err != nil || m.Rows != rows || m.Cols != 8 {
			t.Errorf("%v, %d x %d", err, m.Rows, m.Cols)
		}
	}
	// The features lead to the batch that the table leads to.
	byTable := selectJSON(t, table, "--target", "y", "--id", "id", "-n", "9", "--method", "lcmd-tp:grad>sketch(8)")
	byFeatures := selectJSON(t, "--train-features", train, "--pool-features", pool, "-n", "9")
	for i, row := range byFeatures.Indices {
		if want := row/2*3 + 1 + row%2; byTable.Indices[i] != want {
			t.Errorf("pick %d is row %d, by features %d", i, byTable.Indices[i], want)
		}
	}
	must(t, exitOK, slices.Concat([]string{"gram", table, "--target", "y", "--id", "id", "--method", "maxdet-p:ntk>train",
		"--columns", "train", "--out", k}, quick)...)
	if m, err := source.ReadMatrix[float64](t.Context(), k, source.Options{}); err != nil || m.Rows != 80 || m.Cols != 40 {
		t.Errorf("%v, %d x %d", err, m.Rows, m.Cols)
	}
	for _, args := range [][]string{
		{"features", table, "--target", "y"},
		{"features", table, "--target", "y", "--out", k, "--method", "random"},
		{"features", table, "--target", "y", "--out", k, "--method", "lcmd-tp:ntk"},
		{"features", table, "--target", "y", "--out", filepath.Join(dir, "k.csv")},
		{"gram", table, "--target", "y"},
		{"gram", table, "--target", "y", "--out", k, "--rows", "all"},
	} {
		must(t, exitUsage, slices.Concat(args, quick)...)
	}
}

func TestSpecs(t *testing.T) {
	out, _ := must(t, exitOK, "specs")
	for _, want := range []string{"lcmd-tp", "grad", "sketch(p)", "badge", "§"} {
		if !strings.Contains(out, want) {
			t.Errorf("%s is not listed", want)
		}
	}
	for line := range strings.Lines(out) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 100 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	var list []specEntry
	if out, _ := must(t, exitOK, "specs", "--json"); json.Unmarshal([]byte(out), &list) != nil || len(list) < 30 {
		t.Errorf("%d entries", len(list))
	}
	if out, _ := must(t, exitOK, "specs", "NN_lcmd-tp_grad_rp-512"); !strings.HasPrefix(out, "lcmd-tp:grad>sketch(512)") {
		t.Error(out)
	}
	if _, log := must(t, exitUsage, "specs", "lcmd-tp:gard"); !strings.Contains(log, "^~~~") {
		t.Error(log)
	}
}

func TestDoctorVersionManCompletion(t *testing.T) {
	var h health
	if out, _ := must(t, exitOK, "doctor", "--json"); json.Unmarshal([]byte(out), &h) != nil || !h.OK ||
		h.Threads < 1 || len(h.Tests) < 4 {
		t.Errorf("%+v", h)
	}
	must(t, exitOK, "doctor")
	var b build
	if out, _ := must(t, exitOK, "version", "--json"); json.Unmarshal([]byte(out), &b) != nil ||
		b.Go == "" || b.Version == "" {
		t.Errorf("%+v", b)
	}
	must(t, exitOK, "version")
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if out, _ := must(t, exitOK, "completion", shell); !strings.Contains(out, "nextbatch") {
			t.Errorf("%s: %.80s", shell, out)
		}
	}
	dir := t.TempDir()
	must(t, exitOK, "man", dir)
	page, err := os.ReadFile(filepath.Join(dir, "nextbatch-select.1"))
	if err != nil || !strings.Contains(string(page), `\-\-target`) {
		t.Errorf("%v", err)
	}
	absent := filepath.Join(dir, "share", "man1")
	must(t, exitOK, "man", absent)
	if _, err := os.Stat(filepath.Join(absent, "nextbatch-bench-run.1")); err != nil {
		t.Error(err)
	}
	must(t, exitUsage, "man", filepath.Join(dir, "nextbatch-select.1"))
}

// TestHelpHasExamples: every command says what it does and shows how.
func TestHelpHasExamples(t *testing.T) {
	for _, c := range newRoot(os.Stdout, os.Stderr).Commands() {
		if c.Short == "" || !strings.Contains(c.Example, "nextbatch "+c.Name()) {
			t.Errorf("%s has no example", c.Name())
		}
	}
}
