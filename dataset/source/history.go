package source

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/nextbatch/nextbatch/dataset"
)

// decide returns how the numbers of a column are written, where 1,234 or 1.234 may be over a thousand or have a decimal
// mark: as the sizes of others say. Said tells how that is, if the file itself suggests something else. Where the
// others cannot say it, it returns false.
func decide(h *dataset.History, s signs, n numerals, stored bool) (decided numerals, said string, ok bool) {
	if stored {
		s.maybePoint = 0 // as programs write numbers
	}
	mark := s.uncertain()
	decimal := n.decimal == mark
	switch {
	case mark == 0, n.typed != nil:
		return n, "", true
	case s.maybeComma > 0 && s.maybePoint > 0: // one of them is a decimal mark
		return n, "", s.decimal() != 0 && h.Like(s.low, 1000*s.high)
	case decimal && h.Mark() == mark, !decimal && n.thousands != mark:
		return n, "", true
	}
	fitsDecimal, fitsGroups := h.Like(s.low, s.high), h.Like(1000*s.low, 1000*s.high)
	certain := s.decimal() != 0 && !stored
	switch {
	case decimal && fitsDecimal && !fitsGroups, !decimal && fitsGroups && !fitsDecimal, certain &&
		fitsDecimal == fitsGroups:
		return n, "", true
	case certain || fitsDecimal == fitsGroups:
		return n, "", false
	case decimal:
		return grouping(mark), s.example + " is over a thousand", true
	case stored:
		return numerals{decimal: '.', typed: &numerals{decimal: mark}}, s.example + " has a decimal mark", true
	}
	return numerals{decimal: mark}, s.example + " has a decimal mark", true
}

// asBefore returns how the numbers of a column are written, given how those of its labels so far were.
func (o Options) asBefore(name string, s signs, n numerals,
	stored bool) (decided numerals, warnings []string, err error) {
	h := o.history(name)
	if h == nil || o.Decimal != 0 || o.Thousands != 0 {
		return n, nil, nil
	}
	decided, said, sure := decide(h, s, n, stored)
	if !sure {
		return n, nil, o.ambiguous(name, s, h.Mark())
	}
	if said != "" {
		warnings = []string{fmt.Sprintf("column %q: %s, as the labels so far are", name, said)}
	}
	return decided, warnings, nil
}

// asBefore applies what is known of columns of labels.
func (g *guesser) asBefore() error {
	for j, name := range g.names {
		n := numerals{decimal: '.'}
		if g.spelled[j] != nil {
			n = *g.spelled[j]
		}
		decided, said, err := g.opts.asBefore(name, g.signs[j], n, g.stored)
		if g.opts.history(name) != nil {
			g.notes = slices.DeleteFunc(g.notes, func(note string) bool {
				return strings.HasPrefix(note, "it is not certain whether "+g.signs[j].example+" ")
			})
		}
		if kind, declared := g.opts.kind(name); declared && kind == dataset.KindText {
			continue // PlainNumbers follows
		}
		if err != nil {
			return err
		}
		g.warnings = append(g.warnings, said...)
		g.spell(j, decided)
	}
	return nil
}

// besideStored returns how numbers that people typed as text are written in a column of numbers that a workbook stores,
// by the sizes of these, and notes it.
func (g *guesser) besideStored(body []sampled, j int, s signs, n numerals) numerals {
	h := &dataset.History{}
	for _, row := range body {
		if j < len(row.fields) {
			if v, ok := wholeNumber(row.fields[j]); ok {
				h.Add(v)
			}
		}
	}
	decided, said, sure := decide(h, s, n, true)
	if !sure || said == "" {
		g.assumeComma(s.example, decided.decimal == ',')
	} else {
		g.notes = append(g.notes, fmt.Sprintf("%s is text that %s, as the numbers beside it", s.example,
			strings.TrimPrefix(said, s.example+" ")))
	}
	return decided
}

// uncertain returns the mark of numbers such as 1,234 and 1.234; 0 if there are none.
func (s signs) uncertain() byte {
	switch {
	case s.maybeComma > 0:
		return ','
	case s.maybePoint > 0:
		return '.'
	}
	return 0
}

// grouping returns how numbers are written with a mark between thousands.
func grouping(mark byte) numerals {
	if mark == ',' {
		return numerals{decimal: '.', thousands: ','}
	}
	return numerals{decimal: ',', thousands: '.'}
}

// ambiguous is the error about a column of labels whose numbers may be over a thousand or have a decimal mark.
func (o Options) ambiguous(name string, s signs, decimal byte) *Error {
	mark, advice := s.uncertain(), ""
	groups, digits := grouping(mark), numerals{decimal: mark}
	large, _ := groups.number([]byte(s.example))
	small, _ := digits.number([]byte(s.example))
	if setting := o.setting("Decimal", string(rune(mark))); setting != "" {
		advice = fmt.Sprintf("; %s says that it is a decimal mark, %s that it is not", setting,
			o.setting("Decimal", string(rune(groups.decimal))))
	}
	return &Error{Kind: ErrMark, Name: name,
		Detail: fmt.Sprintf("%s in column %q may be %v or %v, and the labels so far do not tell",
			s.example, name, large, small),
		Advice: fmt.Sprintf("write numbers without marks of thousands, and with %q before decimals", decimal) + advice}
}

// Labels is a column of labels as PlainNumbers reads it.
type Labels struct {
	Plain    *dataset.Text // numbers as programs write them, and other cells as they are
	Unit     string        // of the numbers, if the history has no labels and the cells say it
	Warnings []string
}

// PlainNumbers returns a column of labels as text in which numbers are written as programs do, with < or > before a
// limit, and missing ones are empty. The origin is that of the table with the column; cells that are no numbers stay as
// they are, and so do those of which a limit is not known or that may mean a limit (UnknownLimit). Numbers in other
// units than that of the history are converted, or are an error.
func PlainNumbers(c dataset.Column, opts Options, origin dataset.Origin) (Labels, error) {
	s := signs{}
	for row := range c.Len() {
		s.see([]byte(c.Format(row)))
	}
	n := s.numeralsOf(opts.Decimal, origin.Decimal, origin.Stored)
	n.thousands = cmp.Or(opts.Thousands, n.thousands)
	t := newTally(c.Name(), opts)
	t.label = true
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
		before := t.words.total + t.beyond.total + t.unclear.total
		v := t.number(&n, []byte(text), record{line: origin.Lines.Of(row)}, row)
		numbers.Append(v)
		switch {
		case t.words.total+t.beyond.total+t.unclear.total > before:
			read.Plain.Append([]byte(text))
		case math.IsNaN(v):
			read.Plain.Append(nil)
		default:
			read.Plain.Append(strconv.AppendFloat([]byte(signOf[t.sides[row]]), v, 'g', -1, 64))
		}
	}
	if detail, advice := t.unitFault(numbers); detail != "" {
		return read, &Error{Kind: ErrUnit, Line: t.beside.line, Name: c.Name(),
			Detail: fmt.Sprintf("column %q: %s", c.Name(), detail), Advice: advice}
	}
	if !t.known {
		read.Unit = t.unit
	}
	t.words, t.marks, t.unclear = spellings{}, spellings{}, spellings{}
	warnings, _ := t.remarks(numbers, nil, opts.setting)
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
func newTally(name string, o Options) *tally {
	t := &tally{censored: o.Censored, unit: dataset.HeaderUnit(name), label: o.Label != nil && o.Label(name),
		lod: o.lodOf(name), returned: o.history(name) != nil}
	t.known = t.unit != ""
	if h := o.history(name); h != nil && (h.Labels > 0 || h.Unit != "") {
		t.unit, t.history, t.known = cmp.Or(h.Unit, t.unit), t.unit == "", true
	}
	return t
}
