package main

import (
	"archive/zip"
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// exceeds is how much more than its forecast a run may take.
const exceeds = 1.3

// TestMemoryForecastHolds compares forecasts with what runs of the program take.
func TestMemoryForecastHolds(t *testing.T) {
	if testing.Short() {
		t.Skip("runs commands on large tables")
	}
	dir := t.TempDir()
	tall, wide := csvTable(t, dir, "tall.csv", 20_000, 20, 300), csvTable(t, dir, "wide.csv", 1000, 3000, 300)
	few, many := csvTable(t, dir, "few.csv", 1000, 8, 300), csvTable(t, dir, "many.csv", 3000, 8, 2500)
	for name, args := range map[string][]string{
		"tall":                {tall},
		"tall, random":        {tall, "--method", "random"},
		"tall, float64":       {tall, "--method", "maxdet-p:grad>sketch(256)>train"},
		"tall, BAIT":          {tall, "--method", "bait-f-p:ll>train", "--hidden", "256"},
		"wide":                {wide},
		"wide, an ensemble":   {wide, "--method", "maxdet-p:ll>ens(3)>sketch(256)>train"},
		"two tables":          {"--train", wide, "--pool", wide, "--method", "lcmd-tp:linear"},
		"many networks":       {few, "--ensemble", "12", "--hidden", "1024,1024"},
		"a large network":     {few, "--hidden", "2048,2048"},
		"a kernel in factors": {few, "--method", "maxdet-p:grad>train", "--hidden", "256,256"},
		"a blend":             {tall, "--learner", "auto"},
		"a blend of many":     {many, "--learner", "auto"},
		"its networks":        {few, "--learner", "auto", "--ensemble", "4", "--hidden", "1024,1024"},
	} {
		t.Run(name, func(t *testing.T) {
			var r struct {
				Metrics struct {
					Forecast int64 `json:"memory_forecast"`
				} `json:"metrics"`
			}
			args = append([]string{"select", "--target", "y", "-n", "32", "--learner", "network", "--epochs", "1",
				"--json", "-q"}, args...)
			out, peak := runToEnd(t, 0, args...)
			if err := json.Unmarshal(out, &r); err != nil {
				t.Fatal(err)
			}
			ratio := float64(peak) / float64(r.Metrics.Forecast)
			t.Logf("forecast %d MiB, peak %d MiB: %.2f", r.Metrics.Forecast>>20, peak>>20, ratio)
			if ratio > exceeds || ratio < 0.4 {
				t.Errorf("the forecast was %d MiB, the run took %d MiB", r.Metrics.Forecast>>20, peak>>20)
			}
		})
	}
}

// TestModelMemoryForecastHolds does so for fit, evaluate and predict, whose forecast is
// that of evaluate.
func TestModelMemoryForecastHolds(t *testing.T) {
	if testing.Short() {
		t.Skip("runs commands on large tables")
	}
	dir := t.TempDir()
	tall, wide := csvTable(t, dir, "tall.csv", 20_000, 20, 300), csvTable(t, dir, "wide.csv", 1000, 1500, 300)
	few := csvTable(t, dir, "few.csv", 1000, 8, 300)
	for name, args := range map[string][]string{
		"tall":            {tall},
		"wide":            {wide, "--hidden", "256,256"},
		"an ensemble":     {few, "--ensemble", "6", "--hidden", "768,768"},
		"a large network": {few, "--hidden", "1536,1536"},
		"no folds":        {few, "--hidden", "1536,1536", "--folds", "0"},
		"a blend":         {tall, "--learner", "auto"},
		"many labels":     {csvTable(t, dir, "many.csv", 3000, 8, 2500), "--learner", "auto"},
	} {
		t.Run(name, func(t *testing.T) {
			model := filepath.Join(t.TempDir(), "net.safetensors")
			out,
				peak := runToEnd(t, 0, append([]string{"fit", "--target", "y", "--learner", "network", "--epochs", "1", "--json",
				"-q", "--out", model}, args...)...)
			compareMemory(t, "fit", out, peak)
			out, peak = runToEnd(t, 0, "evaluate", args[0], "--model", model, "--target", "y", "--json")
			compareMemory(t, "evaluate", out, peak)
			_, peak = runToEnd(t, 0, "predict", args[0], "--model", model, "--out", filepath.Join(t.TempDir(), "p.csv"))
			compareMemory(t, "predict", out, peak)
		})
	}
}

// compareMemory compares the forecast in JSON output with the peak of a run.
func compareMemory(t *testing.T, command string, out []byte, peak int64) {
	t.Helper()
	var r struct {
		Forecast int64 `json:"memory_forecast"`
	}
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatal(err)
	}
	ratio := float64(peak) / float64(r.Forecast)
	t.Logf("%s: forecast %d MiB, peak %d MiB: %.2f", command, r.Forecast>>20, peak>>20, ratio)
	if ratio > exceeds || ratio < 0.4 {
		t.Errorf("%s: the forecast was %d MiB, the run took %d MiB", command, r.Forecast>>20, peak>>20)
	}
}

// TestTooLittleMemory: what would not fit is refused before it is allocated, by
// every command that computes.
func TestTooLittleMemory(t *testing.T) {
	dir := t.TempDir()
	table := csvTable(t, dir, "t.csv", 2000, 4, 300)
	model := filepath.Join(dir, "net.safetensors")
	runToEnd(t, 0, "fit", table, "--target", "y", "--learner", "network", "--epochs", "1", "--hidden",
		"4", "-q", "--out", model)
	large := []string{"--target", "y", "--hidden", "8192,8192", "--epochs", "1", "--max-memory", "300MiB"}
	for name, args := range map[string][]string{
		"select":  append([]string{"select", table, "-n", "4"}, large...),
		"dry run": append([]string{"select", table, "-n", "4", "--dry-run"}, large...),
		"networks": {"select", table, "--target", "y", "-n", "4", "--ensemble", "200", "--epochs", "1",
			"--max-memory", "300MiB"},
		"features": append([]string{"features", table, "--out", filepath.Join(dir, "f.npy")}, large...),
		"gram": {"gram", table, "--target", "y", "--method", "lcmd-tp:linear", "--out", filepath.Join(dir, "k.npy"),
			"--max-memory", "40MiB"},
		"fit":      append([]string{"fit", table, "--out", filepath.Join(dir, "n.safetensors")}, large...),
		"predict":  {"predict", table, "--model", model, "--max-memory", "20MiB"},
		"evaluate": {"evaluate", table, "--model", model, "--target", "y", "--max-memory", "20MiB"},
		"advise":   append([]string{"advise", table}, large...),
		"archive":  {"select", "--pool-features", bomb(t, dir), "-n", "4", "--max-memory", "100MiB"},
		"bench run": {"bench", "run", "--preset", "quick", "--results", filepath.Join(dir, "r.db"), "--hidden", "8192,8192",
			"--max-memory", "300MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, peak := runToEnd(t, 5, args...); peak > 120<<20 {
				t.Errorf("the refusal took %d MiB", peak>>20)
			}
		})
	}
}

// TestLittleNetworkWithoutNeed: a method that uses no network creates none.
func TestLittleNetworkWithoutNeed(t *testing.T) {
	table := csvTable(t, t.TempDir(), "t.csv", 500, 4, 100)
	for _, method := range []string{"random", "lcmd-tp:linear", "maxdist-tp:ntk"} {
		_, peak := runToEnd(t, 0, "select", table, "--target", "y", "-n", "4", "--hidden", "16384,16384", "--method",
			method, "--dry-run", "-q")
		if peak > 120<<20 {
			t.Errorf("%s: the dry run took %d MiB", method, peak>>20)
		}
	}
}

// runToEnd runs the program, wants an exit code, and returns what it printed and
// the most memory that it had.
func runToEnd(t *testing.T, code int, args ...string) (out []byte, peak int64) {
	t.Helper()
	status := filepath.Join(t.TempDir(), "status")
	c := exec.Command("nextbatch-peak", args...)
	c.Env = append(os.Environ(), "PEAK="+status)
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	err := c.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if c.ProcessState.ExitCode() != code {
		t.Fatalf("%q: exit code %d, not %d: %s", args, c.ProcessState.ExitCode(), code, stderr.String())
	}
	raw, err := os.ReadFile(status)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(raw), "VmHWM:") // the rusage of a child has the peak of its parent, too
	if _, err := fmt.Sscan(rest, &peak); err != nil {
		t.Fatal(err)
	}
	return stdout.Bytes(), peak << 10
}

// bomb writes an archive of some hundred kB that holds an array of 256 MiB.
func bomb(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "bomb.npz")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	archive := zip.NewWriter(file)
	member, err := archive.Create("a.npy")
	if err != nil {
		t.Fatal(err)
	}
	header := "{'descr': '<f4', 'fortran_order': False, 'shape': (1048576, 64), }"
	header += strings.Repeat(" ", 117-len(header)) + "\n"
	_, err = fmt.Fprintf(member, "\x93NUMPY\x01\x00%c\x00%s", len(header), header)
	zeros := make([]byte, 1<<20)
	for range 256 {
		_, failed := member.Write(zeros)
		err = errors.Join(err, failed)
	}
	if err := errors.Join(err, archive.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

// csvTable writes a table of numbers with labels in the first rows.
func csvTable(t *testing.T, dir, name string, rows, columns, labelled int) string {
	t.Helper()
	path := filepath.Join(dir, name)
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	b := bufio.NewWriter(file)
	for j := range columns {
		fmt.Fprintf(b, "c%d,", j)
	}
	b.WriteString("y\n")
	var values [1009]string
	for i := range values {
		values[i] = fmt.Sprintf("%.6f,", float64(i)/1009)
	}
	for i := range rows {
		for j := range columns {
			b.WriteString(values[(i*797+j*103+i*j*31)%len(values)])
		}
		if i < labelled {
			fmt.Fprintf(b, "%d", i%17)
		}
		b.WriteString("\n")
	}
	if err := errors.Join(b.Flush(), file.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}
