package sheets

// Spreadsheets have titles above the names of columns, and totals below the rows. Neither is a row: taken for one, a
// title turns columns of numbers into words, and a total is the most unusual candidate of all.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/source/cells"
	"github.com/nextbatch/nextbatch/internal/words"
)

// totalWords begin lines that sum up those above, as compacted writes them.
var totalWords = cells.SetOf([]string{
	"total", "totals", "grandtotal", "subtotal", "sum", "average", "avg", "mean", "median", "std", "stdev", "stddev", "sd",
	"rsd", "cv", "min", "max", "minimum",
	"maximum", "count", "summe", "gesamt", "gesamtsumme", "gesamtergebnis", "zwischensumme", "mittel", "mittelwert", "mw",
	"durchschnitt", "stabw", "anzahl",
	"somme", "moyenne", "médiane", "suma", "promedio", "media", "somma", "totale", "ø", "σ", "∑",
})

// totals warns of lines at the end that seem to sum up those above: the id or the first cell says so.
func (g *Guesser) totals() []string {
	for _, c := range []dataset.Column{g.ids(), g.firstColumn()} {
		if c == nil || c.Kind() == dataset.KindNumeric {
			continue
		}
		isTotal := func(row int) bool {
			return !c.Missing(row) && totalWords[cells.Compacted([]byte(strings.TrimRight(c.Format(row), ": ")))]
		}
		row := c.Len()
		for row > 0 && isTotal(row-1) {
			row--
		}
		found := c.Len() - row
		const most = 10 // more are a category of that name
		if found == 0 || found > most || row > 0 && slices.ContainsFunc([]int{0, row / 2}, isTotal) {
			continue
		}
		names := make([]string, found)
		for i := range names {
			names[i] = fmt.Sprintf("%q (%s)", c.Format(row+i), g.place(row+i))
		}
		//warning:total-as-row
		what := "at the end look like totals, but are taken as rows; remove those that are totals"
		if found == 1 {
			//warning:total-as-row
			what = "at the end looks like a total, but is taken as a row; remove it if it is a total"
		}
		return []string{words.List(names) + " " + what}
	}
	return nil
}

// place is what messages call a row.
func (g *Guesser) place(row int) string {
	if line := g.Lines.Of(row); line > 0 {
		return fmt.Sprintf("line %d", line)
	}
	return fmt.Sprintf("row %d from 0", row)
}

// firstColumn returns the first column that is read; nil if there is none.
func (g *Guesser) firstColumn() dataset.Column {
	for c := range g.growing() {
		return c
	}
	return nil
}

// checkTitle rejects a title that is taken for the header: columns have no name, but one of the next lines has a word
// for each of them, and numbers follow below.
func (g *Guesser) checkTitle(sample []Sampled) error {
	named := func(s Sampled) bool {
		return len(s.Fields) == len(g.Names) && !slices.ContainsFunc(s.Fields,
			func(f []byte) bool { return (&cells.Numerals{}).Loose(f).Kind != cells.OtherCell || len(f) == 0 })
	}
	unnamed := slices.ContainsFunc(g.Style.Unnamed, func(j int) bool { return j > 0 }) // an index often has no name
	if !unnamed || g.Opts.Header == HeaderPresent || g.areUnits(sample[1:]) {
		return nil
	}
	const furthest = 10
	for i := 1; i < min(furthest, len(sample)-1); i++ {
		if !named(sample[i]) {
			continue
		}
		for j := range g.Names {
			if g.numericIn(sample[i+1:], j) {
				return &Error{Line: sample[0].Line, Kind: ErrHeader,
					Detail: fmt.Sprintf("columns have no name, and line %d looks like the line with the names", sample[i].Line),
					Advice: fmt.Sprintf("remove the lines above line %d", sample[i].Line)}
			}
		}
		return nil
	}
	return nil
}
