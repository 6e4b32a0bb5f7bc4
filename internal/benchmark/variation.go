package benchmark

import "math"

// Variation is how unevenly errors are spread: the ratio RMSE/MAE is 1 if all are
// the same size, and large if a few rows have most of the error. The paper
// (section "When should BMDAL be Applied?") finds that its logarithm correlates
// with the gain of LCMD over random selection.
type Variation struct {
	RMSE, MAE float64 // for labels with deviation 1
	Ratio     float64
	Labels    int // of the network's training rows
	// Expected is the improvement in sample efficiency that expectedImprovement
	// derives from the ratio.
	Expected float64
}

// newVariation compares the errors of a network on held-out rows.
func newVariation(rmse, mae float64, labels int) Variation {
	v := Variation{RMSE: rmse, MAE: mae, Ratio: rmse / mae, Labels: labels}
	v.Expected = expectedImprovement(v.Ratio)
	return v
}

// The line of expectedImprovement; TestImprovementLine derives it from the paper's tables.
const (
	lineSlope     = 0.8696
	lineIntercept = -0.1575
)

// expectedImprovement returns the improvement in sample efficiency that a line
// through the paper's data sets predicts from the ratio RMSE/MAE. The paper's
// figure defines it as
//
//	(mean log RMSE(LCMD-TP) − mean log RMSE(random)) / (mean log RMSE(random) − log RMSE at the start)
//
// so that 0 means as good as random, and 0.5 that the logarithm of the error falls
// by half as much again. The correlation in the paper is 0.88.
func expectedImprovement(ratio float64) float64 { return lineIntercept + lineSlope*math.Log(ratio) }
