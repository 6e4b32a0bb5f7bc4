// Package budget adds costs up, and compares them with a budget.
//
// Users give costs as decimal numbers, few of which float64 represents exactly: in binary, three times 0.1 is more than
// 0.3. So costs are within a budget if they exceed it by no more than rounding,
//
//	Σ cost ≤ budget·(1 + 2⁻⁵⁰).
//
// Each cost, and the budget, is off by at most 2⁻⁵³ of itself, and the sum is a compensated one, which is off by 2⁻⁵³
// of itself, however many costs it has. So every batch is allowed whose costs, as decimal numbers, add up to no more
// than the budget, and no batch exceeds it by more than four units in the last place.
package budget

import "math"

// rounding is by how much of itself a budget may be exceeded.
const rounding = 0x1p-50

// Within reports whether a sum of costs is within a budget. Everything that compares the two asks this.
func Within(sum, budget float64) bool { return sum <= budget*(1+rounding) }

// Left returns what of a budget is left after some costs that are within it: further ones that are within the rest are,
// together with them, within the budget.
func Left(budget, spent float64) float64 {
	if spent == 0 {
		return budget
	}
	return max(0, budget*(1+rounding)-spent) // spent and the difference are rounded, too
}

// Costs is a sum of costs, to compare by Within: a compensated one (Neumaier's variant of Kahan's), which also sums up
// what rounding loses. The zero value is that of no costs.
type Costs struct{ rounded, lost float64 }

// Sum returns the sum.
func (c Costs) Sum() float64 { return c.rounded + c.lost }

// With returns the sum with another cost.
func (c Costs) With(cost float64) float64 {
	c.Add(cost)
	return c.Sum()
}

// Add adds a cost; a negative one takes it away.
func (c *Costs) Add(cost float64) {
	sum := c.rounded + cost
	if math.Abs(c.rounded) >= math.Abs(cost) {
		c.lost += (c.rounded - sum) + cost
	} else {
		c.lost += (cost - sum) + c.rounded
	}
	c.rounded = sum
}
