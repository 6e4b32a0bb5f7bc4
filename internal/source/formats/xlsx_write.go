package formats

import (
	"archive/zip"
	"bufio"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/source/cells"
	"github.com/nextbatch/nextbatch/internal/source/sheets"
)

// What a sheet can hold at most, as Excel defines it.
const (
	sheetRows    = 1 << 20
	sheetColumns = 1 << 14
	cellLength   = 1<<15 - 1 // characters of a text, as UTF-16 counts them
)

// WriteXLSX writes the table as an Excel workbook with one sheet, which ReadXLSX reads back. Its header row stays in
// view, columns are as wide as their values, and long texts are wrapped. Numbers are numbers, and a missing one is an
// empty cell; an infinite one, which Excel does not know, is text. A column whose values are all dates, or dates with
// times, written as ReadXLSX returns them has dates; everything else is text, also if it looks like a number or a
// formula. The columns of labels, which people fill in, are coloured. The same table gives the same bytes.
func WriteXLSX(w io.Writer, t *dataset.Table, labels ...string) error {
	if err := checkSheet(t); err != nil {
		return err
	}
	archive := zip.NewWriter(w)
	for _, part := range workbookParts {
		to, err := archive.Create(part.name)
		if err == nil {
			_, err = io.WriteString(to, xmlHeader+part.text)
		}
		if err != nil {
			return err
		}
	}
	to, err := archive.Create("xl/worksheets/sheet1.xml")
	if err != nil {
		return err
	}
	s := sheetWriter{to: bufio.NewWriterSize(to, bufferSize), rows: t.Rows()}
	for j, c := range t.Columns() {
		s.columns = append(s.columns, newSheetColumn(c, j, slices.Contains(labels, c.Name())))
	}
	if err := s.write(); err != nil {
		return err
	}
	return archive.Close()
}

func writeWorkbook(w io.Writer, t *dataset.Table) error { return WriteXLSX(w, t) }

// checkSheet rejects a table that a sheet cannot hold, before anything is written.
func checkSheet(t *dataset.Table) error {
	const instead = "write CSV or Parquet"
	switch {
	case t.Rows()+1 > sheetRows:
		return &sheets.Error{Kind: sheets.ErrRows,
			Detail: fmt.Sprintf("a sheet of Excel has at most %d rows, and header and table have %d",
				sheetRows, t.Rows()+1), Advice: instead}
	case len(t.Columns()) > sheetColumns:
		return &sheets.Error{Kind: sheets.ErrColumns,
			Detail: fmt.Sprintf("a sheet of Excel has at most %d, and the table has %d",
				sheetColumns, len(t.Columns())), Advice: instead}
	case len(t.Columns()) == 0:
		return &sheets.Error{Kind: sheets.ErrEmpty, Detail: "the table has no columns", Advice: "write at least one"}
	}
	return nil
}

// sheetColumn is how a column of a table becomes one of a sheet.
type sheetColumn struct {
	dataset.Column
	letters string // its name in the sheet, such as AB
	dates   dateFormat
	style   sheetStyle
	header  sheetStyle
	width   int // characters
}

const (
	widest      = 60 // characters of a column, beyond which texts are wrapped
	widthRows   = 1000
	numberWidth = 12 // Excel shows as many digits as fit
)

func newSheetColumn(c dataset.Column, number int, label bool) sheetColumn {
	s := sheetColumn{Column: c, letters: columnLetters(number), header: headerStyle, style: textStyle}
	if !label {
		s.dates = datesIn(c)
	}
	longest := 0
	for row := range min(c.Len(), widthRows) {
		longest = max(longest, utf8.RuneCountInString(c.Format(row)))
	}
	switch {
	case label:
		s.header, s.style, longest = labelHeaderStyle, labelStyle, max(longest, numberWidth)
	case c.Kind() == dataset.KindNumeric:
		s.style = numberStyle
	case s.dates == dateOnly:
		s.style = dateStyle
	case s.dates == dateTime:
		s.style = timeStyle
	case longest > widest:
		s.style = wrappedStyle
	}
	if c.Kind() == dataset.KindNumeric {
		longest = min(longest, numberWidth)
	}
	const margin = 2
	s.width = min(max(longest, utf8.RuneCountInString(c.Name())), widest) + margin
	return s
}

// columnLetters is the inverse of columnOf.
func columnLetters(column int) string {
	var letters []byte
	for column++; column > 0; column = (column - 1) / 26 {
		letters = append(letters, 'A'+byte((column-1)%26))
	}
	slices.Reverse(letters)
	return string(letters)
}

// datesIn determines whether all values of a column are dates, or all are dates with times, that will be read back as
// they are written here.
func datesIn(c dataset.Column) dateFormat {
	if c.Kind() == dataset.KindNumeric {
		return notDate
	}
	found := notDate
	for row := range c.Len() {
		if c.Missing(row) {
			continue
		}
		text := c.Format(row)
		form := dateOnly
		if len(text) > len(time.DateOnly) {
			form = dateTime
		}
		if _, ok := serial(text, form); !ok || found != notDate && found != form {
			return notDate
		}
		found = form
	}
	return found
}

// dateLayouts are those of workbook.number.
var dateLayouts = map[dateFormat]string{dateOnly: time.DateOnly, dateTime: "2006-01-02T15:04:05.999"}

// serial returns a date as Excel counts: in days. Dates before March 1900 remain text, as Excel counts a day that did
// not exist, and knows none before that year.
func serial(text string, form dateFormat) (days float64, ok bool) {
	t, err := time.Parse(dateLayouts[form], text)
	if err != nil || t.Format(dateLayouts[form]) != text || t.Before(time.Date(1900, 3, 1, 0, 0, 0, 0, time.UTC)) {
		return 0, false
	}
	const day = 24 * time.Hour
	since := t.Unix() - time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC).Unix()
	seconds := int64(day / time.Second)
	within := time.Duration(since%seconds)*time.Second + time.Duration(t.Nanosecond())
	return float64(since/seconds) + float64(within)/float64(day), true
}

// sheetWriter writes the part of an archive that is a sheet, row by row.
type sheetWriter struct {
	to      *bufio.Writer
	columns []sheetColumn
	rows    int
	buffer  []byte
}

func (s *sheetWriter) write() error {
	s.to.WriteString(xmlHeader + sheetStart + "<cols>")
	for j, c := range s.columns {
		fmt.Fprintf(s.to, `<col min="%d" max="%d" width="%d" customWidth="1"/>`, j+1, j+1, c.width)
	}
	s.to.WriteString("</cols><sheetData>")
	if err := s.writeHeader(); err != nil {
		return err
	}
	for row := range s.rows {
		if err := s.writeRow(row); err != nil {
			return err
		}
	}
	s.to.WriteString("</sheetData>")
	s.writeIgnored()
	s.to.WriteString("</worksheet>")
	return s.to.Flush() // which returns the first error of all writes
}

func (s *sheetWriter) writeHeader() (err error) {
	b := append(s.buffer[:0], `<row r="1">`...)
	for j, c := range s.columns {
		if b, err = appendText(b, c.letters, 1, c.header, c.Name()); err != nil {
			return inCell(err, 0, j, c)
		}
	}
	s.buffer = append(b, "</row>"...)
	s.to.Write(s.buffer)
	return nil
}

func (s *sheetWriter) writeRow(row int) (err error) {
	line := row + 2
	b := append(s.buffer[:0], `<row r="`...)
	b = append(strconv.AppendInt(b, int64(line), 10), `">`...)
	for j, c := range s.columns {
		if b, err = c.append(b, row, line); err != nil {
			return inCell(err, row+1, j, c)
		}
	}
	s.buffer = append(b, "</row>"...)
	_, err = s.to.Write(s.buffer)
	return err
}

// inCell adds the place of a cell to an error.
func inCell(err error, row, column int, c sheetColumn) error {
	if e, ok := err.(*sheets.Error); ok {
		e.Row, e.Column, e.Name = row, column+1, c.Name()
	}
	return err
}

// append adds the cell of a row, which stands in the given line of the sheet. A cell without a value is there only if
// it has a colour.
func (c sheetColumn) append(b []byte, row, line int) ([]byte, error) {
	if c.Missing(row) {
		if c.style != labelStyle {
			return b, nil
		}
		return append(appendCell(b, c.letters, line, c.style), "/>"...), nil
	}
	numbers, isNumber := c.Column.(*dataset.Numeric)
	var v float64
	switch {
	case isNumber:
		v = numbers.Float(row)
	case c.dates != notDate:
		v, isNumber = serial(c.Format(row), c.dates)
	}
	if !isNumber || math.IsInf(v, 0) {
		return appendText(b, c.letters, line, c.style, c.Format(row))
	}
	b = append(appendCell(b, c.letters, line, c.style), "><v>"...)
	return append(appendNumber(b, v), "</v></c>"...), nil
}

// appendNumber adds a number, without an exponent where people would use none, as it may be an id.
func appendNumber(b []byte, v float64) []byte {
	if size := math.Abs(v); size >= 1e15 || size < 1e-5 {
		return strconv.AppendFloat(b, v, 'g', -1, 64)
	}
	return strconv.AppendFloat(b, v, 'f', -1, 64)
}

// writeIgnored tells Excel that text which looks like a number is not a mistake.
func (s *sheetWriter) writeIgnored() {
	if s.rows == 0 {
		return
	}
	var b []byte
	for _, c := range s.columns {
		if c.style == textStyle {
			b = fmt.Appendf(b, `<ignoredError sqref="%s2:%s%d" numberStoredAsText="1"/>`, c.letters, c.letters, s.rows+1)
		}
	}
	if b != nil {
		fmt.Fprintf(s.to, "<ignoredErrors>%s</ignoredErrors>", b)
	}
}

// appendCell adds the start of a cell.
func appendCell(b []byte, letters string, line int, style sheetStyle) []byte {
	b = append(append(b, `<c r="`...), letters...)
	b = append(strconv.AppendInt(b, int64(line), 10), `" s="`...)
	return append(strconv.AppendInt(b, int64(style), 10), '"')
}

// appendText adds a cell with text, which is not shared with other cells, so that nothing has to be remembered.
func appendText(b []byte, letters string, line int, style sheetStyle, text string) ([]byte, error) {
	b = append(appendCell(b, letters, line, style), ` t="inlineStr"><is><t xml:space="preserve">`...)
	b, length, ok := appendEscaped(b, text)
	switch {
	case !ok:
		return b, &sheets.Error{Kind: sheets.ErrEncoding, Detail: cells.QuoteShort([]byte(text)) + cells.NotUTF8,
			Advice: "convert it"}
	case length > cellLength:
		return b,
			&sheets.Error{Kind: sheets.ErrTooLong,
				Detail: fmt.Sprintf("a cell of Excel has at most %d characters, and this text has %d",
					cellLength, length), Advice: "write CSV or Parquet"}
	}
	return append(b, "</t></is></c>"...), nil
}
