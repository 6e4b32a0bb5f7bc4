package space

import (
	"math"
	"math/big"
	"slices"

	"github.com/nextbatch/nextbatch/dataset"
)

// progression is a block of values of a variable: first, first + step, … They are whole numbers of its unit, or
// numbers of categories. An absent one is the value of a factor that does not exist.
type progression struct {
	first, step, n int64
	absent         bool
}

func (r progression) at(i int64) int64 { return r.first + i*r.step }
func (r progression) last() int64      { return r.at(r.n - 1) }

// absent stands for the value of a factor that does not exist.
const absent = math.MinInt64

// variable is a factor or a part of a mixture: a column of the candidates.
type variable struct {
	name, unit string
	line       int // of the description
	words      string
	levels     []string // categories; nil for numbers
	digits     int      // of numbers: values are in units of 10^-digits
	runs       []progression
	log        bool
	open       bool  // any value between the bounds counts; candidates have multiples of step
	step       int64 // of an open variable
	bounds     [2]int64
	extra      []progression  // of an open variable: values that are none of its multiples
	table      *dataset.Table // of descriptors, a row for each category
}

// size is the number of values, without that of a factor that does not exist.
func (v *variable) size() *big.Int {
	sum := new(big.Int)
	for _, r := range v.runs {
		if !r.absent {
			sum.Add(sum, big.NewInt(r.n))
		}
	}
	return sum
}

// number returns a value as it goes into a table.
func (v *variable) number(value int64) float64 { return floatOf(value, v.digits) }

// grid sets the values of an open variable to the multiples of a coarser step, as far as there are some.
func (v *variable) grid(coarser int64) {
	if !v.open {
		return
	}
	low, high := v.bounds[0], v.bounds[1]
	v.runs = slices.Clone(v.extra)
	from, step := low, v.step
	for {
		to := high
		if v.log { // a step for each power of ten
			for step*stepsPerDecade <= from/10 {
				step *= 10
			}
			to = min(high, step*stepsPerDecade*10-1)
		}
		if r, some := multiples(from, to, step*coarser); some {
			v.runs = append(v.runs, r)
		} else if r, some := multiples(from, to, step); some {
			v.runs = append(v.runs, r)
		}
		if from = to + 1; to == high {
			break
		}
	}
	if len(v.runs) == len(v.extra) {
		v.runs = append(v.runs, progression{first: low, step: 1, n: 1})
	}
}

// stepsPerDecade is how many steps of an open variable on a log scale lead to its next power of ten, about.
const stepsPerDecade = 100

// multiples returns the multiples of a step between two limits.
func multiples(low, high, step int64) (progression, bool) {
	first := -floorDiv(-low, step) * step
	if first > high {
		return progression{}, false
	}
	return progression{first: first, step: step, n: (high-first)/step + 1}, true
}

// floorDiv rounds down.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

// weight is the share of a block of values among all values of a variable that exist: in a sample without constraints,
// their share of the rows.
func (v *variable) weight(r progression, from, n int64, total float64) float64 {
	switch {
	case r.absent:
		return 1
	case v.log:
		low, high := v.edges(r, from, n)
		return math.Log(high/low) / total
	}
	return float64(n) / total
}

// edges are the limits of a block of values on a log scale, half a step around it.
func (v *variable) edges(r progression, from, n int64) (low, high float64) {
	half := float64(r.step) / 2
	first := float64(r.at(from))
	return max(first-half, first/2), float64(r.at(from+n-1)) + half
}

// total is what weights are shares of.
func (v *variable) total() (sum float64) {
	for _, r := range v.runs {
		if !r.absent {
			sum += v.weight(r, 0, r.n, 1)
		}
	}
	return sum
}

// pick returns the value of a block at a share of its weight, between 0 and 1.
func (v *variable) pick(r progression, from, n int64, share float64) int64 {
	if r.absent {
		return absent
	}
	at := from + int64(share*float64(n))
	if v.log {
		low, high := v.edges(r, from, n)
		at = int64(math.Floor((low*math.Pow(high/low, share) + float64(r.step)/2 - float64(r.first)) / float64(r.step)))
	}
	return r.at(min(max(at, from), from+n-1))
}

// condition says that a variable exists and has one of some values, or a number between two limits.
type condition struct {
	variable  int
	values    []int64 // nil: low to high
	low, high int64
}

func (c condition) holds(value int64) bool {
	switch {
	case value == absent:
		return false
	case c.values != nil:
		return slices.Contains(c.values, value)
	}
	return c.low <= value && value <= c.high
}

// split breaks the blocks of a variable so that each condition holds for all values of a block or for none.
func split(runs []progression, conditions []condition) []progression {
	for _, c := range conditions {
		limits := []int64{c.low, c.high + 1}
		if c.values != nil {
			limits = nil
			for _, v := range c.values {
				limits = append(limits, v, v+1)
			}
		}
		for _, limit := range limits {
			var parts []progression
			for _, r := range runs {
				n := -floorDiv(-(limit - r.first), r.step) // values below the limit
				if r.absent || n <= 0 || n >= r.n {
					parts = append(parts, r)
					continue
				}
				parts = append(parts, progression{first: r.first, step: r.step, n: n},
					progression{first: r.at(n), step: r.step, n: r.n - n})
			}
			runs = parts
		}
	}
	return runs
}
