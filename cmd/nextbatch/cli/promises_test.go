package cli

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/internal/golden"
)

// TestPromisesDespiteLeaks: on three tables of laboratories, 48 rows of which have a label and what was measured with
// it, the error that fit promises is that of the candidates, although the table gives the label away. If the user keeps
// the column, it is not.
func TestPromisesDespiteLeaks(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"aryl_amination", "suzuki", "perovskites"} {
		r := rand.New(rand.NewPCG(11, 44))
		records := golden.Records(t, "lab", name+".csv.gz")
		path, labels := withConversion(t, records, r)
		promised, actual := promise(t, path, labels)
		kept, missed := promise(t, path, labels, "--keep", "conversion")
		t.Logf("%s: promised %.3g, was %.3g; with the column: %.3g, was %.3g", name, promised, actual, kept, missed)
		if actual > 1.5*promised {
			t.Errorf("%s: promised an error of %v, it was %v", name, promised, actual)
		}
		if missed < 1.5*kept || missed < actual {
			t.Errorf("%s: the column does no harm: promised %v, it was %v", name, kept, missed)
		}
	}
}

// withConversion writes a table with 48 labels and a column that was measured with them, and returns the labels of the
// other rows by id.
func withConversion(t *testing.T, records [][]string, r *rand.Rand) (path string, labels map[string]float64) {
	t.Helper()
	head, rows := records[0], records[1:]
	labelled, last := r.Perm(len(rows))[:48], len(head)-1
	var b strings.Builder
	fmt.Fprintf(&b, "id,%s,conversion,label\n", strings.Join(head[:last], ","))
	labels = map[string]float64{}
	for i, row := range rows {
		y, err := strconv.ParseFloat(row[last], 64)
		if err != nil {
			t.Fatal(err)
		}
		id, cells := fmt.Sprintf("r%d", i), ","
		if slices.Contains(labelled, i) {
			cells = fmt.Sprintf("%.4g,%v", y*(1.05+0.1*r.Float64()), y)
		} else {
			labels[id] = y
		}
		fmt.Fprintf(&b, "%s,%s,%s\n", id, strings.Join(row[:last], ","), cells)
	}
	return write(t, "table.csv", b.String()), labels
}

// promise returns the error that fit promises, and that of the predictions for the rows whose labels it did not know.
func promise(t *testing.T, path string, labels map[string]float64, flags ...string) (promised, actual float64) {
	t.Helper()
	model := filepath.Join(t.TempDir(), "m.nextbatch")
	out,
		_ := must(t, exitOK, slices.Concat([]string{"fit", path, "--target", "label", "--id", "id", "--learner", "gp",
		"--json", "-o", model}, flags)...)
	var fitted struct {
		RMSE []float64 `json:"valid_rmse"`
	}
	if err := json.Unmarshal([]byte(out), &fitted); err != nil || len(fitted.RMSE) != 1 {
		t.Fatal(err, out)
	}
	file := filepath.Join(t.TempDir(), "p.csv")
	must(t, exitOK, "predict", path, "--model", model, "--id", "id", "-o", file)
	records, err := csv.NewReader(strings.NewReader(readText(t, file))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(records[0], func(name string) bool { return strings.HasPrefix(name, "prediction") })
	squares := 0.0
	for _, record := range records[1:] {
		if y, other := labels[record[0]]; other {
			v, err := strconv.ParseFloat(record[at], 64)
			if err != nil {
				t.Fatal(err)
			}
			squares += (v - y) * (v - y)
		}
	}
	return fitted.RMSE[0], math.Sqrt(squares / float64(len(labels)))
}
