//go:build unix

package rowfile_test

import (
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/rowfile"
	"github.com/nextbatch/nextbatch/matrix"
)

// ramp returns rows whose numbers count up.
func ramp[T matrix.Float](rows, cols int) matrix.Dense[T] {
	m := matrix.New[T](rows, cols)
	for i := range m.Data {
		m.Data[i] = T(i)
	}
	return m
}

func TestTemporary(t *testing.T) {
	t.Run("float32", temporary[float32])
	t.Run("float64", temporary[float64])
}

func temporary[T matrix.Float](t *testing.T) {
	folder := t.TempDir()
	wide := ramp[T](1000, 8)
	want := wide.Block(0, 1000, 1, 8) // rows with gaps
	file, err := rowfile.Create[T](folder, want.Rows, want.Cols)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if entries, err := os.ReadDir(folder); err != nil || len(entries) > 0 {
		t.Errorf("the temporary file has a name: %v, %v", entries, err)
	}
	if _, err := file.Map(); err == nil {
		t.Error("a file without its rows was mapped")
	}
	for _, part := range []matrix.Dense[T]{want.Slice(0, 400), want.Slice(400, 990).Clone(), want.Slice(990, 1000)} {
		if err := file.Write(part); err != nil {
			t.Fatal(err)
		}
	}
	m, err := file.Map()
	if err != nil {
		t.Fatal(err)
	}
	file.Close()
	for i := range want.Rows {
		for j, v := range m.Rows.Row(i) {
			if v != want.At(i, j) {
				t.Fatalf("%v at %d, %d, want %v", v, i, j, want.At(i, j))
			}
		}
	}
	m.Close()
	m.Close() // does nothing
}

func TestOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	raw := []byte("headhead")
	for i := range 6 {
		raw = binary.NativeEndian.AppendUint32(raw, math.Float32bits(float32(i)))
	}
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := rowfile.Open[float32](path, 8, 3, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if got := m.Rows.At(2, 1); got != 5 {
		t.Errorf("the last number is %v", got)
	}
	if _, err := rowfile.Open[float32](path, 8, 4, 2); err == nil {
		t.Error("a file that is too short was mapped")
	}
}

func TestNoSpace(t *testing.T) {
	folder := t.TempDir()
	var full *rowfile.SpaceError
	if _, err := rowfile.Create[float64](folder, 1<<40, 1<<10); !errors.As(err, &full) || full.Folder != folder ||
		full.Need != 1<<53 || full.Free <= 0 {
		t.Error(err)
	}
	if text := (&rowfile.SpaceError{Folder: "tiny", Need: 4_000, Free: 0}).Error(); text !=
		"tiny has 0.0 kB of disk space left, but a temporary file needs 4.0 kB, 4.0 kB more" {
		t.Error(text)
	}
	if err := rowfile.CheckSpace(folder, 1); err != nil {
		t.Error(err)
	}
	if err := rowfile.CheckSpace(filepath.Join(folder, "absent"), 1); err == nil {
		t.Error("a folder that does not exist has space")
	}
}

// TestShrunkFile: a file that becomes shorter while it is mapped is an error, in whatever
// goroutine it is read.
func TestShrunkFile(t *testing.T) {
	for _, threads := range []int{1, 2, 3} {
		path := filepath.Join(t.TempDir(), "x")
		rows := 1 << 14
		if err := os.WriteFile(path, make([]byte, rows*64*4), 0o600); err != nil {
			t.Fatal(err)
		}
		m, err := rowfile.Open[float32](path, 0, rows, 64)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		if err := os.Truncate(path, 4096); err != nil {
			t.Fatal(err)
		}
		norms := make([]float32, rows)
		err = rowfile.Guard(func() error {
			linalg.RowNorms(linalg.NewTeam(threads), norms, m.Rows)
			return nil
		})
		var fault *rowfile.FaultError
		if !errors.As(err, &fault) || fault.File != path {
			t.Errorf("%d threads: %v", threads, err)
		}
	}
}

// TestGuardPassesOn: other panics and errors are not the guard's business.
func TestGuardPassesOn(t *testing.T) {
	oops := errors.New("oops")
	if err := rowfile.Guard(func() error { return oops }); err != oops {
		t.Error(err)
	}
	defer func() {
		if value := recover(); value != oops {
			t.Error(value)
		}
	}()
	_ = rowfile.Guard(func() error { panic(oops) })
}
