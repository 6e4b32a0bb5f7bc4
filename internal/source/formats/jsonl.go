package formats

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/ctxio"
	"github.com/nextbatch/nextbatch/internal/options"
	"github.com/nextbatch/nextbatch/internal/source/cells"
	"github.com/nextbatch/nextbatch/internal/source/sheets"
)

func readJSONLines(ctx context.Context, r io.Reader, opts sheets.Options, notNumeric []int) (*dataset.Table, error) {
	in, err := newInput(ctxio.Reader(ctx, r), opts.Encoding)
	if err != nil {
		return nil, err
	}
	j := &jsonReader{opts: opts, missing: sheets.MissingSet(opts, nil), ignored: sheets.IgnoredSet(opts),
		index:      map[string]int{},
		notNumeric: map[int]bool{}}
	for _, c := range notNumeric {
		j.notNumeric[c] = true
	}
	in.allow = func(buffer int64) error { j.buffer = buffer; return sheets.AllowRows(opts, &j.Rows, buffer) }
	for {
		rec, err := in.next(func(text []byte) int { return bytes.IndexByte(text, '\n') })
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if len(cells.Trim(rec.Text)) == 0 {
			continue
		}
		if err := j.addRow(rec); err != nil {
			return nil, err
		}
	}
	if len(j.Names) == 0 {
		return nil, &sheets.Error{Kind: sheets.ErrEmpty, Advice: "check that it is the right file"}
	}
	if err := sheets.CheckNames(opts, j.Names); err != nil {
		return nil, err
	}
	if j.Late != nil {
		return nil, j.Late
	}
	if err := sheets.AllowRows(opts, &j.Rows, 0); err != nil {
		return nil, err
	}
	t, err := j.Table()
	if err != nil {
		return nil, err
	}
	t.SetOrigin(dataset.Origin{Stored: true, Lines: j.Lines})
	return sheets.WithIDs(opts, t)
}

type jsonReader struct {
	sheets.Rows
	opts       sheets.Options
	missing    map[string]bool
	ignored    map[string]bool
	index      map[string]int // columns by key
	seen       []bool         // by column: whether it had a value other than null
	filled     []int          // by column: rows with a value or null so far
	notNumeric map[int]bool
	done       int   // rows
	buffer     int64 // bytes of the input's buffer
	unchecked  int64 // bytes by which the columns may have grown since they were last measured
}

// addRow adds the object of a line.
func (j *jsonReader) addRow(rec cells.Record) error {
	s := jsonScanner{text: rec.Text}
	if !s.take('{') {
		e := notJSON(rec, s)
		if s.take('[') {
			e.Detail, e.Advice = "it starts a list", hints[".json"]
		}
		return e
	}
	for first := true; !s.take('}'); first = false {
		if !first && !s.take(',') {
			return notJSON(rec, s)
		}
		key, ok := s.str()
		if !ok || !s.take(':') {
			return notJSON(rec, s)
		}
		if err := j.addMember(rec, string(key), &s); err != nil {
			return err
		}
	}
	if s.skip(); len(s.text) > 0 {
		return notJSON(rec, s)
	}
	j.Lines.Add(rec.Line)
	return j.endRow()
}

func notJSON(rec cells.Record, at jsonScanner) *sheets.Error {
	at.skip()
	e := &sheets.Error{Line: rec.Line, Kind: sheets.ErrJSON, Detail: "at " + cells.QuoteShort(at.text),
		Advice: "write each row as an object on one line"}
	if len(at.text) == 0 {
		e.Detail = "it ends too early"
	}
	return e
}

// addMember adds the value that follows a key.
func (j *jsonReader) addMember(rec cells.Record, key string, s *jsonScanner) error {
	value, kind, ok := s.value()
	if !ok {
		return notJSON(rec, *s)
	}
	c, known := j.index[key]
	if !known {
		var err error
		if c, err = j.addColumn(rec, key, kind); err != nil {
			return err
		}
	}
	e := &sheets.Error{Line: rec.Line, Column: c + 1, Name: j.Names[c]}
	switch {
	case j.Sinks[c] == nil:
		return nil
	case kind == jsonNested:
		e.Kind, e.Detail, e.Advice = sheets.ErrNested, cells.QuoteShort(value),
			"write its parts as columns of their own, as pandas.json_normalize does"
		e.Hints = []options.Hint{{Before: ", or ", Option: "Ignore", Value: []string{key}}}
		return e
	case j.filled[c] > j.done:
		e.Kind, e.Detail, e.Advice = sheets.ErrJSON, "the key appears twice", "remove one"
		return e
	}
	j.filled[c] = j.done + 1
	return j.addValue(rec, c, value, kind)
}

func (j *jsonReader) addValue(rec cells.Record, c int, value []byte, kind jsonKind) error {
	if kind == jsonString && len(value) == 0 {
		kind = jsonNull
	}
	numbers, numeric := j.Sinks[c].(*sheets.NumberSink)
	first := kind != jsonNull && !j.seen[c]
	j.seen[c] = j.seen[c] || kind != jsonNull
	switch {
	case kind == jsonString && numeric && numbers.Guessed && first:
		j.Sinks[c] = j.filler(sheets.NewWordSink(j.Names[c], j.missing), j.done)
	case kind == jsonString && numeric && numbers.Guessed && !j.missing[string(value)]:
		return j.Outcome(rec, c, value, numbers.Refuse())
	case kind == jsonBool && numeric && string(value) == "true":
		value = []byte("1")
	case kind == jsonBool && numeric:
		value = []byte("0")
	}
	return j.Add(rec, c, value)
}

// addColumn adds a column that earlier rows lack.
func (j *jsonReader) addColumn(rec cells.Record, key string, first jsonKind) (int, error) {
	c := len(j.Names)
	if c == sheets.MostColumns {
		e := sheets.TooManyColumns()
		e.Line = rec.Line
		return 0, e
	}
	name := key
	if name == "" {
		name = "column" + strconv.Itoa(c)
	}
	if !utf8.ValidString(name) {
		return 0, &sheets.Error{Line: rec.Line, Column: c + 1, Name: name, Kind: sheets.ErrEncoding,
			Detail: cells.QuoteShort([]byte(name)) + cells.NotUTF8, Advice: sheets.Advice[sheets.ErrEncoding]}
	}
	j.index[key] = c
	j.Names = append(j.Names, name)
	j.seen = append(j.seen, false)
	j.filled = append(j.filled, 0)
	s := j.sinkFor(name, c, first)
	if s != nil {
		s = j.filler(s, j.done)
	}
	j.Sinks = append(j.Sinks, s)
	return c, j.grow(int64(j.done))
}

func (j *jsonReader) sinkFor(name string, c int, first jsonKind) sheets.Sink {
	kind, declared := sheets.DeclaredKind(j.opts, name)
	switch {
	case j.ignored[name]:
		return nil
	case kind == dataset.KindText:
		return sheets.NewSink(kind, name, nil)
	case declared:
		return sheets.NewSink(kind, name, j.missing)
	case first == jsonString || j.notNumeric[c]:
		return sheets.NewWordSink(name, j.missing)
	}
	return &sheets.NumberSink{Into: dataset.NewNumeric(name), Missing: j.missing, Guessed: true}
}

// filler returns the sink with n missing values.
func (j *jsonReader) filler(s sheets.Sink, rows int) sheets.Sink {
	for range rows {
		_ = s.Add(nil) // any sink accepts a missing value
	}
	return s
}

// endRow adds missing values to the columns that the row lacks.
func (j *jsonReader) endRow() error {
	j.done++
	for c, s := range j.Sinks {
		if s != nil && j.filled[c] < j.done {
			_ = s.Add(nil)
			j.filled[c] = j.done
		}
	}
	return j.grow(int64(len(j.Sinks)))
}

// grow measures the columns from time to time: a short line, or a new key, may add a missing value to many of them.
func (j *jsonReader) grow(values int64) error {
	const often = 1 << 20
	if j.unchecked += 8 * values; j.unchecked < often {
		return nil
	}
	j.unchecked = 0
	return sheets.AllowRows(j.opts, &j.Rows, j.buffer)
}

// jsonKind is what a value is.
type jsonKind uint8

const (
	jsonNull jsonKind = iota
	jsonNumber
	jsonBool
	jsonString
	jsonNested
)

// jsonScanner takes the parts of a line off its start.
type jsonScanner struct{ text []byte }

func (s *jsonScanner) skip() { s.text = bytes.TrimLeft(s.text, " \t\r") }

// take removes the character, if it comes next.
func (s *jsonScanner) take(c byte) bool {
	if s.skip(); len(s.text) == 0 || s.text[0] != c {
		return false
	}
	s.text = s.text[1:]
	return true
}

// str removes a string and returns its text.
func (s *jsonScanner) str() (text []byte, ok bool) {
	s.skip()
	end := stringEnd(s.text)
	if end < 0 {
		return nil, false
	}
	raw := s.text[:end]
	if bytes.IndexByte(raw, '\\') < 0 && bytes.IndexFunc(raw, func(r rune) bool { return r < ' ' }) < 0 {
		s.text = s.text[end:]
		return raw[1 : end-1], true
	}
	var plain string
	if !utf8.Valid(raw) || json.Unmarshal(raw, &plain) != nil {
		return nil, false
	}
	s.text = s.text[end:]
	return []byte(plain), true
}

// stringEnd returns where the string at the start of the text ends, -1 if there is none.
func stringEnd(text []byte) int {
	if len(text) == 0 || text[0] != '"' {
		return -1
	}
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return -1
}

// value removes a value.
func (s *jsonScanner) value() (text []byte, kind jsonKind, ok bool) {
	if s.skip(); len(s.text) == 0 {
		return nil, 0, false
	}
	switch s.text[0] {
	case '"':
		text, ok = s.str()
		return text, jsonString, ok
	case '{', '[':
		text, ok = s.nested()
		return text, jsonNested, ok
	}
	end := bytes.IndexAny(s.text, ",} \t\r")
	if end <= 0 {
		return nil, 0, false
	}
	text = s.text[:end]
	switch string(text) {
	case "null", "NaN": // Python writes the latter
		text, kind = nil, jsonNull
	case "true", "false":
		kind = jsonBool
	case "Infinity", "-Infinity":
		kind = jsonNumber
	default:
		if _, n := cells.ParseNumber(text); n != len(text) || text[0] == '+' {
			return nil, 0, false
		}
		kind = jsonNumber
	}
	s.text = s.text[end:]
	return text, kind, true
}

// nested removes an object or a list, without checking what is in it.
func (s *jsonScanner) nested() (text []byte, ok bool) {
	depth := 0
	for i := 0; i < len(s.text); i++ {
		switch s.text[i] {
		case '"':
			end := stringEnd(s.text[i:])
			if end < 0 {
				return nil, false
			}
			i += end - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				text, s.text = s.text[:i+1], s.text[i+1:]
				return text, true
			}
		}
	}
	return nil, false
}
