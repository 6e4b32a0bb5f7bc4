package benchmark

import (
	"maps"
	"slices"
)

// OnCommonSplits restricts the study to the comparable runs of some methods: on
// each data set, the splits that all of them have. If they have none in common on
// a data set, the methods with the fewest runs there are dropped until they have.
func (s *Study) OnCommonSplits(methods ...string) *Study {
	t := *s
	t.Methods = slices.Clone(methods)
	t.runs = map[methodOnSet]map[int][]Round{}
	kept := map[int]bool{}
	for _, set := range s.DataSets {
		among, splits := s.inCommon(methods, set)
		for _, method := range among {
			at := methodOnSet{method, set}
			t.runs[at] = map[int][]Round{}
			for _, split := range splits {
				t.runs[at][split] = s.runs[at][split]
				kept[split] = true
			}
		}
	}
	t.Splits = slices.Sorted(maps.Keys(kept))
	return &t
}

// OnSplitsOf restricts the study to the splits that another study has on the same
// data set. A data set without runs there is left unchanged.
func (s *Study) OnSplitsOf(other *Study) *Study {
	t := *s
	t.runs = map[methodOnSet]map[int][]Round{}
	kept, theirs := map[int]bool{}, other.splitsBySet()
	for at, runs := range s.runs {
		t.runs[at] = map[int][]Round{}
		for split, rounds := range runs {
			if len(theirs[at.set]) == 0 || theirs[at.set][split] {
				t.runs[at][split] = rounds
				kept[split] = true
			}
		}
	}
	t.Splits = slices.Sorted(maps.Keys(kept))
	return &t
}

// splitsBySet returns, for each data set, the splits that any method has there.
func (s *Study) splitsBySet() map[string]map[int]bool {
	splits := map[string]map[int]bool{}
	for at, runs := range s.runs {
		if splits[at.set] == nil {
			splits[at.set] = map[int]bool{}
		}
		for split := range runs {
			splits[at.set][split] = true
		}
	}
	return splits
}

// inCommon returns the methods that have common splits on a data set, and these
// splits.
func (s *Study) inCommon(methods []string, set string) (among []string, splits []int) {
	runs := func(method string) map[int][]Round { return s.runs[methodOnSet{method, set}] }
	for _, m := range methods {
		if len(runs(m)) > 0 {
			among = append(among, m)
		}
	}
	for len(among) > 0 {
		for _, split := range slices.Sorted(maps.Keys(runs(among[0]))) {
			if !slices.ContainsFunc(among, func(m string) bool { return runs(m)[split] == nil }) {
				splits = append(splits, split)
			}
		}
		if len(splits) > 0 {
			break
		}
		fewest := slices.MinFunc(among, func(a, b string) int { return len(runs(a)) - len(runs(b)) })
		among = slices.DeleteFunc(among, func(m string) bool { return m == fewest })
	}
	return among, splits
}
