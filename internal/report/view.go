package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nextbatch/nextbatch/internal/benchmark"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/spec"
)

// view is a study and the methods to show in its figures and in its tables by data
// set.
type view struct {
	*benchmark.Study
	fair  *benchmark.Study  // the runs of the shown methods that can be compared
	shown []string          // methods
	names map[string]string // short names of the shown methods
	sets  []string          // on which all shown methods have splits in common
	name  string            // the prefix of file names
	mixed bool              // some methods are compat and others are not

	learners bool // some methods have another learner than a network
}

func newView(s *benchmark.Study) view {
	v := view{Study: s, shown: shownMethods(s), learners: haveLearners(s.Methods)}
	v.names = shortNames(v.shown)
	v.fair = s.OnCommonSplits(v.shown...)
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

// maxShown is the most methods that a figure can show.
const maxShown = 8

// shownMethods returns all methods with runs or, if there are too many, those that
// the paper selected for its figures, or else the first ones.
func shownMethods(s *benchmark.Study) []string {
	all := s.Finished()
	if len(all) <= maxShown {
		return all
	}
	if haveLearners(all) {
		return lowest(s, all)
	}
	selected := map[string]bool{}
	for _, chosen := range spec.Selected() {
		if method, ok := s.Find(benchmark.WithoutCompat(chosen.String())); ok && slices.Contains(all, method) {
			selected[method] = true
		}
	}
	if len(selected) < 2 {
		return all[:maxShown]
	}
	return slices.DeleteFunc(slices.Clone(all), func(m string) bool { return !selected[m] })
}

// lowest returns the methods with the lowest errors, and random selection with each learner.
func lowest(s *benchmark.Study, all []string) (methods []string) {
	fair := s.OnCommonSplits(all...)
	sets, rmse := fair.Common(all...), map[string]float64{}
	for _, m := range all {
		rmse[m] = fair.Mean(benchmark.MeanLog(benchmark.RMSE), m, sets...).Value
		if random, _ := s.Random(m); random == m {
			rmse[m] = math.Inf(-1)
		}
	}
	best := slices.Clone(all)
	slices.SortStableFunc(best, func(a, b string) int { return cmp.Compare(rmse[a], rmse[b]) })
	best = best[:maxShown]
	return slices.DeleteFunc(slices.Clone(all), func(m string) bool { return !slices.Contains(best, m) })
}

// random returns the study's method of random selection, if it has runs.
func (v view) random() (string, bool) {
	method, ok := v.Find("random")
	return method, ok && v.Runs(method, v.DataSets...) > 0
}

// ownRandom returns random selection with the learner of a method.
func (v view) ownRandom(method string) string {
	random, _ := v.Random(method)
	return random
}

// withNetwork returns the same method with a network alone, and nothing for those that have one.
func (v view) withNetwork(method string) string {
	if kind, _ := benchmark.SplitSpec(method); !kind.Blends() {
		return ""
	}
	other, _ := v.WithLearner(learner.NetworkAlone, method)
	return other
}

// runsNote states how many runs the numbers of methods on data sets are based on.
func runsNote(s *benchmark.Study, methods, sets []string) string {
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
	splits := words.Count(high, "split", "splits")
	if low < high {
		splits = fmt.Sprintf("%d to %d splits", low, high)
	}
	return fmt.Sprintf("%s x %s x %s: %s.", words.Count(len(methods), "method", "methods"),
		words.Count(len(sets), "data set", "data sets"), splits, words.Count(total, "run", "runs"))
}

// meanRunsNote is runsNote for means over data sets, which leave out those where a
// method has no runs.
func meanRunsNote(s *benchmark.Study, methods, sets []string) string {
	text := runsNote(s, methods, sets)
	var out []string
	for _, set := range s.DataSets {
		if !slices.Contains(sets, set) {
			out = append(out, set)
		}
	}
	if len(out) > 0 && len(sets) > 0 {
		text += fmt.Sprintf(" Means over %s. Left out, because some method has no runs there: %s.", strings.Join(sets, ", "),
			strings.Join(out, ", "))
	} else if len(out) > 0 {
		text = "No data set has runs of every method, so there is nothing to average."
	}
	return text
}

// unusedRunsNote lists the complete runs that do not count in a comparison of methods
// because other methods lack their splits.
func unusedRunsNote(all, fair *benchmark.Study, methods, sets []string) (text string) {
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
		text = fmt.Sprintf(" Only splits that all methods share on a data set count: %s left out.",
			words.Count(runs, "complete run of another split is", "complete runs of other splits are"))
	}
	if len(out) > 0 {
		text += " No split in common with the others: " + strings.Join(out, ", ") + "."
	}
	return text
}

// bandNote explains the bands, which take more than one split.
func bandNote(splits []int) string {
	if len(splits) < 2 {
		return " With a single split there is no standard error."
	}
	return " Shaded: one standard error of the mean."
}
