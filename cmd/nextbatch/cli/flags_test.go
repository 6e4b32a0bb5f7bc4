package cli

import "testing"

// TestArrayAsTable reads one of several arrays as a table.
func TestArrayAsTable(t *testing.T) {
	const file = "../../../dataset/source/testdata/python/several.npz"
	var f columnFlags
	table, err := f.read(t.Context(), file+":X", false)
	if err != nil || table.Names()[0] != "c0" {
		t.Fatalf("%v, %v", table, err)
	}
	if _, err := f.read(t.Context(), file, false); err == nil {
		t.Error("no array is named, but one was read")
	}
}
