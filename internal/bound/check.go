package bound

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/limits"
	"github.com/nextbatch/nextbatch/tables"
)

// wording names the limits of an ask in messages.
type wording struct {
	*limits.Ask
	named func(field string, value ...string) string
}

// Check rejects limits that make no sense, whatever the rows. Named returns the name of a field in messages, and
// targets are the columns of the labels. The error is a *tables.RequestError.
func Check(a *limits.Ask, named func(field string, value ...string) string, targets []string) error {
	w := wording{a, named}
	for _, check := range []func() error{w.checkCosts, w.checkGroups, w.checkRuns,
		func() error { return w.checkSame(targets) }, w.checkMeasurements, w.checkRunsFit} {
		if err := check(); err != nil {
			return err
		}
	}
	if _, err := a.Layout.Parse(named); err != nil {
		return &tables.RequestError{Reason: err.Error()}
	}
	return nil
}

func (w wording) checkCosts() error {
	switch named := w.named; {
	case w.Batch < 0 || w.Batch == 0 && w.Budget == nil:
		return tables.Refuse("say how many rows to pick with %s, at least 1, or what they may cost with %s",
			named("Batch"), named("Budget"))
	case w.Budget != nil && w.CostColumn == "":
		return tables.Refuse("%s needs the costs: name their column with %s", named("Budget"), named("CostColumn"))
	case w.CostColumn != "" && w.Budget == nil && !w.PerCost:
		return tables.Refuse("%s alone changes nothing: say what the batch may cost with %s, or weigh scores by cost with %s",
			named("CostColumn"), named("Budget"), named("PerCost"))
	case w.Budget != nil && (!(*w.Budget >= 0) || math.IsInf(*w.Budget, 1)):
		return tables.Refuse("%s must be finite and not negative, not %v", named("Budget"), *w.Budget)
	case w.PerCost && w.CostColumn == "":
		return tables.Refuse("%s needs %s", named("PerCost"), named("CostColumn"))
	case w.GroupIsInput && w.GroupColumn == "":
		return tables.Refuse("%s needs %s", named("GroupIsInput"), named("GroupColumn"))
	}
	return nil
}

func (w wording) checkGroups() error {
	of := w.OfGroups()
	if at := slices.IndexFunc(of, limits.Limit.Given); at >= 0 && w.GroupColumn == "" {
		return tables.Refuse("%s and %s go together", w.named("GroupColumn"), w.named(of[at].Field))
	} else if at < 0 && w.GroupColumn != "" && w.Layout.Plate == "" {
		return tables.Refuse(
			"%s alone changes nothing: limit the groups with %s, %s or %s, or keep them apart on plates with %s",
			w.named("GroupColumn"), w.named(of[0].Field), w.named(of[1].Field), w.named(of[2].Field), w.named("Plate"))
	}
	for _, limit := range append(of, limits.Limit{Field: "Runs", Is: w.Runs}) {
		if limit.Is < 0 {
			return tables.Refuse("%s must be at least 1", w.named(limit.Field))
		}
	}
	if w.PerGroup > 0 && w.MinPerGroup > w.PerGroup {
		return tables.Refuse("%s and %s cannot both hold", w.text("MinPerGroup"), w.text("PerGroup"))
	}
	return nil
}

func (w wording) checkRuns() error {
	switch {
	case w.Runs > 0 && len(w.Same) == 0:
		return tables.Refuse("%s needs %s: say what the rows of a run share", w.named("Runs"), w.named("Same"))
	case len(w.Same) > 0 && w.Batch == 0:
		return tables.Refuse("%s needs %s: a run has a number of rows", w.named("Same"), w.named("Batch"))
	}
	return nil
}

// checkSame rejects columns that rows cannot share.
func (w wording) checkSame(targets []string) error {
	for i, name := range w.Same {
		if slices.Contains(w.Same[:i], name) {
			return tables.Refuse("%s names column %q twice", w.named("Same"), name)
		}
		if slices.Contains(targets, name) {
			return tables.Refuse("%s names column %q, whose values are the labels, which candidates do not have",
				w.named("Same"), name)
		}
	}
	return nil
}

// checkMeasurements rejects a batch that cannot be divided into measurements.
func (w wording) checkMeasurements() error {
	switch {
	case w.Replicates < 0:
		return tables.Refuse("%s must be at least 1", w.named("Replicates"))
	case !(w.ReplicateShare >= 0 && w.ReplicateShare < 1):
		return tables.Refuse("%s must be at least 0 and less than 1, not %v", w.named("ReplicateShare"), w.ReplicateShare)
	case w.ReplicateShare > 0 && w.Batch == 0:
		return tables.Refuse("%s needs %s: it is a share of the batch", w.named("ReplicateShare"), w.named("Batch"))
	case w.ReplicateShare > 0 && len(w.Same) > 0:
		return tables.Refuse("%s and %s exclude each other: labelled rows have values of their own", w.text("Same"),
			w.text("ReplicateShare"))
	}
	if w.Batch == 0 || w.Repeated != nil || whole(&w.Limits, w.Batch) {
		return nil
	}
	fewer, more := w.Batch-1, w.Batch+1
	for fewer > 0 && !whole(&w.Limits, fewer) {
		fewer--
	}
	for !whole(&w.Limits, more) {
		more++
	}
	sizes := fmt.Sprintf("%d or %d", fewer, more)
	if fewer == 0 {
		sizes = fmt.Sprint(more)
	}
	var what []string
	if w.Replicates > 1 {
		what = append(what, w.text("Replicates"))
	}
	if n := repeats(w.Ask); n > 0 {
		what = append(what, fmt.Sprintf("%s (%s once more)", w.text("ReplicateShare"),
			words.Count(n, "labelled row", "labelled rows")))
	}
	return tables.Refuse("%s %d is not a whole number of rows with %s: use %s", w.named("Batch"), w.Batch,
		words.List(what), sizes)
}

func (w wording) checkRunsFit() error {
	rows := picks(w.Ask)
	if w.Runs <= rows {
		return nil
	}
	of := ""
	if w.MeasuresAgain() {
		of = " (" + w.size(w.Batch) + ")"
	}
	return tables.Refuse("%s is %d, but the batch has %s%s", w.named("Runs"), w.Runs, words.Count(rows, "row", "rows"), of)
}

// text is a limit as the user has given it.
func (w wording) text(field string) string {
	name := w.named(field)
	switch field {
	case "Same":
		return name + " " + strings.Join(w.Same, ",")
	case "Budget":
		return fmt.Sprintf("%s %.12g", name, *w.Budget)
	case "ReplicateShare":
		return name + " " + words.Share(w.ReplicateShare)
	}
	if number := reflect.ValueOf(w.Limits).FieldByName(field); number.IsValid() && number.CanInt() {
		return fmt.Sprintf("%s %d", name, number.Int())
	}
	return name
}

// size is the size of a batch of so many measurements with what divides it into rows, as the user has given them.
func (w wording) size(lines int) string {
	var with []string
	if w.Replicates > 1 {
		with = append(with, w.text("Replicates"))
	}
	if w.ReplicateShare > 0 {
		with = append(with, w.text("ReplicateShare"))
	}
	text := fmt.Sprintf("%s %d", w.named("Batch"), lines)
	if len(with) > 0 {
		text += " with " + words.List(with)
	}
	return text
}
