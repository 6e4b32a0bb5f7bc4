package formats

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/source/sheets"
)

// show prints a table: one line per column with its kind and values.
func show(t *dataset.Table) string {
	var b strings.Builder
	for _, c := range t.Columns() {
		fmt.Fprintf(&b, "%s %v", c.Name(), c.Kind())
		for row := range t.Rows() {
			fmt.Fprintf(&b, " [%s]", c.Format(row))
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestReadCSV(t *testing.T) {
	for _, test := range []struct {
		name, text string
		opts       sheets.Options
		want       string
	}{
		{"plain", "a,b\n1,x\n2.5,y\n", sheets.Options{},
			"a numeric [1] [2.5]\nb categorical [x] [y]\n"},
		{"no line feed at the end", "a,b\n1,x\n2,y", sheets.Options{},
			"a numeric [1] [2]\nb categorical [x] [y]\n"},
		{"Windows line ends and byte-order mark", "\xef\xbb\xbfa,b\r\n1,x\r\n2,\"y\"\r\n", sheets.Options{},
			"a numeric [1] [2]\nb categorical [x] [y]\n"},
		{"quotes", "\"a\"\"b\",c\n\"1\", \"x,\ny\" \n\"\",\"\"\"\"\n", sheets.Options{},
			"a\"b numeric [1] []\nc categorical [x,\ny] [\"]\n"},
		{"quotes inside a field are literal", "a,b\n1,5\" disk\n", sheets.Options{},
			"a numeric [1]\nb categorical [5\" disk]\n"},
		{"blanks", " a , b\n 1 ,\tx \n,\" y \"\n", sheets.Options{},
			"a numeric [1] []\nb categorical [x] [ y ]\n"},
		{"blank lines", "\n\na,b\n\n1,2\n\r\n3,4\n\n", sheets.Options{},
			"a numeric [1] [3]\nb numeric [2] [4]\n"},
		{"missing", "a,b\nNA,?\n1,x\n,\nnan,null\n", sheets.Options{},
			"a numeric [] [1] [] []\nb categorical [] [x] [] []\n"},
		{"own spellings of missing", "a,b\n-9,NA\n1,x\n", sheets.Options{Missing: []string{"-9"}},
			"a numeric [-9] [1]\nb categorical [NA] [x]\n"},
		{"all missing", "a,b\n,1\n,2\n", sheets.Options{},
			"a numeric [] []\nb numeric [1] [2]\n"},
		{"no header", "1,x\n2,y\n", sheets.Options{},
			"column0 numeric [1] [2]\ncolumn1 categorical [x] [y]\n"},
		{"no header, declared", "x,y\nz,w\n", sheets.Options{Header: sheets.HeaderAbsent},
			"column0 categorical [x] [z]\ncolumn1 categorical [y] [w]\n"},
		{"a header with a number", "year,2019\n1,2\n", sheets.Options{},
			"year numeric [1]\n2019 numeric [2]\n"},
		{"a header of numbers, declared", "1,2\n3,4\n", sheets.Options{Header: sheets.HeaderPresent},
			"1 numeric [3]\n2 numeric [4]\n"},
		{"the header of pandas", ",0,1,2\n0,5,6,7\n", sheets.Options{},
			"column0 numeric [0]\n0 numeric [5]\n1 numeric [6]\n2 numeric [7]\n"},
		{"words only", "a,b\nx,y\n", sheets.Options{},
			"a categorical [x]\nb categorical [y]\n"},
		{"header only", "a,b\n", sheets.Options{},
			"a numeric\nb numeric\n"},
		{"tabs", "a\tb\n1\tx y\n", sheets.Options{Delimiter: '\t'},
			"a numeric [1]\nb categorical [x y]\n"},
		{"tabs with empty fields", "a\tb\tc\n\t\t1\n\t2\t\n", sheets.Options{Delimiter: '\t'},
			"a numeric [] []\nb numeric [] [2]\nc numeric [1] []\n"},
		{"declared kinds", "id,k,x\n007,1,1\n08,2,2\n", sheets.Options{Kinds: map[string]dataset.Kind{
			"id": dataset.KindText, "k": dataset.KindCategorical, "x": dataset.KindNumeric}},
			"id text [007] [08]\nk categorical [1] [2]\nx numeric [1] [2]\n"},
		{"ignored", "a,b,c\n1,oops,3\n", sheets.Options{Ignore: []string{"b"}},
			"a numeric [1]\nc numeric [3]\n"},
		{"one column", "a\n1\n\"\"\n3\n\n", sheets.Options{},
			"a numeric [1] [] [3]\n"},
		{"a decimal comma", "a;b\n1,5;x\n-2,25e3;y\n+,5;\n", sheets.Options{Decimal: ','},
			"a numeric [1.5] [-2250] [0.5]\nb categorical [x] [y] []\n"},
		{"a decimal comma between commas", "a,b\n\"1,5\",x\n\"2,25\",y\n", sheets.Options{Decimal: ',', Delimiter: ','},
			"a numeric [1.5] [2.25]\nb categorical [x] [y]\n"},
		{"thousands", "a,b\n\"1,234,567.5\",1\n\"-12,000\",1000\n999,NA\n", sheets.Options{Thousands: ','},
			"a numeric [1.2345675e+06] [-12000] [999]\nb numeric [1] [1000] []\n"},
		{"thousands as in French", "a;b\n1 234,5;1\n12\u202f345\u00a0678;2\n", sheets.Options{Thousands: ' ', Decimal: ','},
			"a numeric [1234.5] [1.2345678e+07]\nb numeric [1] [2]\n"},
		{"thousands as in Switzerland", "a\n1'234.5\n-inf\n", sheets.Options{Thousands: '\''},
			"a numeric [1234.5] [-Inf]\n"},
		{"blanks between fields", "  a    b \n 1 \t x\n\n20   \"y  z\"\n", sheets.Options{Delimiter: ' '},
			"a numeric [1] [20]\nb categorical [x] [y  z]\n"},
		{"little-endian UTF-16", "\xff\xfea\x00,\x00\xe9\x00\n\x001\x00,\x00\x3d\xd8\x00\xde\n\x00", sheets.Options{},
			"a numeric [1]\n\u00e9 categorical [\U0001f600]\n"},
		{"big-endian UTF-16", "\xfe\xff\x00a\x00,\x00\xe9\x00\n\x001\x00,\xd8\x3d\xde\x00\x00\n", sheets.Options{},
			"a numeric [1]\n\u00e9 categorical [\U0001f600]\n"},
		{"declared UTF-16", "a\x00\n\x001\x00\n\x00", sheets.Options{Encoding: "utf-16le"}, "a numeric [1]\n"},
		{"Latin-1", "a,b\n1,caf\xe9\n", sheets.Options{Encoding: "latin1"}, "a numeric [1]\nb categorical [caf\u00e9]\n"},
		{"Windows-1252", "a,b\n1,5 \x80\n", sheets.Options{Encoding: "Windows-1252"}, "a numeric [1]\nb numeric [5]\n"},
		{"guessed", "a;b;c\n1,5;caf\xe9;1.234\n2;x;5\n", sheets.Options{},
			"a numeric [1.5] [2]\nb categorical [caf\u00e9] [x]\nc numeric [1234] [5]\n"},
		{"UTF-16 without a mark", "a\x00,\x00b\x00\n\x001\x00,\x002\x00\n\x00", sheets.Options{},
			"a numeric [1]\nb numeric [2]\n"},
		{"big-endian UTF-16 without a mark", "\x00a\x00,\x00b\x00\n\x001\x00,\x002\x00\n", sheets.Options{},
			"a numeric [1]\nb numeric [2]\n"},
		{"a hint for Excel", "sep=|\na|b\n1|2,5\n", sheets.Options{}, "a numeric [1]\nb numeric [2.5]\n"},
		{"rows and columns without values at the end", "a;b;;\n1;2;;\n;;;\n3;4;;\n;;;\n ;;;\n", sheets.Options{},
			"a numeric [1] [] [3]\nb numeric [2] [] [4]\n"},
		{"infinities", "a\ninf\n-Infinity\n1e999\n", sheets.Options{},
			"a numeric [+Inf] [-Inf] [+Inf]\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, r := range []io.Reader{strings.NewReader(test.text), iotest.OneByteReader(strings.NewReader(test.text))} {
				read, err := ReadCSV(t.Context(), r, test.opts)
				if err != nil {
					t.Fatal(err)
				}
				if got := show(read); got != test.want {
					t.Errorf("%T:\n%swant\n%s", r, got, test.want)
				}
			}
		})
	}
}

func TestReadCSVRefuses(t *testing.T) {
	late := "a,b\n" + strings.Repeat("1,2\n", 2000) + strings.Repeat("1,oops\n", 1000)
	for _, test := range []struct {
		name, text string
		opts       sheets.Options
		kind       error
		want       string
	}{
		{"empty", "", sheets.Options{}, sheets.ErrEmpty, "the file has no rows; check that it is the right file"},
		{"blank lines only", "\n\r\n\n", sheets.Options{}, sheets.ErrEmpty,
			"the file has no rows; check that it is the right file"},
		{"too few fields", "a,b,c\n1,2,3\n4,5\n", sheets.Options{}, sheets.ErrRagged,
			"line 3, column 3 (c): the number of fields differs from that of the first row: 2 instead of 3; add or remove a " +
				"field, or quote a field that contains the delimiter"},
		{"too many fields", "a,b\n1,2\n3,4,5\n", sheets.Options{}, sheets.ErrRagged,
			"line 3, column 3: the number of fields differs from that of the first row: 3 instead of 2; add or remove a " +
				"field, or quote a field that contains the delimiter"},
		{"shifted, far down", strings.Replace(late, "1,oops", "oops,1,2", 1), sheets.Options{}, sheets.ErrRagged,
			"line 2002, column 3: the number of fields differs from that of the first row: 3 instead of 2; add or remove a " +
				"field, or quote a field that contains the delimiter"},
		{"too few, far down", strings.Replace(late, "1,oops", "1", 1), sheets.Options{}, sheets.ErrRagged,
			"line 2002, column 2 (b): the number of fields differs from that of the first row: 1 instead of 2; add or remove " +
				"a field, or quote a field that contains the delimiter"},
		{"too many, far down", strings.Replace(late, "1,oops", "1,2,", 1), sheets.Options{}, sheets.ErrRagged,
			"line 2002, column 3: the number of fields differs from that of the first row: 3 instead of 2; add or remove a " +
				"field, or quote a field that contains the delimiter"},
		{"a word among numbers", late, sheets.Options{}, sheets.ErrNumber,
			`line 2002, column 2 (b): the value is not a number: "oops"; correct it, or leave it empty if it is missing`},
		{"a word in a column declared numeric", "a,b\n1,\"x\ny\"\n2,z\n",
			sheets.Options{Kinds: map[string]dataset.Kind{"b": dataset.KindNumeric}}, sheets.ErrNumber,
			`line 2, column 2 (b): the value is not a number: "x\ny" (line 2), "z" (line 4); correct them, or leave them ` +
				`empty if they are missing; name words that mean that with --missing-marks`},
		{"line after a field of two lines", "a,b\n\"x\ny\",1\n2\n", sheets.Options{}, sheets.ErrRagged,
			"line 4, column 2 (b): the number of fields differs from that of the first row: 1 instead of 2; add or remove a " +
				"field, or quote a field that contains the delimiter"},
		{"an open quote", "a,b\n1,\"x\n2,y\n", sheets.Options{}, sheets.ErrQuote,
			`line 2, column 2: the quotes do not match: "\"x\n2,y\n"; close the quote before the delimiter, and write quotes ` +
				`inside a field twice`},
		{"text after a quote", "a,b\n1,\"x\"y\n", sheets.Options{}, sheets.ErrQuote,
			`line 2, column 2: the quotes do not match: "\"x\"y"; close the quote before the delimiter, and write quotes ` +
				`inside a field twice`},
		{"two columns of one name", "a,b,a\n1,2,3\n", sheets.Options{}, sheets.ErrHeader,
			"line 1, column 3 (a): the header cannot be used: column 1 has the same name; rename one"},
		{"an impossible delimiter", "a\n", sheets.Options{Delimiter: '.'}, sheets.ErrFormat,
			`the format is unknown: '.' cannot be the delimiter; use a comma, semicolon, tab, bar or blank`},
		{"options for an absent column", "a,b\n1,2\n", sheets.Options{Ignore: []string{"c"}}, sheets.ErrColumn,
			"there is no such column: c; the columns are a, b"},
		{"a blank line in one column", "a\n1\n\n2\n", sheets.Options{}, sheets.ErrBlank,
			`line 3, column 1 (a): the line is blank; remove it, or write "" for a missing value`},
		{"a blank line in one column, far down", "a\n" + strings.Repeat("1\n", 1500) + "\n2\n", sheets.Options{},
			sheets.ErrBlank,
			`line 1502, column 1 (a): the line is blank; remove it, or write "" for a missing value`},
		{"half a character of UTF-16", "\xff\xfea\x00\n\x00\x31", sheets.Options{}, sheets.ErrEncoding,
			"line 1: the text is not in the expected encoding: a character of UTF-16 is incomplete; check that the file is " +
				"complete, and its encoding"},
		{"half a pair of UTF-16", "\xff\xfea\x00\n\x00\x00\xd8\x31\x00", sheets.Options{}, sheets.ErrEncoding,
			"line 1: the text is not in the expected encoding: a character of UTF-16 is incomplete; check that the file is " +
				"complete, and its encoding"},
		{"another mark than declared", "\xff\xfea\x00", sheets.Options{Encoding: "latin1"}, sheets.ErrEncoding,
			"the text is not in the expected encoding: it starts with the byte-order mark of utf-16le, but is declared " +
				"latin1; leave the encoding out"},
		{"an unknown encoding", "a\n", sheets.Options{Encoding: "ebcdic"}, sheets.ErrFormat,
			`the format is unknown: there is no encoding "ebcdic"; encodings are utf-8, utf-16le, utf-16be, latin1 and ` +
				`windows-1252`},
		{"a hole of Windows-1252", "a\n\x81\n", sheets.Options{Encoding: "windows-1252"}, sheets.ErrEncoding,
			`line 1: the text is not in the expected encoding: windows-1252 has no character \x81; check the encoding; latin1 ` +
				`reads any byte`},
		{"binary", "\x00\x00\x01", sheets.Options{}, sheets.ErrEncoding,
			"the text is not in the expected encoding: it contains zero bytes, as binary files do; check the file's format"},
		{"a workbook", "PK\x03\x04\x00\x00", sheets.Options{}, sheets.ErrEncoding,
			"the text is not in the expected encoding: it looks like an Excel workbook; rename the file to end in .xlsx, or " +
				"give --format xlsx"},
		{"an old workbook", "\xd0\xcf\x11\xe0\x00\x00", sheets.Options{}, sheets.ErrEncoding,
			"the text is not in the expected encoding: it looks like an old Excel workbook; open it in Excel or LibreOffice, " +
				"and save it as .xlsx or .csv"},
		{"blanks", "a   b\n1  2\n30 4\n", sheets.Options{}, sheets.ErrFormat,
			"line 1: the format is unknown: each line has as many fields if they are separated by ' ', not by ','; give " +
				"--sep space"},
		{"thousands in the wrong place", "a;b\n1;2\n3,25;4\n", sheets.Options{Delimiter: ';', Thousands: ',',
			Kinds: map[string]dataset.Kind{"a": dataset.KindNumeric}}, sheets.ErrNumber,
			`line 3, column 1 (a): the value is not a number: "3,25"; correct it, or leave it empty if it is missing`},
		{"a point where a comma is declared", "a;b\n1;2\n3.25;4\n",
			sheets.Options{Decimal: ',', Kinds: map[string]dataset.Kind{"a": dataset.KindNumeric}}, sheets.ErrNumber,
			`line 3, column 1 (a): the value is not a number: "3.25"; correct it, or leave it empty if it is missing`},
		{"an impossible decimal mark", "a\n", sheets.Options{Decimal: ';'}, sheets.ErrFormat,
			`the format is unknown: ';' cannot be the decimal mark; use a point or a comma`},
		{"the same mark twice", "a\n", sheets.Options{Decimal: ',', Thousands: ','}, sheets.ErrFormat,
			`the format is unknown: ',' cannot be the decimal mark and separate thousands, too; declare one of ` +
				`them differently`},
		{"an impossible separator of thousands", "a\n", sheets.Options{Thousands: '1'}, sheets.ErrFormat,
			`the format is unknown: '1' cannot separate thousands; use a comma, a point, a blank, an apostrophe ` +
				`or an underscore`},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := ReadCSV(t.Context(), strings.NewReader(test.text), test.opts)
			if at := (*sheets.Error)(nil); !errors.As(err, &at) || !errors.Is(err, test.kind) || err.Error() != test.want {
				t.Errorf("%v\nwant %s", err, test.want)
			}
		})
	}
}

func TestReadErrorsAreReported(t *testing.T) {
	broken := errors.New("the disk is gone")
	_, err := ReadCSV(t.Context(), iotest.ErrReader(broken), sheets.Options{})
	if !errors.Is(err, sheets.ErrRead) || !errors.Is(err, broken) {
		t.Error(err)
	}
	stuck := iotest.DataErrReader(strings.NewReader("a\n1\n")) // the last bytes come with io.EOF
	if _, err := ReadCSV(t.Context(), stuck, sheets.Options{}); err != nil {
		t.Error(err)
	}
	if _, err := ReadCSV(t.Context(), idle{}, sheets.Options{}); !errors.Is(err, sheets.ErrRead) {
		t.Errorf("a reader that never returns bytes: %v", err)
	}
}

type idle struct{}

func (idle) Read([]byte) (int, error) { return 0, nil }

func TestAnOpenQuoteDoesNotFillTheMemory(t *testing.T) {
	endless := strings.NewReader("a,b\n1,\"" + strings.Repeat("x,1\n", maxRecord/2))
	if _, err := ReadCSV(t.Context(), endless, sheets.Options{}); !errors.Is(err, sheets.ErrTooLong) {
		t.Error(err)
	}
}

func TestRecordsBeyondTheBuffer(t *testing.T) {
	wide := strings.Repeat("12345,", sheets.MostColumns-1) + "2\n" // three times the buffer
	long := `"` + strings.Repeat("x\n", bufferSize) + `"`
	for name, text := range map[string]string{"many fields": wide + wide, "a long field": "a,b\n1," + long +
		"\n2," + long + "\n"} {
		read, err := ReadCSV(t.Context(), strings.NewReader(text), sheets.Options{})
		if err != nil || read.Rows() != 2 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestManyLevelsAreText: values do not change when a column turns from
// categorical to text.
func TestManyLevelsAreText(t *testing.T) {
	var text strings.Builder
	text.WriteString("id,x\nNA,0\n")
	for i := range 3000 {
		fmt.Fprintf(&text, "r%d,%d\n", i, i)
	}
	text.WriteString("?,1\n")
	read, err := ReadCSV(t.Context(), strings.NewReader(text.String()), sheets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ids := read.Columns()[0]
	if ids.Kind() != dataset.KindText || !ids.Missing(0) || ids.Format(1) != "r0" ||
		ids.Format(3000) != "r2999" || !ids.Missing(3001) {
		t.Errorf("%v column, %q … %q", ids.Kind(), ids.Format(1), ids.Format(3000))
	}
	declared, err := ReadCSV(t.Context(), strings.NewReader(text.String()),
		sheets.Options{Kinds: map[string]dataset.Kind{"id": dataset.KindCategorical}})
	if err != nil || declared.Columns()[0].Kind() != dataset.KindCategorical {
		t.Errorf("declared categorical: %v", err)
	}
}

// randomTable returns columns of all kinds with values that are awkward in CSV.
func randomTable(t testing.TB, r *rand.Rand) *dataset.Table {
	t.Helper()
	words := []string{"", "a", "b c", " lead", "trail\t", `quo"te`, `"`, "com,ma", "line\nfeed", "cr\r\nlf", "ünï",
		"x'y", "%", "{1}", `\`}
	rows, columns := r.IntN(50), 1+r.IntN(6)
	var made []dataset.Column
	for j := range columns {
		name := words[1+r.IntN(len(words)-1)] + strconv.Itoa(j)
		numbers, levels, text := dataset.NewNumeric(name), dataset.NewCategorical(name), dataset.NewText(name)
		for range rows {
			numbers.Append([]float64{r.NormFloat64(), float64(r.IntN(10)), 1e300, -2.5e-300}[r.IntN(4)])
			word := words[r.IntN(len(words))]
			text.Append([]byte(word))
			if word == "" {
				levels.Append(-1)
			} else {
				levels.Append(levels.AddLevel(word))
			}
		}
		made = append(made, []dataset.Column{numbers, levels, text}[r.IntN(3)])
	}
	table, err := dataset.NewTable(made...)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func kindsOf(t *dataset.Table) map[string]dataset.Kind {
	kinds := map[string]dataset.Kind{}
	for _, c := range t.Columns() {
		kinds[c.Name()] = c.Kind()
	}
	return kinds
}

func TestWrittenTablesReadBack(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 500 {
		want := randomTable(t, r)
		var file bytes.Buffer
		if err := WriteCSV(&file, want); err != nil {
			t.Fatal(err)
		}
		text := file.String()
		got, err := ReadCSV(t.Context(), &file, sheets.Options{Delimiter: ',', Header: sheets.HeaderPresent,
			Kinds: kindsOf(want), Missing: []string{}})
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if show(got) != show(want) {
			t.Fatalf("read back\n%s\nwant\n%s\nfile\n%s", show(got), show(want), text)
		}
	}
}

func TestWriteCSVReportsErrors(t *testing.T) {
	full := errors.New("full")
	table, err := dataset.NewTable(dataset.NewNumeric("a", 1))
	if err != nil {
		t.Fatal(err)
	}
	if err := WriteCSV(failing{full}, table); !errors.Is(err, full) {
		t.Error(err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// FuzzReadCSV: any input gives a table or an *Error, and a table reads back
// unchanged after it is written.
func FuzzReadCSV(f *testing.F) {
	for _, seed := range []string{"a,b\n1,x\n2,y\n", "\xef\xbb\xbfa;b\r\n1;\"x\"\"\r\n\"\r\n", "\"", "a,\"b\n",
		"0,1,2\n,,\n", "a\n\n1\n", " \"a\" ,b\n1,2",
		"a,a\n", "x\t1\n", "1e999,-inf,+.5\nNA,,?\n", "\"a\"b,c\n", "\x1f\x8b", "a\r\r\n1\r\n"} {
		for _, delimiter := range []byte{0, ';', '\t'} {
			f.Add([]byte(seed), delimiter, uint8(0))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte, delimiter byte, header uint8) {
		opts := sheets.Options{Delimiter: delimiter, Header: sheets.Header(header % 3)}
		read, err := ReadCSV(t.Context(), bytes.NewReader(text), opts)
		if err != nil {
			if at := (*sheets.Error)(nil); !errors.As(err, &at) {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		var file bytes.Buffer
		if err := WriteCSV(&file, read); err != nil {
			t.Fatal(err)
		}
		written := read.Origin().Style
		if written.Delimiter != ';' && written.Delimiter != '|' {
			written.Delimiter = ','
		}
		if written.Decimal == 0 {
			written.Decimal = '.'
		}
		again, err := ReadCSV(t.Context(), &file, sheets.Options{Delimiter: written.Delimiter, Decimal: written.Decimal,
			Encoding: "utf-8", Header: sheets.HeaderPresent, Kinds: kindsOf(read), Missing: []string{}})
		if err != nil {
			t.Fatal(err)
		}
		if show(again) != show(read) {
			t.Fatalf("read back\n%s\nfirst\n%s", show(again), show(read))
		}
	})
}
