package campaign

import (
	"reflect"
	"testing"

	"github.com/nextbatch/nextbatch/dataset"
)

// What people download is written as the campaign's table was.
func TestCreatedRemembersTheStyle(t *testing.T) {
	for name, c := range map[string]struct{ file, want dataset.Style }{
		"programs": {dataset.Style{Delimiter: ',', Decimal: '.'}, dataset.Style{}},
		"tabs":     {dataset.Style{Delimiter: '\t'}, dataset.Style{}},
		"semicolons": {dataset.Style{Delimiter: ';', Decimal: ',', CRLF: true},
			dataset.Style{Delimiter: ';', Decimal: ','}},
		"bars": {dataset.Style{Delimiter: '|', Decimal: '.'}, dataset.Style{Delimiter: '|'}},
		"mark": {dataset.Style{Delimiter: ',', Mark: true}, dataset.Style{Mark: true}},
		"windows-1252": {dataset.Style{Delimiter: ';', Encoding: "windows-1252"},
			dataset.Style{Delimiter: ';', Encoding: "windows-1252"}},
	} {
		var created Created
		created.remember(c.file)
		if got := created.Style(); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
