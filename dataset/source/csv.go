package source

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/ctxio"
)

// ReadCSV reads a table from CSV text. Fields may be quoted with ", and may
// then contain delimiters, line ends and doubled quotes; blanks around an
// unquoted field are ignored. Lines end with LF, CR LF or CR; a byte-order mark and
// blank lines are skipped, and so are lines at the end and columns without a name at
// the end that have no values.
//
// What the options do not say about the encoding, the delimiter and the marks in
// numbers is guessed from the start of the text; the table's Origin tells.
//
// The first 1000 rows decide the kind of a column: numeric if all values there
// are numbers or missing, or all but a few, otherwise categorical, or text if there are more than
// 1000 levels. If later values do not fit, that is an error, where ReadFile
// reads the file a second time with what it has learnt.
func ReadCSV(ctx context.Context, r io.Reader, opts Options) (*dataset.Table, error) {
	t, err := readCSV(ctx, r, opts, nil)
	return t, ended(ctx, err)
}

// readCSV takes the indices of columns that turned out not to be numeric.
func readCSV(ctx context.Context, r io.Reader, opts Options, notNumeric []int) (*dataset.Table, error) {
	return readDelimited(ctx, r, opts, notNumeric, ',')
}

func readTSV(ctx context.Context, r io.Reader, opts Options, notNumeric []int) (*dataset.Table, error) {
	return readDelimited(ctx, r, opts, notNumeric, '\t')
}

// readDelimited reads a text whose delimiter is the usual one if nothing tells.
func readDelimited(ctx context.Context, r io.Reader, opts Options, notNumeric []int,
	usual byte) (*dataset.Table, error) {
	c := &csvReader{}
	var err error
	if c.guesser, err = newGuesser(opts); err != nil {
		return nil, err
	}
	if c.in, err = newGuessedInput(ctxio.Reader(ctx, r), opts.Encoding, &c.style); err != nil {
		return nil, err
	}
	c.in.allow = func(buffer int64) error { return opts.allowRows(&c.rows, buffer) }
	if err := c.findDelimiter(usual); err != nil {
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
	c.describe(usual)
	return c.finish()
}

// findDelimiter takes the delimiter of the options, or of a first line such as sep=; that Excel understands, or else
// the one that the text suggests.
func (c *csvReader) findDelimiter(usual byte) (err error) {
	text := c.in.buffer[c.in.start:c.in.end]
	line, _, found := bytes.Cut(text, []byte("\n"))
	said := bytes.TrimSuffix(line, []byte("\r"))
	hint := byte(0)
	if found && len(said) == len("sep=;") && bytes.EqualFold(said[:4], []byte("sep=")) {
		hint = said[4]
		c.in.start += len(line) + 1
		c.in.line++
		text = text[len(line)+1:]
	}
	if c.comma, err = c.opts.delimiter(); err != nil || c.comma != 0 {
		return err
	}
	candidates := []byte{',', ';', '\t', '|'}
	switch {
	case hint != 0:
		candidates = []byte{hint}
	case c.opts.Decimal == ',':
		usual = ';'
	}
	if hint == 0 {
		candidates = append([]byte{usual}, slices.DeleteFunc(candidates, func(b byte) bool { return b == usual })...)
	}
	c.comma = guessDelimiter(text, c.in.done, candidates)
	return nil
}

// describe notes how the text is written, if not as programs write it.
func (c *csvReader) describe(usual byte) {
	if len(c.names) > 1 {
		c.style.Delimiter = c.comma
	}
	var parts []string
	if c.comma != usual && c.opts.Delimiter == 0 {
		parts = append(parts, "fields are separated by "+markName(c.comma))
	}
	if c.style.Decimal == ',' && c.opts.Decimal == 0 {
		parts = append(parts, "numbers have decimal commas")
	}
	if c.style.Thousands != 0 && c.opts.Thousands == 0 {
		parts = append(parts, "thousands are separated by "+markName(c.style.Thousands))
	}
	if c.style.Encoding != "" && c.opts.Encoding == "" {
		parts = append(parts, "the encoding is "+c.style.Encoding)
	}
	if len(parts) > 0 {
		c.notes = append([]string{strings.Join(parts, ", ")}, c.notes...)
	}
}

// markName is what messages call a separator.
func markName(c byte) string {
	switch c {
	case '\t':
		return "tabs"
	case ' ':
		return "blanks"
	case '\'':
		return "apostrophes"
	}
	return string(rune(c))
}

type csvReader struct {
	guesser
	in     *input
	fields [][]byte // of the current record
	empty  []record // without any value, which may be the last ones
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
	for c.in.done && c.in.start == c.in.end && len(sample) > 1 && c.isEmpty(sample[len(sample)-1].text) {
		sample = sample[:len(sample)-1]
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
					Detail: quoteShort(text[from:]),
					Advice: "close the quote before the delimiter, and write quotes inside a field twice"}
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

// checkDelimiter rejects what looks like a table with blanks between its fields, unless
// the user gave the delimiter: they separate words as well.
func (c *csvReader) checkDelimiter(sample []sampled) error {
	if c.opts.Delimiter != 0 || len(sample[0].fields) > 1 {
		return nil
	}
	count, last := 0, sample[len(sample)-1]
	for i, s := range sample {
		words := bytes.Fields(s.text)
		if i > 0 && len(words) != count {
			return nil
		}
		count = len(words)
	}
	if count < 2 || !slices.ContainsFunc(bytes.Fields(last.text),
		func(word []byte) bool { _, ok := wholeNumber(word); return ok }) {
		return nil
	}
	return &Error{Kind: ErrFormat, Line: sample[0].line,
		Detail: fmt.Sprintf("each line has as many fields if they are separated by %q, not by %q", ' ', c.comma),
		Advice: "give --sep space"}
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

// isEmpty reports whether a record consists of delimiters.
func (c *csvReader) isEmpty(text []byte) bool {
	if c.comma == ' ' || text[0] != c.comma && text[0] != ' ' {
		return false
	}
	return len(bytes.Trim(text, string([]byte{c.comma, ' '}))) == 0 && bytes.IndexByte(text, c.comma) >= 0
}

// addRecord adds a record, after those without a value before it: at the end of the text they are no rows.
func (c *csvReader) addRecord(rec record) error {
	if c.isEmpty(rec.text) {
		rec.text = slices.Clone(rec.text)
		c.empty = append(c.empty, rec)
		return nil
	}
	for _, before := range c.empty {
		if err := c.addOne(before); err != nil {
			return err
		}
	}
	c.empty = c.empty[:0]
	return c.addOne(rec)
}

func (c *csvReader) addOne(rec record) error {
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
