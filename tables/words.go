package tables

// Columns that are not numeric are one-hot encoded, except for two kinds that are
// not categories: text, where nearly every row has its own value, and numbers with a
// few other cells among them, which a reader treats as words.

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/words"
)

// A column is text if it has more levels than this, and more than half as many
// levels as values.
const fewLevels = 20

// words examines the columns that are not numeric: it warns of those that nearly
// are, and returns the names of those that are text.
func (t Tables) words(ctx context.Context, all *dataset.Table, parts []part, r *Rows) (text []string, err error) {
	cells := 0
	var nearly, places []string
	categorical := setOfNames(t.Categorical)
	for _, c := range all.Columns() {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if c.Kind() == dataset.KindNumeric || categorical[c.Name()] {
			continue
		}
		w := countWords(c)
		if w.other > 0 && 5*w.numbers >= 4*(w.numbers+w.other) {
			cells += w.other
			nearly = append(nearly, c.Name())
			places = append(places, fmt.Sprintf("%s is %q", t.place(parts, w.first), c.Format(w.first)))
		}
		if 5*w.commas >= 4*(w.numbers+w.other) && w.commas > 0 {
			r.Warnings = append(r.Warnings, fmt.Sprintf("column %q is treated as words, but its values are numbers with decimal commas: %s is %q; make them numbers", c.Name(), t.place(parts, w.first), c.Format(w.first)))
		}
		if c.Kind() == dataset.KindCategorical && w.levels > fewLevels && 2*w.levels > w.numbers+w.other {
			text = append(text, c.Name())
		}
	}
	switch len(nearly) {
	case 0:
	case 1:
		r.Warnings = append(r.Warnings, fmt.Sprintf("column %q is mostly numbers but is treated as words because of %s: %s; correct such cells or leave them empty", nearly[0], words.Count(cells, "cell", "cells"), places[0]))
	default:
		for i, name := range nearly {
			places[i] = fmt.Sprintf("in column %q %s", name, places[i])
		}
		r.Warnings = append(r.Warnings, fmt.Sprintf("%d columns are mostly numbers but are treated as words because of %d cells: %s; correct such cells or leave them empty", len(nearly), cells, words.Some(places)))
	}
	return text, nil
}

// wordCount counts the kinds of values in a column.
type wordCount struct {
	numbers, other int // values that are numbers, and that are not
	commas         int // of the others: numbers with a decimal comma
	first          int // row of the first value that is not
	levels         int // different values; not counted for text
}

func countWords(c dataset.Column) wordCount {
	w := wordCount{first: -1}
	isNumber := map[string]bool{} // of the levels
	for row := range c.Len() {
		if c.Missing(row) {
			continue
		}
		value := c.Format(row)
		number, known := isNumber[value]
		if !known {
			_, err := strconv.ParseFloat(value, 64)
			number = err == nil
			if c.Kind() == dataset.KindCategorical {
				isNumber[value] = number
			}
		}
		if number {
			w.numbers++
			continue
		}
		if w.other == 0 {
			w.first = row
		}
		w.other++
		if _, err := strconv.ParseFloat(strings.Replace(value, ",", ".", 1), 64); err == nil {
			w.commas++
		}
	}
	w.levels = len(isNumber)
	return w
}

// place names a row of the concatenated tables.
func (t Tables) place(parts []part, row int) string {
	for _, s := range sources(parts) {
		if row >= s.Rows() {
			row -= s.Rows()
			continue
		}
		name := t.Names[s]
		if name == "" && s != t.One {
			name = parts[slices.IndexFunc(parts, func(p part) bool { return p.table == s })].name
		}
		return strings.TrimPrefix(name+", "+s.Place(row, t.IDColumn), ", ")
	}
	return ""
}
