package benchmark

import (
	"context"
	"slices"
	"strings"

	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/network"
)

// In a replay, networks are candidates of a blend if they have at least this weight in that of all labels, and
// are trained for one of its folds only: a training takes longer than all the other candidates.
const (
	replayedWeight = 0.1
	replayedFolds  = 1
)

// choose finds the blend that suits all labels. The replay then fits its candidates again and again.
func (r *replay) choose(ctx context.Context) error {
	if !r.Learner.Blends() || slices.Min(encode.CountLabels(r.data.Labels())) < learner.FewestLabels {
		return nil
	}
	sample := network.Sample{X: r.data.X, Y: r.data.Y, Targets: r.data.Targets, Unlabelled: r.Unlabelled}
	m, _, err := fitted.Learn(ctx, sample,
		learner.Options{Kind: r.Learner, Network: r.networks(r.data), Shown: r.Fitting})
	if err != nil {
		return err
	}
	r.blend = learner.Options{NetworkFolds: replayedFolds, Only: []string{}}
	for k := range m.Targets() {
		one := m.Target(k)
		c := Chosen{Candidates: one.Candidates(), Notes: one.Notes()}
		c.Learner = learner.ChoiceText(c.Candidates, one.Provenance().ValidRMSE[0])
		if names := r.data.TargetNames(); names != nil {
			c.Target = names[k]
		}
		r.chosen = append(r.chosen, c)
		r.blend.Only = append(r.blend.Only, replayed(c.Candidates)...)
	}
	return nil
}

// replayed returns the candidates that take part in a replay.
func replayed(all []learner.Candidate) (names []string) {
	for _, c := range all {
		if c.Name != learner.NetworkName || c.Weight >= replayedWeight {
			names = append(names, c.Name)
		}
	}
	return names
}

// Troubles returns the warnings of a record, without what its blend consists of.
func Troubles(r Record) []string {
	return slices.DeleteFunc(slices.Clone(r.Warnings), func(w string) bool { return strings.HasPrefix(w, ChoiceNote) })
}
