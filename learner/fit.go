package learner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
)

// Options determine how Fit learns. The zero value trains the paper's network.
type Options struct {
	Kind Kind
	// Network is how a network alone is fitted. In a blend its holdout, folds and noise have no meaning, and
	// networks have SiLU with the constants of the paper's second configuration instead of ReLU with those of the first.
	Network network.Options
	// Others are candidates of the caller's own, which a blend has in addition.
	Others []Learner
	// Only, unless nil, are the names of the candidates of a blend that are fitted: those that an earlier fit
	// gave a weight, say. The others are not mentioned.
	Only []string
	// Folds is how many parts a blend divides the rows into; 0 means DefaultFolds. NetworkFolds is how many of
	// them networks are trained for; 0 means the fewer the more labels there are.
	Folds, NetworkFolds int
	// Shown, unless nil, is called before a model of a blend is fitted: for a fold, counted from 1, or for all
	// rows, as fold 0.
	Shown func(learner string, fold, folds int)
}

// Fit fits a model to the rows of a sample. A network that diverged is an error beside the model, as
// in network.Fit; in a blend it is a note of its candidate.
func Fit(ctx context.Context, s network.Sample, o Options) (*Model, error) {
	if err := o.Kind.Check("the learner"); err != nil {
		return nil, err
	}
	if !o.Kind.Blends() {
		if len(o.Others) > 0 {
			return nil, fmt.Errorf("a network alone has no other candidates; choose the learner %s", Auto)
		}
		m, err := network.Fit(ctx, s, o.Network)
		if m == nil {
			return nil, err
		}
		return OfNetwork(m), err
	}
	if o.Folds < 0 || o.Folds == 1 || o.NetworkFolds < 0 {
		return nil, fmt.Errorf("%d folds, and networks for %d of them; there must be at least 2 and 1, or 0 for the defaults",
			o.Folds, o.NetworkFolds)
	}
	n := networkLearner{o.Network, o.NetworkFolds}
	n.Options.Config = smooth(n.Options.Config)
	return fitBlend(ctx, s, o, func(labels int) []Learner {
		return slices.DeleteFunc(append(o.Kind.candidates(labels, n, s.Ranges), o.Others...), func(l Learner) bool {
			return o.Only != nil && !slices.Contains(o.Only, l.Name())
		})
	})
}

// fitBlend fits a blend of the learners that suit a number of labels.
func fitBlend(ctx context.Context, s network.Sample, o Options, learners func(labels int) []Learner) (*Model, error) {
	t, err := newTask(ctx, s, o)
	if err != nil {
		return nil, err
	}
	counts := encode.CountLabels(t.Labels)
	if err := o.Kind.CheckLabels(slices.Max(counts)); err != nil && len(o.Others) == 0 {
		return nil, err
	}
	candidates := learners(slices.Min(counts))
	if len(candidates) > MostCandidates {
		return nil, fmt.Errorf("there are %d learners; a blend takes up to %d", len(candidates), MostCandidates)
	}
	if name := repeated(candidates); name != "" {
		return nil, fmt.Errorf("there are two learners %q", name)
	}
	m := newBlended(t, o)
	if err := m.fit(ctx, t, candidates); err != nil {
		return nil, err
	}
	return &Model{blended: m}, nil
}

// newTask checks a sample and returns it as a task.
func newTask(ctx context.Context, s network.Sample, o Options) (*Task, error) {
	s.Targets = max(s.Targets, 1)
	if err := errors.Join(s.Check(ctx, o.Network), s.Ranges.Check(s.Targets)); err != nil {
		return nil, err
	}
	if s.Sides != nil && len(s.Sides) != len(s.Y) {
		return nil, fmt.Errorf("there are %d sides of limits for %d labels", len(s.Sides), len(s.Y))
	}
	if s.ValidX.Rows > 0 { // a blend holds out rows of its own
		if s.Noise != nil {
			s.Noise = append(s.Noise[:len(s.Noise):len(s.Noise)], make([]float64, len(s.ValidY))...)
		}
		s.X, s.Y = matrix.Stack(s.X, s.ValidX), append(s.Y[:len(s.Y):len(s.Y)], s.ValidY...)
		if s.Sides != nil {
			s.Sides = append(s.Sides[:len(s.Sides):len(s.Sides)], make([]int8, len(s.ValidY))...)
		}
	}
	scaling, err := encode.FitScalerAll(encode.Population, s.X, s.Unlabelled)
	if err != nil {
		return nil, err
	}
	t := &Task{Rows: scaledBy(scaling, s.X), Labels: labelsOf(s.Y, s.Targets), Scaling: scaling,
		Seed: o.Network.Config.Seed, Ranges: s.Ranges, Sides: s.Sides, Noise: s.Noise, shown: o.Shown}
	if s.Random != nil {
		t.Random = append(s.Random[:len(s.Random):len(s.Random)], make([]bool, s.ValidX.Rows)...)
	}
	if o.Network.Columns != nil {
		t.Columns = columnsOf(o.Network.Columns)
	}
	t.Folds = cutFolds(t.Labels, cmp.Or(o.Folds, DefaultFolds), t.Seed)
	if err := t.check(o.Network.Targets); err != nil {
		return nil, err
	}
	return t, t.weighByPool(ctx, s.Unlabelled)
}

// crossFit cross-fits a learner, and reports results that are not one for each target and labelled row.
func (t *Task) crossFit(ctx context.Context, l Learner) ([]*CrossFitted, error) {
	list, err := l.CrossFit(ctx, t)
	if err != nil {
		return nil, err
	}
	if len(list) != t.Targets() {
		return nil, fmt.Errorf("it returned %d results for %d targets", len(list), t.Targets())
	}
	for _, c := range list {
		if c == nil || c.Left == "" && len(c.Means) != t.Rows.Len() {
			return nil, errors.New("it did not predict every labelled row")
		}
	}
	return list, nil
}

// mayFail reports whether the others do without a learner that failed: one of this package, whose numbers did not suit
// it. An error of a device, or of a learner of the caller's own, is for the caller.
func mayFail(l Learner, err error) bool {
	switch l.(type) {
	case processLearner, scaledProcess, extraTrees, boostedTrees, contextLearner, networkLearner:
		return !errors.As(err, new(*network.DeviceError))
	}
	return false
}

// fit cross-fits the learners, again if labels are to be left out, and blends them for each target.
func (m *blended) fit(ctx context.Context, t *Task, learners []Learner) error {
	first := t.tamed()
	candidates, all, err := first.crossFitAll(ctx, learners)
	if err != nil {
		return err
	}
	left, some := make([][]int, t.Targets()), first != t
	for k := range all {
		left[k] = t.absurd(k, all[k])
		some = some || len(left[k]) > 0
	}
	rest := t
	if some {
		rest = t.without(left)
		if candidates, all, err = rest.crossFitAll(ctx, learners); err != nil {
			return err
		}
	}
	for k := range all {
		b, err := blendOf(rest, k, append([]Candidate(nil), candidates...), all[k])
		if err != nil {
			return err
		}
		if err := b.addLeftOut(ctx, t, k, left[k], all[k]); err != nil {
			return err
		}
		m.targets[k].blend = b
		m.keep(k, all[k])
	}
	return nil
}

// crossFitAll cross-fits the learners. It returns what became of them, and the results of each target, with nil for
// learners that refuse.
func (t *Task) crossFitAll(ctx context.Context, learners []Learner) ([]Candidate, [][]*CrossFitted, error) {
	candidates := make([]Candidate, len(learners))
	all := make([][]*CrossFitted, t.Targets())
	t.crossed = make([][]*CrossFitted, t.Targets())
	for i, l := range learners {
		candidates[i] = Candidate{Name: l.Name(), Left: l.Refuses(slices.Max(encode.CountLabels(t.Labels)), t.Rows.Raw.Cols)}
		list := make([]*CrossFitted, t.Targets())
		if candidates[i].Left == "" {
			var err error
			if list, err = t.crossFit(ctx, l); ctx.Err() != nil || err != nil && !mayFail(l, err) {
				return nil, nil, fmt.Errorf("%s: %w", l.Name(), cmp.Or(err, context.Cause(ctx)))
			}
			if err != nil { // the others may do without it
				candidates[i].Left, list = err.Error(), make([]*CrossFitted, t.Targets())
			}
		}
		for k, c := range list {
			all[k] = append(all[k], c)
			if c != nil && c.Left == "" {
				t.crossed[k] = append(t.crossed[k], c)
			}
		}
	}
	return candidates, all, nil
}
