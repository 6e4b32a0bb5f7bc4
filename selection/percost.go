package selection

// Scores per cost. With Constraints.PerCost each step picks
//
//	argmax_{x in X_rem} score(x)/cost(x)
//
// in place of the largest score, the lowest of equal rows as ever. The score is what the
// method maximises: k(x, x) in MaxDiag, the posterior variance in MaxDet, the fall of
// the summed variance in BAIT-F, the squared distance from the nearest selected row in
// MaxDist. In LCMD the largest cluster is the same as without costs, and the squared
// distance per cost decides within it. Methods that draw (random, k-means++) have no
// score; nor has FrankWolfe, whose score may be negative, and BAIT-FB removes rows by
// another one.
//
// Prices make bounds of scores useless as they are, so every step is done for every row.

// prices are what scores are divided by; nil: scores stay as they are.
type prices []float64

// per divides a score by the cost of its row.
func (p prices) per(row int, score float64) float64 {
	if p == nil || row < 0 {
		return score
	}
	return score / p[row]
}
