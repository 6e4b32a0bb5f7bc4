package formats

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/ctxio"
	"github.com/nextbatch/nextbatch/internal/source/cells"
	"github.com/nextbatch/nextbatch/internal/source/sheets"
)

// ReadARFF reads a table from Weka's attribute-relation file format: numeric, nominal, string and date attributes,
// with dense rows. Names and values may be quoted with ' or ", where a backslash escapes the next character. The
// levels of a nominal attribute keep their order; a value that is not among them is an error. The options Delimiter
// and Header have no effect here.
func ReadARFF(ctx context.Context, r io.Reader, opts sheets.Options) (*dataset.Table, error) {
	t, err := readARFF(ctx, r, opts)
	return t, ended(ctx, sheets.Worded(err, opts))
}

func readARFF(ctx context.Context, r io.Reader, opts sheets.Options) (*dataset.Table, error) {
	in, err := newInput(ctxio.Reader(ctx, r), opts.Encoding)
	if err != nil {
		return nil, err
	}
	a := &arffReader{in: in, opts: opts, missing: sheets.MissingSet(opts, nil), ignored: sheets.IgnoredSet(opts),
		taken: map[string]bool{}}
	in.allow = func(buffer int64) error { return sheets.AllowRows(opts, &a.Rows, buffer) }
	a.missing["?"] = true
	a.Comma = ','
	a.Choice = sheets.Restarted(opts.Choice)
	if err := a.readHeader(); err != nil {
		return nil, err
	}
	if err := sheets.CheckNames(opts, a.Names); err != nil {
		return nil, err
	}
	if err := a.readData(); err != nil {
		return nil, err
	}
	t, err := a.Table()
	if err != nil {
		return nil, err
	}
	return sheets.WithIDs(opts, t)
}

type arffReader struct {
	sheets.Rows
	in      *input
	opts    sheets.Options
	missing map[string]bool
	ignored map[string]bool
	taken   map[string]bool // names of attributes
	fields  [][]byte
}

// next returns the next line that is neither blank nor a comment.
func (a *arffReader) next() (cells.Record, error) {
	for {
		rec, err := a.in.next(func(text []byte) int { return bytes.IndexByte(text, '\n') })
		rec.Text = cells.Trim(rec.Text)
		if err != nil || len(rec.Text) > 0 && rec.Text[0] != '%' {
			return rec, err
		}
	}
}

// readHeader reads up to and including the line @data.
func (a *arffReader) readHeader() error {
	for {
		rec, err := a.next()
		if err == io.EOF {
			return &sheets.Error{Kind: sheets.ErrHeader, Detail: "the line @data is missing",
				Advice: "check that the file is complete"}
		}
		if err != nil {
			return err
		}
		word, rest := cutWord(rec.Text)
		switch strings.ToLower(string(word)) {
		case "@relation":
		case "@attribute":
			if err := a.attribute(rec, rest); err != nil {
				return err
			}
		case "@data":
			if len(a.Names) == 0 {
				return &sheets.Error{Line: rec.Line, Kind: sheets.ErrHeader, Detail: "there is no @attribute before @data"}
			}
			return nil
		default:
			return &sheets.Error{Line: rec.Line, Kind: sheets.ErrHeader, Detail: cells.QuoteShort(word) +
				" is not @relation, @attribute or @data"}
		}
	}
}

// attribute reads the rest of a line such as
//
//	@attribute 'cut of stone' {fair, 'very good', ideal}
func (a *arffReader) attribute(rec cells.Record, rest []byte) error {
	e := sheets.Error{Line: rec.Line, Column: len(a.Names) + 1, Kind: sheets.ErrHeader}
	name, kind, ok := cutName(rest)
	if !ok {
		e.Detail, e.Advice = cells.QuoteShort(rest), "write an attribute as @attribute name type"
		return &e
	}
	e.Name = name
	if !utf8.ValidString(name) {
		e.Kind, e.Advice = sheets.ErrEncoding, sheets.Advice[sheets.ErrEncoding]
		e.Detail = cells.QuoteShort([]byte(name)) + cells.NotUTF8
		return &e
	}
	if a.taken[name] {
		e.Detail, e.Advice = "another attribute has the same name", "rename one"
		return &e
	}
	s, err := a.sinkFor(name, kind)
	if err != nil {
		e.Detail, e.Advice = err.Error(), "types are numeric, real, integer, string, date and {level, level, …}"
		return &e
	}
	if len(a.Names) == sheets.MostColumns {
		e := sheets.TooManyColumns()
		e.Line = rec.Line
		return e
	}
	a.taken[name] = true
	a.Names = append(a.Names, name)
	a.Sinks = append(a.Sinks, s)
	return nil
}

func (a *arffReader) sinkFor(name string, kind []byte) (sheets.Sink, error) {
	declared, err := a.declaredSink(name, kind)
	if a.ignored[name] {
		return nil, err
	}
	if kind, ok := sheets.DeclaredKind(a.opts, name); ok {
		return sheets.NewSink(kind, name, a.missing), err
	}
	return declared, err
}

func (a *arffReader) declaredSink(name string, kind []byte) (sheets.Sink, error) {
	if kind[0] == '{' {
		levels, err := nominalLevels(kind)
		return &sheets.ClosedSink{Into: dataset.NewCategorical(name, levels...), Missing: a.missing}, err
	}
	word, _ := cutWord(kind)
	switch strings.ToLower(string(word)) {
	case "numeric", "real", "integer":
		return &sheets.NumberSink{Into: dataset.NewNumeric(name), Missing: a.missing}, nil
	case "string":
		return sheets.NewWordSink(name, a.missing), nil
	case "date":
		return sheets.NewSink(dataset.KindText, name, a.missing), nil
	}
	return nil, fmt.Errorf("the type %s is unknown", cells.QuoteShort(kind))
}

func nominalLevels(kind []byte) ([]string, error) {
	end := bytes.LastIndexByte(kind, '}')
	if end < 0 {
		return nil, fmt.Errorf("the list of levels does not end with }")
	}
	fields, bad := splitARFF(nil, kind[1:end])
	if bad != 0 {
		return nil, fmt.Errorf("the quotes around level %d do not match", bad)
	}
	levels := make([]string, len(fields))
	for i, field := range fields {
		if !utf8.Valid(field) {
			return nil, fmt.Errorf("level %d is not UTF-8", i+1)
		}
		levels[i] = string(field)
	}
	return levels, nil
}

func (a *arffReader) readData() error {
	for {
		rec, err := a.next()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = a.addRecord(rec)
		}
		if err != nil {
			return err
		}
	}
}

func (a *arffReader) addRecord(rec cells.Record) error {
	if rec.Text[0] == '{' {
		return &sheets.Error{Line: rec.Line, Kind: sheets.ErrFormat, Detail: "sparse rows are not supported",
			Advice: "write the file with dense rows"}
	}
	if !hasARFFQuote(rec.Text) {
		return a.AddPlain(rec)
	}
	var bad int
	if a.fields, bad = splitARFF(a.fields[:0], rec.Text); bad != 0 {
		return &sheets.Error{Line: rec.Line, Column: bad, Kind: sheets.ErrQuote,
			Detail: cells.QuoteShort(rec.Text),
			Advice: `close the quote before the comma, and write quotes inside a value as \' or \"`}
	}
	return a.AddFields(rec, a.fields)
}

func hasARFFQuote(text []byte) bool {
	return bytes.IndexByte(text, '\'') >= 0 || bytes.IndexByte(text, '"') >= 0 || bytes.IndexByte(text, '\\') >= 0
}

// splitARFF appends the fields of a row to dst. If the quotes of a field do not match, bad is its number, from 1.
func splitARFF(dst [][]byte, text []byte) (fields [][]byte, bad int) {
	for {
		field, rest, ok := cutARFFField(text)
		if !ok {
			return nil, len(dst) + 1
		}
		dst = append(dst, field)
		if rest == nil {
			return dst, 0
		}
		text = rest[1:] // without the comma
	}
}

// cutARFFField returns the first field, and the rest starting at the comma, or nil if there is no comma.
func cutARFFField(text []byte) (field, rest []byte, ok bool) {
	text = cells.Trim(text)
	if len(text) == 0 || text[0] != '\'' && text[0] != '"' {
		end := cells.FieldEnd(text, 0, ',')
		return cells.Trim(text[:end]), tail(text[end:]), true
	}
	field, rest, ok = cutQuoted(text)
	rest = cells.Trim(rest)
	if !ok || len(rest) > 0 && rest[0] != ',' {
		return nil, nil, false
	}
	return field, tail(rest), true
}

func tail(text []byte) []byte {
	if len(text) == 0 {
		return nil
	}
	return text
}

// cutQuoted returns the text between the quote at the start of text and the
// next such quote, without backslashes, and the text after it.
func cutQuoted(text []byte) (inside, rest []byte, ok bool) {
	quote := text[0]
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case quote:
			return inside, text[i+1:], true
		case '\\':
			if i++; i == len(text) {
				return nil, nil, false
			}
		}
		inside = append(inside, text[i])
	}
	return nil, nil, false
}

// cutName returns the name of an attribute and its type, neither of them empty.
func cutName(text []byte) (name string, kind []byte, ok bool) {
	if len(text) == 0 {
		return "", nil, false
	}
	var word []byte
	if text[0] == '\'' || text[0] == '"' {
		word, kind, ok = cutQuoted(text)
	} else {
		end := bytes.IndexAny(text, " \t{")
		if end < 0 {
			return "", nil, false
		}
		word, kind, ok = text[:end], text[end:], true
	}
	kind = cells.Trim(kind)
	return string(word), kind, ok && len(word) > 0 && len(kind) > 0
}

// cutWord returns the text up to the first blank, and the text after it.
func cutWord(text []byte) (word, rest []byte) {
	if end := bytes.IndexAny(text, " \t"); end >= 0 {
		return text[:end], cells.Trim(text[end:])
	}
	return text, nil
}
