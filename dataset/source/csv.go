package source

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"

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
	in, err := newInput(ctxio.Reader(ctx, r), opts.Encoding)
	if err != nil {
		return nil, err
	}
	c := &csvReader{in: in}
	in.allow = func(buffer int64) error { return opts.allowRows(&c.rows, buffer) }
	if c.guesser, err = newGuesser(opts); err != nil {
		return nil, err
	}
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
	guesser
	in     *input
	fields [][]byte // of the current record
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
		if c.comma == ' ' {
			rec.text = squeezed(rec.text)
		}
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

// squeezed leaves one blank between the fields of a record, in place.
func squeezed(text []byte) []byte {
	to, quoted := text[:0], false
	for _, b := range text {
		starts := len(to) == 0 || to[len(to)-1] == ' ' && !quoted
		switch {
		case b == '"' && (quoted || starts):
			quoted = !quoted
		case isBlank(b) && !quoted:
			if starts {
				continue
			}
			b = ' '
		}
		to = append(to, b)
	}
	if !quoted {
		to = trim(to)
	}
	return to
}

// checkDelimiter rejects what looks like a table with another delimiter, unless
// the user gave the delimiter.
func (c *csvReader) checkDelimiter(sample []sampled) error {
	count := len(sample[0].fields)
	if c.opts.Delimiter != 0 || count > 1 && !slices.ContainsFunc(sample, func(s sampled) bool { return len(s.fields) != count }) {
		return nil
	}
	for _, other := range []byte{',', ';', '\t', '|', ' '} {
		if other != c.comma && c.separates(other, sample) {
			return &Error{Kind: ErrFormat, Line: sample[0].line,
				Detail: fmt.Sprintf("each line has as many fields if they are separated by %q, not by %q", other, c.comma),
				Advice: "give " + sepFlag(other)}
		}
	}
	return nil
}

// separates reports whether the rows have equally many fields with the
// delimiter. With blanks, which separate words as well, one of the last must
// be a number.
func (c *csvReader) separates(delimiter byte, sample []sampled) bool {
	if delimiter == ' ' {
		count, last := 0, sample[len(sample)-1]
		for i, s := range sample {
			words := bytes.Fields(s.text)
			if i > 0 && len(words) != count {
				return false
			}
			count = len(words)
		}
		return count > 1 && slices.ContainsFunc(bytes.Fields(last.text), c.isNumber)
	}
	count := bytes.Count(sample[0].text, []byte{delimiter})
	return count > 0 && !slices.ContainsFunc(sample, func(s sampled) bool { return bytes.Count(s.text, []byte{delimiter}) != count })
}

// sepFlag is the flag that declares the delimiter.
func sepFlag(delimiter byte) string {
	switch delimiter {
	case '\t':
		return "--sep tab"
	case ' ':
		return "--sep space"
	}
	return fmt.Sprintf("--sep '%c'", delimiter)
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
