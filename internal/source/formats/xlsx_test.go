package formats

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/source/sheets"
)

const (
	rootRelations = `<Relationships><Relationship Id="r" Type="x/officeDocument" Target="xl/workbook.xml"/>` +
		`</Relationships>`
	bookRelations = `<Relationships><Relationship Id="a" Type="x/worksheet" Target="sheet.xml"/><Relationship Id="s" ` +
		`Type="x/sharedStrings" Target="/xl/strings.xml"/>` +
		`<Relationship Id="f" Type="x/styles" Target="styles.xml"/></Relationships>`
	book       = `<workbook xmlns:r="x"><sheets><sheet name="S" r:id="a"/></sheets></workbook>`
	sharedOnes = `<sst><si><t>a</t></si><si><r><t>b</t></r><r><t>c</t></r><rPh><t>aloud</t></rPh></si></sst>`
	styles     = `<styleSheet><numFmts><numFmt numFmtId="170" formatCode="[Red]&quot;day&quot; d.m.yy"/></numFmts>` +
		`<cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="22"/>` +
		`<xf numFmtId="20"/><xf numFmtId="170"/><xf numFmtId="46"/></cellXfs></styleSheet>`
)

// xlsxFile is a workbook with one sheet.
func xlsxFile(t testing.TB, sheet string) []byte {
	t.Helper()
	return xlsxSharing(t, sharedOnes, sheet)
}

// xlsxSharing is a workbook with one sheet and these shared strings.
func xlsxSharing(t testing.TB, shared, sheet string) []byte {
	t.Helper()
	return npzFile(t, zipped{"_rels/.rels", zip.Deflate, []byte(rootRelations)},
		zipped{"xl/workbook.xml", zip.Deflate, []byte(book)},
		zipped{"xl/_rels/workbook.xml.rels", zip.Deflate, []byte(bookRelations)},
		zipped{"xl/strings.xml", zip.Deflate, []byte(shared)},
		zipped{"xl/styles.xml", zip.Deflate, []byte(styles)}, zipped{"xl/sheet.xml", zip.Deflate, []byte(sheet)})
}

// sheetOf makes a sheet of CSV text without quotes.
func sheetOf(csv string) string {
	var b strings.Builder
	b.WriteString("<worksheet><sheetData>")
	for line := range strings.Lines(csv) {
		b.WriteString("<row>")
		for field := range strings.SplitSeq(strings.TrimSpace(line), ",") {
			if _, err := strconv.ParseFloat(field, 64); err == nil {
				b.WriteString("<c><v>" + field + "</v></c>")
			} else {
				b.WriteString(`<c t="inlineStr"><is><t>` + field + "</t></is></c>")
			}
		}
		b.WriteString("</row>")
	}
	return b.String() + "</sheetData></worksheet>"
}

func readSheet(t testing.TB, rows string, opts sheets.Options) (string, error) {
	t.Helper()
	table,
		err := ReadXLSX(t.Context(), bytes.NewReader(xlsxFile(t, "<worksheet><sheetData>"+rows+"</sheetData></worksheet>")),
		opts)
	if err != nil {
		return "", err
	}
	return show(table), nil
}

func TestReadXLSX(t *testing.T) {
	for _, test := range []struct {
		name, rows string
		want       string
	}{
		{"shared and other strings",
			`<row><c t="s"><v>0</v></c><c t="s"><v>1</v></c></row><row><c><v>1</v></c><c t="str"><f>A1</f><v>x</v></c></row>` +
				`<row><c t="b"><v>0</v></c><c t="inlineStr"><is><r><t>y</t></r><r><t xml:space="preserve"> z</t></r>` +
				`</is></c></row>`,
			"a numeric [1] [0]\nbc categorical [x] [y z]\n"},
		{"gaps",
			`<row r="3"><c r="B3" t="s"><v>0</v></c><c r="C3" t="s"><v>1</v></c></row><row r="5"><c r="C5"><v>2</v></c></row>` +
				`<row r="6"><c r="B6"/></row><row r="7"><c r="B7"><v>3</v></c><c r="Z7" s="1"/></row>`,
			"a numeric [] [3]\nbc numeric [2] []\n"},
		{"errors",
			`<row><c t="s"><v>0</v></c></row><row><c t="e"><v>#N/A</v></c></row><row><c t="e"><v>#DIV/0!</v></c></row>`,
			"a categorical [] [#DIV/0!]\n"},
		{"dates",
			`<row><c t="s"><v>0</v></c></row><row><c s="1"><v>45350</v></c></row><row><c s="1"><v>1</v></c></row><row><c ` +
				`s="1"><v>61</v></c></row><row><c s="2"><v>45350.5000001</v></c></row>` +
				`<row><c s="3"><v>0.75</v></c></row><row><c s="4"><v>45351.3</v></c></row><row><c t="d"><v>2024-03-01</v></c>` +
				`</row><row><c s="99"><v>7</v></c></row>`,
			"a categorical [2024-02-28] [1900-01-01] [1900-03-01] [2024-02-28T12:00:00.009] [18:00:00] [2024-02-29] " +
				"[2024-03-01] [7]\n"},
		{"a time span is a number", `<row><c t="s"><v>0</v></c></row><row><c s="5"><v>1.5</v></c></row>`,
			"a numeric [1.5]\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := readSheet(t, test.rows, sheets.Options{})
			if err != nil || got != test.want {
				t.Errorf("%v\n%swant\n%s", err, got, test.want)
			}
		})
	}
}

func TestReadXLSXRefuses(t *testing.T) {
	for _, test := range []struct {
		name, rows string
		kind       error
		want       string
	}{
		{"empty", ``, sheets.ErrEmpty, "the file has no rows: the sheet is empty; check that it is the right sheet"},
		{"a title", `<row><c t="s"><v>0</v></c></row><row/><row><c t="s"><v>0</v></c><c t="s"><v>1</v></c></row>`,
			sheets.ErrRagged,
			`line 3, column 2: the number of fields differs from that of the first row: "bc" is outside of the table; let the ` +
				`first row with values hold the names of all columns, and remove what stands above or beside the table`},
		{"an absent string", `<row><c t="s"><v>0</v></c></row><row><c t="s"><v>2</v></c></row>`, sheets.ErrRead,
			`line 2, column 1: the file cannot be read completely: there is no shared string "2"; check that the ` +
				`file is complete`},
		{"two columns of one name", `<row><c t="s"><v>0</v></c><c t="s"><v>0</v></c></row>`, sheets.ErrHeader,
			`line 1, column 2 (a): the header cannot be used: column 1 has the same name; rename one`},
		{"rows out of order", `<row r="2"/><row r="1"/>`, sheets.ErrRead,
			`the file cannot be read completely: line "1" comes after line 2; check that the file is complete`},
		{"cells out of order", `<row><c r="B1"/><c r="A1"/></row>`, sheets.ErrRead,
			`the file cannot be read completely: line 1 has a cell "A1" in the wrong place; check that the file is complete`},
		{"a column too far", `<row><c r="ZZZZZZZZZZZZ1"/></row>`, sheets.ErrRead,
			`the file cannot be read completely: line 1 has a cell "ZZZZZZZZZZZZ1" in the wrong place; check that the ` +
				`file is complete`},
		{"cut off", `<row><c t="s"><v>0</v>`, sheets.ErrRead, ""},
		{"deep", strings.Repeat("<a>", 100) + strings.Repeat("</a>", 100), sheets.ErrRead, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := readSheet(t, test.rows, sheets.Options{})
			if at := (*sheets.Error)(nil); !errors.As(err, &at) || !errors.Is(err, test.kind) || test.want != "" &&
				err.Error() != test.want {
				t.Errorf("%v\nwant %s", err, test.want)
			}
		})
	}
}

// TestLateWordsInASheet: a sheet is read a second time, as CSV text is.
func TestLateWordsInASheet(t *testing.T) {
	csv := "a,b\n" + strings.Repeat("1.50,2\n", 1500) + strings.Repeat("x,3\n", 500)
	path := writeFile(t, t.TempDir(), "late.xlsx", xlsxFile(t, sheetOf(csv)))
	read, err := ReadFile(t.Context(), path, sheets.Options{})
	if err != nil || read.Rows() != 2000 || read.Columns()[0].Format(0) != "1.50" ||
		read.Columns()[0].Format(1500) != "x" {
		t.Fatal(err)
	}
}

// TestWorkbookBombs: archives of a few kilobytes that expand to far more than is
// allowed, in every part.
func TestWorkbookBombs(t *testing.T) {
	const limit = 1 << 20
	rows := func(n int) string {
		return `<row><c t="inlineStr"><is><t>n</t></is></c></row>` + strings.Repeat("<row><c><v>1</v></c></row>", n)
	}
	wide := `<row><c t="s"><v>0</v></c><c r="GRA1" t="s"><v>1</v></c></row>` +
		strings.Repeat(`<row><c><v>1</v></c></row>`, 2000)
	for name, content := range map[string][]byte{
		"rows":           xlsxFile(t, "<worksheet><sheetData>"+rows(300_000)+"</sheetData></worksheet>"),
		"wide rows":      xlsxFile(t, "<worksheet><sheetData>"+wide+"</sheetData></worksheet>"),
		"one cell":       xlsxFile(t, "<worksheet><sheetData><row><c><v>"+strings.Repeat("1", 20<<20)),
		"shared strings": xlsxWithStrings(t, "<sst>"+strings.Repeat("<si><t>abcdefghijklmnop</t></si>", 100_000)+"</sst>"),
		"one string":     xlsxWithStrings(t, "<sst><si><t>"+strings.Repeat("x", 20<<20)),
		"an attribute":   xlsxFile(t, `<worksheet a="`+strings.Repeat("x", 20<<20)),
		"a shared string in many cells": xlsxOf(t, "<sst><si><t>"+strings.Repeat("x", 512<<10)+"</t></si></sst>", styles,
			"<worksheet><sheetData><row>"+strings.Repeat(`<c t="s"><v>0</v></c>`, 16384)+"</row></sheetData></worksheet>"),
		"styles": xlsxOf(t, "<sst/>", "<styleSheet><cellXfs>"+strings.Repeat(`<xf numFmtId="14"/>`, 2<<20)+
			"</cellXfs></styleSheet>", sheetOf("a,b\n1,2\n")),
	} {
		_, err := ReadXLSX(t.Context(), bytes.NewReader(content), sheets.Options{MaxMemory: limit})
		if !errors.Is(err, sheets.ErrMemory) && !errors.Is(err, sheets.ErrTooLong) && !errors.Is(err, sheets.ErrFormat) {
			t.Errorf("%s, %d bytes: %v", name, len(content), err)
		}
	}
}

func xlsxWithStrings(t testing.TB, sst string) []byte {
	return xlsxOf(t, sst, styles, sheetOf("a,b\n1,2\n"))
}

func xlsxOf(t testing.TB, sst, styles, sheet string) []byte {
	return npzFile(t, zipped{"_rels/.rels", zip.Deflate, []byte(rootRelations)},
		zipped{"xl/workbook.xml", zip.Deflate, []byte(book)},
		zipped{"xl/_rels/workbook.xml.rels", zip.Deflate, []byte(bookRelations)},
		zipped{"xl/strings.xml", zip.Deflate, []byte(sst)},
		zipped{"xl/styles.xml", zip.Deflate, []byte(styles)}, zipped{"xl/sheet.xml", zip.Deflate, []byte(sheet)})
}

// TestArchivesOfManyEntries: an archive may list a few entries, not millions.
func TestArchivesOfManyEntries(t *testing.T) {
	var content bytes.Buffer
	w := zip.NewWriter(&content)
	for i := range 400_000 {
		if _, err := w.CreateRaw(&zip.FileHeader{Name: strconv.Itoa(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for name, read := range map[string]func() error{
		"xlsx": func() error {
			_, err := ReadXLSX(t.Context(), bytes.NewReader(content.Bytes()), sheets.Options{})
			return err
		},
		"npz": func() error {
			_, err := ReadNPZTable(t.Context(), bytes.NewReader(content.Bytes()), sheets.Options{})
			return err
		},
	} {
		if err := read(); !errors.Is(err, sheets.ErrRead) || !strings.Contains(err.Error(),
			"its list of entries has more than 16 MiB") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestDamagedWorkbooks flips and cuts bytes of a workbook: it is read or refused,
// and never read as a shorter table.
func TestDamagedWorkbooks(t *testing.T) {
	whole, err := os.ReadFile(filepath.Join(tableFiles, "openpyxl.xlsx"))
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at < len(whole); at += 31 {
		flipped := bytes.Clone(whole)
		flipped[at] ^= 0x15
		for _, content := range [][]byte{flipped, whole[:at]} {
			table, err := ReadXLSX(t.Context(), bytes.NewReader(content), sheets.Options{})
			if e := (*sheets.Error)(nil); err != nil && !errors.As(err, &e) {
				t.Fatalf("byte %d: %T: %v", at, err, err)
			}
			if err == nil && table.Rows() != 40 {
				t.Fatalf("byte %d: %d rows", at, table.Rows())
			}
		}
	}
}

func TestFormatsOfNumbers(t *testing.T) {
	for code, want := range map[string]dateFormat{
		"General": notDate, "0.00E+00": notDate, "#,##0.00 €": notDate, "yyyy-mm-dd": dateOnly, "d. mmmm": dateOnly,
		"mmm": dateOnly, "h:mm AM/PM": timeOnly,
		"mm:ss": timeOnly, "[h]:mm": notDate, "[$-407]dd.mm.yyyy hh:mm": dateTime, `"days: "0`: notDate, `0\d`: notDate,
		"[Red]0;[Blue]d": notDate, `0" d`: notDate, "[": notDate, `\`: notDate,
	} {
		if got := formatOf(code); got != want {
			t.Errorf("%q: %d, want %d", code, got, want)
		}
	}
}

func TestFoldersOfParquet(t *testing.T) {
	part := func(name string) []byte {
		content, err := os.ReadFile(filepath.Join(tableFiles, "parts", name))
		if err != nil {
			t.Fatal(err)
		}
		return content
	}
	other, err := ReadCSV(t.Context(), strings.NewReader("id,temperature\nx,1\n"), sheets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var different bytes.Buffer
	if err := WriteParquet(&different, other); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name  string
		files map[string][]byte
		kind  error
		want  string
	}{
		{"another schema", map[string][]byte{"a.parquet": part("part-0.parquet"), "b.parquet": different.Bytes()},
			sheets.ErrHeader, "b.parquet"},
		{"a damaged file", map[string][]byte{"a.parquet": part("part-0.parquet"),
			"b.parquet": part("part-1.parquet")[:3000]}, sheets.ErrRead, "b.parquet"},
		{"an id twice", map[string][]byte{"a.parquet": part("part-0.parquet"), "b.parquet": part("part-0.parquet")},
			sheets.ErrID, "row 15 (from 0)"},
		{"no file", map[string][]byte{"a.csv": nil}, sheets.ErrEmpty, "without .parquet files"},
		{"a folder", map[string][]byte{"year=2024/a.parquet": part("part-0.parquet")}, sheets.ErrFormat, "year=2024"},
	} {
		dir := t.TempDir()
		for name, content := range test.files {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
				t.Fatal(err)
			}
			writeFile(t, dir, name, content)
		}
		if _, err := ReadFile(t.Context(), dir, sheets.Options{ID: "id"}); !errors.Is(err, test.kind) ||
			!strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ReadFile(over, filepath.Join(tableFiles, "parts"), sheets.Options{}); err != context.Canceled {
		t.Error(err)
	}
	if _, err := ReadFile(t.Context(), filepath.Join(tableFiles, "parts"),
		sheets.Options{MaxMemory: 1 << 10}); !errors.Is(err, sheets.ErrMemory) {
		t.Error(err)
	}
}

// FuzzReadXLSX: any sheet, and any strings and styles, give a table or an *Error.
func FuzzReadXLSX(f *testing.F) {
	f.Add([]byte(sheetOf("a,b\n1,x\n2,y\n")), []byte(sharedOnes), []byte(styles))
	f.Add([]byte(`<row r="3"><c r="B3" t="s"><v>0</v></c></row><row r="5"><c r="C5" s="4"><f/><v>45350.5</v></c></row>`),
		[]byte("<sst>"), []byte("<xf>"))
	f.Add([]byte(`<worksheet><row><c t="inlineStr"><is><rPh><t>x</t></rPh></is></c></row></worksheet>`), []byte{},
		[]byte(`<cellXfs><xf numFmtId="99999999999999999999"/></cellXfs>`))
	f.Fuzz(func(t *testing.T, sheet, sst, style []byte) {
		content := npzFile(t, zipped{"_rels/.rels", zip.Store, []byte(rootRelations)},
			zipped{"xl/workbook.xml", zip.Store, []byte(book)},
			zipped{"xl/_rels/workbook.xml.rels", zip.Store, []byte(bookRelations)}, zipped{"xl/strings.xml", zip.Store, sst},
			zipped{"xl/styles.xml", zip.Store, style}, zipped{"xl/sheet.xml", zip.Store, sheet})
		read, err := ReadXLSX(t.Context(), bytes.NewReader(content), sheets.Options{MaxMemory: 1 << 28})
		if err != nil {
			if at := (*sheets.Error)(nil); !errors.As(err, &at) {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		show(read)
	})
}

// FuzzWorkbook: any archive gives a table or an *Error.
func FuzzWorkbook(f *testing.F) {
	f.Add(xlsxFile(f, sheetOf("a,b\n1,x\n2,y\n")))
	for _, name := range []string{"openpyxl.xlsx", "xlsxwriter.xlsx", "types.xlsx", "formula.xlsx"} {
		content, err := os.ReadFile(filepath.Join(tableFiles, name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(content)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		if _, err := ReadXLSX(t.Context(), bytes.NewReader(content), sheets.Options{MaxMemory: 1 << 28}); err != nil {
			if at := (*sheets.Error)(nil); !errors.As(err, &at) {
				t.Fatalf("%T: %v", err, err)
			}
		}
	})
}

// FuzzRead: any input without a name gives a table or an *Error, in any encoding
// and with any marks of numbers.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{"a;b\n1,5;x\n", "a\tb\n1\t2\n", "\xff\xfea\x00\n\x001\x00", `{"a":1}`,
		"@relation r\n@attribute a real\n@data\n1\n", "a  b\n1 2\n", "PAR1", "PK\x03\x04", "\x93NUMPY"} {
		for i := range uint8(6) {
			f.Add([]byte(seed), i, byte(','), byte('.'))
		}
	}
	names := []string{"", "utf-8", "utf-16le", "utf-16be", "latin1", "windows-1252"}
	f.Fuzz(func(t *testing.T, content []byte, encoding uint8, decimal, thousands byte) {
		opts := sheets.Options{Encoding: names[int(encoding)%len(names)], Decimal: decimal, Thousands: thousands,
			MaxMemory: 1 << 28}
		if _, err := Read(t.Context(), bytes.NewReader(content), opts); err != nil {
			if at := (*sheets.Error)(nil); !errors.As(err, &at) {
				t.Fatalf("%T: %v", err, err)
			}
		}
	})
}

// TestStringsOfOtherSheets: a small workbook may hold far more shared strings than fit into memory. Those that the
// sheet does not refer to take none.
func TestStringsOfOtherSheets(t *testing.T) {
	var shared strings.Builder
	long := strings.Repeat("x", 4000)
	shared.WriteString("<sst>")
	for i := range 20_000 {
		fmt.Fprintf(&shared, "<si><t>s%d%s</t></si>", i, long[:min(len(long), i)])
	}
	shared.WriteString("</sst>")
	sheet := `<worksheet><sheetData><row><c t="s"><v>0</v></c></row><row><c t="s"><v> 2 </v></c></row><row><c t="s">` +
		`<v>19999</v></c></row></sheetData></worksheet>`
	file := filepath.Join(t.TempDir(), "shared.xlsx")
	if err := os.WriteFile(file, xlsxSharing(t, shared.String(), sheet), 0o600); err != nil {
		t.Fatal(err)
	}
	table, err := ReadFile(t.Context(), file, sheets.Options{MaxMemory: 16 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := show(table), "s0 categorical [s2xx] [s19999"+long+"]\n"; got != want {
		t.Errorf("%.80q, want %.80q", got, want)
	}
	wrong := strings.Replace(sheet, "19999", "20000", 1)
	if _, err := ReadXLSX(t.Context(), bytes.NewReader(xlsxSharing(t, shared.String(), wrong)),
		sheets.Options{}); err == nil ||
		!strings.Contains(err.Error(), `no shared string "20000"`) {
		t.Errorf("an unknown string: %v", err)
	}
}

// ReadXLSX reads a table from a sheet of an Excel workbook, named by
// Options.Array unless there is only one. The first row that is not empty holds
// the names of the columns, if it looks like that; header and kinds are guessed
// as those of CSV text. Dates and times are text in ISO 8601, true and false are
// 1 and 0; an empty cell and #N/A are missing values. Lines are counted as
// Excel counts rows. A formula has the value that was stored with it; one
// without is an error.
//
// A reader without random access is first read into memory.
func ReadXLSX(ctx context.Context, r io.Reader, opts sheets.Options) (*dataset.Table, error) {
	t, err := readXLSX(ctx, r, opts, nil)
	return t, ended(ctx, sheets.Worded(err, opts))
}
