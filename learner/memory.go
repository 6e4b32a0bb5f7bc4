package learner

import (
	"math"

	"github.com/nextbatch/nextbatch/internal/gp"
	"github.com/nextbatch/nextbatch/internal/incontext"
	"github.com/nextbatch/nextbatch/network"
)

// Memory forecasts the bytes that fitting a blend to labelled rows takes, and those that the model keeps.
func Memory(k Kind, c network.Config, inputs, rows int) (fit, keep int64) {
	n, targets := float64(min(rows, gp.MostLabels)), float64(max(c.Architecture.Outputs, 1))
	if k == InContext {
		fit = incontext.Memory(rows, min(inputs, incontext.MostColumns), contextViews)
		return fit, fit * int64(targets)
	}
	if k != TreesOnly && rows <= gp.MostLabels {
		models := 1.0
		if rows < fewForOneProcess {
			models += DefaultFolds
		}
		if rows <= fewForSparse {
			models *= float64(len(processNames))
		}
		one := 8 * n * (n + float64(inputs))
		fit, keep = atMost(3*one), atMost(targets*models*one)
	}
	if k != GaussianOnly {
		// Bytes for each row, which has up to two nodes in a tree: of the trees that stay, in lists that have grown, and
		// of those of all rows once more, as they grow.
		const nodes = 2 * 12
		perFold, inAll := sizesOfTrees(rows)
		stay, grown := 1.25*nodes*float64(DefaultFolds*perFold+inAll), 2.5*nodes*float64(inAll)
		keep += atMost(targets * stay * float64(rows))
		fit += atMost((grown + 16*float64(inputs)) * float64(rows))
	}
	if k == Auto && rows >= FewForNetworks {
		training, kept := c.Memory(inputs, rows, NetworkFolds(rows))
		fit, keep = max(fit, training), keep+kept
	}
	return fit + keep, keep
}

// PredictionMemory forecasts the bytes that a blend takes to predict rows: itself, the rows as its members take
// them, their predictions, and the covariances of a block of rows.
func (m *Model) PredictionMemory(rows int) int64 {
	b := m.blended
	var c network.Config
	if own := m.Ensemble(); own != nil {
		c.Architecture = own[0].Architecture()
	}
	inputs, n := len(b.inputs.Mean), float64(rows)
	_, itself := Memory(b.kind, c, inputs, b.rows)
	const copies, numbers, block = 4 + 8 + 4, 8 * 2 * (MostCandidates + 1), 8 * 2 * 512
	return itself + atMost(n*copies*float64(inputs)+n*numbers*float64(len(b.targets))+block*float64(b.rows))
}

func atMost(v float64) int64 { return int64(math.Min(v, 1<<60)) }
