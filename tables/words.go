package tables

// Columns that are not numeric are one-hot encoded, except for ids and free text. Numbers with
// other cells among them, which a reader treats as words, are encoded with a warning.

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/words"
)

// A column with at most so many levels, or with half as many levels as values, is one of categories.
const fewLevels = 20

// With few values, most levels of a category have one row each: then only ids and free text are text.
const fewValues = 300

// Free text has at least so many words in a value, on average.
const wordsOfText = 4

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
			//warning:decimal-commas
			r.Warnings = append(r.Warnings,
				fmt.Sprintf(
					"column %q is treated as words, but its values are numbers with decimal commas: %s is %q; make them numbers",
					c.Name(), t.place(parts, w.first), c.Format(w.first)))
		}
		if 5*w.units >= 4*(w.numbers+w.other) && w.units > 0 {
			//warning:units-as-words
			r.Warnings = append(r.Warnings,
				fmt.Sprintf(
					"column %q is treated as words, but its values are numbers with units: %s is %q; make them numbers in one unit",
					c.Name(), t.place(parts, w.first), c.Format(w.first)))
		}
		if c.Kind() == dataset.KindCategorical && w.isText() {
			text = append(text, c.Name())
		}
	}
	switch len(nearly) {
	case 0:
	case 1:
		//warning:mostly-numbers
		r.Warnings = append(r.Warnings,
			fmt.Sprintf(
				"column %q is mostly numbers but is treated as words because of %s: %s; correct such cells or leave them empty",
				nearly[0], words.Count(cells, "cell", "cells"), places[0]))
	default:
		for i, name := range nearly {
			places[i] = fmt.Sprintf("in column %q %s", name, places[i])
		}
		//warning:mostly-numbers
		r.Warnings = append(r.Warnings,
			fmt.Sprintf("%d columns are mostly numbers but are treated as words because of %d cells: %s; correct such cells "+
				"or leave them empty", len(nearly), cells, words.Some(places)))
	}
	return text, nil
}

// wordCount counts the kinds of values in a column.
type wordCount struct {
	numbers, other int // values that are numbers, and that are not
	commas         int // of the others: numbers with a decimal comma
	units          int // of the others: numbers with a unit
	first          int // row of the first value that is not
	levels         int // different values; not counted for text
	words          int // in all values; not counted for text
}

// isText reports whether a column of levels is one of ids or of free text.
func (w wordCount) isText() bool {
	values := w.numbers + w.other
	if w.levels <= fewLevels || 2*w.levels <= values {
		return false
	}
	const fewRepeats = 50 // in so many values, one may repeat another, as when an id was entered twice
	return values > fewValues || fewRepeats*(values-w.levels) <= values || w.words >= wordsOfText*values
}

func countWords(c dataset.Column) wordCount {
	w := wordCount{first: -1}
	isNumber, inLevel := map[string]bool{}, map[string]int{} // by level: whether it is a number, and its words
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
				isNumber[value], inLevel[value] = number, len(strings.Fields(value))
			}
		}
		w.words += inLevel[value]
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
		if hasUnit(value) {
			w.units++
		}
	}
	w.levels = len(isNumber)
	return w
}

// hasUnit reports whether a value is a number with a unit after it.
func hasUnit(value string) bool {
	at := strings.IndexFunc(value, func(r rune) bool { return unicode.IsLetter(r) || strings.ContainsRune("°%‰", r) })
	if at <= 0 {
		return false
	}
	number := strings.TrimSpace(value[:at])
	_, err := strconv.ParseFloat(strings.Replace(number, ",", ".", 1), 64)
	return err == nil && dataset.KnownUnit(value[at:], len(number) == at)
}

// Unlabelled warns of levels of the candidates that no labelled row has; empty if there are none.
func (r *Rows) Unlabelled() string {
	var list []string
	for _, one := range r.Encoder.OnlyIn(r.Pool, r.Train) {
		list = append(list, fmt.Sprintf("%q of column %q (%s)", one.Level, one.Column, rowCount(one.Rows)))
	}
	if list == nil {
		return ""
	}
	//warning:unlabelled-levels
	return "predictions know nothing of levels that no labelled row has: " + words.Some(list)
}

// place names a row of the concatenated tables.
func (t Tables) place(parts []part, row int) string {
	for _, s := range sources(parts) {
		if row >= s.Rows() {
			row -= s.Rows()
			continue
		}
		name := t.Names[s]
		if name == "" && s != t.Table {
			name = parts[slices.IndexFunc(parts, func(p part) bool { return p.table == s })].name
		}
		return strings.TrimPrefix(name+", "+s.Place(row, t.IDColumn), ", ")
	}
	return ""
}
