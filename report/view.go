package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nextbatch/nextbatch/benchmark"
	"github.com/nextbatch/nextbatch/spec"
)

// view is a study with the methods that its figures and its tables of data sets
// show.
type view struct {
	*benchmark.Study
	fair  *benchmark.Study  // the runs of the shown methods that can be compared
	shown []string          // methods
	names map[string]string // of those, short
	sets  []string          // on which all shown methods have splits in common
	name  string            // begins the names of files
	mixed bool              // some methods are compat, others are not
}

func newView(s *benchmark.Study) view {
	v := view{Study: s, shown: shownMethods(s)}
	v.names = shortNames(v.shown)
	v.fair = s.Together(v.shown...)
	v.sets = v.fair.Common(v.shown...)
	v.name = fmt.Sprintf("%s-%dx%d", fileName(s.Activation), s.BatchSize, s.Rounds)
	compat := 0
	for _, m := range s.Methods {
		if compatWord(m) != "" {
			compat++
		}
	}
	v.mixed = compat > 0 && compat < len(s.Methods)
	return v
}

// most methods that a figure can show.
const mostShown = 8

// shownMethods are all methods with runs, or, if they are too many, those that
// the paper selected for its figures, or else the first ones.
func shownMethods(s *benchmark.Study) []string {
	all := s.Finished()
	if len(all) <= mostShown {
		return all
	}
	selected := map[string]bool{}
	for _, chosen := range spec.Selected() {
		if method, ok := s.Find(benchmark.WithoutCompat(chosen.String())); ok && slices.Contains(all, method) {
			selected[method] = true
		}
	}
	if len(selected) < 2 {
		return all[:mostShown]
	}
	return slices.DeleteFunc(slices.Clone(all), func(m string) bool { return !selected[m] })
}

// random is the study's method of random rows.
func (v view) random() (string, bool) {
	method, ok := v.Find("random")
	return method, ok && v.Runs(method, v.DataSets...) > 0
}

// behind says how many runs stand behind numbers of methods on data sets.
func behind(s *benchmark.Study, methods, sets []string) string {
	total, low, high := 0, -1, 0 // per method and set
	for _, m := range methods {
		for _, set := range sets {
			n := s.Runs(m, set)
			total += n
			high = max(high, n)
			if low < 0 || n < low {
				low = n
			}
		}
	}
	if total == 0 {
		return "No runs."
	}
	splits := plural(high, "split", "splits")
	if low < high {
		splits = fmt.Sprintf("%d to %d splits", low, high)
	}
	return fmt.Sprintf("%s x %s x %s: %s.", plural(len(methods), "method", "methods"),
		plural(len(sets), "data set", "data sets"), splits, plural(total, "run", "runs"))
}

// behindMean is behind for means over data sets, which leave out those where a
// method has no runs.
func behindMean(s *benchmark.Study, methods, sets []string) string {
	text := behind(s, methods, sets)
	var out []string
	for _, set := range s.DataSets {
		if !slices.Contains(sets, set) {
			out = append(out, set)
		}
	}
	if len(out) > 0 && len(sets) > 0 {
		text += fmt.Sprintf(" Means over %s; left out, for lack of runs of every method: %s.", strings.Join(sets, ", "), strings.Join(out, ", "))
	} else if len(out) > 0 {
		text = "No data set has runs of every method, so there is nothing to average."
	}
	return text
}

// uncounted says which complete runs do not count in a comparison of methods, as
// others lack their splits.
func uncounted(all, fair *benchmark.Study, methods, sets []string) (text string) {
	runs := 0
	var out []string
	for _, set := range sets {
		for _, m := range methods {
			have, used := all.Runs(m, set), fair.Runs(m, set)
			runs += have - used
			if have > 0 && used == 0 {
				out = append(out, shortNames(methods)[m]+" on "+set)
			}
		}
	}
	if runs > 0 {
		text = fmt.Sprintf(" Only splits that all methods have on a data set count: %s left out.",
			plural(runs, "complete run of another split is", "complete runs of other splits are"))
	}
	if len(out) > 0 {
		text += " Without a split in common with the others: " + strings.Join(out, ", ") + "."
	}
	return text
}

// shaded explains bands, for which there must be more than one split.
func shaded(splits []int) string {
	if len(splits) < 2 {
		return " With a single split there is no standard error."
	}
	return " Shaded: one standard error of the mean."
}
