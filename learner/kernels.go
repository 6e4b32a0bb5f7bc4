package learner

import (
	"context"
	"fmt"
	"slices"

	"github.com/nextbatch/nextbatch/internal/trees"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
)

// What kernels use of a model. They see rows as Model.Inputs returns them. A candidate of a blend serves them
// whether it has a weight or not.

// Ensemble returns the networks: those alone, or those of the folds of a blend; nil if none were
// trained.
func (m *Model) Ensemble() network.Ensemble {
	if m.blended == nil {
		return m.alone.Ensemble()
	}
	var all network.Ensemble
	for _, one := range m.blended.networks {
		all = append(all, one.Ensemble()...)
	}
	return all
}

// Learnt returns what kernels use of a blend besides its networks; it is empty for a network alone.
func (m *Model) Learnt() (l kernel.Learnt) {
	l.Processes = m.Processes()
	if leaves := m.Leaves(); leaves != nil {
		l.Leaves = leaves
	}
	if members := m.Members(); members != nil {
		l.Members = members
	}
	return l
}

// Processes returns the Gaussian process of each target as kernels see it; nil if there is none.
func (m *Model) Processes() (list []kernel.Process) {
	if m.blended == nil {
		return nil
	}
	for _, t := range m.blended.targets {
		if t.process == nil {
			return nil
		}
		list = append(list, kernel.Process{Stationary: t.process.whole.Kernel(),
			Noise: t.process.whole.Noise + t.process.noise})
	}
	return list
}

// leaves is the extra trees of all targets, as a kernel sees them.
type leaves struct {
	inputs int
	fold   *folding
	models []*trees.Model // one for each target
}

// Leaves returns the extra trees that were fitted to all labels, and nil if there are none.
func (m *Model) Leaves() *leaves {
	if m.blended == nil {
		return nil
	}
	l := &leaves{inputs: len(m.blended.inputs.Mean)}
	for _, t := range m.blended.targets {
		if t.forest == nil {
			return nil
		}
		l.fold, l.models = t.forest.fold, append(l.models, t.forest.models[len(t.forest.models)-1])
	}
	return l
}

// Inputs is how many columns a row has.
func (l *leaves) Inputs() int { return l.inputs }

// Trees is how many trees there are.
func (l *leaves) Trees() (n int) {
	for _, m := range l.models {
		n += m.Trees()
	}
	return n
}

// Sizes are the numbers of leaves of the trees.
func (l *leaves) Sizes() (all []int) {
	for _, m := range l.models {
		all = append(all, m.Sizes()...)
	}
	return all
}

// Leaves returns the number of the leaf that each row reaches in each tree: entry r·Trees()+t is for
// row r and tree t.
func (l *leaves) Leaves(ctx context.Context, rows matrix.Dense[float32]) ([]int32, error) {
	folded, all := l.fold.rows(rows), l.Trees()
	list, first := make([]int32, rows.Rows*all), 0
	for _, m := range l.models {
		some, err := m.Leaves(ctx, folded)
		if err != nil {
			return nil, err
		}
		for i := range rows.Rows {
			copy(list[i*all+first:], some[i*m.Trees():(i+1)*m.Trees()])
		}
		first += m.Trees()
	}
	return list, nil
}

// members is the candidates of a blend that have a weight, as a kernel sees them. They take scaled rows only, so those
// that were fitted elsewhere (Given) are none of them.
type members struct{ of *blended }

// Members returns the members of a blend, and nil for a network alone.
func (m *Model) Members() *members {
	if m.blended == nil {
		return nil
	}
	return &members{m.blended}
}

// Inputs is how many columns a row has.
func (m *members) Inputs() int { return len(m.of.inputs.Mean) }

// Members is how many predictions a row has: one by each candidate with a weight for each target.
func (m *members) Members() (n int) {
	for _, t := range m.of.targets {
		n += len(t.blend.own())
	}
	return n
}

// own returns the parts that were fitted here.
func (b *blend) own() []part {
	return slices.DeleteFunc(slices.Clone(b.parts), func(p part) bool {
		_, elsewhere := p.predictor.(given)
		return elsewhere
	})
}

// Predictions returns what the members predict for scaled rows, each in units of the blend's error.
func (m *members) Predictions(ctx context.Context, scaled matrix.Dense[float32]) (matrix.Dense[float32], error) {
	list, at := matrix.New[float32](scaled.Rows, m.Members()), 0
	rows := Rows{Scaled: scaled}
	for _, t := range m.of.targets {
		for _, p := range t.blend.own() {
			means, _, err := p.predictor.Predict(ctx, rows, false)
			if err != nil {
				return list, fmt.Errorf("%s: %w", p.name, err)
			}
			for i, v := range means {
				list.Set(i, at, float32(v/t.blend.unit()))
			}
			at++
		}
	}
	return list, nil
}

// unit is what predictions are measured in.
func (b *blend) unit() float64 {
	if b.rmse > 0 {
		return b.rmse
	}
	return 1
}
