package formats

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/source/sheets"
)

func TestReadJSONLines(t *testing.T) {
	for _, test := range []struct {
		name, text string
		opts       sheets.Options
		want       string
	}{
		{"plain", `{"a": 1, "b": "x"}` + "\n" + `{"a":-2.5e3,"b":"y"}`, sheets.Options{},
			"a numeric [1] [-2500]\nb categorical [x] [y]\n"},
		{"another order, blank lines and Windows line ends", "{\"a\":1,\"b\":2}\r\n\r\n { \"b\" : 3 , \"a\" : 4 } \r\n",
			sheets.Options{}, "a numeric [1] [4]\nb numeric [2] [3]\n"},
		{"keys that come and go", "{}\n{\"a\":1}\n{\"b\":\"x\"}\n{\"a\":2,\"c\":null}\n", sheets.Options{},
			"a numeric [] [1] [] [2]\nb categorical [] [] [x] []\nc numeric [] [] [] []\n"},
		{"missing values", `{"a":null,"b":"","c":NaN}` + "\n" + `{"a":"x","b":"NA","c":-Infinity}`, sheets.Options{},
			"a categorical [] [x]\nb categorical [] [NA]\nc numeric [] [-Inf]\n"},
		{"truth values", `{"a":true,"b":"x"}` + "\n" + `{"a":false,"b":true}`, sheets.Options{},
			"a numeric [1] [0]\nb categorical [x] [true]\n"},
		{"escapes", `{"\u00e9\"":"a\nb\\","x":"\ud83d\ude00"}`, sheets.Options{},
			"é\" categorical [a\nb\\]\nx categorical [\U0001f600]\n"},
		{"declared", `{"id":"007","x":"1.5"}` + "\n" + `{"id":8,"x":2}`,
			sheets.Options{ID: "id", Kinds: map[string]dataset.Kind{"x": dataset.KindNumeric}},
			"id text [007] [8]\nx numeric [1.5] [2]\n"},
		{"a nested column is ignored", `{"a":1,"b":{"c":[1,"}"]}}`, sheets.Options{Ignore: []string{"b"}}, "a numeric [1]\n"},
		{"UTF-16", "\xff\xfe{\x00\"\x00a\x00\"\x00:\x001\x00}\x00", sheets.Options{}, "a numeric [1]\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			read, err := ReadJSONLines(t.Context(), iotest.HalfReader(strings.NewReader(test.text)), test.opts)
			if err != nil {
				t.Fatal(err)
			}
			if got := show(read); got != test.want {
				t.Errorf("%swant\n%s", got, test.want)
			}
		})
	}
}

func TestReadJSONLinesRefuses(t *testing.T) {
	for _, test := range []struct {
		name, text string
		kind       error
		want       string
	}{
		{"empty", "\n\n", sheets.ErrEmpty, "the file has no rows; check that it is the right file"},
		{"no columns", "{}\n{}", sheets.ErrEmpty, "the file has no rows; check that it is the right file"},
		{"nested", `{"a":1}` + "\n" + `{"a":2,"b":[1, 2]}`, sheets.ErrNested,
			`line 2, column 2 (b): the value is an object or a list: "[1, 2]"; write its parts as columns of their own, as ` +
				`pandas.json_normalize does, or --ignore b`},
		{"a list", `[{"a":1}]`, sheets.ErrJSON, `line 1: the line is not a JSON object: it starts a list; ` + hints[".json"]},
		{"over several lines", "{\n\"a\": 1\n}", sheets.ErrJSON,
			"line 1: the line is not a JSON object: it ends too early; write each row as an object on one line"},
		{"no comma", `{"a":1 "b":2}`, sheets.ErrJSON,
			`line 1: the line is not a JSON object: at "\"b\":2}"; write each row as an object on one line`},
		{"a comma too many", `{"a":1,}`, sheets.ErrJSON,
			`line 1: the line is not a JSON object: at "}"; write each row as an object on one line`},
		{"no value", `{"a":}`, sheets.ErrJSON,
			`line 1: the line is not a JSON object: at "}"; write each row as an object on one line`},
		{"a word", `{"a":yes}`, sheets.ErrJSON,
			`line 1: the line is not a JSON object: at "yes}"; write each row as an object on one line`},
		{"more after the object", `{"a":1} {"a":2}`, sheets.ErrJSON,
			`line 1: the line is not a JSON object: at "{\"a\":2}"; write each row as an object on one line`},
		{"a key twice", `{"a":1,"a":2}`, sheets.ErrJSON,
			`line 1, column 1 (a): the line is not a JSON object: the key appears twice; remove one`},
		{"a word among numbers", `{"a":1}` + "\n" + `{"a":"x"}`, sheets.ErrNumber,
			`line 2, column 1 (a): the value is not a number: "x"; correct it, or leave it empty if it is missing`},
		{"Latin-1", "{\"a\":\"\xe9\"}", sheets.ErrEncoding,
			`line 1, column 1 (a): the text is not in the expected encoding: "\xe9" is not UTF-8; ` +
				"give its encoding, such as --encoding windows-1252 or --encoding latin1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := ReadJSONLines(t.Context(), strings.NewReader(test.text), sheets.Options{})
			if at := (*sheets.Error)(nil); !errors.As(err, &at) || !errors.Is(err, test.kind) || err.Error() != test.want {
				t.Errorf("%v\nwant %s", err, test.want)
			}
		})
	}
}

// TestLateStringsAreReadAgain: from a file, a column of numbers with a string is
// read as words.
func TestLateStringsAreReadAgain(t *testing.T) {
	path := writeFile(t, t.TempDir(), "late.jsonl", []byte("{\"a\":1.50,\"b\":1}\n{\"a\":\"x\",\"b\":2}\n"))
	read, err := ReadFile(t.Context(), path, sheets.Options{})
	if err != nil || show(read) != "a categorical [1.50] [x]\nb numeric [1] [2]\n" {
		t.Fatalf("%v, %v", read, err)
	}
	_, err = Read(t.Context(), strings.NewReader("{\"a\":1.50}\n{\"a\":\"x\"}\n"), sheets.Options{})
	if !errors.Is(err, sheets.ErrNumber) || !strings.Contains(err.Error(),
		"--categorical a, because this source cannot be read twice") {
		t.Error(err)
	}
}

// TestMissingKeysCountAsMemory: short lines that add a missing value to each of
// many columns are refused while they are read.
func TestMissingKeysCountAsMemory(t *testing.T) {
	var first strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&first, `"k%d":1,`, i)
	}
	// 640 MB of missing values
	text := "{" + strings.TrimSuffix(first.String(), ",") + "}\n" + strings.Repeat("{}\n", 80_000)
	if _, err := ReadJSONLines(t.Context(), strings.NewReader(text),
		sheets.Options{MaxMemory: 8 << 20}); !errors.Is(err, sheets.ErrMemory) {
		t.Error(err)
	}
}

func TestWrittenJSONLinesReadBack(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 200 {
		want := randomTable(t, r)
		var file bytes.Buffer
		if err := WriteJSONLines(&file, want); err != nil {
			t.Fatal(err)
		}
		if want.Rows() == 0 {
			continue
		}
		text := file.String()
		got, err := ReadJSONLines(t.Context(), &file, sheets.Options{Kinds: kindsOf(want)})
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if show(got) != show(want) {
			t.Fatalf("read back\n%s\nwant\n%s\nfile\n%s", show(got), show(want), text)
		}
	}
}

// FuzzReadJSONLines: any input gives a table or an *Error, and a table reads back
// unchanged after it is written.
func FuzzReadJSONLines(f *testing.F) {
	for _, seed := range []string{`{"a":1,"b":"x"}` + "\n" + `{"b":null,"c":true}`, "{}\n", `{"a":NaN}`, `{"a":-Infinity}`,
		`{"a":{"b":[1]}}`, `{"\u0041":"\ud800"}`,
		"[1]", `{"a":"`, `{"a":1}{`, "\xff\xfe{\x00}\x00", `{"":1,"column0":2}`, `{"a":1e999,"b":.5}`, "\x1f\x8b"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		read, err := ReadJSONLines(t.Context(), bytes.NewReader(text), sheets.Options{MaxMemory: 1 << 28})
		if err != nil {
			if at := (*sheets.Error)(nil); !errors.As(err, &at) {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		var file bytes.Buffer
		if err := WriteJSONLines(&file, read); err != nil {
			if !errors.Is(err, sheets.ErrRange) { // JSON has no infinity
				t.Fatal(err)
			}
			return
		}
		again, err := ReadJSONLines(t.Context(), &file, sheets.Options{Kinds: kindsOf(read), MaxMemory: 1 << 28})
		if err != nil {
			t.Fatal(err)
		}
		if show(again) != show(read) {
			t.Fatalf("read back\n%s\nfirst\n%s", show(again), show(read))
		}
	})
}

// ReadJSONLines reads a table of JSON lines: each line is an object, a row, and
// its keys name the columns, in the order in which they appear. A key that a
// row lacks, null, NaN and the empty string are missing values. Numbers, true
// (1) and false (0) are numeric; strings are categorical, or text if there are
// more than 1000 levels. A nested object or list is an error unless its column
// is ignored. The options Delimiter, Decimal, Thousands, Header and Choice have
// no effect.
//
// A string in a column of numbers is an error, where ReadFile reads the file a
// second time with what it has learnt.
func ReadJSONLines(ctx context.Context, r io.Reader, opts sheets.Options) (*dataset.Table, error) {
	t, err := readJSONLines(ctx, r, opts, nil)
	return t, ended(ctx, sheets.Worded(err, opts))
}
