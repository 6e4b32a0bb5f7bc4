package bound

import (
	"fmt"
	"math"
	"slices"

	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/limits"
	"github.com/nextbatch/nextbatch/selection"
	"github.com/nextbatch/nextbatch/tables"
)

// Explain names constraints that cannot hold together, and why where that is easily said.
func (b *Bound) Explain(conflict *selection.ConflictError) error {
	fields := conflict.Fields
	if slices.Contains(fields, "Batch") { // last of all
		fields = append(slices.DeleteFunc(slices.Clone(fields), func(f string) bool { return f == "Batch" }), "Batch")
	}
	names := make([]string, len(fields))
	for i, field := range fields {
		names[i] = b.constraintText(field)
	}
	text := words.List(names)
	switch len(names) {
	case 1:
		text += " cannot be met"
	case 2:
		text += " cannot both hold"
	default:
		text += " cannot hold together"
	}
	if why := b.why(fields); why != "" {
		text += ": " + why
	}
	return &tables.RequestError{Reason: text}
}

// undecided refuses runs and groups of which it takes too long to find out whether they can be combined.
func (b *Bound) undecided() error {
	fields := []string{b.text("Same")}
	for _, limit := range append(b.OfGroups(), limits.Limit{Field: "Runs", Is: b.Ask.Runs}) {
		if limit.Given() {
			fields = append(fields, b.text(limit.Field))
		}
	}
	slices.Sort(fields)
	return tables.Refuse(
		"it takes too long to find out whether %s can hold together; leave out one of them, or ask for fewer runs",
		words.List(fields))
}

// constraintText is a constraint of package selection as the user has given it.
func (b *Bound) constraintText(field string) string {
	switch field {
	case "Require":
		return b.named("Must")
	case "Budget":
		if b.repeated.Sum() > 0 {
			return fmt.Sprintf("%s with %s", b.text(field), b.text("ReplicateShare"))
		}
	case "Batch":
		return b.size(max(b.Lines, b.Batch))
	case "Exclude":
		if len(b.Ask.Exclude) == 0 {
			return "candidates that cannot be picked, by the warnings above,"
		}
	}
	return b.text(field)
}

// why explains the most frequent conflicts.
func (b *Bound) why(fields []string) string {
	only := func(allowed ...string) bool {
		return !slices.ContainsFunc(fields, func(f string) bool {
			return !slices.Contains(allowed, f) &&
				f != "Exclude" && f != "Pending"
		})
	}
	least, tooFew := b.Ask.MinPerGroup, only("MinPerGroup")
	switch {
	case slices.Contains(fields, "Same") && only("Same", "Runs", "Batch"):
		return b.tooFewToShare()
	case b.Ask.MaxGroups > 0 && tooFew:
		return fmt.Sprintf("no group has %s", words.Count(least, "candidate", "candidates"))
	case b.Ask.MaxGroups == 0 && tooFew:
		group, rows := -1, math.MaxInt
		for g, n := range b.open(b.Group) {
			if n < rows || n == rows && g < group {
				group, rows = g, n
			}
		}
		return fmt.Sprintf("group %q has only %s", b.groupName(group), words.Count(rows, "candidate", "candidates"))
	case b.Ask.MaxGroups == 0 && only("MinPerGroup", "Batch"):
		n := len(b.open(b.Group))
		return fmt.Sprintf("%s of %d rows are %d rows", words.Count(n, "group", "groups"), least, n*least)
	case only("Require", "Same", "Batch"):
		return fmt.Sprintf("the rows of %s have different values", b.named("Must"))
	}
	return ""
}

// open counts the candidates of each number that can be picked.
func (b *Bound) open(of []int) map[int]int {
	closed, count := setOf(slices.Concat(b.Constraints.Exclude, b.Pending)), map[int]int{}
	for row, v := range of {
		if !closed[row] {
			count[v]++
		}
	}
	return count
}

// tooFewToShare says why runs have no values.
func (b *Bound) tooFewToShare() string {
	runs := max(1, b.Ask.Runs)
	size, enough, room, columns := b.Batch/runs, 0, 0, words.List(words.Quoted(b.Ask.Same))
	for _, n := range b.open(b.Constraints.Same) {
		room += n / size
		if n >= size {
			enough++
		}
	}
	switch {
	case b.Batch%runs != 0:
		return fmt.Sprintf("the candidates that share a value of %s do not make runs of %d and %d rows", columns, size+1,
			size)
	case enough == 0:
		return fmt.Sprintf("no value of %s has %s", columns, words.Count(size, "candidate", "candidates"))
	case room > enough:
		return fmt.Sprintf("the candidates that share a value of %s make only %d runs of %s", columns, room,
			words.Count(size, "row", "rows"))
	}
	return fmt.Sprintf("only %s of %s %s", words.Count(enough, "value", "values"), columns,
		map[bool]string{true: "has ", false: "have "}[enough == 1]+words.Count(size, "candidate", "candidates"))
}
