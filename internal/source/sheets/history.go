package sheets

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/source/cells"
)

// asBefore returns how the numbers of a column are written, given how those of its labels so far were.
func (o Options) asBefore(name string, s cells.Signs, n cells.Numerals,
	stored bool) (decided cells.Numerals, warnings []string, err error) {
	h := o.history(name)
	if h == nil || o.Decimal != 0 || o.Thousands != 0 {
		return n, nil, nil
	}
	decided, said, sure := cells.Decide(h, s, n, stored)
	if !sure {
		return n, nil, o.ambiguous(name, s, h.Mark())
	}
	if said != "" {
		//warning:labels-so-far
		warnings = []string{fmt.Sprintf("column %q: %s, as the labels so far are", name, said)}
	}
	return decided, warnings, nil
}

// ambiguous is the error about a column of labels whose numbers may be over a thousand or have a decimal mark.
func (o Options) ambiguous(name string, s cells.Signs, decimal byte) *Error {
	mark, advice := s.Uncertain(), ""
	groups, digits := cells.Grouping(mark), cells.Numerals{Decimal: mark}
	large, _ := groups.Number([]byte(s.Example))
	small, _ := digits.Number([]byte(s.Example))
	if setting := o.setting("Decimal", string(rune(mark))); setting != "" {
		advice = fmt.Sprintf("; %s says that it is a decimal mark, %s that it is not", setting,
			o.setting("Decimal", string(rune(groups.Decimal))))
	}
	return &Error{Kind: ErrMark, Name: name,
		Detail: fmt.Sprintf("%s in column %q may be %v or %v, and the labels so far do not tell",
			s.Example, name, large, small),
		Advice: fmt.Sprintf("write numbers without marks of thousands, and with %q before decimals", decimal) + advice}
}

// Labels is a column of labels as PlainNumbers reads it.
type Labels struct {
	Plain    *dataset.Text // numbers as programs write them, and other cells as they are
	Unit     string        // of the numbers, if the history has no labels and the cells say it
	Warnings []string
}

// PlainNumbers returns a column of labels as text in which numbers are written as programs do, with < or > before a
// limit, and missing ones are empty.
func PlainNumbers(c dataset.Column, opts Options, origin dataset.Origin) (Labels, error) {
	s := cells.Signs{}
	for row := range c.Len() {
		s.See([]byte(c.Format(row)))
	}
	n := s.NumeralsOf(opts.Decimal, origin.Decimal, origin.Stored)
	n.Thousands = cmp.Or(opts.Thousands, n.Thousands)
	t := newTally(c.Name(), opts)
	t.Label = true
	read := Labels{Plain: dataset.NewText(c.Name())}
	n, said, err := opts.asBefore(c.Name(), s, n, origin.Stored)
	if err != nil {
		return read, err
	}
	read.Warnings = append(read.Warnings, said...)
	numbers := dataset.NewNumeric(c.Name())
	for row := range c.Len() {
		text := c.Format(row)
		if text == "" || slices.Contains(opts.Missing, text) {
			read.Plain.Append(nil)
			numbers.Append(math.NaN())
			continue
		}
		before := t.Words.Total + t.Beyond.Total + t.Unclear.Total
		v := t.Number(&n, []byte(text), cells.Record{Line: origin.Lines.Of(row)}, row)
		numbers.Append(v)
		switch {
		case t.Words.Total+t.Beyond.Total+t.Unclear.Total > before:
			read.Plain.Append([]byte(text))
		case math.IsNaN(v):
			read.Plain.Append(nil)
		default:
			read.Plain.Append(strconv.AppendFloat([]byte(cells.SignOf[t.Sides[row]]), v, 'g', -1, 64))
		}
	}
	if detail, advice := t.UnitFault(numbers); detail != "" {
		return read, &Error{Kind: ErrUnit, Line: t.Beside.Line, Name: c.Name(),
			Detail: fmt.Sprintf("column %q: %s", c.Name(), detail), Advice: advice}
	}
	if !t.Known {
		read.Unit = t.Unit
	}
	t.Words, t.Marks, t.Unclear = cells.Spellings{}, cells.Spellings{}, cells.Spellings{}
	warnings, _ := t.Remarks(numbers, nil, opts.setting)
	read.Warnings = append(read.Warnings, warnings...)
	return read, nil
}

// history returns what is known of a column of labels; nil if nothing is.
func (o Options) history(column string) *dataset.History {
	if o.History == nil {
		return nil
	}
	return o.History(column)
}

// newTally returns the tally of a column, with its unit if the name or the labels so far say it.
func newTally(name string, o Options) *cells.Tally {
	t := &cells.Tally{Censored: o.Censored, Unit: dataset.HeaderUnit(name), Label: o.Label != nil && o.Label(name),
		Lod: o.lodOf(name), Returned: o.history(name) != nil}
	t.Known = t.Unit != ""
	if h := o.history(name); h != nil && (h.Labels > 0 || h.Unit != "") {
		t.Unit, t.History, t.Known = cmp.Or(h.Unit, t.Unit), t.Unit == "", true
	}
	return t
}
