package formats_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/internal/source/formats"
	"github.com/nextbatch/nextbatch/matrix"
)

// writeShard writes rows of two columns that count from first.
func writeShard(t *testing.T, path string, first, rows int) []byte {
	t.Helper()
	m := matrix.New[float32](rows, 2)
	for i := range m.Data {
		m.Data[i] = float32(2*first + i)
	}
	var b bytes.Buffer
	if err := source.WriteNPY(&b, m); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestShardsAreOneArray(t *testing.T) {
	dir := t.TempDir()
	for i, first := range []int{0, 3, 4} {
		writeShard(t, filepath.Join(dir, "part-"+string(rune('0'+i))+".npy"), first, []int{3, 1, 5}[i])
	}
	s, err := formats.OpenShards(filepath.Join(dir, "part-*.npy"))
	if err != nil || s.Rows != 9 || s.Cols != 2 {
		t.Fatalf("%d x %d, %v; want 9 x 2", s.Rows, s.Cols, err)
	}
	for from := 0; from <= s.Rows; from++ {
		for to := from; to <= s.Rows; to++ {
			m, err := formats.ReadShards[float64](t.Context(), s, from, to, source.Options{})
			want := make([]float64, 0, 2*(to-from))
			for v := 2 * from; v < 2*to; v++ {
				want = append(want, float64(v))
			}
			if err != nil || m.Rows != to-from || !slices.Equal(m.Data, want) {
				t.Fatalf("rows %d to %d: %v, %v", from, to, m.Data, err)
			}
		}
	}
	if _, err := formats.ReadShards[float64](t.Context(), s, 0, 9,
		source.Options{MaxMemory: 100}); !errors.Is(err, source.ErrMemory) {
		t.Errorf("9 rows in 100 bytes: %v", err)
	}
}

func TestShardsThatDoNotFit(t *testing.T) {
	for name, spoil := range map[string]func(dir string, whole []byte) error{
		"no file": func(dir string, _ []byte) error { return os.Remove(filepath.Join(dir, "a.npy")) },
		"other columns": func(dir string, _ []byte) error {
			var b bytes.Buffer
			return errors.Join(source.WriteNPY(&b, matrix.New[float32](2, 3)),
				os.WriteFile(filepath.Join(dir, "b.npy"), b.Bytes(), 0o600))
		},
		"cut off": func(dir string, whole []byte) error {
			return os.WriteFile(filepath.Join(dir, "b.npy"), whole[:len(whole)-1], 0o600)
		},
		"too long": func(dir string, whole []byte) error {
			return os.WriteFile(filepath.Join(dir, "b.npy"), append(whole, 0), 0o600)
		},
		"no header": func(dir string, whole []byte) error {
			return os.WriteFile(filepath.Join(dir, "b.npy"), whole[:20], 0o600)
		},
		"by columns": func(dir string, whole []byte) error {
			return os.WriteFile(filepath.Join(dir, "b.npy"), bytes.Replace(whole, []byte("False"), []byte("True "), 1), 0o600)
		},
		"another format": func(dir string, _ []byte) error {
			return os.WriteFile(filepath.Join(dir, "b.csv"), []byte("1,2\n"), 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			whole := writeShard(t, filepath.Join(dir, "a.npy"), 0, 3)
			if err := spoil(dir, slices.Clone(whole)); err != nil {
				t.Fatal(err)
			}
			_, err := formats.OpenShards(filepath.Join(dir, "*"))
			if at := (*source.Error)(nil); !errors.As(err, &at) || at.File == "" || at.Advice == "" {
				t.Errorf("%v: want an error that names the file and says what to do", err)
			}
		})
	}
}
