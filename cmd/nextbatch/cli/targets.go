package cli

import (
	"encoding/csv"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/internal/words"
)

// --target names one column, or several, separated by commas, each by its name or by a
// pattern. The name of a column comes first: a column whose name has a comma or a star in
// it is named as it is, and in a list within double quotes.

const targetUsage = "target column: the labels, empty where a row has none; several as y1,y2 or with a pattern, 'Run*'"

func (f *columnFlags) registerTarget(c *cobra.Command) {
	c.Flags().StringVar(&f.target, "target", "", targetUsage)
}

// registerWeights registers the flag for the weights of the targets.
func (f *columnFlags) registerWeights(c *cobra.Command) {
	c.Flags().Float64SliceVar(&f.Weights, "weights", nil,
		"how much each target counts in the kernel of the network, as in 1,2,0.5 (default 1 each)")
}

// registerRange registers the flag for the ranges of the labels.
func registerRange(f *pflag.FlagSet, to *dataset.Ranges) {
	f.Var((*rangesValue)(to), "range",
		"what the labels can be, as in 0..100 or 0..; one for each of several targets as in 0..100,0..1: predictions and "+
			"intervals keep to it")
}

// registerLabelSD registers the flag for the columns of known noise.
func (f *columnFlags) registerLabelSD(flags *pflag.FlagSet) {
	flags.StringSliceVar(&f.labelSD, "label-sd", nil,
		"column with the standard deviation of each label's noise; one for each of several targets")
}

// rangesValue is the value of --range.
type rangesValue dataset.Ranges

func (v *rangesValue) String() string { return dataset.Ranges(*v).String() }
func (v *rangesValue) Type() string   { return "range" }

func (v *rangesValue) Set(text string) (err error) {
	list, err := dataset.ParseRanges(text)
	*v = rangesValue(list)
	return err
}

// checkWeights rejects weights unless there is one, positive and finite, for each of
// the targets of a table.
func (f *columnFlags) checkWeights(table string, targets int) error {
	if n := len(f.Weights); n > 0 && n != targets {
		return usagef("--weights has %s, but %s has %s", words.Count(n, "number", "numbers"), table,
			words.Count(targets, "target", "targets"))
	}
	for _, w := range f.Weights {
		if !(w > 0) || math.IsInf(w, 1) {
			return usagef("--weights: %v must be positive and finite", w)
		}
	}
	return nil
}

// targetItems splits the value of --target.
func (f *columnFlags) targetItems() ([]string, error) {
	if f.target == "" {
		return nil, nil
	}
	reader := csv.NewReader(strings.NewReader(f.target))
	reader.TrimLeadingSpace = true
	items, err := reader.Read()
	if err != nil {
		return nil, usagef("--target %s: put column names that contain commas in double quotes, as in 'y,\"a, b\"'", f.target)
	}
	for _, item := range items {
		if item == "" {
			return nil, usagef("--target %s has an empty name", f.target)
		}
		if _, err := matches(item, ""); err != nil {
			return nil, usagef("--target: %q is neither the name of a column nor a pattern", item)
		}
	}
	return items, nil
}

// targets returns the target columns of a table with the given columns. A name that no
// column has stays in the list, for the message that it is missing.
func (f *columnFlags) targets(names []string) (list []string) {
	if f.target == "" || slices.Contains(names, f.target) {
		return slices.DeleteFunc([]string{f.target}, func(name string) bool { return name == "" })
	}
	items, err := f.targetItems()
	if err != nil {
		return []string{f.target}
	}
	added := map[string]bool{}
	add := func(name string) {
		if !added[name] {
			added[name], list = true, append(list, name)
		}
	}
	for _, item := range items {
		found := slices.Contains(names, item)
		if found {
			add(item)
		}
		for _, name := range names {
			if ok, _ := matches(item, name); ok && !found && f.mayBeTarget(name) {
				add(name)
			}
		}
		if !slices.ContainsFunc(names, func(name string) bool { ok, _ := matches(item, name); return ok || name == item }) {
			add(item)
		}
	}
	return list
}

// mayBeTarget reports whether a pattern may stand for a column.
func (f *columnFlags) mayBeTarget(name string) bool {
	return name != f.id && name != f.random && !slices.Contains(f.ignore, name)
}

// matches reports whether a column has a pattern, in which a star stands for any text.
func matches(pattern, name string) (bool, error) {
	const slash = "\x00" // which path.Match treats like any other character
	return path.Match(strings.ReplaceAll(pattern, "/", slash), strings.ReplaceAll(name, "/", slash))
}

// declareTargets declares that the target columns are numbers.
func (f *columnFlags) declareTargets(o *source.Options) {
	items, err := f.targetItems()
	if f.target == "" || err != nil {
		return
	}
	if len(items) == 1 && !strings.ContainsAny(f.target, `*?[\"`) {
		o.Kinds[f.target] = dataset.KindNumeric
		return
	}
	o.KindOf = func(column string) (dataset.Kind, bool) {
		if !f.isTarget(column) {
			return 0, false
		}
		return dataset.KindNumeric, true
	}
}

// isTarget reports whether a column is one of the targets, of which there may be several.
func (f *columnFlags) isTarget(column string) bool {
	items, err := f.targetItems()
	return column == f.target || err == nil && slices.ContainsFunc(items, func(item string) bool {
		ok, _ := matches(item, column)
		return item == column || ok && f.mayBeTarget(column)
	})
}
