package benchmark

import "slices"

// Together returns the study with those runs of some methods alone that can be
// compared: on each data set, the splits that all of these methods have. A method
// without a split in common with the others is left out on that data set: the one
// with the fewest runs goes first.
func (s *Study) Together(methods ...string) *Study {
	t := *s
	t.Methods = slices.Clone(methods)
	t.Splits, t.runs = nil, map[cell]map[int][]Round{}
	for _, set := range s.DataSets {
		among, splits := s.inCommon(methods, set)
		for _, method := range among {
			at := cell{method, set}
			t.runs[at] = map[int][]Round{}
			for _, split := range splits {
				t.runs[at][split] = s.runs[at][split]
				t.Splits = appendNew(t.Splits, split)
			}
		}
	}
	slices.Sort(t.Splits)
	return &t
}

// Within returns the study with those runs alone whose split some run of another
// study has on the same data set. A data set without runs there stays as it is.
func (s *Study) Within(other *Study) *Study {
	t := *s
	t.Splits, t.runs = nil, map[cell]map[int][]Round{}
	for at, runs := range s.runs {
		theirs := other.splitsOn(at.set)
		t.runs[at] = map[int][]Round{}
		for split, rounds := range runs {
			if len(theirs) == 0 || slices.Contains(theirs, split) {
				t.runs[at][split] = rounds
				t.Splits = appendNew(t.Splits, split)
			}
		}
	}
	slices.Sort(t.Splits)
	return &t
}

// splitsOn lists the splits that any method has on a data set.
func (s *Study) splitsOn(set string) (splits []int) {
	for at, runs := range s.runs {
		for split := range runs {
			if at.set == set {
				splits = appendNew(splits, split)
			}
		}
	}
	return splits
}

// inCommon returns the methods that have splits in common on a data set, and
// these splits.
func (s *Study) inCommon(methods []string, set string) (among []string, splits []int) {
	runs := func(method string) map[int][]Round { return s.runs[cell{method, set}] }
	for _, m := range methods {
		if len(runs(m)) > 0 {
			among = append(among, m)
		}
	}
	for len(among) > 0 {
		for _, split := range s.Splits {
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
