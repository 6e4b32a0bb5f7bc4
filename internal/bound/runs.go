package bound

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/tables"
)

// setSame reads the values that the rows of a run share. A candidate that lacks one cannot be picked.
func (b *Bound) setSame() error {
	same := b.Ask.Same
	if len(same) == 0 {
		return nil
	}
	c := &b.Constraints
	closed, number, lacking := setOf(c.Exclude), map[string]int{}, 0
	for at, row := range b.rows.PoolRows {
		values, missing := []string{}, false
		for _, name := range same {
			column, err := b.rows.Candidates().Column(name)
			if err != nil {
				return &tables.DataError{Cause: err}
			}
			values, missing = append(values, column.Format(row)), missing || column.Missing(row)
		}
		if missing && !closed[at] {
			lacking++
			c.Exclude = append(c.Exclude, at)
			if i := slices.Index(c.Require, at); i >= 0 {
				return tables.Unusable("%s: row %q has no value of %s", b.named("Must"), b.Must[i], words.List(words.Quoted(same)))
			}
		}
		key := strings.Join(values, "\x00")
		if _, known := number[key]; !known {
			number[key] = len(number)
			b.shared = append(b.shared, values)
		}
		c.Same = append(c.Same, number[key])
	}
	c.Runs = b.Ask.Runs
	if lacking > 0 {
		//warning:no-run
		b.warn("%s: %s no value of %s and cannot be picked", b.poolName("pool"),
			words.Count(lacking, "candidate has", "candidates have"), words.List(words.Quoted(same)))
	}
	return nil
}

// Shared returns the values of Same that have a number.
func (b *Bound) Shared(value int) []string { return b.shared[value] }

// RunText begins the reason of a pick in a run, by the number of the run's values; decimal is the decimal mark.
func (b *Bound) RunText(value, run, runs int, decimal byte) string {
	texts := slices.Clone(b.shared[value])
	for i, name := range b.Ask.Same {
		if c, err := b.rows.Candidates().Column(name); err == nil && c.Kind() == dataset.KindNumeric {
			texts[i] = words.Marked(texts[i], decimal)
		}
		texts[i] = name + " " + texts[i]
	}
	if runs == 1 {
		return strings.Join(texts, ", ") + ": "
	}
	return fmt.Sprintf("run %d of %d, %s: ", run, runs, strings.Join(texts, ", "))
}
