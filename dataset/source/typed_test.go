package source

import (
	"bytes"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/dataset"
)

// TestTypedBesideStored: a workbook stores 36.5 with a point, and holds what someone typed as text with a comma.
func TestTypedBesideStored(t *testing.T) {
	stored := &numerals{decimal: '.', typed: &numerals{decimal: ',', thousands: '.'}}
	for text, want := range map[string]float64{"36.5": 36.5, "36,5": 36.5, "1.043,7": 1043.7, "7": 7} {
		if got, ok := stored.number([]byte(text)); !ok || got != want {
			t.Errorf("%s: %v, %v", text, got, ok)
		}
	}
	if c := stored.loose([]byte("<0,5")); c.kind != belowCell || c.value != 0.5 {
		t.Errorf("%+v", c)
	}
	if _, ok := stored.number([]byte("1,2,3")); ok {
		t.Error("1,2,3 is a number")
	}
}

// TestMarkForExcel: what comes from a file in windows-1252 goes out with a byte-order mark, without which Excel would
// take the UTF-8 for windows-1252.
func TestMarkForExcel(t *testing.T) {
	for text, want := range map[string]bool{"\xe4;b\n1,5;2\n2,5;3\n": true, "\xef\xbb\xbfä;b\n1,5;2\n2,5;3\n": true,
		"ä;b\n1,5;2\n2,5;3\n": false} {
		from, err := ReadCSV(t.Context(), strings.NewReader(text), Options{})
		if err != nil {
			t.Fatal(err)
		}
		to, err := dataset.NewTable(dataset.NewNumeric("ä", 0.5))
		if err != nil {
			t.Fatal(err)
		}
		var written bytes.Buffer
		if err := WriteCSV(&written, to.WrittenLike(from.Origin().Style)); err != nil {
			t.Fatal(err)
		}
		if got := strings.HasPrefix(written.String(), "\xef\xbb\xbf"); got != want ||
			!strings.HasSuffix(written.String(), "ä\n0,5\n") {
			t.Errorf("%q became %q", text, written.String())
		}
	}
}
