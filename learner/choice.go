package learner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/internal/gp"
	"github.com/nextbatch/nextbatch/internal/incontext"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/network"
)

// Kind is what a user chooses: one learner, or the best for the labels there are.
type Kind string

const (
	Auto         Kind = "auto"    // the blend of all candidates
	NetworkAlone Kind = "network" // the paper's network; the zero Kind means the same
	GaussianOnly Kind = "gp"
	TreesOnly    Kind = "trees" // extra trees and gradient boosting
	InContext    Kind = "in-context"
)

// FewForNetworks is how many labels a network and boosting take in a blend: from fewer they learn little.
const FewForNetworks = 20

// Kinds returns all kinds.
func Kinds() []Kind { return []Kind{Auto, NetworkAlone, GaussianOnly, TreesOnly, InContext} }

// KindsText lists the kinds for messages and help.
func KindsText() string {
	var names []string
	for _, k := range Kinds() {
		names = append(names, string(k))
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

// Check rejects an unknown kind. Name is what the message calls the setting.
func (k Kind) Check(name string) error {
	if k == "" {
		return nil
	}
	for _, known := range Kinds() {
		if k == known {
			return nil
		}
	}
	return fmt.Errorf("%s is %s, not %q", name, KindsText(), string(k))
}

// CheckNetwork reports settings of networks that have no effect on models of this kind. Given are those that the user
// names, and prefix is how their names and that of the learner begin.
func (k Kind) CheckNetwork(prefix string, given []string, activation string) error {
	switch all := words.List(given); {
	case !k.Blends() || len(given) == 0:
		return nil
	case k != Auto:
		set := map[bool]string{true: "sets", false: "set"}[len(given) == 1]
		return fmt.Errorf("%[1]s %[2]s the training of a network, but %[3]slearner %[4]s trains none: leave %[1]s out, or "+
			"choose %[3]slearner %[5]s or %[6]s", all, set, prefix, k, NetworkAlone, Auto)
	case activation == network.ReLU.String() && slices.Contains(given, prefix+"activation"):
		return fmt.Errorf("%[1]sactivation %[2]s is for %[1]slearner %[3]s, while the networks of a blend have %[4]s in "+
			"its place: leave it out, or choose %[1]slearner %[3]s", prefix, activation, NetworkAlone, network.SiLU)
	}
	return nil
}

// Fewest returns how many labels a model of this kind needs.
func (k Kind) Fewest() int {
	if k.Blends() {
		return FewestLabels
	}
	return encode.FewestToLearn
}

// CheckLabels reports more labels than a model of this kind takes. The blend of all candidates takes any number.
func (k Kind) CheckLabels(n int) error {
	for _, of := range []struct {
		kind Kind
		name string
		most int
	}{{GaussianOnly, "a Gaussian process", mostForProcess}, {InContext, "the in-context network", incontext.MostLabels}} {
		if k == of.kind && n > of.most {
			return fmt.Errorf("%s takes at most %s labels, and there are %s: choose the learner %s or %s",
				of.name, words.Whole(of.most), words.Whole(n), Auto, TreesOnly)
		}
	}
	return nil
}

// Blends reports whether models of this kind are blends. A network alone is not.
func (k Kind) Blends() bool { return k != "" && k != NetworkAlone }

// candidates returns the learners of a kind for a number of labels, with declared ranges.
func (k Kind) candidates(labels int, n networkLearner, ranges dataset.Ranges) []Learner {
	processes := []Learner{processLearner{}}
	if labels <= fewForSparse {
		processes = append(processes, processLearner{gp.Sparse}, processLearner{gp.Stationary})
	}
	if slices.ContainsFunc(ranges, limited) {
		processes = append(processes, scaledProcess{})
	}
	switch {
	case k == GaussianOnly:
		return processes
	case k == InContext:
		return []Learner{contextLearner{}}
	case k == TreesOnly && labels < FewForNetworks:
		return []Learner{extraTrees{}}
	case k == TreesOnly:
		return []Learner{extraTrees{}, boostedTrees{}}
	case labels < FewForNetworks:
		return append(processes, extraTrees{})
	}
	return append(processes, extraTrees{}, boostedTrees{}, n)
}
