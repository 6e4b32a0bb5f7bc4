package tables

// A column that only numbers the rows tells a network nothing about a row that it
// has not seen, and yet it is a tempting input: in a sorted or merged table it often
// correlates with the label. Such columns are ignored unless the user requests them.
// Only whole numbers are suspected. A measured quantity, such as the time in a
// simulation, may rise from row to row, too, but it is hardly ever a whole number in
// every row.

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/internal/words"
)

// numbering lists columns that only number the rows.
type numbering struct {
	index  []string // have no name, or the one that pandas gives to an index
	counts []string // count, or only rise or fall
}

// others returns those of the named columns that do not number the rows.
func (n numbering) others(names []string) []string {
	numbers := setOfNames(n.index, n.counts)
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return numbers[name] })
}

// rowNumbers returns those of the named columns that only number the rows. The context is
// checked once per column.
func (t Tables) rowNumbers(ctx context.Context, names []string, parts []part) (n numbering, err error) {
	chosen := setOfNames(t.Keep, t.Categorical)
	for _, name := range names {
		switch {
		case ctx.Err() != nil:
			return n, ctx.Err()
		case chosen[name]:
		case t.isIndex(name, parts):
			n.index = append(n.index, name)
		case t.counts(name, parts):
			n.counts = append(n.counts, name)
		}
	}
	return n, nil
}

// isIndex recognizes the index of a data frame: a column of whole numbers, or of words
// that differ in every row, with the name of an index.
func (t Tables) isIndex(name string, parts []part) bool {
	for i, s := range sources(parts) {
		c, err := s.Column(name)
		switch {
		case err != nil && i > 0: // an index that was written to one file only
		case err != nil || !indexName(name, s.Columns()):
			return false
		case c.Kind() == dataset.KindNumeric && !whole(c.(*dataset.Numeric)):
			return false
		case c.Kind() != dataset.KindNumeric && !unique(c):
			return false
		}
	}
	return true
}

// indexName reports whether a column of the given ones has no name, or the name of an
// index that pandas wrote, in text or in Parquet. Readers call a first column without
// a name column0; if the file has no header, the second is column1.
func indexName(name string, columns []dataset.Column) bool {
	switch {
	case strings.HasPrefix(name, "Unnamed: 0"), strings.HasPrefix(name, "__index_level_"):
		return true
	case name != "column0" || columns[0].Name() != name:
		return false
	}
	return len(columns) == 1 || columns[1].Name() != "column1"
}

// In tables with fewer rows, whole numbers may well rise or fall by chance; only those
// that count are then treated as row numbers.
const (
	fewToCount = 3
	fewToRise  = 10
)

// counts reports whether a column counts the rows of the candidates' table, or rises
// or falls in each of them. The labelled rows may have another order.
func (t Tables) counts(name string, parts []part) bool {
	for _, s := range sources(parts) {
		c, err := s.Numeric(name)
		if err != nil || !whole(c) {
			return false
		}
	}
	pool := parts[1].table
	if pool == nil {
		pool = parts[0].table
	}
	c, err := pool.Numeric(name)
	if err != nil || c.Len() < fewToCount {
		return false
	}
	step := c.Float(1) - c.Float(0)
	byOne := math.Abs(step) == 1
	for row := 1; row < c.Len(); row++ {
		next := c.Float(row) - c.Float(row-1)
		if next*step <= 0 {
			return false
		}
		byOne = byOne && next == step
	}
	return byOne || c.Len() >= fewToRise
}

// whole reports whether every value is there and a whole number.
func whole(c *dataset.Numeric) bool {
	for row := range c.Len() {
		if v := c.Float(row); v != math.Trunc(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}

// unique reports whether no value is missing or there twice.
func unique(c dataset.Column) bool {
	seen := make(map[string]bool, c.Len())
	for row := range c.Len() {
		if c.Missing(row) || seen[c.Format(row)] {
			return false
		}
		seen[c.Format(row)] = true
	}
	return true
}

func (t Tables) warnOfNumbering(n numbering, r *Rows) {
	for _, name := range n.index {
		//warning:frame-index
		r.Warnings = append(r.Warnings, fmt.Sprintf(
			"column %q is not used: it has no name and looks like the index of a data frame; "+
				"%s names the rows by it, %s makes it an input", name, t.Named("IDColumn", name), t.Named("Keep", name)))
	}
	switch len(n.counts) {
	case 0:
	case 1:
		//warning:row-numbers
		r.Warnings = append(r.Warnings, fmt.Sprintf(
			"column %q is not used: it looks like row numbers, whole numbers that only rise or only fall; "+
				"%s makes it an input", n.counts[0], t.Named("Keep", n.counts[0])))
	default:
		//warning:row-numbers
		r.Warnings = append(r.Warnings,
			fmt.Sprintf("%d columns are not used: they look like row numbers, whole numbers that only rise or only fall: %s; "+
				"%s makes a column an input",
				len(n.counts), words.Some(words.Quoted(n.counts)), t.Named("Keep")))
	}
	for _, name := range slices.Concat(n.index, n.counts) {
		r.Encoder.Dropped = append(r.Encoder.Dropped, encode.DroppedInput{Column: name, Reason: encode.NumbersRows})
	}
}
