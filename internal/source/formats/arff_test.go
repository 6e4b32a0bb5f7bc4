package formats

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/source/sheets"
)

func TestReadARFF(t *testing.T) {
	for _, test := range []struct {
		name, text string
		opts       sheets.Options
		want       string
	}{
		{"all types", `% a comment
@RELATION 'some stones'

@Attribute carat numeric
@attribute "depth %" REAL
@attribute	table	integer
@attribute cut {'very good',fair , "idea'l"}
@attribute note string
@attribute day date "yyyy-MM-dd"
@data
0.23, 61.5,55,'very good','a, \'b\'',2020-01-01

% in between
?,?,?,?,?,?
1e-3,.5,-7,"idea'l",plain,"2020-01-02"
`, sheets.Options{},
			"carat numeric [0.23] [] [0.001]\ndepth % numeric [61.5] [] [0.5]\ntable numeric [55] [] [-7]\n" +
				"cut categorical [very good] [] [idea'l]\nnote categorical [a, 'b'] [] [plain]\nday text [2020-01-01] [] " +
				"[2020-01-02]\n"},
		{"Windows line ends, byte-order mark, no blank before the list",
			"\xef\xbb\xbf@relation r\r\n@attribute a{x,y}\r\n@data\r\ny\r\nx", sheets.Options{},
			"a categorical [y] [x]\n"},
		{"options", "@relation r\n@attribute a numeric\n@attribute b {1,2}\n@attribute c numeric\n@data\n1,7,x\n-9,1,y\n",
			sheets.Options{Kinds: map[string]dataset.Kind{"a": dataset.KindCategorical, "b": dataset.KindNumeric},
				Ignore: []string{"c"}, Missing: []string{"-9"}},
			"a categorical [1] []\nb numeric [7] [1]\n"},
		{"no rows", "@relation r\n@attribute a numeric\n@data\n", sheets.Options{}, "a numeric\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			read, err := ReadARFF(t.Context(), strings.NewReader(test.text), test.opts)
			if err != nil {
				t.Fatal(err)
			}
			if got := show(read); got != test.want {
				t.Errorf("\n%swant\n%s", got, test.want)
			}
		})
	}
}

func TestARFFLevelsKeepTheirOrder(t *testing.T) {
	read,
		err := ReadARFF(t.Context(), strings.NewReader("@relation r\n@attribute size {small,large,huge}\n@data\nhuge\n"),
		sheets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(read.Columns()[0].(*dataset.Categorical).Levels()); got != "[small large huge]" {
		t.Error(got)
	}
}

func TestReadARFFRefuses(t *testing.T) {
	const types = "; types are numeric, real, integer, string, date and {level, level, …}"
	const shape = "; write an attribute as @attribute name type"
	for _, test := range []struct {
		name, text string
		kind       error
		want       string
	}{
		{"empty", "", sheets.ErrHeader,
			"the header cannot be used: the line @data is missing; check that the file is complete"},
		{"CSV", "a,b\n1,2\n", sheets.ErrHeader,
			`line 1: the header cannot be used: "a,b" is not @relation, @attribute or @data`},
		{"no attributes", "@relation r\n@data\n1\n", sheets.ErrHeader,
			"line 2: the header cannot be used: there is no @attribute before @data"},
		{"no type", "@attribute a\n", sheets.ErrHeader, `line 1, column 1: the header cannot be used: "a"` + shape},
		{"no name", "@attribute\n", sheets.ErrHeader, `line 1, column 1: the header cannot be used: ""` + shape},
		{"open quote", "@attribute 'a numeric\n", sheets.ErrHeader,
			`line 1, column 1: the header cannot be used: "'a numeric"` +
				shape},
		{"unknown type", "@attribute a relational\n", sheets.ErrHeader,
			`line 1, column 1 (a): the header cannot be used: the type "relational" is unknown` + types},
		{"open list", "@attribute a {x,y\n", sheets.ErrHeader,
			"line 1, column 1 (a): the header cannot be used: the list of levels does not end with }" + types},
		{"open quote in a list", "@attribute a {x,'y}\n", sheets.ErrHeader,
			"line 1, column 1 (a): the header cannot be used: the quotes around level 2 do not match" + types},
		{"one name twice", "@attribute a real\n@attribute a real\n", sheets.ErrHeader,
			"line 2, column 2 (a): the header cannot be used: another attribute has the same name; rename one"},
		{"Latin-1 name", "@attribute \xe9 real\n", sheets.ErrEncoding,
			"line 1, column 1 (\xe9): the text is not in the expected encoding: \"\\xe9\" is not UTF-8; give its encoding, " +
				"such as --encoding windows-1252 or --encoding latin1"},
		{"Latin-1 level", "@attribute a {\xe9}\n", sheets.ErrHeader,
			"line 1, column 1 (a): the header cannot be used: level 1 is not UTF-8" + types},
		{"no number", "@attribute a real\n@data\n1\nx\n", sheets.ErrNumber,
			`line 4, column 1 (a): the value is not a number: "x"; correct it, or leave it empty if it is missing`},
		{"no level", "@attribute a real\n@attribute b {x}\n@data\n1,y\n", sheets.ErrLevel,
			`line 4, column 2 (b): the value is not a declared level: "y"; correct it, add it to the attribute's list, or ` +
				`declare the column categorical or text`},
		{"too few fields", "@attribute a real\n@attribute b real\n@data\n1\n", sheets.ErrRagged,
			"line 4, column 2 (b): the number of fields differs from that of the first row: 1 instead of 2; add or remove a " +
				"field, or quote a field that contains the delimiter"},
		{"too many fields, quoted", "@attribute a {x}\n@data\n'x',x\n", sheets.ErrRagged,
			"line 3, column 2: the number of fields differs from that of the first row: 2 instead of 1; add or remove a " +
				"field, or quote a field that contains the delimiter"},
		{"open quote in a row", "@attribute a {x}\n@attribute b {x}\n@data\nx,'x\n", sheets.ErrQuote,
			`line 4, column 2: the quotes do not match: "x,'x"; close the quote before the comma, and write quotes inside a ` +
				`value as \' or \"`},
		{"backslash at the end", "@attribute a {x}\n@data\n'x\\\n", sheets.ErrQuote,
			`line 3, column 1: the quotes do not match: "'x\\"; close the quote before the comma, and write quotes inside a ` +
				`value as \' or \"`},
		{"sparse", "@attribute a real\n@data\n{0 1}\n", sheets.ErrFormat,
			"line 3: the format is unknown: sparse rows are not supported; write the file with dense rows"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := ReadARFF(t.Context(), strings.NewReader(test.text), sheets.Options{})
			if at := (*sheets.Error)(nil); !errors.As(err, &at) || !errors.Is(err, test.kind) || err.Error() != test.want {
				t.Errorf("%v\nwant %s", err, test.want)
			}
		})
	}
	_, err := ReadARFF(t.Context(), strings.NewReader("@attribute a real\n@data\n"), sheets.Options{Ignore: []string{"b"}})
	if !errors.Is(err, sheets.ErrColumn) {
		t.Error(err)
	}
}

// writeARFF writes a table in the format that ReadARFF reads.
func writeARFF(t *dataset.Table) []byte {
	var b bytes.Buffer
	b.WriteString("@relation made\n")
	for _, c := range t.Columns() {
		kind := "string"
		switch c := c.(type) {
		case *dataset.Numeric:
			kind = "numeric"
		case *dataset.Categorical:
			var levels []string
			for _, level := range c.Levels() {
				levels = append(levels, quoteARFF(level))
			}
			kind = "{" + strings.Join(levels, ", ") + "}"
		}
		fmt.Fprintf(&b, "@attribute %s %s\n", quoteARFF(c.Name()), kind)
	}
	b.WriteString("@data\n")
	for row := range t.Rows() {
		for j, c := range t.Columns() {
			if j > 0 {
				b.WriteByte(',')
			}
			if c.Missing(row) {
				b.WriteByte('?')
			} else {
				b.WriteString(quoteARFF(c.Format(row)))
			}
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}

func quoteARFF(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}

func TestARFFReadsBack(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 300 {
		want := randomTable(t, r)
		if strings.Contains(show(want), "\r") || strings.Contains(show(want), "line\nfeed") {
			continue // ARFF values cannot contain line ends
		}
		file := writeARFF(want)
		got, err := ReadARFF(t.Context(), bytes.NewReader(file), sheets.Options{Kinds: textOf(want)})
		if err != nil {
			t.Fatalf("%v\n%s", err, file)
		}
		if g, w := show(got), show(want); g != w {
			t.Fatalf("read back\n%s\nwant\n%s\nfile\n%s", g, w, file)
		}
	}
}

func textOf(t *dataset.Table) map[string]dataset.Kind {
	kinds := map[string]dataset.Kind{}
	for _, c := range t.Columns() {
		if c.Kind() == dataset.KindText {
			kinds[c.Name()] = dataset.KindText
		}
	}
	return kinds
}

func FuzzReadARFF(f *testing.F) {
	for _, seed := range []string{
		"@relation r\n@attribute a numeric\n@attribute b {x,'y z'}\n@data\n1,x\n?,'y z'\n",
		"@attribute 'a\\'' string\n@data\n\"x\\\"y\"\n", "@attribute a{", "@data", "%\n@attribute a date\n@data\n{0 1}\n",
		"'", "@attribute a {}\n@data\n,\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		_, err := ReadARFF(t.Context(), bytes.NewReader(text), sheets.Options{})
		if at := (*sheets.Error)(nil); err != nil && !errors.As(err, &at) {
			t.Fatalf("%T: %v", err, err)
		}
	})
}
