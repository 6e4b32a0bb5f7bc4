package formats

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/ctxio"
	"github.com/nextbatch/nextbatch/internal/options"
	"github.com/nextbatch/nextbatch/internal/source/cells"
	"github.com/nextbatch/nextbatch/internal/source/sheets"
)

// ReadCSV reads a table from CSV text.
func ReadCSV(ctx context.Context, r io.Reader, opts sheets.Options) (*dataset.Table, error) {
	t, err := readCSV(ctx, r, opts, nil)
	return t, ended(ctx, sheets.Worded(err, opts))
}

// readCSV takes the indices of columns that turned out not to be numeric.
func readCSV(ctx context.Context, r io.Reader, opts sheets.Options, notNumeric []int) (*dataset.Table, error) {
	return readDelimited(ctx, r, opts, notNumeric, ',')
}

func readTSV(ctx context.Context, r io.Reader, opts sheets.Options, notNumeric []int) (*dataset.Table, error) {
	return readDelimited(ctx, r, opts, notNumeric, '\t')
}

// readDelimited reads a text whose delimiter is the usual one if nothing tells.
func readDelimited(ctx context.Context, r io.Reader, opts sheets.Options, notNumeric []int,
	usual byte) (*dataset.Table, error) {
	c := &csvReader{}
	var err error
	if c.Guesser, err = sheets.NewGuesser(opts); err != nil {
		return nil, err
	}
	if c.in, err = newGuessedInput(ctxio.Reader(ctx, r), opts.Encoding, &c.Style); err != nil {
		return nil, err
	}
	c.in.allow = func(buffer int64) error { return sheets.AllowRows(opts, &c.Rows, buffer) }
	if err := c.findDelimiter(usual); err != nil {
		return nil, err
	}
	sample, err := c.readSample()
	if err != nil {
		return nil, err
	}
	if err := c.Open(sample, notNumeric); err != nil {
		return nil, err
	}
	if err := c.readRest(); err != nil {
		return nil, err
	}
	c.describe(usual)
	return c.Finish()
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
	if c.Comma, err = separatorOf(c.Opts); err != nil || c.Comma != 0 {
		return err
	}
	candidates := []byte{',', ';', '\t', '|'}
	switch {
	case hint != 0:
		candidates = []byte{hint}
	case c.Opts.Decimal == ',':
		usual = ';'
	}
	if hint == 0 {
		candidates = append([]byte{usual}, slices.DeleteFunc(candidates, func(b byte) bool { return b == usual })...)
	}
	c.Comma = guessDelimiter(text, c.in.done, candidates)
	return nil
}

// describe notes how the text is written, if not as programs write it.
func (c *csvReader) describe(usual byte) {
	if len(c.Names) > 1 {
		c.Style.Delimiter = c.Comma
	}
	var parts []string
	if c.Comma != usual && c.Opts.Delimiter == 0 {
		parts = append(parts, "fields are separated by "+markName(c.Comma))
	}
	if c.Style.Decimal == ',' && c.Opts.Decimal == 0 {
		parts = append(parts, "numbers have decimal commas")
	}
	if c.Style.Thousands != 0 && c.Opts.Thousands == 0 {
		parts = append(parts, "thousands are separated by "+markName(c.Style.Thousands))
	}
	if c.Style.Encoding != "" && c.Opts.Encoding == "" {
		parts = append(parts, "the encoding is "+c.Style.Encoding)
	}
	if len(parts) > 0 {
		c.Notes = append([]string{strings.Join(parts, ", ")}, c.Notes...)
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
	sheets.Guesser
	in     *input
	fields [][]byte       // of the current record
	empty  []cells.Record // without any value, which may be the last ones
}

// readSample reads the first rows, from which to guess the header and the kinds.
func (c *csvReader) readSample() ([]sheets.Sampled, error) {
	var sample []sheets.Sampled
	for size := 0; len(sample) <= sheets.SampleRows && size < sheets.SampleBytes; {
		rec, err := c.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		rec.Text = slices.Clone(rec.Text)
		fields, err := c.split(rec)
		if err != nil {
			return nil, err
		}
		sample = append(sample, sheets.Sampled{Record: rec, Fields: slices.Clone(fields)})
		size += len(rec.Text)
	}
	for c.in.done && c.in.start == c.in.end && len(sample) > 1 && c.isEmpty(sample[len(sample)-1].Text) {
		sample = sample[:len(sample)-1]
	}
	if len(sample) == 0 {
		return nil, &sheets.Error{Kind: sheets.ErrEmpty, Advice: "check that it is the right file"}
	}
	return sample, c.checkDelimiter(sample)
}

// next returns the next record that is not blank.
func (c *csvReader) next() (cells.Record, error) {
	blank := 0
	for {
		rec, err := c.in.next(c.recordEnd)
		if c.Comma == ' ' {
			rec.Text = squeezed(rec.Text)
		}
		if err != nil || len(rec.Text) > 0 {
			rec.Blank = blank
			return rec, err
		}
		blank = rec.Line
	}
}

// recordEnd finds the line feed that ends the record, ignoring those between quotes.
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
		n := indexEither(text[from:], c.Comma, '\n')
		if n < 0 {
			return -1
		}
		at = from + n
		if text[at] == '\n' {
			return at
		}
	}
}

// skipToQuote reports whether the field at the given position is quoted, and where its quote is.
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

// split splits a record into fields, which share its memory. The slice is reused for the next record.
func (c *csvReader) split(rec cells.Record) ([][]byte, error) {
	c.fields = c.fields[:0]
	text := rec.Text
	for at := 0; at <= len(text); {
		if len(c.fields) == sheets.MostColumns {
			e := sheets.TooManyColumns()
			e.Line = rec.Line
			return nil, e
		}
		from, quoted := skipToQuote(text, at)
		end := cells.FieldEnd(text, from, c.Comma)
		field := cells.Trim(text[from:end])
		if quoted {
			var ok bool
			if field, end, ok = c.unquote(text, from+1); !ok {
				return nil, &sheets.Error{Line: rec.Line, Column: len(c.fields) + 1, Kind: sheets.ErrQuote,
					Detail: cells.QuoteShort(text[from:]),
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
	end = cells.FieldEnd(text, quote+1, c.Comma)
	if len(cells.Trim(text[quote+1:end])) > 0 {
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
		case cells.IsBlank(b) && !quoted:
			if starts {
				continue
			}
			b = ' '
		}
		to = append(to, b)
	}
	if !quoted {
		to = cells.Trim(to)
	}
	return to
}

// checkDelimiter rejects what looks like a table with blanks between its fields, unless
// the user gave the delimiter: they separate words as well.
func (c *csvReader) checkDelimiter(sample []sheets.Sampled) error {
	if c.Opts.Delimiter != 0 || len(sample[0].Fields) > 1 {
		return nil
	}
	count, last := 0, sample[len(sample)-1]
	for i, s := range sample {
		words := bytes.Fields(s.Text)
		if i > 0 && len(words) != count {
			return nil
		}
		count = len(words)
	}
	if count < 2 || !slices.ContainsFunc(bytes.Fields(last.Text),
		func(word []byte) bool { _, ok := cells.WholeNumber(word); return ok }) {
		return nil
	}
	return &sheets.Error{Kind: sheets.ErrFormat, Line: sample[0].Line,
		Detail: fmt.Sprintf("each line has as many fields if they are separated by %q, not by %q", ' ', c.Comma),
		Hints:  []options.Hint{{Before: "give ", Option: "Delimiter", Value: []string{" "}}}}
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
	if c.Comma == ' ' || text[0] != c.Comma && text[0] != ' ' {
		return false
	}
	return len(bytes.Trim(text, string([]byte{c.Comma, ' '}))) == 0 && bytes.IndexByte(text, c.Comma) >= 0
}

// addRecord adds a record, after those without a value before it: at the end of the text they are not rows.
func (c *csvReader) addRecord(rec cells.Record) error {
	if c.isEmpty(rec.Text) {
		rec.Text = slices.Clone(rec.Text)
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

func (c *csvReader) addOne(rec cells.Record) error {
	if err := c.CheckBlank(rec); err != nil {
		return err
	}
	if bytes.IndexByte(rec.Text, '"') < 0 {
		return c.AddPlain(rec)
	}
	fields, err := c.split(rec)
	if err != nil {
		return err
	}
	return c.AddFields(rec, fields)
}

// separatorOf rejects characters that cannot separate fields: parts of numbers
// and words, quotes and line ends. It is 0 if it is to be guessed.
func separatorOf(o sheets.Options) (byte, error) {
	d := o.Delimiter
	if d == 0 {
		return 0, nil
	}
	if d >= utf8.RuneSelf || unicode.IsLetter(rune(d)) || unicode.IsDigit(rune(d)) ||
		strings.IndexByte("\"\r\n.+-", d) >= 0 {
		return 0, &sheets.Error{Kind: sheets.ErrFormat, Detail: fmt.Sprintf("%q cannot be the delimiter", d),
			Advice: "use a comma, semicolon, tab, bar or blank"}
	}
	return d, nil
}
