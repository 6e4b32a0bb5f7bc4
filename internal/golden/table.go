package golden

import (
	"compress/gzip"
	"encoding/csv"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/matrix"
)

// Tables returns the names of the small real tables in a folder beside the data sets: tables or lab.
func Tables(t testing.TB, folder string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(Data(t), folder, "*.csv.gz"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(file), ".csv.gz"))
	}
	return names
}

// Records reads a compressed CSV file of the data sets, given its path from there. In the table of bicycles two columns
// give the label away; they are left out.
func Records(t testing.TB, path ...string) [][]string {
	t.Helper()
	file := filepath.Join(append([]string{Data(t)}, path...)...)
	raw, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	unzipped, err := gzip.NewReader(raw)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	records, err := csv.NewReader(unzipped).ReadAll()
	if err != nil || len(records) == 0 {
		t.Fatalf("%s: %d rows, %v", file, len(records), err)
	}
	if filepath.Base(file) == "bike.csv.gz" {
		for i := range records {
			records[i] = slices.Delete(records[i], 15, 17)
		}
	}
	return records
}

// Table reads one of the small real tables by its name: numbers without a header, the label last.
func Table(t testing.TB, name string) (inputs matrix.Dense[float32], labels []float64) {
	t.Helper()
	records := Records(t, "tables", name+".csv.gz")
	inputs = matrix.New[float32](len(records), len(records[0])-1)
	for i, record := range records {
		for j, text := range record {
			v, err := strconv.ParseFloat(text, 64)
			if err != nil {
				t.Fatalf("%s, row %d: %v", name, i, err)
			}
			if j < inputs.Cols {
				inputs.Set(i, j, float32(v))
			} else {
				labels = append(labels, v)
			}
		}
	}
	return inputs, labels
}
