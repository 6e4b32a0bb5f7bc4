package source

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/ctxio"
)

// ReadCSV reads a table from CSV text. Fields may be quoted with ", and may
// then contain delimiters, line ends and doubled quotes; blanks around an
// unquoted field are ignored. Lines end with LF or CR LF; a byte-order mark and
// blank lines are skipped.
//
// The first 1000 rows decide the kind of a column: numeric if all values there
// are numbers or missing, otherwise categorical, or text if there are more than
// 1000 levels. A later value that does not fit is an error, where ReadFile
// reads the file a second time with what it has learnt.
func ReadCSV(ctx context.Context, r io.Reader, opts Options) (*dataset.Table, error) {
	t, err := readCSV(ctx, r, opts, nil)
	return t, ended(ctx, err)
}

// readCSV takes the indices of columns that turned out not to be numeric.
func readCSV(ctx context.Context, r io.Reader, opts Options, notNumeric []int) (*dataset.Table, error) {
	in, err := newInput(ctxio.Reader(ctx, r))
	if err != nil {
		return nil, err
	}
	c := &csvReader{in: in, opts: opts, missing: opts.missingSet(DefaultMissing())}
	in.allow = func(buffer int64) error { return opts.allowRows(&c.rows, buffer) }
	c.choice = opts.Choice.restart()
	if c.comma, err = opts.delimiter(); err != nil {
		return nil, err
	}
	sample, err := c.readSample()
	if err != nil {
		return nil, err
	}
	if err := c.open(sample, notNumeric); err != nil {
		return nil, err
	}
	if err := c.readRest(); err != nil {
		return nil, err
	}
	if c.late != nil {
		return nil, c.late
	}
	return opts.withIDs(c.table())
}

type csvReader struct {
	rows
	in      *input
	opts    Options
	missing map[string]bool
	fields  [][]byte // of the current record
}

const (
	sampleRows  = 1000
	sampleBytes = 8 << 20
)

// sampled is a copy of a record and of its fields.
type sampled struct {
	record
	fields [][]byte
}

// readSample reads the first rows, from which to guess the header and the kinds.
func (c *csvReader) readSample() ([]sampled, error) {
	var sample []sampled
	for size := 0; len(sample) <= sampleRows && size < sampleBytes; {
		rec, err := c.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		rec.text = slices.Clone(rec.text)
		fields, err := c.split(rec)
		if err != nil {
			return nil, err
		}
		sample = append(sample, sampled{rec, slices.Clone(fields)})
		size += len(rec.text)
	}
	if len(sample) == 0 {
		return nil, &Error{Kind: ErrEmpty, Advice: "check that it is the right file"}
	}
	return sample, c.checkDelimiter(sample)
}

// next returns the next record that is not blank.
func (c *csvReader) next() (record, error) {
	blank := 0
	for {
		rec, err := c.in.next(c.recordEnd)
		if err != nil || len(rec.text) > 0 {
			rec.blank = blank
			return rec, err
		}
		blank = rec.line
	}
}

// recordEnd finds the line feed that ends the record, ignoring those between
// quotes.
func (c *csvReader) recordEnd(text []byte) int {
	end := bytes.IndexByte(text, '\n')
	if end < 0 || bytes.IndexByte(text[:end], '"') < 0 {
		return end
	}
	for at := 0; ; at++ {
		from, quoted := skipToQuote(text, at)
		if quoted {
			if from = closingQuote(text, from+1); from < 0 {
				return -1
			}
		}
		n := indexEither(text[from:], c.comma, '\n')
		if n < 0 {
			return -1
		}
		at = from + n
		if text[at] == '\n' {
			return at
		}
	}
}

// skipToQuote reports whether the field at the given position is quoted, and
// where its quote is.
func skipToQuote(text []byte, at int) (int, bool) {
	quote := at
	for quote < len(text) && text[quote] == ' ' {
		quote++
	}
	if quote < len(text) && text[quote] == '"' {
		return quote, true
	}
	return at, false
}

// closingQuote returns the position of the quote that ends a field, or -1 if
// there is none or if the text ends with it, so that another may follow.
func closingQuote(text []byte, from int) int {
	for {
		n := bytes.IndexByte(text[from:], '"')
		at := from + n
		if n < 0 || at+1 == len(text) {
			return -1
		}
		if text[at+1] != '"' {
			return at
		}
		from = at + 2
	}
}

func indexEither(text []byte, a, b byte) int {
	for i, c := range text {
		if c == a || c == b {
			return i
		}
	}
	return -1
}

// split splits a record into fields, which share its memory. The slice is
// reused for the next record.
func (c *csvReader) split(rec record) ([][]byte, error) {
	c.fields = c.fields[:0]
	text := rec.text
	for at := 0; at <= len(text); {
		if len(c.fields) == mostColumns {
			e := tooManyColumns()
			e.Line = rec.line
			return nil, e
		}
		from, quoted := skipToQuote(text, at)
		end := fieldEnd(text, from, c.comma)
		field := trim(text[from:end])
		if quoted {
			var ok bool
			if field, end, ok = c.unquote(text, from+1); !ok {
				return nil, &Error{Line: rec.line, Column: len(c.fields) + 1, Kind: ErrQuote,
					Detail: quoteShort(text[from:]), Advice: "close the quote before the delimiter, and write quotes inside a field twice"}
			}
		}
		c.fields = append(c.fields, field)
		at = end + 1
	}
	return c.fields, nil
}

// unquote returns the field whose opening quote is just before the given
// position, and where it ends: at a delimiter or at the end of the text.
func (c *csvReader) unquote(text []byte, from int) (field []byte, end int, ok bool) {
	quote := closingQuote(text, from)
	if quote < 0 {
		if quote = len(text) - 1; !closes(text[from:]) {
			return nil, 0, false
		}
	}
	end = fieldEnd(text, quote+1, c.comma)
	if len(trim(text[quote+1:end])) > 0 {
		return nil, 0, false
	}
	field = text[from:quote]
	if bytes.IndexByte(field, '"') >= 0 {
		field = bytes.ReplaceAll(field, []byte(`""`), []byte(`"`))
	}
	return field, end, true
}

// closes reports whether text, which has no single quote inside, ends with one:
// the number of quotes at its end is then odd.
func closes(text []byte) bool {
	return (len(text)-len(bytes.TrimRight(text, `"`)))%2 == 1
}

// checkDelimiter refuses what looks like a table with another delimiter, which
// would be read as a single column of text, unless the user gave the delimiter.
func (c *csvReader) checkDelimiter(sample []sampled) error {
	if c.opts.Delimiter != 0 || len(sample[0].fields) > 1 {
		return nil
	}
	for _, other := range []byte{',', ';', '\t', '|'} {
		count := bytes.Count(sample[0].text, []byte{other})
		same := func(s sampled) bool { return bytes.Count(s.text, []byte{other}) == count }
		if other != c.comma && count > 0 && !slices.ContainsFunc(sample, func(s sampled) bool { return !same(s) }) {
			return &Error{Kind: ErrFormat, Line: sample[0].line,
				Detail: fmt.Sprintf("each row is one field that contains %q", other),
				Advice: fmt.Sprintf("the delimiter seems to be %q, not %q: save the file with commas, or as .tsv with tabs", other, c.comma)}
		}
	}
	return nil
}

// open decides on header and kinds, and adds the rows of the sample.
func (c *csvReader) open(sample []sampled, notNumeric []int) error {
	body := sample
	if c.opts.Header == HeaderPresent || c.opts.Header == HeaderGuess && c.looksLikeHeader(sample) {
		body = sample[1:]
	}
	if err := c.nameColumns(sample[0], len(body) < len(sample)); err != nil {
		return err
	}
	if err := c.opts.check(c.names); err != nil {
		return err
	}
	c.sinks = make([]sink, len(c.names))
	words := make([]bool, len(c.names))
	for _, j := range notNumeric {
		if j < len(words) {
			words[j] = true
		}
	}
	for j, name := range c.names {
		c.sinks[j] = c.sinkFor(name, !words[j] && c.numericIn(body, j))
	}
	for _, s := range body {
		if err := c.checkBlank(s.record); err != nil {
			return err
		}
		if err := c.addFields(s.record, s.fields); err != nil {
			return err
		}
	}
	return nil
}

// checkBlank refuses a blank line before a record of a single column: it could
// be a line to skip or a missing value.
func (c *csvReader) checkBlank(rec record) error {
	if len(c.names) > 1 || rec.blank == 0 {
		return nil
	}
	return &Error{Line: rec.blank, Column: 1, Name: c.names[0], Kind: ErrBlank,
		Advice: `remove it, or write "" for a missing value`}
}

func (c *csvReader) nameColumns(first sampled, header bool) error {
	at := make(map[string]int, len(first.fields))
	for j, field := range first.fields {
		name := "column" + strconv.Itoa(j)
		if header && len(field) > 0 {
			name = string(field)
		}
		e := Error{Line: first.line, Column: j + 1, Name: name}
		if !utf8.ValidString(name) {
			e.Kind, e.Advice = ErrEncoding, advice[ErrEncoding]
			return &e
		}
		if other, taken := at[name]; taken {
			e.Kind, e.Detail = ErrHeader, fmt.Sprintf("column %d has the same name", other+1)
			e.Advice = "rename one"
			return &e
		}
		at[name] = j
		c.names = append(c.names, name)
	}
	return nil
}

func (c *csvReader) sinkFor(name string, numeric bool) sink {
	kind, declared := c.opts.kind(name)
	switch {
	case slices.Contains(c.opts.Ignore, name):
		return nil
	case kind == dataset.KindText:
		return newSink(kind, name, nil) // NA may be an id
	case declared:
		return newSink(kind, name, c.missing)
	case numeric:
		return &numberSink{into: dataset.NewNumeric(name), missing: c.missing, guessed: true}
	}
	return newWordSink(name, c.missing)
}

// numericIn reports whether all values of the column are numbers or missing.
func (c *csvReader) numericIn(sample []sampled, column int) bool {
	for _, s := range sample {
		if column < len(s.fields) && !c.isNumber(s.fields[column]) && !c.missing[string(s.fields[column])] {
			return false
		}
	}
	return true
}

func (c *csvReader) isNumber(field []byte) bool {
	_, ok := wholeNumber(field)
	return ok
}

func (c *csvReader) looksLikeHeader(sample []sampled) bool {
	first, rest := sample[0].fields, sample[1:]
	anyNumber := false
	for j, field := range first {
		if c.isNumber(field) {
			anyNumber = true
		} else if len(rest) > 0 && !c.missing[string(field)] && c.numericIn(rest, j) {
			return true
		}
	}
	return !anyNumber || countsUp(first)
}

// countsUp recognises the header that pandas gives to unnamed columns: 0, 1, 2,
// … after an empty name if the index is included.
func countsUp(fields [][]byte) bool {
	if len(fields[0]) == 0 {
		fields = fields[1:]
	}
	for j, field := range fields {
		if string(field) != strconv.Itoa(j) {
			return false
		}
	}
	return len(fields) > 2 // 0,1 may well be a row of data
}

func (c *csvReader) readRest() error {
	for {
		rec, err := c.next()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = c.addRecord(rec)
		}
		if err != nil {
			return err
		}
	}
}

func (c *csvReader) addRecord(rec record) error {
	if err := c.checkBlank(rec); err != nil {
		return err
	}
	if bytes.IndexByte(rec.text, '"') < 0 {
		return c.addPlain(rec)
	}
	fields, err := c.split(rec)
	if err != nil {
		return err
	}
	return c.addFields(rec, fields)
}
