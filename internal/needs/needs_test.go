package needs_test

import (
	"testing"

	"github.com/nextbatch/nextbatch/internal/needs"
	"github.com/nextbatch/nextbatch/spec"
)

// TestFactsOfSums: what a sum needs is what its terms need.
func TestFactsOfSums(t *testing.T) {
	t.Parallel()
	z := spec.Size{Train: 50, Inputs: 10, Hidden: []int{20}, Trees: 30, Members: 7}
	for _, test := range []struct {
		text                       string
		trained, networks, passes  int
		labelled, double, explicit bool
		width                      int
	}{
		{"lcmd-p:linear+0.5*laplace>rff(64)", 0, 0, 1, false, false, true, 10 + 64},
		{"lcmd-p:linear+ntk", 0, 1, 1, false, false, false, 10 + 11},
		{"lcmd-p:leaf+predictions", 0, 0, 1, true, false, false, 30 + 7},
		{"lcmd-p:grad>sketch(16)+matern>rff(64)", 1, 1, 1, true, false, true, 16 + 64},
		{"lcmd-p:grad>ens(3)>sketch(16)+ll>ens(2)>sketch(8)+ll", 3, 3, 6, true, false, true, 16 + 8 + 21},
		{"bait-f-p:(grad>sketch(16)+matern>rff(64))>train", 1, 1, 1, true, true, true, 80},
		{"lcmd-p:(grad>sketch(16)+matern)>train", 1, 1, 1, true, true, false, 16 + 10},
		{"lcmd-p:(grad+leaf)>sketch(32)", 1, 1, 1, true, false, true, 32},
	} {
		s := spec.MustParse(test.text)
		if s.TrainedNetworks() != test.trained || needs.Networks(s) != test.networks || needs.Passes(s) != test.passes ||
			needs.Labelled(s) != test.labelled || needs.Double(s) != test.double {
			t.Errorf("%s: %d trained networks, %d networks, %d passes, labelled rows %v, float64 %v", test.text,
				s.TrainedNetworks(), needs.Networks(s), needs.Passes(s), needs.Labelled(s), needs.Double(s))
		}
		if width, explicit := s.Width(z); width != test.width || explicit != test.explicit {
			t.Errorf("%s: %d numbers per row, explicit %v", test.text, width, explicit)
		}
	}
	if !needs.OwnFeatures(spec.MustParse("lcmd-p:features+0.5*linear")) ||
		needs.OwnFeatures(spec.MustParse("lcmd-p:grad+linear")) {
		t.Error("the user's own features are not those of the spec")
	}
}
