package source

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/ctxio"
)

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
func ReadJSONLines(ctx context.Context, r io.Reader, opts Options) (*dataset.Table, error) {
	t, err := readJSONLines(ctx, r, opts, nil)
	return t, ended(ctx, err)
}

func readJSONLines(ctx context.Context, r io.Reader, opts Options, notNumeric []int) (*dataset.Table, error) {
	in, err := newInput(ctxio.Reader(ctx, r), opts.Encoding)
	if err != nil {
		return nil, err
	}
	j := &jsonReader{opts: opts, missing: opts.missingSet(nil), ignored: opts.ignored(), index: map[string]int{},
		notNumeric: map[int]bool{}}
	for _, c := range notNumeric {
		j.notNumeric[c] = true
	}
	in.allow = func(buffer int64) error { j.buffer = buffer; return opts.allowRows(&j.rows, buffer) }
	for {
		rec, err := in.next(func(text []byte) int { return bytes.IndexByte(text, '\n') })
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if len(trim(rec.text)) == 0 {
			continue
		}
		if err := j.addRow(rec); err != nil {
			return nil, err
		}
	}
	if len(j.names) == 0 {
		return nil, &Error{Kind: ErrEmpty, Advice: "check that it is the right file"}
	}
	if err := opts.check(j.names); err != nil {
		return nil, err
	}
	if j.late != nil {
		return nil, j.late
	}
	if err := opts.allowRows(&j.rows, 0); err != nil {
		return nil, err
	}
	t, err := j.table()
	if err != nil {
		return nil, err
	}
	t.SetOrigin(dataset.Origin{Stored: true, Lines: j.lines})
	return opts.withIDs(t, nil)
}

type jsonReader struct {
	rows
	opts       Options
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
func (j *jsonReader) addRow(rec record) error {
	s := jsonScanner{text: rec.text}
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
	j.lines.Add(rec.line)
	return j.endRow()
}

func notJSON(rec record, at jsonScanner) *Error {
	at.skip()
	e := &Error{Line: rec.line, Kind: ErrJSON, Detail: "at " + quoteShort(at.text),
		Advice: "write each row as an object on one line"}
	if len(at.text) == 0 {
		e.Detail = "it ends too early"
	}
	return e
}

// addMember adds the value that follows a key.
func (j *jsonReader) addMember(rec record, key string, s *jsonScanner) error {
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
	e := &Error{Line: rec.line, Column: c + 1, Name: j.names[c]}
	switch {
	case j.sinks[c] == nil:
		return nil
	case kind == jsonNested:
		e.Kind, e.Detail, e.Advice = ErrNested, quoteShort(value),
			"write its parts as columns of their own, as pandas.json_normalize does, or --ignore "+key
		return e
	case j.filled[c] > j.done:
		e.Kind, e.Detail, e.Advice = ErrJSON, "the key appears twice", "remove one"
		return e
	}
	j.filled[c] = j.done + 1
	return j.addValue(rec, c, value, kind)
}

func (j *jsonReader) addValue(rec record, c int, value []byte, kind jsonKind) error {
	if kind == jsonString && len(value) == 0 {
		kind = jsonNull
	}
	numbers, numeric := j.sinks[c].(*numberSink)
	first := kind != jsonNull && !j.seen[c]
	j.seen[c] = j.seen[c] || kind != jsonNull
	switch {
	case kind == jsonString && numeric && numbers.guessed && first:
		j.sinks[c] = j.filler(newWordSink(j.names[c], j.missing), j.done)
	case kind == jsonString && numeric && numbers.guessed && !j.missing[string(value)]:
		return j.outcome(rec, c, value, numbers.refuse())
	case kind == jsonBool && numeric && string(value) == "true":
		value = []byte("1")
	case kind == jsonBool && numeric:
		value = []byte("0")
	}
	return j.add(rec, c, value)
}

// addColumn adds a column that earlier rows lack.
func (j *jsonReader) addColumn(rec record, key string, first jsonKind) (int, error) {
	c := len(j.names)
	if c == mostColumns {
		e := tooManyColumns()
		e.Line = rec.line
		return 0, e
	}
	name := key
	if name == "" {
		name = "column" + strconv.Itoa(c)
	}
	if !utf8.ValidString(name) {
		return 0, &Error{Line: rec.line, Column: c + 1, Name: name, Kind: ErrEncoding,
			Detail: quoteShort([]byte(name)) + notUTF8, Advice: advice[ErrEncoding]}
	}
	j.index[key] = c
	j.names = append(j.names, name)
	j.seen = append(j.seen, false)
	j.filled = append(j.filled, 0)
	s := j.sinkFor(name, c, first)
	if s != nil {
		s = j.filler(s, j.done)
	}
	j.sinks = append(j.sinks, s)
	return c, j.grow(int64(j.done))
}

func (j *jsonReader) sinkFor(name string, c int, first jsonKind) sink {
	kind, declared := j.opts.kind(name)
	switch {
	case j.ignored[name]:
		return nil
	case kind == dataset.KindText:
		return newSink(kind, name, nil)
	case declared:
		return newSink(kind, name, j.missing)
	case first == jsonString || j.notNumeric[c]:
		return newWordSink(name, j.missing)
	}
	return &numberSink{into: dataset.NewNumeric(name), missing: j.missing, guessed: true}
}

// filler returns the sink with n missing values.
func (j *jsonReader) filler(s sink, rows int) sink {
	for range rows {
		_ = s.add(nil) // any sink accepts a missing value
	}
	return s
}

// endRow adds missing values to the columns that the row lacks.
func (j *jsonReader) endRow() error {
	j.done++
	for c, s := range j.sinks {
		if s != nil && j.filled[c] < j.done {
			_ = s.add(nil)
			j.filled[c] = j.done
		}
	}
	return j.grow(int64(len(j.sinks)))
}

// grow measures the columns from time to time: a short line, or a new key, may
// add a missing value to many of them.
func (j *jsonReader) grow(values int64) error {
	const often = 1 << 20
	if j.unchecked += 8 * values; j.unchecked < often {
		return nil
	}
	j.unchecked = 0
	return j.opts.allowRows(&j.rows, j.buffer)
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

// stringEnd returns where the string at the start of the text ends, -1 if there
// is none.
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
		if _, n := parseNumber(text); n != len(text) || text[0] == '+' {
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
