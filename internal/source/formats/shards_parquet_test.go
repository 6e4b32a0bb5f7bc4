package formats

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/source/sheets"
)

type singleRow struct {
	A float32 `parquet:"a"`
	B float32 `parquet:"b"`
}

// The same columns in another order.
type turnedRow struct {
	B float32 `parquet:"b"`
	A float32 `parquet:"a"`
}

func writeParquetShard[T any](t *testing.T, path string, rows []T, options ...parquet.WriterOption) {
	t.Helper()
	if err := os.WriteFile(path, parquetFile(t, rows, options...), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestParquetShardsAreOneArray reads every range of rows of three files with groups and pages of
// other sizes, and columns in another order.
func TestParquetShardsAreOneArray(t *testing.T) {
	dir := t.TempDir()
	var first []singleRow
	var second []turnedRow
	for i := range 7 {
		first = append(first, singleRow{float32(2 * i), float32(2*i + 1)})
	}
	for i := 7; i < 11; i++ {
		second = append(second, turnedRow{float32(2*i + 1), float32(2 * i)})
	}
	writeParquetShard(t, filepath.Join(dir, "1.parquet"), first, parquet.MaxRowsPerRowGroup(3), parquet.PageBufferSize(8))
	writeParquetShard(t, filepath.Join(dir, "2.parquet"), second, parquet.Compression(&parquet.Zstd))
	writeParquetShard(t, filepath.Join(dir, "3.parquet"), []singleRow{})
	s, err := OpenShards(dir)
	if err != nil || s.Rows != 11 || s.Cols != 2 || !s.InSingle() || !slices.Equal(s.Columns(), []string{"a", "b"}) {
		t.Fatalf("%+v, %v; want 11 x 2 in float32", s, err)
	}
	for from := range s.Rows + 1 {
		for to := from; to <= s.Rows; to++ {
			m, err := ReadShards[float64](t.Context(), s, from, to, sheets.Options{})
			if err != nil || m.Rows != to-from {
				t.Fatalf("rows %d to %d: %d rows, %v", from, to, m.Rows, err)
			}
			for i, v := range m.Data {
				if v != float64(2*from+i) {
					t.Fatalf("rows %d to %d: %v", from, to, m.Data)
				}
			}
		}
	}
}

// TestLongParquetShards crosses blocks and pages.
func TestLongParquetShards(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.parquet")
	rows := make([]singleRow, 2*shardBlock+5)
	for i := range rows {
		rows[i] = singleRow{float32(i), -float32(i)}
	}
	writeParquetShard(t, path, rows, parquet.MaxRowsPerRowGroup(shardBlock+3), parquet.PageBufferSize(10_000))
	s, err := OpenShards(path)
	if err != nil {
		t.Fatal(err)
	}
	m, err := ReadShards[float32](t.Context(), s, 1, len(rows), sheets.Options{})
	if err != nil || m.Rows != len(rows)-1 {
		t.Fatalf("%d rows, %v", m.Rows, err)
	}
	for i := range m.Rows {
		if want := float32(i + 1); m.At(i, 0) != want || m.At(i, 1) != -want {
			t.Fatalf("row %d is %v", i+1, m.Row(i))
		}
	}
}

func TestParquetShardsThatDoNotFit(t *testing.T) {
	huge := math.MaxFloat64
	for name, write := range map[string]func(path string){
		"text":          func(path string) { writeParquetShard(t, path, []struct{ A, B string }{{"x", "y"}}) },
		"other columns": func(path string) { writeParquetShard(t, path, []struct{ A, B float32 }{{1, 2}}) },
		"other types":   func(path string) { writeParquetShard(t, path, []struct{ A, B float64 }{{1, 2}}) },
		"missing":       func(path string) { writeParquetShard(t, path, []struct{ A *float64 }{{}}) },
		"huge":          func(path string) { writeParquetShard(t, path, []struct{ A *float64 }{{&huge}}) },
		"cut off": func(path string) {
			whole := parquetFile(t, []singleRow{{1, 2}})
			if err := os.WriteFile(path, whole[:len(whole)-9], 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"NumPy": func(path string) {
			if err := os.WriteFile(path[:len(path)-len("parquet")]+"npy", nil, 0o600); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if name != "missing" && name != "huge" {
				writeParquetShard(t, filepath.Join(dir, "1.parquet"), []singleRow{{1, 2}})
			}
			write(filepath.Join(dir, "2.parquet"))
			s, err := OpenShards(filepath.Join(dir, "*"))
			if err == nil {
				_, err = ReadShards[float32](t.Context(), s, 0, s.Rows, sheets.Options{})
			}
			if at := (*sheets.Error)(nil); !errors.As(err, &at) || at.File == "" || at.Advice == "" {
				t.Errorf("%v: want an error that names the file and says what to do", err)
			}
		})
	}
}

// readAsShards compares the numbers of a file that is read as a whole with those that are read
// block by block.
func readAsShards(t *testing.T, file []byte) error {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.parquet")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := OpenShards(path)
	if err != nil {
		return err
	}
	m, err := ReadShards[float64](t.Context(), s, 0, s.Rows, sheets.Options{})
	if err != nil {
		return err
	}
	table, err := ReadParquet(t.Context(), bytes.NewReader(file), sheets.Options{})
	if err != nil {
		return fmt.Errorf("read block by block, but not as a whole: %w", err)
	}
	for j, c := range table.Columns() {
		for i := range m.Rows {
			if got, want := fmt.Sprint(m.At(i, j)), fmt.Sprint(c.(*dataset.Numeric).Float(i)); got != want {
				t.Fatalf("row %d, column %d: %s, as a whole %s", i, j, got, want)
			}
		}
	}
	return nil
}
