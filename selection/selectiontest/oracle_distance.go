package selectiontest

import (
	"math"

	"github.com/nextbatch/nextbatch/selection"
)

// distances is what the algorithms of MaxDist, KMeansPP and LCMD share: INIT and
// ADD.
type distances struct {
	in    *Input
	added []int     // X_mode and X_batch
	d     []float64 // minimum squared distances of the pool
	v     []int     // associated centres
}

func (o *distances) Init(in *Input) {
	*o = distances{in: in, d: make([]float64, in.Pool), v: make([]int, in.Pool)}
	for y := range o.d {
		o.d[y] = math.Inf(1)
	}
}

//go:norace
func (o *distances) Add(x int) {
	o.added = append(o.added, x)
	for y := range o.d {
		d := max(o.in.k(x, x)+o.in.k(y, y)-2*o.in.k(x, y), 0)
		if !(o.d[y] <= d) {
			o.v[y] = x
		}
		o.d[y] = min(o.d[y], d)
	}
}

func (o *distances) byDiag(rem []int) int {
	return argmax(rem, func(x int) float64 { return o.in.per(x, o.in.k(x, x)) })
}

// MaxDist is the paper's algorithm of that name.
type MaxDist struct{ distances }

func (o *MaxDist) Next(rem []int) int {
	if len(o.added) == 0 {
		return o.byDiag(rem)
	}
	return argmax(rem, func(x int) float64 { return o.in.per(x, o.d[x]) })
}

// LCMD is the paper's algorithm of that name. Cluster sizes are over
// X_pool \ X_batch, or over the target.
type LCMD struct {
	Size selection.Size
	distances
}

func (o *LCMD) Next(rem []int) int {
	if len(o.added) == 0 {
		return o.byDiag(rem)
	}
	size := o.sizes(rem)
	largest := math.Inf(-1)
	for _, x := range rem {
		largest = max(largest, size[o.v[x]])
	}
	return argmax(rem, func(x int) float64 {
		if size[o.v[x]] != largest {
			return math.Inf(-1)
		}
		return o.in.per(x, o.d[x])
	})
}

func (o *LCMD) sizes(rem []int) map[int]float64 {
	size := map[int]float64{}
	if o.in.Target != nil {
		o.targetSizes(size)
		return size
	}
	for _, x := range rem {
		w := 1.0
		if o.in.Weight != nil {
			w = o.in.Weight[x]
		}
		size[o.v[x]] += w * o.measure(o.d[x])
	}
	return size
}

// targetSizes sums over the target rows, each at its nearest centre.
func (o *LCMD) targetSizes(size map[int]float64) {
	for _, row := range o.in.Target {
		best, least := -1, math.Inf(1)
		for _, c := range o.added {
			d := max(o.in.k(c, c)+o.in.kernel(row, row)-2*o.in.kernel(row, o.in.Rows[c]), 0)
			if d < least {
				best, least = c, d
			}
		}
		size[best] += o.measure(least)
	}
}

func (o *LCMD) measure(sq float64) float64 {
	switch o.Size {
	case selection.Distance:
		return math.Sqrt(sq)
	case selection.Count:
		return 1
	}
	return sq
}

// KMeansPP is the paper's algorithm of that name, up to the draw: Probabilities
// are those of the next sample.
type KMeansPP struct{ distances }

// Probabilities returns P(NEXT = x) for each pool row; those of selected rows
// are zero.
func (o *KMeansPP) Probabilities(rem []int) []float64 {
	p, sum := make([]float64, o.in.Pool), 0.0
	for _, x := range rem {
		p[x] = 1
		if len(o.added) > 0 {
			p[x] = o.d[x]
		}
		sum += p[x]
	}
	for _, x := range rem {
		p[x] /= sum
	}
	return p
}
