package formats

import (
	"encoding/xml"
	"fmt"
	"slices"
	"strconv"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/source/cells"
	"github.com/nextbatch/nextbatch/internal/source/sheets"
)

// sheetReader reads the rows of a sheet.
type sheetReader struct {
	sheets.Guesser
	book       *workbook
	notNumeric []int

	sample   []sheets.Sampled // until the columns are known
	size     int              // bytes of the sample
	indent   int              // columns without a value to the left of the table
	unstored map[int]int      // by column: the line of the first formula without a stored value
	since    int64            // bytes by which the columns may have grown since they were last measured

	line int    // of the row, as Excel counts
	text []byte // of the row's cells, one after the other
	ends []int  // where they end
	cell openCell
}

// openCell is what a cell is known to hold so far.
type openCell struct {
	column  int // from 0
	kind    string
	style   int
	formula bool
	value   []byte // as it is stored
	inline  []byte // a string that is not shared
	spoken  int    // elements that tell how to read it aloud
}

func (x *sheetReader) start(element string, attributes []xml.Attr) error {
	switch element {
	case "row":
		return x.startRow(attribute(attributes, "r"))
	case "c":
		return x.startCell(attributes)
	case "f":
		x.cell.formula = true
	case "rPh":
		x.cell.spoken++
	}
	return nil
}

func (x *sheetReader) startRow(number string) error {
	x.text, x.ends, x.cell.column = x.text[:0], x.ends[:0], -1
	x.line++
	if number == "" {
		return nil
	}
	line, err := strconv.Atoi(number)
	if err != nil || line < x.line {
		return damaged(fmt.Errorf("line %q comes after line %d", number, x.line-1))
	}
	x.line = line
	return nil
}

func (x *sheetReader) startCell(attributes []xml.Attr) error {
	c := &x.cell
	*c = openCell{column: c.column + 1, value: c.value[:0], inline: c.inline[:0]}
	for _, a := range attributes {
		switch a.Name.Local {
		case "r":
			column, ok := columnOf(a.Value)
			if !ok || column < c.column {
				return damaged(fmt.Errorf("line %d has a cell %q in the wrong place", x.line, a.Value))
			}
			c.column = column
		case "s":
			c.style, _ = strconv.Atoi(a.Value) // an unknown style says nothing about dates
		case "t":
			c.kind = a.Value
		}
	}
	if c.column >= sheets.MostColumns {
		return sheets.TooManyColumns()
	}
	return nil
}

// columnOf returns the column, from 0, of a cell's name, such as AB12.
func columnOf(name string) (column int, ok bool) {
	for i := 0; i < len(name) && name[i] >= 'A' && name[i] <= 'Z'; i++ {
		if column = 26*column + int(name[i]-'A') + 1; column > sheets.MostColumns {
			return 0, false
		}
	}
	return column - 1, column > 0
}

func (x *sheetReader) end(element string, text []byte) error {
	c := &x.cell
	switch element {
	case "v":
		c.value = append(c.value, text...)
	case "t":
		if c.spoken == 0 {
			c.inline = append(c.inline, text...)
		}
	case "rPh":
		c.spoken--
	case "c":
		return x.endCell()
	case "row":
		return x.endRow()
	}
	return nil
}

// endCell adds the text of the cell to the row.
func (x *sheetReader) endCell() error {
	value, err := x.cellText()
	if err != nil {
		return err
	}
	if value = cells.Trim(value); len(value) == 0 {
		return nil
	}
	if len(x.text)+len(value) > maxRecord { // many cells may share a long string
		return &sheets.Error{Line: x.line, Column: x.cell.column + 1, Kind: sheets.ErrTooLong,
			Detail: fmt.Sprintf("over %d MiB", maxRecord>>20), Advice: "check that it is the right sheet"}
	}
	for len(x.ends) < x.cell.column {
		x.ends = append(x.ends, len(x.text))
	}
	x.text = append(x.text, value...)
	x.ends = append(x.ends, len(x.text))
	return nil
}

// cellText returns the value of the cell as text.
func (x *sheetReader) cellText() ([]byte, error) {
	c := &x.cell
	switch {
	case c.kind == "inlineStr":
		return unescaped(c.inline), nil
	case len(c.value) == 0:
		if _, known := x.unstored[c.column]; c.formula && c.kind != "str" && !known { // a formula may well give an empty text
			x.unstored[c.column] = x.line
		}
		return nil, nil
	case c.kind == "s":
		i, err := strconv.Atoi(string(cells.Trim(c.value)))
		text, ok := x.book.strings.at(i)
		if err != nil || !ok {
			return nil, &sheets.Error{Line: x.line, Column: c.column + 1, Kind: sheets.ErrRead,
				Detail: "there is no shared string " + cells.QuoteShort(c.value), Advice: "check that the file is complete"}
		}
		return unescaped(text), nil
	case c.kind == "str":
		return unescaped(c.value), nil
	case c.kind == "" || c.kind == "n":
		return x.book.number(c.value, c.style), nil
	}
	return c.value, nil // a date in ISO 8601, a truth value, or an error
}

// endRow adds the row to the sample or to the columns.
func (x *sheetReader) endRow() error {
	if len(x.ends) == 0 {
		return nil
	}
	text := x.text
	if x.Sinks == nil {
		text = slices.Clone(text)
	}
	fields := make([][]byte, len(x.ends))
	start := 0
	for i, end := range x.ends {
		fields[i] = text[start:end]
		start = end
	}
	row := sheets.Sampled{Record: cells.Record{Text: text, Line: x.line}, Fields: fields}
	if x.Sinks != nil {
		return x.addRow(row)
	}
	const header = 24 // bytes of a slice
	x.sample = append(x.sample, row)
	if x.size += len(text) + header*len(fields); len(x.sample) <= sheets.SampleRows && x.size < sheets.SampleBytes {
		return nil
	}
	return x.openSample()
}

// openSample decides what the columns are, and adds the rows of the sample.
func (x *sheetReader) openSample() error {
	x.indent = sheets.MostColumns
	for _, s := range x.sample {
		x.indent = min(x.indent, slices.IndexFunc(s.Fields, func(f []byte) bool { return len(f) > 0 }))
	}
	width := len(x.sample[0].Fields) - x.indent
	for i, s := range x.sample {
		var err error
		if x.sample[i].Fields, err = x.fit(s, width); err != nil {
			return err
		}
	}
	err := x.Open(x.sample, x.notNumeric)
	x.sample = nil
	return err
}

func (x *sheetReader) addRow(row sheets.Sampled) error {
	fields, err := x.fit(row, len(x.Names))
	if err != nil {
		return err
	}
	if err := x.AddFields(row.Record, fields); err != nil {
		return err
	}
	const often = 1 << 20
	if x.since += int64(len(row.Text) + 8*len(fields)); x.since < often {
		return nil
	}
	x.since = 0
	return sheets.AllowRows(x.Opts, &x.Rows, int64(cap(row.Text)))
}

// fit returns the fields of the columns; those at the end of a row may be absent.
func (x *sheetReader) fit(row sheets.Sampled, width int) ([][]byte, error) {
	fields := row.Fields
	stray := slices.IndexFunc(fields[:min(x.indent, len(fields))], func(f []byte) bool { return len(f) > 0 })
	if len(fields) > x.indent+width {
		stray = x.indent + width
	}
	if stray >= 0 {
		return nil, &sheets.Error{Line: row.Line, Column: stray + 1, Kind: sheets.ErrRagged,
			Detail: cells.QuoteShort(fields[stray]) +
				" is outside of the table",
			Advice: "let the first row with values hold the names of all columns, and remove what stands above or beside the " +
				"table"}
	}
	fields = fields[min(x.indent, len(fields)):]
	for len(fields) < width {
		fields = append(fields, nil)
	}
	return fields, nil
}

// complete returns the table.
func (x *sheetReader) complete() (*dataset.Table, error) {
	if len(x.sample) > 0 {
		if err := x.openSample(); err != nil {
			return nil, err
		}
	}
	if x.Names == nil {
		return nil, &sheets.Error{Kind: sheets.ErrEmpty, Detail: "the sheet is empty",
			Advice: "check that it is the right sheet"}
	}
	for j, s := range x.Sinks {
		if line, found := x.unstored[j+x.indent]; found && s != nil {
			return nil, &sheets.Error{Line: line, Column: j + 1, Name: x.Names[j], Kind: sheets.ErrFormula,
				Advice: "open the workbook in Excel or LibreOffice and save it, so that values are stored with formulas"}
		}
	}
	if err := sheets.AllowRows(x.Opts, &x.Rows, 0); err != nil {
		return nil, err
	}
	return x.Finish()
}
