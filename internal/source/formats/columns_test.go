package formats

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/source/cells"
	"github.com/nextbatch/nextbatch/internal/source/sheets"
)

// cellsOf returns a column of cells.
func cellsOf(name string, fields ...string) sheets.Column {
	c, index := sheets.Cells{Name: name}, map[string]int32{}
	for _, field := range fields {
		code, known := index[field]
		switch {
		case field == "":
			code = -1
		case !known:
			code = int32(len(c.Levels))
			index[field], c.Levels = code, append(c.Levels, field)
		}
		c.Rows = append(c.Rows, code)
	}
	return sheets.Column{Cells: c}
}

// columnsOf returns the columns of a file as a program has them that reads every field as text.
func columnsOf(records [][]string) (columns []sheets.Column) {
	for j, name := range records[0] {
		fields := make([]string, len(records)-1)
		for i := range fields {
			fields[i] = records[i+1][j]
		}
		columns = append(columns, cellsOf(name, fields...))
	}
	return columns
}

// repeated returns a text of rows that a function writes.
func repeated(header string, rows int, row func(i int) string) string {
	lines := []string{header}
	for i := range rows {
		lines = append(lines, row(i))
	}
	return strings.Join(lines, "\n") + "\n"
}

// TestColumnsAsFiles: cells in memory are read as those of the file that has them.
func TestColumnsAsFiles(t *testing.T) {
	pick := func(i int, of ...string) string { return of[i%len(of)] }
	for name, one := range map[string]struct {
		text  string
		comma rune
		opts  sheets.Options
	}{
		"decimal commas": {repeated("x;y", 20, func(i int) string {
			return fmt.Sprintf("%d,%d;%s", i, i%7,
				pick(i, "1,234", "2,5"))
		}), ';', sheets.Options{}},
		"points decide": {repeated("x,y", 20, func(i int) string { return fmt.Sprintf("%d.5,\"%d,234\"", i, i+1) }), ',',
			sheets.Options{}},
		"marks, limits, units and guesses": {repeated("x;y", 60, func(i int) string {
			return pick(i, "12,5", "-", "3,25", "n.d.", "<LOD", "< 0,5", "ca. 7", "> 90", "", "NA") + ";" +
				pick(i, "12,5 °C", "9 °C")
		}), ';', sheets.Options{}},
		"limits dropped": {repeated("x,y", 20, func(i int) string {
			return pick(i, "1.5", "<0.5") + "," +
				pick(i, "a", "b")
		}), ',', sheets.Options{Censored: cells.CensoredDrop}},
		"labels": {repeated("x,y", 20, func(i int) string {
			return pick(i, "1.5", "<0.5") + "," +
				pick(i, "2.5", "<0.25", "")
		}), ',', sheets.Options{Label: func(c string) bool { return c == "y" },
			Kinds: map[string]dataset.Kind{"y": dataset.KindNumeric}}},
		"words among numbers": {repeated("x,y", 40, func(i int) string {
			return pick(i, "1.5", "2", "3", "4", "5", "6.5", "7",
				"lost") + ",1"
		}), ',', sheets.Options{}},
		"words and codes": {repeated("x,y,z", 40, func(i int) string {
			return pick(i, "steel", "brass") + "," + pick(i, "12B", "7", "9A") + "," + pick(i, "007", "011")
		}), ',', sheets.Options{}},
		"chromosomes": {repeated("x", 240, func(i int) string { return pick(i, "1", "2", "3", "4", "5", "6", "X") }),
			',', sheets.Options{}},
		"declared categories": {repeated("x", 40, func(i int) string { return pick(i, "1", "2", "NA") }), ',',
			sheets.Options{Kinds: map[string]dataset.Kind{"x": dataset.KindCategorical}}},
		"declared censored": {repeated("x,y", 20, func(i int) string { return pick(i, "1", "2") + ",1" }), ',',
			sheets.Options{Kinds: map[string]dataset.Kind{"x censored": dataset.KindNumeric}, Lenient: true}},
		"blanks": {repeated("x,y", 20, func(i int) string {
			return pick(i, " 1.5", "2.5 ") + "," +
				pick(i, " a", "a ", "b")
		}), ',', sheets.Options{}},
		"many levels": {repeated("x", 1500, func(i int) string { return fmt.Sprintf("w%04d", i) }), ',', sheets.Options{}},
		"words only further on": {repeated("x,y", 1500, func(i int) string {
			if i > 1100 {
				return "word,1.5"
			}
			return fmt.Sprintf("%d,2.5", i)
		}), ',', sheets.Options{}},
		"a total": {repeated("name,x", 20, func(i int) string { return fmt.Sprintf("s%d,%d.5", i, i) }) +
			"Sum,190\n", ',', sheets.Options{}},
		"no value": {repeated("x,y", 5, func(i int) string { return ",1" }), ',', sheets.Options{}},
	} {
		t.Run(name, func(t *testing.T) {
			path := writeFile(t, t.TempDir(), "table.csv", []byte(one.text))
			want, err := ReadFile(t.Context(), path, one.opts)
			if err != nil {
				t.Fatal(err)
			}
			r := csv.NewReader(strings.NewReader(one.text))
			r.Comma = one.comma
			records, err := r.ReadAll()
			if err != nil {
				t.Fatal(err)
			}
			got, err := sheets.ReadColumns(t.Context(), columnsOf(records), one.opts)
			if err != nil {
				t.Fatal(err)
			}
			sameTables(t, got, want)
			if a, b := got.Origin(), want.Origin(); len(a.Warnings) != len(b.Warnings) || a.Decimal != b.Decimal {
				t.Errorf("%q, %q, of the file %q, %q", a.Warnings, a.Decimal, b.Warnings, b.Decimal)
			}
		})
	}
}

// TestKnownColumns: columns of known kinds stay as they are, in their places, and their numbers tell about those of
// cells.
func TestKnownColumns(t *testing.T) {
	number, word := dataset.NewNumeric("n", 1.5, 2.5), dataset.NewCategorical("w", "a")
	word.Append(0)
	word.Append(-1)
	got, err := sheets.ReadColumns(t.Context(), []sheets.Column{{Known: number}, cellsOf("x", "1,234", "<5,678"),
		{Known: word}}, sheets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.Names(), []string{"n", "x", "w", "x censored"}) || got.Columns()[0] != number ||
		got.Columns()[2] != word {
		t.Errorf("%q", got.Names())
	}
	if x := got.Columns()[1]; x.Format(0) != "1234" || x.Format(1) != "5678" {
		t.Errorf("%s, %s", x.Format(0), x.Format(1))
	}
	stored := cellsOf("x", "36.5", "36,5", "n.d.")
	stored.Cells.Stored = true
	if got, err = sheets.ReadColumns(t.Context(), []sheets.Column{stored}, sheets.Options{}); err != nil ||
		got.Columns()[0].Format(1) != "36.5" || !got.Origin().Stored {
		t.Errorf("typed beside stored: %v, %v", got, err)
	}
}

// TestMessagesAboutColumns name rows from 0, and options as the caller does.
func TestMessagesAboutColumns(t *testing.T) {
	opts := sheets.Options{Kinds: map[string]dataset.Kind{"y": dataset.KindNumeric}, Lenient: true, RowNames: "id",
		Setting: func(field string, value ...string) string {
			if field != "Censored" && field != "Kinds" {
				return ""
			}
			return map[string]string{"Censored": "censored=", "Kinds": "categorical="}[field] + value[0]
		}}
	ids := sheets.Column{Known: dataset.NewText("id", "a", "b", "c", "d", "e", "f")}
	got, err := sheets.ReadColumns(t.Context(), []sheets.Column{ids, cellsOf("x", "1.5", "lost", "2", "3", "4", "<0.5"),
		cellsOf("y", "1", "2", "3", "4", "5", "6")}, opts)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`column "x" is numbers but for 1 cell, which is taken as missing: "lost" (row 1 from 0); correct such cells, or ` +
			`make them empty if they are missing; categorical=x makes it a column of categories`,
		`column "x": 1 value is beyond a limit: "<0.5" (row 5 from 0); each is taken as the limit itself, and column "x ` +
			`censored" marks them; censored=drop makes them missing`,
	}
	if o := got.Origin(); !slices.Equal(o.Warnings, want) {
		t.Errorf("%q", o.Warnings)
	}
	got, err = sheets.ReadColumns(t.Context(), []sheets.Column{cellsOf("x", "1,234", "5,678")}, opts)
	want = []string{"it is not certain whether 1,234 has a decimal comma or is over a thousand; it is taken to have a " +
		"decimal comma; make such columns numbers to be certain"}
	if err != nil || !slices.Equal(got.Origin().Warnings, want) || len(got.Origin().Notes) > 0 {
		t.Errorf("%+v, %v", got.Origin(), err)
	}
	for want, y := range map[string]sheets.Column{
		`row 2 (from 0), column 2 (y): the value is not a number: "bad" (id c); correct it, or leave it empty ` +
			`if it is missing`: cellsOf("y", "1", "2", "bad", "4", "5", "6"),
		`row 2 (from 0), column 2 (y): the value is not a number: "bad" (rows 2, 4 from 0, ids c, e), "no" (row 3 from 0, ` +
			`id d); correct them, or leave them empty if they are missing`: cellsOf("y", "1", "2", "bad", "no", "bad", "6"),
	} {
		_, err := sheets.ReadColumns(t.Context(), []sheets.Column{ids, y}, opts)
		if !errors.Is(err, sheets.ErrNumber) || err.Error() != want {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
	if _, err := sheets.ReadColumns(t.Context(), []sheets.Column{ids, cellsOf("y", "1")}, opts); !errors.Is(err,
		sheets.ErrShape) {
		t.Errorf("too few rows: %v", err)
	}
}

// TestMessyColumns: the cells of the messy tables become what they become in the files, where these have nothing
// but cells: other encodings, empty lines, units below the header and columns without a name are left to files. So is
// a number whose mark only the separator of the fields tells.
func TestMessyColumns(t *testing.T) {
	paths, err := filepath.Glob("testdata/messy/*.?sv")
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, path := range paths {
		want, err := ReadFile(t.Context(), path, sheets.Options{})
		if err != nil {
			continue
		}
		o := want.Origin()
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		ofFiles := o.Headless || o.Units != nil || o.Unnamed != nil || bytes.ContainsAny(text, "\x00") ||
			bytes.Contains(text, []byte("sep="))
		if ofFiles || o.Encoding != "" || strings.Contains(path, "34-ambiguous") {
			continue
		}
		r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))))
		r.Comma = rune(cmp.Or(o.Delimiter, ','))
		records, err := r.ReadAll()
		if err != nil || len(records) != want.Rows()+1 {
			continue
		}
		compared++
		t.Run(filepath.Base(path), func(t *testing.T) {
			got, err := sheets.ReadColumns(t.Context(), columnsOf(records), sheets.Options{})
			if err != nil {
				t.Fatal(err)
			}
			sameTables(t, got, want)
		})
	}
	if compared < 25 {
		t.Errorf("%d of %d tables were compared", compared, len(paths))
	}
}
