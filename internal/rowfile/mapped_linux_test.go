//go:build amd64

package rowfile

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/nextbatch/nextbatch/matrix"
)

// TestMappedRows drops a mapped file from the memory of the system and has it read again,
// without touching it.
func TestMappedRows(t *testing.T) {
	const rows, cols = 1300, 1024 // more than is read by one request
	path := filepath.Join(t.TempDir(), "rows")
	if err := os.WriteFile(path, make([]byte, 4*rows*cols), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := file.Sync(); err != nil {
		t.Fatal(err)
	}
	raw, err := syscall.Mmap(int(file.Fd()), 0, 4*rows*cols, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Munmap(raw)
	const dropped = 4 // POSIX_FADV_DONTNEED
	_, _, _ = syscall.Syscall6(syscall.SYS_FADVISE64, file.Fd(), 0, 0, dropped, 0, 0)
	if there, all := resident(t, raw); there == all {
		t.Skip("temporary files are in memory here")
	}
	m := matrix.View(rows, cols, unsafe.Slice((*float32)(unsafe.Pointer(&raw[0])), rows*cols))
	all := MappedRows(m)
	const first = 16 // rows
	_ = syscall.Madvise(raw[:4*first*cols], adviceAhead)
	if !becomes(t, raw[:4*first*cols]) {
		t.Skip("this system ignores the advice")
	}
	if share := all.Resident(); share > 0.5 {
		t.Errorf("a share of %v is in memory already", share)
	}
	if !all.part(0, 1).advise(adviceFetch) {
		t.Skip("this is for Linux 5.14 and later")
	}
	for name, read := range map[string]func(Mapped){"ReadAhead": Mapped.ReadAhead, "Fetch": Mapped.Fetch} {
		all.AtRandom()
		all.AsUsual()
		all.InSequence()
		read(MappedRows(m.Slice(1, rows-1)))
		if !becomes(t, raw) {
			there, all := resident(t, raw)
			t.Errorf("%s: %d of %d pages have been read", name, there, all)
		}
		if share := all.Resident(); share < 0.9 {
			t.Errorf("%s: a share of %v is in memory", name, share)
		}
		MappedRows(m).Fetch() // the system drops what is mapped
		all.Drop()
		if share := all.Resident(); share > 0.5 {
			t.Errorf("%s: a share of %v is in memory after it was dropped", name, share)
		}
	}
	MappedRows(matrix.New[float64](3, 5)).ReadAhead() // memory
	none := MappedRows(matrix.New[float64](0, 5))
	none.ReadAhead()
	none.Fetch()
	none.Drop()
	if share := none.Resident(); share != 1 {
		t.Errorf("a share of %v of nothing is in memory", share)
	}
}

// becomes reports whether a mapped file is read within some seconds, or most of it: it is advice.
func becomes(t *testing.T, raw []byte) bool {
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if there, all := resident(t, raw); there > all*9/10 {
			return true
		}
	}
	return false
}

// resident counts the pages of a mapped file that are in memory.
func resident(t *testing.T, raw []byte) (there, all int) {
	t.Helper()
	pages := make([]byte, (len(raw)+os.Getpagesize()-1)/os.Getpagesize())
	if _, _, code := syscall.Syscall(syscall.SYS_MINCORE, uintptr(unsafe.Pointer(&raw[0])), uintptr(len(raw)),
		uintptr(unsafe.Pointer(&pages[0]))); code != 0 {
		t.Fatal(code)
	}
	for _, p := range pages {
		there += int(p & 1)
	}
	return there, len(pages)
}
