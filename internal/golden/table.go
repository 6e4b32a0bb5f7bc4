package golden

import (
	"compress/gzip"
	"encoding/csv"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/nextbatch/nextbatch/matrix"
)

// Table reads one of the small real tables beside the data sets: a compressed CSV file without a
// header, whose last column is the label. In the table of bicycles two columns give the label away; they are no
// inputs.
func Table(t testing.TB, file string) (inputs matrix.Dense[float32], labels []float64) {
	t.Helper()
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
	inputs = matrix.New[float32](len(records), len(records[0])-1)
	for i, record := range records {
		for j, text := range record {
			v, err := strconv.ParseFloat(text, 64)
			if err != nil {
				t.Fatalf("%s, row %d: %v", file, i, err)
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
