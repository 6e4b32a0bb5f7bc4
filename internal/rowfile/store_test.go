//go:build unix

package rowfile_test

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"

	"github.com/nextbatch/nextbatch/internal/rowfile"
)

// counted returns numbers from first on.
func counted[T rowfile.Plain](first, n int) []T {
	list := make([]T, n)
	for i := range list {
		list[i] = T(first + i)
	}
	return list
}

// keepAll keeps pieces of many sizes and checks them at the end, when all are there.
func keepAll[T rowfile.Plain](t *testing.T, s *rowfile.Store) (check func()) {
	t.Helper()
	var kept [][]T
	for n := range 50 {
		piece, err := rowfile.Keep(s, counted[T](n, n*n))
		if err != nil {
			t.Fatal(err)
		}
		kept = append(kept, piece)
	}
	return func() {
		t.Helper()
		for n, piece := range kept {
			if !slices.Equal(piece, counted[T](n, n*n)) || cap(piece) != len(piece) {
				t.Errorf("%T: piece %d is %v", piece, n, piece)
			}
		}
	}
}

func TestStore(t *testing.T) {
	folder := t.TempDir()
	s := rowfile.NewStore(folder)
	defer s.Close()
	checks := []func(){keepAll[byte](t, s), keepAll[float64](t, s), keepAll[byte](t, s), keepAll[float32](t, s),
		keepAll[int32](t, s), keepAll[int](t, s)}
	large, err := rowfile.Keep(s, make([]byte, 1<<26+1)) // more than is mapped at a time
	if err != nil {
		t.Fatal(err)
	}
	large[1<<26] = 7 // pieces can be changed
	checks = append(checks, keepAll[float64](t, s))
	for _, check := range checks {
		check()
	}
	if large[1<<26] != 7 || large[1<<26-1] != 0 {
		t.Error("a large piece was overwritten")
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) > 0 {
		t.Errorf("the file has a name: %v, %v", entries, err)
	}
	s.Close()
	s.Close() // does nothing
}

// TestStoreWithoutSpace: a piece that finds no space is an error, also of those after it,
// and the pieces before it stay.
func TestStoreWithoutSpace(t *testing.T) {
	if _, err := rowfile.Keep(rowfile.NewStore(t.TempDir()+"/absent"), []byte{1}); err == nil {
		t.Error("a folder that does not exist holds a piece")
	}
	disk := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk).CombinedOutput(); err != nil {
		t.Skipf("cannot mount a disk to fill: %v %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("umount", "-l", disk).Run() })
	s := rowfile.NewStore(disk)
	defer s.Close()
	first, err := rowfile.Keep(s, counted[int](5, 1000))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1 << 20, 1} {
		var full *rowfile.WriteError
		if _, err := rowfile.Keep(s, make([]byte, n)); !errors.As(err, &full) || full.Folder != disk ||
			!errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	if !slices.Equal(first, counted[int](5, 1000)) {
		t.Error("the first piece has changed")
	}
}

// TestStoreCut: pieces that are cut off leave their space to others.
func TestStoreCut(t *testing.T) {
	s := rowfile.NewStore(t.TempDir())
	defer s.Close()
	if err := s.CutTo(s.Mark()); err != nil { // before there is a file
		t.Fatal(err)
	}
	check := keepAll[float64](t, s)
	for range 2 {
		mark := s.Mark()
		checkMore := keepAll[byte](t, s)
		if _, err := rowfile.Keep(s, make([]byte, 1<<26)); err != nil { // the next part of the file
			t.Fatal(err)
		}
		checkMore()
		if err := s.CutTo(mark); err != nil || s.Mark() != mark {
			t.Errorf("cut to %d, not %d: %v", s.Mark(), mark, err)
		}
	}
	keepAll[int32](t, s)()
	check()
	if err := s.CutTo(0); err != nil || s.Mark() != 0 {
		t.Errorf("%d bytes: %v", s.Mark(), err)
	}
	keepAll[int](t, s)()
}

// TestStoreCutOnAFullDisk: pieces find the space of those that were cut off.
func TestStoreCutOnAFullDisk(t *testing.T) {
	disk := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk).CombinedOutput(); err != nil {
		t.Skipf("cannot mount a disk to fill: %v %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("umount", "-l", disk).Run() })
	s := rowfile.NewStore(disk)
	defer s.Close()
	for range 3 {
		if _, err := rowfile.Keep(s, make([]byte, 40<<10)); err != nil {
			t.Fatal(err)
		}
		if _, err := rowfile.Keep(s, make([]byte, 40<<10)); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("a full disk: %v", err)
		}
		if err := s.CutTo(0); err != nil {
			t.Fatal(err)
		}
	}
}
