package campaign

import (
	"cmp"
	"slices"

	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/learner"
)

// Chosen is what a blend chose for a target.
type Chosen struct {
	Learner    string              `json:"learner" doc:"in a line: the weights, and why"`
	Error      float64             `json:"error" doc:"root mean square error of the blend on held-out labelled rows; 0 for a network alone"`
	Candidates []learner.Candidate `json:"candidates" doc:"what was tried"`
}

// Weights are those of the blend in a few words, the largest first. Those below half a per cent are left out.
func (c Chosen) Weights() words.Text {
	var weighted []learner.Candidate
	for _, one := range c.Candidates {
		if one.Weight >= 0.005 {
			weighted = append(weighted, one)
		}
	}
	slices.SortStableFunc(weighted, func(a, b learner.Candidate) int { return cmp.Compare(b.Weight, a.Weight) })
	var texts []words.Text
	for _, one := range weighted {
		texts = append(texts, words.Textf("%.2f %s", one.Weight, one.Name))
	}
	return words.Joined(texts, ", ")
}

// chosenBy returns what a model chose for each target; nil for a network alone.
func chosenBy(m *learner.Model) (list []Chosen) {
	if !m.Kind().Blends() {
		return nil
	}
	for target := range m.Targets() {
		one := m.Target(target)
		list = append(list, Chosen{one.Choice(), one.Provenance().ValidRMSE[0], one.Candidates()})
	}
	return list
}

// Fitted is the model of a target that an ask used. Asks with the same model are listed once.
type Fitted struct {
	Ask    int64 `json:"ask" doc:"number of the first ask that used it"`
	Labels int   `json:"labels" doc:"labelled rows that it was fitted to"`
	Chosen
}

// fitted returns the models of a target, in the order of the asks; nil if all were networks alone.
func (s *State) fitted(target int) (list []Fitted) {
	last, blends := "", false
	for _, a := range s.Asks {
		if a.Model == "" || a.Model == last {
			continue
		}
		last = a.Model
		one := Fitted{a.Ask, a.Trained, Chosen{Learner: string(learner.NetworkAlone),
			Candidates: []learner.Candidate{{Name: learner.NetworkName, Weight: 1}}}}
		if target < len(a.Chosen) {
			one.Chosen, blends = a.Chosen[target], true
		}
		list = append(list, one)
	}
	if !blends {
		return nil
	}
	return list
}
