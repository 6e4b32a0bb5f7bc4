package atomicfile_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/internal/atomicfile"
)

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

// checkFolder checks that the file has the contents, and that the folder has no
// other file.
func checkFolder(t *testing.T, path, want string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}

func TestWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mit Leerzeichen ü.csv")
	for _, want := range []string{"one", "two", ""} {
		if err := atomicfile.Write(path, text(want)); err != nil {
			t.Fatal(err)
		}
		checkFolder(t, path, want)
	}
}

func TestFailureKeepsTheOldFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	if err := atomicfile.Write(path, text("old")); err != nil {
		t.Fatal(err)
	}
	full := errors.New("full")
	err := atomicfile.Write(path, func(w io.Writer) error {
		if _, err := w.Write(make([]byte, 1<<20)); err != nil {
			return err
		}
		return full
	})
	if err != full {
		t.Error(err)
	}
	checkFolder(t, path, "old")
	func() {
		defer func() { _ = recover() }()
		_ = atomicfile.Write(path, func(io.Writer) error { panic("oops") })
	}()
	checkFolder(t, path, "old")
}

func TestWriteRefuses(t *testing.T) {
	dir := t.TempDir()
	if err := atomicfile.Write(dir, text("x")); err == nil {
		t.Error("a folder was written")
	}
	absent, at := filepath.Join(dir, "absent", "x"), new(os.PathError)
	if err := atomicfile.Write(absent, text("x")); !errors.Is(err, os.ErrNotExist) || !errors.As(err, &at) ||
		at.Path != absent {
		t.Error(err)
	}
}

func TestPermissionsAndLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs links and permissions of Unix")
	}
	dir, elsewhere := t.TempDir(), t.TempDir()
	target, link := filepath.Join(elsewhere, "x"), filepath.Join(dir, "link")
	if err := os.WriteFile(target, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Write(link, text("new")); err != nil {
		t.Fatal(err)
	}
	checkFolder(t, target, "new")
	if info, err := os.Stat(target); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v", err)
	}
}

func TestDanglingLink(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs links of Unix")
	}
	dir, elsewhere := t.TempDir(), t.TempDir()
	target, link, second := filepath.Join(elsewhere, "x"), filepath.Join(dir, "link"), filepath.Join(dir, "second")
	if err := errors.Join(os.Symlink(target, link), os.Symlink("link", second)); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Write(second, text("new")); err != nil {
		t.Fatal(err)
	}
	checkFolder(t, target, "new")
	for _, path := range []string{link, second} {
		if info, err := os.Lstat(path); err != nil || info.Mode()&os.ModeSymlink == 0 {
			t.Errorf("the link is gone: %v", err)
		}
	}
	lost := filepath.Join(dir, "lost")
	if err := os.Symlink(filepath.Join(dir, "absent", "x"), lost); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Write(lost, text("new")); !errors.Is(err, os.ErrNotExist) ||
		!strings.Contains(err.Error(), "lost: it is a link to") {
		t.Error(err)
	}
}

func TestDevicesAreWrittenDirectly(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs /dev/null")
	}
	if err := atomicfile.Write(os.DevNull, text("x")); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode().IsRegular() {
		t.Error("the device was replaced")
	}
}

func TestWriteInStaysInside(t *testing.T) {
	dir := t.TempDir()
	inside, outside := filepath.Join(dir, "inside"), filepath.Join(dir, "outside")
	for _, folder := range []string{inside, outside} {
		if err := os.Mkdir(folder, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(inside)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	names := []string{"../outside/x", filepath.Join(outside, "x"), "..", "", "absent/x"}
	if os.Symlink(outside, filepath.Join(inside, "link")) == nil {
		names = append(names, "link/x")
	}
	for _, name := range names {
		if err := atomicfile.WriteIn(root, name, text("x")); err == nil {
			t.Errorf("%q was written", name)
		}
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) > 0 {
		t.Errorf("outside: %v, %v", entries, err)
	}
}

func TestWriteIn(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := root.Mkdir("tables", 0o777); err != nil {
		t.Fatal(err)
	}
	name, path := filepath.Join("tables", "x.csv"), filepath.Join(dir, "tables", "x.csv")
	for _, want := range []string{"one", "two", ""} {
		if err := atomicfile.WriteIn(root, name, text(want)); err != nil {
			t.Fatal(err)
		}
		checkFolder(t, path, want)
	}
	full := errors.New("full")
	if err := atomicfile.WriteIn(root, name, func(io.Writer) error { return full }); err != full {
		t.Error(err)
	}
	checkFolder(t, path, "")
}

func ExampleWrite() {
	path := filepath.Join(os.TempDir(), "nextbatch-example.txt")
	defer os.Remove(path)
	err := atomicfile.Write(path, func(w io.Writer) error {
		_, err := io.WriteString(w, "whole or not at all\n")
		return err
	})
	if err != nil {
		os.Stdout.WriteString(err.Error())
		return
	}
	contents, _ := os.ReadFile(path)
	os.Stdout.Write(contents)
	// Output: whole or not at all
}
