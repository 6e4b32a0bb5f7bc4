package learner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
)

// networkLearner is the paper's network. As a learner it is an ensemble: the networks of the folds are
// averaged. With several targets it has an output for each.
type networkLearner struct {
	Options network.Options
	Folds   int // that are held out; 0 means the fewer the more labels there are
}

// smooth returns the configuration of networks in a blend: SiLU instead of ReLU with its usual constants, and trained
// to the last epoch on all rows of the other folds. On sixteen real tables its share of a blend lowered the error more
// than that of networks with ReLU, or of those whose epoch was chosen on rows that they could then not learn from.
func smooth(c network.Config) network.Config {
	usual := network.Config{}.WithDefaults()
	filled := c.WithDefaults()
	if a, d := filled.Architecture, usual.Architecture; a.Activation != d.Activation || a.SigmaW != d.SigmaW ||
		*a.SigmaB != *d.SigmaB || filled.Training.Rate != usual.Training.Rate {
		return c
	}
	c.Architecture.Activation, c.Architecture.SigmaW, c.Architecture.SigmaB, c.Training.Rate = network.SiLU, 0, nil, 0
	return c
}

// Name implements Learner.
func (networkLearner) Name() string { return NetworkName }

// Refuses implements Learner.
func (networkLearner) Refuses(int, int) string { return "" }

// NetworkFolds is how many of the folds networks are trained for: a training takes as long as all
// that the other candidates do, and with many labels a few folds say enough. On twenty real tables with 256 labels, two
// folds instead of five raised the error of the blend by 1.0 %, and with 1,024 labels one by 1.8 %.
func NetworkFolds(labels int) int {
	switch {
	case labels <= 128:
		return 5
	case labels <= 1024:
		return 2
	}
	return 1
}

// folds returns how many folds of a task networks are trained for.
func (n networkLearner) folds(t *Task) int {
	return min(cmp.Or(n.Folds, NetworkFolds(t.Rows.Len())), len(t.Folds))
}

// CrossFit implements Learner. After the first fold it gives up if its weight would be next to nothing.
func (n networkLearner) CrossFit(ctx context.Context, t *Task) ([]*CrossFitted, error) {
	list := make([]*CrossFitted, t.Targets())
	for k := range list {
		list[k] = newCrossFitted(t.Rows.Len())
		list[k].Folds = n.folds(t)
	}
	var models []*network.Model
	for fold, held := range t.Folds[:list[0].Folds] {
		t.show("network", fold+1)
		m, err := n.fit(ctx, t, fold)
		if diverged := (*network.DivergedError)(nil); m == nil || err != nil && !errors.As(err, &diverged) {
			return nil, err
		}
		models = append(models, m)
		for k := range list {
			if err != nil {
				list[k].Notes = append(list[k].Notes, fmt.Sprintf("fold %d of %d: %v", fold+1, list[k].Folds, err))
			}
			u, err := m.Target(k).PredictStd(ctx, t.Rows.Raw.SelectRows(held))
			if err != nil {
				return nil, err
			}
			list[k].put(held, u.Mean, u.Std)
		}
		if fold == 0 && t.hopeless(list) {
			break
		}
	}
	for k := range list {
		list[k].Predictor = networks{models, k}
		if len(models) < list[k].Folds {
			list[k].Left = "after one of its folds it would have had no weight"
		}
	}
	return list, nil
}

// fit trains a network on all folds but one.
func (n networkLearner) fit(ctx context.Context, t *Task, fold int) (*network.Model, error) {
	o, rest := n.Options, slices.DeleteFunc(t.Others(fold), t.unlabelled)
	o.Config.Seed = t.Seed + uint64(fold)
	o.Holdout, o.Folds, o.Columns, o.Targets, o.Centres = new(0.0), 0, nil, nil, nil
	o.Scaling, o.Config.Architecture.Outputs = &t.Scaling, t.Targets()
	if tell := n.Options.Progress; tell != nil {
		o.Progress = func(e network.Epoch) {
			e.Fold, e.Folds = fold+1, n.folds(t)
			tell(e)
		}
	}
	s := network.Sample{X: t.Rows.Raw.SelectRows(rest), Y: t.Labels.SelectRows(rest).Data, Targets: t.Targets()}
	if t.Noise != nil {
		s.Noise = matrix.View(t.Rows.Len(), t.Targets(), t.Noise).SelectRows(rest).Data
	}
	return network.Fit(ctx, s, o)
}

// unlabelled reports whether a row has no label of any target, as one whose label was left out.
func (t *Task) unlabelled(row int) bool {
	return !slices.ContainsFunc(t.Labels.Row(row), func(y float64) bool { return !math.IsNaN(y) })
}

// leastWeight is the weight below which a network is not worth training in the other folds.
const leastWeight = 0.05

// KeepsNetworks reports whether networks weigh enough in a blend, for some target, to be trained for all folds.
func (m *Model) KeepsNetworks() bool {
	weighs := func(c Candidate) bool { return c.Name == NetworkName && c.Weight >= leastWeight }
	for k := range m.Targets() {
		if slices.ContainsFunc(m.Target(k).Candidates(), weighs) {
			return true
		}
	}
	return false
}

// hopeless reports whether a candidate that has held out the first fold would have next to no weight for any target
// in a blend with those before it.
func (t *Task) hopeless(list []*CrossFitted) bool {
	if len(t.crossed) == 0 {
		return false
	}
	for k, c := range list {
		candidates := append(t.crossed[k][:len(t.crossed[k]):len(t.crossed[k])], c)
		known, labels := encode.Labelled(t.Labels, k)
		rows := intersection(t.Folds[0], known)
		if len(candidates) == 1 || len(rows) < 2 {
			return false
		}
		weights := blendWeights(errorsOf(candidates, rows, spread(labels, known, t.Rows.Len()), t.sides(k)),
			t.counts(k, rows))
		if weights[len(weights)-1] >= leastWeight {
			return false
		}
	}
	return true
}

// intersection returns the numbers that are in both ascending lists.
func intersection(a, b []int) (both []int) {
	for _, v := range a {
		for len(b) > 0 && b[0] < v {
			b = b[1:]
		}
		if len(b) > 0 && b[0] == v {
			both = append(both, v)
		}
	}
	return both
}

// networks predict the mean of what networks of the folds predict for a target. The deviation is that of a
// single one.
type networks struct {
	models []*network.Model
	target int
}

func (n networks) Predict(ctx context.Context, rows Rows, deviations bool) (means, stds []float64, err error) {
	means = make([]float64, rows.Len())
	if deviations {
		stds = make([]float64, rows.Len())
	}
	share := 1 / float64(len(n.models))
	for _, m := range n.models {
		u, err := n.one(ctx, m, rows, deviations)
		if err != nil {
			return nil, nil, err
		}
		for i, v := range u.Mean {
			means[i] += share * v
			if deviations {
				stds[i] += share * u.Std[i] * u.Std[i]
			}
		}
	}
	for i, v := range stds {
		stds[i] = math.Sqrt(v)
	}
	return means, stds, nil
}

// one returns what the networks of a fold predict.
func (n networks) one(ctx context.Context, m *network.Model, rows Rows,
	deviations bool) (u network.Uncertain, err error) {
	switch {
	case deviations:
		return m.Target(n.target).PredictStd(ctx, rows.Raw)
	case rows.Raw.Rows > 0:
		u.Mean, err = m.Target(n.target).Predict(ctx, rows.Raw)
		return u, err
	}
	u.Mean = make([]float64, rows.Len())
	_, labels := m.Target(n.target).Scaling()
	for _, net := range m.Ensemble() {
		out := matrix.New[float32](rows.Len(), net.Outputs())
		net.Predict(ctx, out, rows.Scaled)
		for i := range u.Mean {
			u.Mean[i] += (labels.Mean + labels.Deviation*float64(out.At(i, n.target))) / float64(len(m.Ensemble()))
		}
	}
	return u, nil
}
