package benchmark

import (
	"errors"
	"fmt"
	"slices"

	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/spec"
)

// Grid is a set of runs: all combinations of its lists.
type Grid struct {
	Sets        []string   `toml:"sets"`
	Activations []string   `toml:"activations"`
	Specs       []string   `toml:"specs"`    // any text that spec.Parse reads
	Learners    []string   `toml:"learners"` // kinds of package learner; none means a network
	Compat      bool       `toml:"compat"`
	Splits      []int      `toml:"splits"`
	Schedules   []Schedule `toml:"schedules"`
}

// Schedule is how rows are labelled: the number of rounds and the batch size.
type Schedule struct {
	Rounds int `toml:"rounds"`
	Batch  int `toml:"batch"`
}

// Runs returns the runs of the grid: set by set, then split by split, so that
// methods can be compared early. The error lists everything that is wrong.
func (g Grid) Runs() ([]Run, error) {
	specs, err := g.methods()
	found := []error{err}
	for _, kind := range g.kinds() {
		found = append(found, kind.Check("a learner"))
	}
	for _, list := range []struct {
		name   string
		length int
	}{
		{"data sets", len(g.Sets)}, {"activations", len(g.Activations)}, {"specs", len(g.Specs)},
		{"splits", len(g.Splits)}, {"schedules", len(g.Schedules)},
	} {
		if list.length == 0 {
			found = append(found, fmt.Errorf("the grid has no %s", list.name))
		}
	}
	if size := g.size(); size > maxRuns {
		return nil,
			errors.Join(append(found, fmt.Errorf("the grid has %.3g runs; at most %d can be planned at once", size, maxRuns))...)
	}
	var runs []Run
	seen := map[Run]bool{}
	for _, set := range g.Sets {
		for _, split := range g.Splits {
			for _, activation := range g.Activations {
				for _, schedule := range g.Schedules {
					for _, spec := range specs {
						for _, kind := range g.takers(spec) {
							r := Run{
								DataSet: set, Activation: activation, Spec: JoinSpec(kind, specText(spec)), Compat: spec.Compat,
								BatchSize: schedule.Batch, Rounds: schedule.Rounds, Split: split,
							}
							if !seen[r] {
								runs = append(runs, r)
							}
							seen[r] = true
						}
					}
				}
			}
		}
	}
	if err := errors.Join(append(found, checkRuns(runs))...); err != nil {
		return nil, err
	}
	return runs, nil
}

// maxRuns is the most runs of a grid: many times those of the paper.
const maxRuns = 1 << 20

// size counts the combinations, as a float64 because a short file can list many.
func (g Grid) size() float64 {
	return float64(len(g.Sets)) * float64(len(g.Splits)) * float64(len(g.Activations)) * float64(len(g.Schedules)) *
		float64(len(g.Specs)) * float64(len(g.kinds()))
}

// methods parses the specs. A spec may request compat itself.
func (g Grid) methods() ([]spec.Spec, error) {
	var found []error
	specs := make([]spec.Spec, len(g.Specs))
	for i, text := range g.Specs {
		var err error
		if specs[i], err = spec.Parse(text); err != nil {
			found = append(found, err)
		}
		specs[i].Compat = specs[i].Compat || g.Compat
	}
	return specs, errors.Join(found...)
}

// kinds returns the learners of the grid.
func (g Grid) kinds() []learner.Kind {
	if len(g.Learners) == 0 {
		return []learner.Kind{learner.NetworkAlone}
	}
	kinds := make([]learner.Kind, len(g.Learners))
	for i, name := range g.Learners {
		kinds[i] = learner.Kind(name)
	}
	return kinds
}

// takers returns the learners that have what the kernel of a method uses. If none has, all are
// returned, so that their runs are rejected.
func (g Grid) takers(s spec.Spec) []learner.Kind {
	all := g.kinds()
	some := slices.DeleteFunc(slices.Clone(all), func(k learner.Kind) bool { return lacking(k, s) != "" })
	if len(some) == 0 {
		return all
	}
	return some
}

// Omitted says which combinations of learners and methods the grid leaves out, and why, because other
// learners of the grid serve the method.
func (g Grid) Omitted() (texts []string) {
	specs, err := g.methods()
	if err != nil {
		return nil
	}
	for _, s := range specs {
		takers := g.takers(s)
		for _, kind := range g.kinds() {
			if !slices.Contains(takers, kind) {
				//warning:learner-lacks
				texts = append(texts, fmt.Sprintf("%s, %s is left out: %s", kind, s, lacking(kind, s)))
			}
		}
	}
	return texts
}
