package formats

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/source/sheets"
)

const tableFiles = "testdata/tables"

// TestOneTableInManyFormats reads one table as different programs write it; see
// testdata/README.md. The texts of all columns are the same.
func TestOneTableInManyFormats(t *testing.T) {
	want, err := ReadFile(t.Context(), filepath.Join(tableFiles, "plain.csv"), sheets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if want.Rows() != 40 || want.Columns()[1].Kind() != dataset.KindNumeric || want.Columns()[3].Format(0) != "Grün" {
		t.Fatal(show(want))
	}
	for _, test := range []struct {
		file string
		opts sheets.Options
	}{
		{"utf16.csv", sheets.Options{}}, {"utf16be.csv", sheets.Options{}},
		{"windows1252.csv", sheets.Options{Encoding: "windows-1252"}}, {"windows1252.csv",
			sheets.Options{Encoding: "latin1"}},
		{"german.csv", sheets.Options{Encoding: "cp1252", Decimal: ',', Thousands: '.'}},
		{"blanks.dat", sheets.Options{Delimiter: ' '}},
		{"lines.jsonl", sheets.Options{}}, {"escaped.ndjson.gz", sheets.Options{}},
		{"openpyxl.xlsx", sheets.Options{}}, {"xlsxwriter.xlsx", sheets.Options{Array: "Messung 2"}},
		{"parts", sheets.Options{}}, {"parts", sheets.Options{Format: "parquet"}},
	} {
		got, err := ReadFile(t.Context(), filepath.Join(tableFiles, test.file), test.opts)
		if err != nil {
			t.Errorf("%s: %v", test.file, err)
			continue
		}
		sameValues(t, test.file, got, want)
		if test.file != "parts" {
			sameThroughAPipe(t, test.file, test.opts, want)
		}
	}
}

// sameValues compares the texts of the columns, and which of them are numeric.
func sameValues(t *testing.T, name string, got, want *dataset.Table) {
	t.Helper()
	if got.Rows() != want.Rows() || len(got.Columns()) != len(want.Columns()) {
		t.Errorf("%s: %d rows, columns %q", name, got.Rows(), got.Names())
		return
	}
	for j, c := range got.Columns() {
		w := want.Columns()[j]
		if c.Name() != w.Name() || (c.Kind() == dataset.KindNumeric) != (w.Kind() == dataset.KindNumeric) {
			t.Errorf("%s: column %d is %q, %v", name, j, c.Name(), c.Kind())
		}
		for row := range c.Len() {
			if c.Format(row) != w.Format(row) {
				t.Errorf("%s, %s, row %d: %q, want %q", name, c.Name(), row, c.Format(row), w.Format(row))
				break
			}
		}
	}
}

// sameThroughAPipe reads the file without its name.
func sameThroughAPipe(t *testing.T, file string, opts sheets.Options, want *dataset.Table) {
	t.Helper()
	content, err := os.Open(filepath.Join(tableFiles, file))
	if err != nil {
		t.Fatal(err)
	}
	defer content.Close()
	got, err := Read(t.Context(), content, opts)
	if err != nil {
		t.Errorf("%s without a name: %v", file, err)
		return
	}
	sameValues(t, file+" without a name", got, want)
}

func TestTypesOfCells(t *testing.T) {
	got, err := ReadFile(t.Context(), filepath.Join(tableFiles, "types.xlsx"), sheets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const want = `when categorical [2024-02-29T13:30:15] [1900-01-31T00:00:00] []
clock categorical [06:45:00] [23:59:59] []
serial numeric [1.5] [-2.25e-300] []
flag numeric [1] [0] []
text number numeric [5] [6.5] []
mixed categorical [x] [7] []
span numeric [1.5] [0.0006944444444444445] []
`
	if show(got) != want {
		t.Errorf("%s", show(got))
	}
}

func TestWorkbooksAreRefused(t *testing.T) {
	for _, test := range []struct {
		file string
		opts sheets.Options
		kind error
		want string
	}{
		{"xlsxwriter.xlsx", sheets.Options{}, sheets.ErrSheet,
			`there is no such sheet: there are 2, and none is named; give --sheet with one of Notes, Messung 2`},
		{"openpyxl.xlsx", sheets.Options{Array: "Sheet1"}, sheets.ErrSheet,
			`there is no such sheet: "Sheet1"; the sheets are Messung`},
		{"formula.xlsx", sheets.Options{}, sheets.ErrFormula,
			`line 2, column 2 (b): the formula has no stored value; open the workbook in Excel or LibreOffice and save it, so ` +
				`that values are stored with formulas`},
	} {
		_, err := ReadFile(t.Context(), filepath.Join(tableFiles, test.file), test.opts)
		if !errors.Is(err, test.kind) || !strings.HasSuffix(err.Error(), test.want) ||
			!strings.Contains(err.Error(), test.file) {
			t.Errorf("%s: %v", test.file, err)
		}
	}
	if _, err := ReadFile(t.Context(), filepath.Join(tableFiles, "formula.xlsx"),
		sheets.Options{Ignore: []string{"b"}}); err != nil {
		t.Errorf("the formula is ignored: %v", err)
	}
}
