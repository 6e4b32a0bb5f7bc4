package formats

import (
	"bytes"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/source/sheets"
)

// TestMarkForExcel: what comes from a file in windows-1252 goes out with a byte-order mark, without which Excel would
// take the UTF-8 for windows-1252.
func TestMarkForExcel(t *testing.T) {
	for text, want := range map[string]bool{"\xe4;b\n1,5;2\n2,5;3\n": true, "\xef\xbb\xbfä;b\n1,5;2\n2,5;3\n": true,
		"ä;b\n1,5;2\n2,5;3\n": false} {
		from, err := ReadCSV(t.Context(), strings.NewReader(text), sheets.Options{})
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
