package nextbatch

// Constraints on the batch as a whole: values that rows share, numbers of groups, and what to say if they cannot be met
// together. Package selection defines them (ahead_groups.go, ahead_runs.go, runs.go, conflict.go).

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/selection"
)

// check reports limits that make no sense, whatever the rows.
func (l *Limits) check(r *Request) error {
	groups := l.PerGroup != 0 || l.MinPerGroup != 0 || l.MaxGroups != 0
	switch {
	case l.GroupColumn != "" && !groups && r.Layout.Plate == "":
		return refuse("%s alone changes nothing: limit the groups with %s, %s or %s, or keep them apart on plates with %s", r.named("GroupColumn"),
			r.named("PerGroup"), r.named("MinPerGroup"), r.named("MaxGroups"), r.named("Plate"))
	case l.GroupColumn == "" && groups:
		field := "PerGroup"
		if l.PerGroup == 0 && l.MinPerGroup != 0 {
			field = "MinPerGroup"
		} else if l.PerGroup == 0 {
			field = "MaxGroups"
		}
		return refuse("%s and %s go together", r.named("GroupColumn"), r.named(field))
	case l.PerGroup < 0:
		return refuse("%s must be at least 1", r.named("PerGroup"))
	case l.MinPerGroup < 0:
		return refuse("%s must be at least 1", r.named("MinPerGroup"))
	case l.MaxGroups < 0:
		return refuse("%s must be at least 1", r.named("MaxGroups"))
	case l.Runs < 0:
		return refuse("%s must be at least 1", r.named("Runs"))
	case l.Runs > 0 && len(l.Same) == 0:
		return refuse("%s needs %s: say what the rows of a run share", r.named("Runs"), r.named("Same"))
	case len(l.Same) > 0 && r.Batch == 0:
		return refuse("%s needs %s: a run has a number of rows", r.named("Same"), r.named("Batch"))
	}
	if err := l.checkSame(r); err != nil {
		return err
	}
	if err := l.checkMeasurements(r); err != nil {
		return err
	}
	if rows := r.picks(); l.Runs > rows {
		of := ""
		if l.measuresAgain() {
			of = " (" + r.batchText(r.Batch) + ")"
		}
		return refuse("%s is %d, but the batch has %s%s", r.named("Runs"), l.Runs, words.Count(rows, "row", "rows"), of)
	}
	return nil
}

// checkSame reports columns that rows cannot share.
func (l *Limits) checkSame(r *Request) error {
	for i, name := range l.Same {
		if slices.Contains(l.Same[:i], name) {
			return refuse("%s names column %q twice", r.named("Same"), name)
		}
		if slices.Contains(r.TargetColumns, name) {
			return refuse("%s names column %q, whose values are the labels, which candidates do not have", r.named("Same"), name)
		}
	}
	return nil
}

// setSame reads the values that the rows of a run share. A candidate that lacks one cannot be picked.
func (p *Plan) setSame(c *selection.Constraints) error {
	r := &p.request
	if len(r.Same) == 0 {
		return nil
	}
	closed, number, lacking := setOf(c.Exclude), map[string]int{}, 0
	for at, row := range p.poolRows {
		values, missing := []string{}, false
		for _, name := range r.Same {
			column, err := r.pool().Column(name)
			if err != nil {
				return &DataError{err}
			}
			values, missing = append(values, column.Format(row)), missing || column.Missing(row)
		}
		if missing && !closed[at] {
			lacking++
			c.Exclude = append(c.Exclude, at)
			if i := slices.Index(c.Require, at); i >= 0 {
				return unusableData("%s: row %q has no value of %s", r.named("Must"), r.Must[i], words.List(words.Quoted(r.Same)))
			}
		}
		key := strings.Join(values, "\x00")
		if _, known := number[key]; !known {
			number[key] = len(number)
			p.shared = append(p.shared, values)
		}
		c.Same = append(c.Same, number[key])
	}
	c.Runs = r.Runs
	if lacking > 0 {
		p.warn("%s: %s no value of %s and cannot be picked", r.tableName(r.pool(), "pool"), words.Count(lacking, "candidate has", "candidates have"), words.List(words.Quoted(r.Same)))
	}
	return nil
}

// batchLimits describes the constraints on groups, runs and measurements.
func (p *Plan) batchLimits() (list []string) {
	r := &p.request
	if r.PerGroup > 0 {
		list = append(list, fmt.Sprintf("at most %s of each group in column %q", words.Count(r.PerGroup, "row", "rows"), r.GroupColumn))
	}
	switch {
	case r.MinPerGroup > 0 && r.MaxGroups > 0:
		list = append(list, fmt.Sprintf("at least %s of each group in the batch, by column %q", words.Count(r.MinPerGroup, "row", "rows"), r.GroupColumn))
	case r.MinPerGroup > 0:
		list = append(list, fmt.Sprintf("at least %s of every group in column %q", words.Count(r.MinPerGroup, "row", "rows"), r.GroupColumn))
	}
	if r.MaxGroups > 0 {
		list = append(list, fmt.Sprintf("rows of at most %s in column %q", words.Count(r.MaxGroups, "group", "groups"), r.GroupColumn))
	}
	if len(r.Same) > 0 && r.Runs > 1 {
		list = append(list, fmt.Sprintf("%d runs, whose rows share one value of %s each", r.Runs, words.List(words.Quoted(r.Same))))
	} else if len(r.Same) > 0 {
		list = append(list, fmt.Sprintf("all rows share one value of %s", words.List(words.Quoted(r.Same))))
	}
	return append(list, p.measurementLimits()...)
}

// checkConflict reports constraints that no batch meets.
func (p *Plan) checkConflict() error {
	c := &p.problem.Constraints
	var conflict *selection.ConflictError
	err := c.Conflict(p.Pool, p.Batch, p.problem.Pending)
	if errors.As(err, &conflict) {
		return p.conflictError(conflict.Fields)
	}
	if err != nil {
		return p.undecided()
	}
	return nil
}

// undecided reports runs and groups of which it takes too long to find out whether they can be combined.
func (p *Plan) undecided() error {
	r, fields := &p.request, []string{}
	for field, n := range map[string]int{"Same": 1, "Runs": r.Runs, "MinPerGroup": r.MinPerGroup, "PerGroup": r.PerGroup, "MaxGroups": r.MaxGroups} {
		if n > 0 {
			fields = append(fields, r.limitText(field))
		}
	}
	slices.Sort(fields)
	return refuse("it takes too long to find out whether %s can hold together; leave out one of them, or ask for fewer runs", words.List(fields))
}

// conflictError names constraints that cannot hold together, and why where that is easily said.
func (p *Plan) conflictError(fields []string) error {
	if slices.Contains(fields, "Batch") { // last of all
		fields = append(slices.DeleteFunc(slices.Clone(fields), func(f string) bool { return f == "Batch" }), "Batch")
	}
	names := make([]string, len(fields))
	for i, field := range fields {
		names[i] = p.constraintText(field)
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
	if why := p.whyConflict(fields); why != "" {
		text += ": " + why
	}
	return refuse("%s", text)
}

// constraintText is a constraint of package selection as the user has given it.
func (p *Plan) constraintText(field string) string {
	r := &p.request
	switch field {
	case "Require":
		return r.named("Must")
	case "Budget":
		if p.repeated.Sum() > 0 {
			return fmt.Sprintf("%s with %s", r.limitText(field), r.limitText("ReplicateShare"))
		}
	case "Batch":
		return r.batchText(max(p.Lines, p.Batch))
	case "Exclude":
		if len(r.Exclude) == 0 {
			return "candidates that cannot be picked, by the warnings above,"
		}
	}
	return r.limitText(field)
}

// batchText is the size of a batch of so many measurements with what divides it into rows, as the user has given them.
func (r *Request) batchText(lines int) string {
	var with []string
	if r.Replicates > 1 {
		with = append(with, r.limitText("Replicates"))
	}
	if r.ReplicateShare > 0 {
		with = append(with, r.limitText("ReplicateShare"))
	}
	text := fmt.Sprintf("%s %d", r.named("Batch"), lines)
	if len(with) > 0 {
		text += " with " + words.List(with)
	}
	return text
}

// limitText is a limit as the user has given it.
func (r *Request) limitText(field string) string {
	name := r.named(field)
	switch field {
	case "Same":
		return name + " " + strings.Join(r.Same, ",")
	case "Runs":
		return fmt.Sprintf("%s %d", name, r.Runs)
	case "MinPerGroup":
		return fmt.Sprintf("%s %d", name, r.MinPerGroup)
	case "PerGroup":
		return fmt.Sprintf("%s %d", name, r.PerGroup)
	case "MaxGroups":
		return fmt.Sprintf("%s %d", name, r.MaxGroups)
	case "Budget":
		return fmt.Sprintf("%s %.12g", name, *r.Budget)
	case "Replicates":
		return fmt.Sprintf("%s %d", name, r.Replicates)
	case "ReplicateShare":
		return name + " " + words.Share(r.ReplicateShare)
	}
	return name
}

// whyConflict explains the most frequent conflicts.
func (p *Plan) whyConflict(fields []string) string {
	r, c := &p.request, &p.problem.Constraints
	only := func(allowed ...string) bool {
		return !slices.ContainsFunc(fields, func(f string) bool { return !slices.Contains(allowed, f) && f != "Exclude" && f != "Pending" })
	}
	closed := setOf(slices.Concat(c.Exclude, p.problem.Pending))
	candidates := func(of []int) map[int]int {
		count := map[int]int{}
		for row, v := range of {
			if !closed[row] {
				count[v]++
			}
		}
		return count
	}
	switch {
	case slices.Contains(fields, "Same") && only("Same", "Runs", "Batch"):
		return p.tooFewToShare(candidates(c.Same))
	case r.MaxGroups > 0 && only("MinPerGroup"):
		return fmt.Sprintf("no group has %s", words.Count(r.MinPerGroup, "candidate", "candidates"))
	case r.MaxGroups == 0 && only("MinPerGroup"):
		least, rows := -1, math.MaxInt
		for g, n := range candidates(c.Group) {
			if n < rows || n == rows && g < least {
				least, rows = g, n
			}
		}
		return fmt.Sprintf("group %q has only %s", p.groupName(least), words.Count(rows, "candidate", "candidates"))
	case r.MaxGroups == 0 && only("MinPerGroup", "Batch"):
		n := len(candidates(c.Group))
		return fmt.Sprintf("%s of %d rows are %d rows", words.Count(n, "group", "groups"), r.MinPerGroup, n*r.MinPerGroup)
	case only("Require", "Same", "Batch"):
		return fmt.Sprintf("the rows of %s have different values", r.named("Must"))
	}
	return ""
}

// tooFewToShare says why runs have no values, by the number of candidates that have each.
func (p *Plan) tooFewToShare(candidates map[int]int) string {
	runs := max(1, p.request.Runs)
	size, enough, room, columns := p.Batch/runs, 0, 0, words.List(words.Quoted(p.request.Same))
	for _, n := range candidates {
		room += n / size
		if n >= size {
			enough++
		}
	}
	switch {
	case p.Batch%runs != 0:
		return fmt.Sprintf("the candidates that share a value of %s do not make runs of %d and %d rows", columns, size+1, size)
	case enough == 0:
		return fmt.Sprintf("no value of %s has %s", columns, words.Count(size, "candidate", "candidates"))
	case room > enough:
		return fmt.Sprintf("the candidates that share a value of %s make only %d runs of %s", columns, room, words.Count(size, "row", "rows"))
	}
	return fmt.Sprintf("only %s of %s %s", words.Count(enough, "value", "values"), columns,
		map[bool]string{true: "has ", false: "have "}[enough == 1]+words.Count(size, "candidate", "candidates"))
}

// groupName is the name of a group, by its number.
func (p *Plan) groupName(g int) string {
	column, err := p.request.pool().Column(p.request.GroupColumn)
	if at := slices.Index(p.problem.Constraints.Group, g); err == nil && at >= 0 {
		return column.Format(p.poolRows[at])
	}
	return ""
}

// runText begins the reason of a pick in a run.
func (p *Plan) runText(b *Batch, run int) string {
	if run == 0 {
		return ""
	}
	of := p.shared[b.Runs[run-1].Value]
	values := make([]string, len(of))
	for i, v := range of {
		if c, err := p.request.pool().Column(p.request.Same[i]); err == nil && c.Kind() == dataset.KindNumeric {
			v = words.Marked(v, p.request.decimal())
		}
		values[i] = p.request.Same[i] + " " + v
	}
	if len(b.Runs) == 1 {
		return strings.Join(values, ", ") + ": "
	}
	return fmt.Sprintf("run %d of %d, %s: ", run, len(b.Runs), strings.Join(values, ", "))
}
