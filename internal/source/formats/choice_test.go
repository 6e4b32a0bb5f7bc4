package formats

import (
	"runtime"
	"testing"

	"github.com/nextbatch/nextbatch/internal/source/sheets"
)

// TestChoiceTakesLittleMemory keeps live memory, as the collector sees it,
// below a quarter of the table at all times: rows pass through, and only the
// chosen ones stay.
func TestChoiceTakesLittleMemory(t *testing.T) {
	const rows, columns, most = 50_000, 20, 1000
	path, _ := numberFile(t, rows, columns, 6)
	var peak, before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	watch := &sheets.Choice{Begin: func() func() bool {
		n := 0
		return func() bool {
			if n++; n == rows { // at the end, when the most memory is live
				runtime.GC()
				runtime.ReadMemStats(&peak)
			}
			return n <= most
		}
	}}
	table, err := ReadFile(t.Context(), path, sheets.Options{Header: sheets.HeaderPresent, Choice: watch})
	if err != nil || table.Rows() != most || watch.Complete != rows {
		t.Fatalf("%v, %d of %d rows", err, table.Rows(), watch.Complete)
	}
	if lives := float64(peak.HeapAlloc) - float64(before.HeapAlloc); lives > rows*columns*8/4 {
		t.Errorf("%.1f MB live; the table takes %.1f", lives/1e6, rows*columns*8/1e6)
	}
}
