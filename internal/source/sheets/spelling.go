package sheets

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/source/cells"
)

// spellNumbers decides how the numbers of each column are written.
func (g *Guesser) spellNumbers(body []Sampled, columns int) {
	all, each := cells.Signs{}, make([]cells.Signs, columns)
	for _, s := range body {
		for j := range min(columns, len(s.Fields)) {
			each[j].See(s.Fields[j])
		}
	}
	for _, s := range each {
		all.Add(s)
	}
	g.Style.Decimal = g.Opts.Decimal
	if g.Style.Decimal == 0 {
		g.Style.Decimal = g.fileDecimal(all)
	}
	g.spelled, g.signs = make([]*cells.Numerals, columns), each
	for j, s := range each {
		n := s.NumeralsOf(g.Opts.Decimal, g.Style.Decimal, g.Stored)
		if g.Opts.Thousands != 0 {
			n.Thousands = g.Opts.Thousands
		}
		if g.Stored && s.MaybeComma > 0 && n.Thousands == ',' && cmp.Or(g.Opts.Decimal, g.Opts.Thousands) == 0 {
			n = g.besideStored(body, j, s, n)
		}
		if n.Decimal == n.Thousands { // only where the options say one of them
			n.Decimal = map[byte]byte{',': '.', '.': ','}[n.Thousands]
		}
		if n.Thousands != 0 && g.Style.Thousands == 0 {
			g.Style.Thousands = n.Thousands
		}
		g.spell(j, n)
	}
}

// spell says how the numbers of a column are written.
func (g *Guesser) spell(j int, n cells.Numerals) {
	if g.spelled[j] = nil; n.Decimal != '.' || n.Thousands != 0 || n.Typed != nil {
		g.spelled[j] = &n
	}
}

// fileDecimal returns the decimal mark of columns that do not tell, 0 if nothing does.
func (g *Guesser) fileDecimal(all cells.Signs) byte {
	if mark := all.Decimal(); mark != 0 {
		return mark
	}
	switch g.Opts.Thousands {
	case ',':
		return '.'
	case '.':
		return ','
	}
	switch {
	case all.MaybeComma > 0:
		decimal := g.Comma == ';' || g.Comma != ',' && all.Short == 0
		g.assumeComma(all.Example, decimal)
		if decimal {
			return ','
		}
		return '.'
	case all.MaybePoint > 0 && g.Comma == ';' && all.Short > 0:
		g.Notes = append(g.Notes,
			fmt.Sprintf(
				"it is not certain whether %s has a decimal point or is over a thousand; it is taken to have a decimal point%s",
				all.Example, g.otherwise(",")))
	}
	if all.MaybePoint > 0 {
		return '.'
	}
	return 0
}

// assumeComma notes how a number such as 1,234 is read.
func (g *Guesser) assumeComma(example string, decimal bool) {
	//warning:decimal-or-thousand
	text := "it is not certain whether %s has a decimal comma or is over a thousand; it is taken to have a decimal comma%s"
	other := "."
	if !decimal {
		other = ","
		//warning:decimal-or-thousand
		text = "it is not certain whether %s has a decimal comma or is over a thousand; it is taken to be over a thousand%s"
	}
	g.Notes = append(g.Notes, fmt.Sprintf(text, example, g.otherwise(other)))
}

// otherwise says how to declare another decimal mark than the assumed one.
func (g *Guesser) otherwise(decimal string) string {
	if setting := g.Opts.setting("Decimal", decimal); setting != "" {
		return " (" + setting + " says otherwise)"
	}
	return "; make such columns numbers to be certain"
}

// asBefore applies what is known of columns of labels.
func (g *Guesser) asBefore() error {
	for j, name := range g.Names {
		n := cells.Numerals{Decimal: '.'}
		if g.spelled[j] != nil {
			n = *g.spelled[j]
		}
		decided, said, err := g.Opts.asBefore(name, g.signs[j], n, g.Stored)
		if g.Opts.history(name) != nil {
			g.Notes = slices.DeleteFunc(g.Notes, func(note string) bool {
				return strings.HasPrefix(note, "it is not certain whether "+g.signs[j].Example+" ")
			})
		}
		if kind, declared := DeclaredKind(g.Opts, name); declared && kind == dataset.KindText {
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
func (g *Guesser) besideStored(body []Sampled, j int, s cells.Signs, n cells.Numerals) cells.Numerals {
	h := &dataset.History{}
	for _, row := range body {
		if j < len(row.Fields) {
			if v, ok := cells.WholeNumber(row.Fields[j]); ok {
				h.Add(v)
			}
		}
	}
	decided, said, sure := cells.Decide(h, s, n, true)
	if !sure || said == "" {
		g.assumeComma(s.Example, decided.Decimal == ',')
	} else {
		g.Notes = append(g.Notes, fmt.Sprintf("%s is text that %s, as the numbers beside it", s.Example,
			strings.TrimPrefix(said, s.Example+" ")))
	}
	return decided
}
