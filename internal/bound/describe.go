package bound

import (
	"fmt"

	"github.com/nextbatch/nextbatch/internal/words"
)

// Describe lists the constraints on the batch.
func (b *Bound) Describe() []string {
	list := []string{}
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	if b.Ask.Budget != nil {
		add("at most %.12g in all, by column %q", *b.Ask.Budget, b.CostColumn)
	}
	if b.Ask.PerCost {
		add("scores are divided by the costs in column %q", b.CostColumn)
	}
	if n := b.Ask.PerGroup; n > 0 {
		add("at most %s of each group in column %q", words.Count(n, "row", "rows"), b.GroupColumn)
	}
	switch n := b.Ask.MinPerGroup; {
	case n > 0 && b.Ask.MaxGroups > 0:
		add("at least %s of each group in the batch, by column %q", words.Count(n, "row", "rows"), b.GroupColumn)
	case n > 0:
		add("at least %s of every group in column %q", words.Count(n, "row", "rows"), b.GroupColumn)
	}
	if n := b.Ask.MaxGroups; n > 0 {
		add("rows of at most %s in column %q", words.Count(n, "group", "groups"), b.GroupColumn)
	}
	if same := words.List(words.Quoted(b.Ask.Same)); b.Ask.Runs > 1 {
		add("%d runs, whose rows share one value of %s each", b.Ask.Runs, same)
	} else if len(b.Ask.Same) > 0 {
		add("all rows share one value of %s", same)
	}
	if b.Replicates > 1 {
		add("each row is measured %d times", b.Replicates)
	}
	if n := len(b.repeats); n > 0 {
		add("%s", words.Count(n, "labelled row is measured once more", "labelled rows are measured once more"))
	}
	if n := len(b.Must); n > 0 {
		add("%s in the batch", words.Count(n, "row must be", "rows must be"))
	}
	if n := len(b.Constraints.Exclude); n > 0 {
		add("%s", words.Count(n, "row is excluded", "rows are excluded"))
	}
	return list
}
