package cli

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/internal/golden"
)

// Whether a forecast is right depends on what else the machine does, so this is
// checked by hand, on an idle machine:
//
//	go test ./cmd/nextbatch/cli -run ForecastHolds -forecast -v
var checkForecast = flag.Bool("forecast", false, "compare forecasts of select --dry-run with runs")

// TestForecastHolds compares the forecast of time and memory with a run in a
// process of its own.
func TestForecastHolds(t *testing.T) {
	if !*checkForecast {
		t.Skip("it takes an idle machine; say -forecast")
	}
	program := filepath.Join(t.TempDir(), "nextbatch")
	if out,
		err := exec.Command("go", "build", "-o", program,
		"github.com/nextbatch/nextbatch/cmd/nextbatch").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	table := []string{generatedTable(t, 100_000, 2048, 1), "--target", "y1"}
	four := []string{generatedTable(t, 100_000, 2048, 4), "--target", "y*"}
	fried := []string{blankedFried(t, 256), "--target", "target"}
	features := []string{"--train-features", npy(t, "t.npy", normalRows(1024, 128)), "--pool-features",
		npy(t, "p.npy", normalRows(60_000, 128))}
	for name, args := range map[string][]string{
		"fried": fried, "fried by maxdet": slices.Concat(fried, []string{"--method", "maxdet-p:grad>sketch(512)>train"}),
		"fried by bait": slices.Concat(fried, []string{"--method", "bait-f-p:ll>train"}),
		"generated":     table, "four targets": four, "four targets by maxdet": slices.Concat(four,
			[]string{"--method", "maxdet-p:grad>sketch(512)>train"}),
		"features": features, "features by bait": slices.Concat(features, []string{"--method", "bait-f-p:features>train"}),
	} {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"select", "-n", "256", "-q", "--json"}, args...)
			var p nextbatch.Plan
			var r nextbatch.Result
			inProcess(t, &p, program, append(args, "--dry-run")...)
			peak := inProcess(t, &r, program, args...)
			holds(t, "seconds", float64(p.Seconds.Total), float64(r.Timings.Total))
			holds(t, "MiB", float64(p.Memory)/(1<<20), float64(peak)/(1<<20))
		})
	}
}

func holds(t *testing.T, what string, forecast, run float64) {
	t.Helper()
	t.Logf("%s: forecast %.3g, run %.3g, ratio %.2f", what, forecast, run, forecast/run)
	if math.Abs(math.Log(forecast/run)) > math.Log(1.5) {
		t.Errorf("%s: the forecast %.3g is not within a factor of 1.5 of %.3g", what, forecast, run)
	}
}

// inProcess runs the program, reads the JSON that it prints and returns the most
// memory that it had.
func inProcess(t *testing.T, result any, program string, args ...string) (peak int64) {
	t.Helper()
	c := exec.Command(program, args...)
	var out, log bytes.Buffer
	c.Stdout, c.Stderr = &out, &log
	if err := c.Run(); err != nil {
		t.Fatalf("%v: %s", err, log.String())
	}
	if err := json.Unmarshal(out.Bytes(), result); err != nil {
		t.Fatal(err)
	}
	return c.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
}

// generatedTable writes the demo's function, with labels in the first rows. Each
// target after the first adds a wave.
func generatedTable(t *testing.T, rows, labelled, targets int) string {
	t.Helper()
	x, y := friedman(1, "forecast", rows)
	var b strings.Builder
	b.WriteString("a,b,c,d,e,f,g,h,i,j")
	for target := range targets {
		fmt.Fprintf(&b, ",y%d", target+1)
	}
	b.WriteString("\n")
	for i := range rows {
		texts := []string{}
		for _, v := range x.Row(i) {
			texts = append(texts, fmt.Sprintf("%.6f", v))
		}
		for target := range targets {
			label := ""
			if i < labelled {
				label = fmt.Sprintf("%.6f", y[i]+10*float64(target)*math.Sin(5*float64(x.Row(i)[target])))
			}
			texts = append(texts, label)
		}
		b.WriteString(strings.Join(texts, ",") + "\n")
	}
	return write(t, "generated.csv", b.String())
}

// blankedFried writes the raw file of fried with labels in the first rows.
func blankedFried(t *testing.T, labelled int) string {
	t.Helper()
	raw, err := source.ReadFile(t.Context(), filepath.Join(golden.Data(t), "fried.arff.gz"), source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := source.WriteCSV(&b, raw); err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(b.String(), "\n")
	for i := labelled + 1; i < len(lines)-1; i++ {
		lines[i] = lines[i][:strings.LastIndexByte(lines[i], ',')] + ",\n"
	}
	return write(t, "fried.csv", strings.Join(lines, ""))
}
