package formats

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/source/cells"
	"github.com/nextbatch/nextbatch/internal/source/sheets"
)

// sheetIn returns the XML of the sheet of a workbook that was written.
func sheetIn(t testing.TB, file []byte) string {
	t.Helper()
	archive, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	part, err := archive.Open("xl/worksheets/sheet1.xml")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(part)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func writeXLSX(t testing.TB, table *dataset.Table, labels ...string) []byte {
	t.Helper()
	var file bytes.Buffer
	if err := WriteXLSX(&file, table, labels...); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

func tableOf(t testing.TB, columns ...dataset.Column) *dataset.Table {
	t.Helper()
	table, err := dataset.NewTable(columns...)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// TestWriteXLSX: each kind of value becomes the cell that people expect, and is read back.
func TestWriteXLSX(t *testing.T) {
	long := strings.Repeat("far from all labelled rows ", 5) + "."
	days, times, level := dataset.NewCategorical("day"), dataset.NewText("time", "2024-02-29T12:00:00",
		"2024-02-29T12:00:00.25", ""), dataset.NewCategorical("level")
	for _, day := range []string{"2024-02-29", "1900-03-01", "9999-12-31"} {
		days.Append(days.AddLevel(day))
		level.Append(level.AddLevel(day[3:]))
	}
	table := tableOf(t, dataset.NewText("id", "007", "=1+1", "1e5"),
		dataset.NewNumeric("x & <y>", 0.1, math.Inf(-1), math.NaN()), days, times, level,
		dataset.NewText("reason", long, "", "a\nb\r\n\x01_x0041_\t\ufffe ü 😀"),
		dataset.NewNumeric("label", math.NaN(), 12.5, math.NaN()))
	file := writeXLSX(t, table, "label")
	if again := writeXLSX(t, table, "label"); !bytes.Equal(file, again) {
		t.Error("the bytes differ")
	}
	sheet := sheetIn(t, file)
	for _, cell := range []string{
		`<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/>`,
		`<col min="1" max="1" width="6" customWidth="1"/>`, `<col min="6" max="6" width="62" customWidth="1"/>`,
		`<col min="7" max="7" width="14" customWidth="1"/>`,
		`<c r="A2" s="3" t="inlineStr"><is><t xml:space="preserve">007</t></is></c>`, `<t xml:space="preserve">=1+1</t>`,
		`<c r="B1" s="1" t="inlineStr"><is><t xml:space="preserve">x &amp; &lt;y&gt;</t></is></c>`,
		`<c r="B2" s="2"><v>0.1</v></c>`,
		`<c r="C2" s="5"><v>45351</v></c>`, `<c r="C3" s="5"><v>61</v></c>`, `<c r="C4" s="5"><v>2958465</v></c>`,
		`<c r="D2" s="6"><v>45351.5</v></c>`,
		`<c r="E2" s="3" t="inlineStr">`, `<c r="F2" s="4" t="inlineStr">`, `a` + "\n" + `b_x000D_` + "\n" +
			`_x0001__x005F_x0041_` + "\t" + `_xFFFE_ ü 😀</t>`,
		`<c r="G1" s="8" t="inlineStr">`, `<c r="G2" s="7"/>`, `<c r="G3" s="7"><v>12.5</v></c>`,
		`<ignoredError sqref="A2:A4" numberStoredAsText="1"/>`,
	} {
		if !strings.Contains(sheet, cell) {
			t.Errorf("there is no %s in\n%s", cell, sheet)
		}
	}
	read, err := ReadXLSX(t.Context(), bytes.NewReader(file), sheets.Options{Header: sheets.HeaderPresent,
		Kinds: kindsOf(table), Missing: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := show(read), show(table); got != want {
		t.Errorf("wrote\n%s\nread\n%s", want, got)
	}
}

// TestDatesOfWorkbooks: only what is read back as it is written becomes a date, and only if the whole column does.
func TestDatesOfWorkbooks(t *testing.T) {
	for _, test := range []struct {
		values string
		want   dateFormat
	}{
		{"2024-02-29|2024-03-01", dateOnly}, {"|2024-02-29|", dateOnly}, {"2024-02-29T00:00:00", dateTime}, {"|", notDate},
		{"2024-02-29|x", notDate}, {"2024-02-29|2024-02-29T10:00:00", notDate}, {"2024-02-30", notDate},
		{"29.02.2024", notDate},
		{"2024-02-29 10:00:00", notDate}, {"2024-02-29T10:00:00Z", notDate}, {"2024-02-29T10:00:00.250", notDate},
		{"2024-02-29T10:00:00.1234", notDate},
		{"1900-02-28", notDate}, {"1789-07-14", notDate}, {"10000-01-01", notDate}, {"10:00:00", notDate}, {"2024", notDate},
	} {
		if got := datesIn(dataset.NewText("d", strings.Split(test.values, "|")...)); got != test.want {
			t.Errorf("%s: %v", test.values, got)
		}
	}
}

func TestColumnLetters(t *testing.T) {
	for column := range sheetColumns {
		if back, ok := columnOf(columnLetters(column) + "1"); !ok || back != column {
			t.Fatalf("%d: %s", column, columnLetters(column))
		}
	}
}

// TestWriteXLSXRefuses: what Excel could not open is an error that says so, and nothing is written.
func TestWriteXLSXRefuses(t *testing.T) {
	tall, wide := dataset.NewNumeric("x"), make([]dataset.Column, sheetColumns+1)
	for range sheetRows {
		tall.Append(1)
	}
	for j := range wide {
		wide[j] = dataset.NewNumeric(fmt.Sprint(j), 1)
	}
	for _, test := range []struct {
		table *dataset.Table
		kind  error
		says  string
	}{
		{tableOf(t, tall), sheets.ErrRows,
			"there are too many rows: a sheet of Excel has at most 1048576 rows, and header and table have 1048577; write " +
				"CSV or Parquet"},
		{tableOf(t, wide...), sheets.ErrColumns, "at most 16384, and the table has 16385"},
		{tableOf(t), sheets.ErrEmpty, "no columns"},
		{tableOf(t, dataset.NewText("a", "x", strings.Repeat("😀", cellLength/2+1))), sheets.ErrTooLong,
			"row 1 (from 0), column 1 (a): the row is too long: a cell of Excel has at most 32767 characters, and this " +
				"text has 32768"},
		{tableOf(t, dataset.NewText("a", "\xff")), sheets.ErrEncoding, `"\xff" is not UTF-8`},
	} {
		path := writeFile(t, t.TempDir(), "x.xlsx", []byte("old"))
		err := WriteToFill(path, test.table, "a")
		if at := (*sheets.Error)(nil); !errors.As(err, &at) || at.File != path || !errors.Is(err, test.kind) ||
			!strings.Contains(err.Error(), test.says) {
			t.Errorf("%v, want %s", err, test.says)
		}
		if left, err := os.ReadFile(path); err != nil || string(left) != "old" {
			t.Errorf("%q, %v", left, err)
		}
	}
	most := dataset.NewText("a", strings.Repeat("x", cellLength))
	if err := WriteXLSX(io.Discard, tableOf(t, most)); err != nil {
		t.Error(err)
	}
	full := errors.New("full")
	if err := WriteXLSX(failing{full}, tableOf(t, most)); !errors.Is(err, full) {
		t.Error(err)
	}
}

// TestWriteToFill: the colour is for workbooks, and other formats are as ever.
func TestWriteToFill(t *testing.T) {
	table, dir := tableOf(t, dataset.NewText("id", "a"), dataset.NewNumeric("y", math.NaN())), t.TempDir()
	for _, name := range []string{"b.xlsx", "b.xlsx.gz", "b.csv"} {
		path := filepath.Join(dir, name)
		if err := WriteToFill(path, table, "y"); err != nil {
			t.Fatal(err)
		}
		read, err := ReadFile(t.Context(), path, sheets.Options{})
		if err != nil || show(read) != "id categorical [a]\ny numeric []\n" {
			t.Errorf("%s: %v, %v", name, read, err)
		}
	}
	raw, err := os.ReadFile(filepath.Join(dir, "b.xlsx"))
	if err != nil || !strings.Contains(sheetIn(t, raw), `<c r="B2" s="7"/>`) {
		t.Error(err)
	}
}

// FuzzWriteXLSX: whatever a text is, it is read back, except for blanks around it.
func FuzzWriteXLSX(f *testing.F) {
	f.Add("a", "=1+1", 0.1)
	f.Add("_x0041_", "a\r\nb\x00", -1e300)
	f.Add("day", "2024-02-29", 5e-324)
	f.Add("time", "2024-02-29T23:59:59.999", 1e21)
	f.Add("_x", "_x0000\v", 68.0)
	f.Add("_x005F_", "_xD83D__xDE00_ 😀\x0b]]>&amp;", 0.0)
	f.Fuzz(func(t *testing.T, name, text string, v float64) {
		plain := func(s string) bool {
			return utf8.ValidString(s) && s == string(cells.Trim([]byte(s))) && s != "" && len(s) < cellLength
		}
		if !plain(name) || !plain(text) || math.IsNaN(v) || name == "v" {
			return
		}
		table := tableOf(t, dataset.NewText(name, text, "", text), dataset.NewNumeric("v", v, -v, math.NaN()))
		file := writeXLSX(t, table, name)
		read, err := ReadXLSX(t.Context(), bytes.NewReader(file), sheets.Options{Header: sheets.HeaderPresent,
			Kinds: kindsOf(table), Missing: []string{}})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := show(read), show(table); got != want {
			t.Errorf("wrote\n%q\nread\n%q", want, got)
		}
	})
}
