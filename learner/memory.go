package learner

import (
	"math"

	"github.com/nextbatch/nextbatch/gp"
	"github.com/nextbatch/nextbatch/network"
)

// Memory forecasts the bytes that fitting a blend to labelled rows takes, and those that the model keeps.
func Memory(k Kind, c network.Config, inputs, rows int) (fit, keep int64) {
	n := float64(min(rows, gp.MostLabels))
	if k != TreesOnly && rows <= gp.MostLabels {
		models := 1.0
		if rows < fewForOneProcess {
			models += DefaultFolds
		}
		one := 8 * n * (n + float64(inputs))
		fit, keep = atMost(3*one), atMost(models*one)
	}
	if k != GaussianOnly {
		const nodes = 12 * 2 * 600 // bytes for each row: those of up to two nodes of all trees
		keep += atMost(nodes * float64(rows))
		fit += atMost(16 * float64(rows) * float64(inputs))
	}
	if k == Auto && rows >= fewForNetworks {
		training, kept := c.Memory(inputs, rows, networkFolds(rows))
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

// Growth returns how much longer a blend takes with so many times the labels.
func Growth(ratio float64) float64 { return math.Pow(math.Max(ratio, 1), 1.2) }
