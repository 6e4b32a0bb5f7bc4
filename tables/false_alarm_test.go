package tables

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/internal/golden"
)

// TestLeaksOfRealTables: no input of a real table is taken for one that is measured together with the label, whichever
// rows have a label: drawn at random, the first ones, or those with the lowest labels, also where values lack at
// random.
func TestLeaksOfRealTables(t *testing.T) {
	t.Parallel()
	draw := rand.New(rand.NewPCG(7, 7))
	judged, wrong, named, randomly := 0, 0, 0, 0
	for _, folder := range []string{"lab", "tables"} {
		files, err := filepath.Glob(filepath.Join(golden.Data(t), folder, "*.csv.gz"))
		if err != nil || len(files) == 0 {
			t.Fatal(err)
		}
		for _, file := range files {
			whole := realTable(t, folder, filepath.Base(file))
			for _, gaps := range []float64{0, 0.3, 0.97} {
				inputs := withGaps(whole, gaps, draw)
				for _, n := range []int{16, 24, 64, 200} {
					if n > whole.Rows()*2/3 {
						continue
					}
					for order, labelled := range orders(whole, draw) {
						found := judgeReal(t, inputs, labelled[:n])
						judged += len(inputs)
						if order == "random" {
							randomly += len(inputs)
						}
						for _, j := range found {
							if j.Reason != "" {
								wrong++
								t.Errorf("%s, %d labelled, %s, gaps %v: column %q %s", filepath.Base(file), n, order, gaps, j.Column, j.Why)
							} else if order == "random" {
								named++
							}
						}
					}
				}
			}
		}
	}
	t.Logf("of %d columns, %d were left out; of %d where labels were drawn at random, %d were named", judged,
		wrong, randomly, named)
	if named > randomly/2000 {
		t.Errorf("%d of %d columns are said to set labelled rows apart that were drawn at random", named, randomly)
	}
}

// realTable reads at most 3,000 rows of a table beside the data sets, whose last column is the label.
func realTable(t *testing.T, folder, name string) *dataset.Table {
	t.Helper()
	records := golden.Records(t, folder, name)
	var text bytes.Buffer
	w := csv.NewWriter(&text)
	if folder == "tables" {
		header := make([]string, len(records[0]))
		for i := range header {
			header[i] = fmt.Sprintf("x%d", i)
		}
		header[len(header)-1] = "label"
		records = append([][]string{header}, records...)
	}
	const most = 3000
	for i, record := range records {
		if every := 1 + len(records)/most; i%every == 0 {
			if err := w.Write(record); err != nil {
				t.Fatal(err)
			}
		}
	}
	w.Flush()
	table, err := source.ReadCSV(t.Context(), strings.NewReader(text.String()),
		source.Options{}.WithLabels([]string{"label"}))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return table
}

// withGaps returns the columns of a table, of which a share of the values is missing at random, but not of the labels.
func withGaps(table *dataset.Table, share float64, draw *rand.Rand) (columns []dataset.Column) {
	for _, c := range table.Columns() {
		numbers, ok := c.(*dataset.Numeric)
		if !ok || c.Name() == "label" || share == 0 {
			columns = append(columns, c)
			continue
		}
		values := make([]float64, c.Len())
		for row := range values {
			if values[row] = numbers.Float(row); draw.Float64() < share {
				values[row] = math.NaN()
			}
		}
		columns = append(columns, dataset.NewNumeric(c.Name(), values...))
	}
	return columns
}

// orders returns the rows of a table in different orders.
func orders(table *dataset.Table, draw *rand.Rand) map[string][]int {
	lowest := upTo(table.Rows())
	labels, _ := table.Numeric("label")
	slices.SortStableFunc(lowest, func(i, j int) int { return cmp.Compare(labels.Float(i), labels.Float(j)) })
	return map[string][]int{"random": draw.Perm(table.Rows()), "first": upTo(table.Rows()), "lowest": lowest}
}

// judgeReal judges the columns of a table in which some rows have their label.
func judgeReal(t *testing.T, columns []dataset.Column, labelled []int) []Judged {
	t.Helper()
	var list []dataset.Column
	for _, c := range columns {
		if c.Name() == "label" {
			truth := c.(*dataset.Numeric)
			values := slices.Repeat([]float64{math.NaN()}, c.Len())
			for _, row := range labelled {
				values[row] = truth.Float(row)
			}
			c = dataset.NewNumeric("label", values...)
		}
		list = append(list, c)
	}
	of := Tables{Input: Input{Table: tableOf(t, list...), TargetColumns: []string{"label"}}}
	parts, labels, err := of.parts()
	if err != nil {
		t.Fatal(err)
	}
	judged, err := of.judge(t.Context(), of.Table.Names()[:len(list)-1], parts, labels)
	if err != nil {
		t.Fatal(err)
	}
	return judged
}
