package benchmark

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/nextbatch/nextbatch/spec"
)

// studyBuilder collects the runs of a study. Its sets keep the work linear in the
// number of runs: a results file may name as many methods, data sets and splits as
// it has runs.
type studyBuilder struct {
	*Study
	planned map[methodOnSet]map[int]bool // by split
	methods map[string]int               // positions in Methods
	sets    map[string]bool
	splits  map[int]bool
}

func newStudyBuilder(setting Setting) *studyBuilder {
	return &studyBuilder{
		Study:   &Study{Setting: setting, runs: map[methodOnSet]map[int][]Round{}},
		planned: map[methodOnSet]map[int]bool{}, methods: map[string]int{}, sets: map[string]bool{}, splits: map[int]bool{},
	}
}

// enter registers the method, data set and split of a run.
func (b *studyBuilder) enter(at methodOnSet, split int) {
	if _, known := b.methods[at.method]; !known {
		b.methods[at.method] = len(b.Methods)
		b.Methods = append(b.Methods, at.method)
	}
	b.sets[at.set], b.splits[split] = true, true
	if b.runs[at] == nil {
		b.runs[at], b.planned[at] = map[int][]Round{}, map[int]bool{}
	}
}

// finish sorts the lists and drops incomplete runs. With all, every split of every
// method on every data set counts as planned.
func (b *studyBuilder) finish(all bool) *Study {
	places := map[string]int{}
	for _, m := range b.Methods {
		places[m] = methodPlace(m)
	}
	slices.SortStableFunc(b.Methods, func(x, y string) int { return places[x] - places[y] })
	for i, m := range b.Methods {
		b.methods[m] = i
	}
	b.DataSets, b.Splits = slices.Sorted(maps.Keys(b.sets)), slices.Sorted(maps.Keys(b.splits))
	finished := map[string]bool{}
	for _, at := range b.cells(all) {
		if gap := b.dropIncomplete(at, all); gap.Splits != nil {
			b.Gaps = append(b.Gaps, gap)
		}
		if len(b.runs[at]) > 0 {
			finished[at.set] = true
		}
	}
	b.DataSets = slices.DeleteFunc(b.DataSets, func(set string) bool { return !finished[set] })
	return b.Study
}

// cells lists what can have runs or gaps, by method and data set: with all, every
// combination, and otherwise those that were entered.
func (b *studyBuilder) cells(all bool) (cells []methodOnSet) {
	if all {
		for _, method := range b.Methods {
			for _, set := range b.DataSets {
				cells = append(cells, methodOnSet{method, set})
			}
		}
		return cells
	}
	return slices.SortedFunc(maps.Keys(b.runs), func(x, y methodOnSet) int {
		return cmp.Or(b.methods[x.method]-b.methods[y.method], cmp.Compare(x.set, y.set))
	})
}

// dropIncomplete drops the incomplete runs of a method on a data set, and returns
// the planned ones that are missing.
func (b *studyBuilder) dropIncomplete(at methodOnSet, all bool) Gap {
	gap := Gap{Method: at.method, DataSet: at.set}
	splits := b.Splits
	if !all {
		known := maps.Clone(b.planned[at])
		for split := range b.runs[at] {
			known[split] = true
		}
		splits = slices.Sorted(maps.Keys(known))
	}
	for _, split := range splits {
		rounds, wanted := b.runs[at][split], all || b.planned[at][split]
		if wanted {
			gap.Planned++
		}
		if b.complete(rounds) {
			b.labels(rounds)
			continue
		}
		delete(b.runs[at], split)
		if wanted {
			gap.Splits = append(gap.Splits, split)
		}
	}
	return gap
}

// methodPlace is the position of a method among the paper's selection methods.
func methodPlace(method string) int {
	_, text := SplitSpec(method)
	s, err := spec.Parse(text)
	if err != nil {
		return math.MaxInt32
	}
	return s.Method.Order()
}

// complete sorts the rounds of a run and reports whether none is missing.
func (b *studyBuilder) complete(rounds []Round) bool {
	slices.SortFunc(rounds, func(a, b Round) int { return a.Round - b.Round })
	for i, r := range rounds {
		if r.Round != i {
			return false
		}
	}
	return len(rounds) == b.Rounds+1 && b.Rounds > 0
}

// labels takes the number of labels per round from the first complete run.
func (b *studyBuilder) labels(rounds []Round) {
	if b.Labels != nil {
		return
	}
	for _, r := range rounds {
		b.Labels = append(b.Labels, r.Labels)
	}
}
