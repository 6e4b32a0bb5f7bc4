package plausible

import (
	"math"
	"slices"
	"sort"
)

// Sorted is a collection of labels from which any can be taken and to which any can be added in far less time than it
// would take to sort them. Its summary is the one that Learn makes of the same labels, bit for bit. The zero value is
// empty.
type Sorted struct {
	blocks [][]float64 // in ascending order, none of them empty
	count  int
}

// blockSize is how many labels a block may hold before it is divided.
const blockSize = 512

// sorted returns the finite ones of values as one block.
func sorted(values []float64) *Sorted {
	list := make([]float64, 0, len(values))
	for _, v := range values {
		if isLabel(v) {
			list = append(list, v+0) // which makes 0 of -0
		}
	}
	if len(list) == 0 {
		return &Sorted{}
	}
	slices.Sort(list)
	return &Sorted{[][]float64{list}, len(list)}
}

func isLabel(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// Len returns how many labels there are.
func (s *Sorted) Len() int { return s.count }

// Add adds labels. Those that are not finite are left out.
func (s *Sorted) Add(values ...float64) {
	for _, v := range values {
		if isLabel(v) {
			s.add(v + 0)
		}
	}
}

func (s *Sorted) add(v float64) {
	s.count++
	if len(s.blocks) == 0 {
		s.blocks = [][]float64{{v}}
		return
	}
	i := min(s.blockOf(v), len(s.blocks)-1)
	at, _ := slices.BinarySearch(s.blocks[i], v)
	block := slices.Insert(s.blocks[i], at, v)
	if s.blocks[i] = block; len(block) > blockSize {
		half := len(block) / 2
		s.blocks[i] = slices.Clone(block[:half])
		s.blocks = slices.Insert(s.blocks, i+1, slices.Clone(block[half:]))
	}
}

// Remove takes labels away, once each. Those that are not there are left out.
func (s *Sorted) Remove(values ...float64) {
	for _, v := range values {
		i := s.blockOf(v)
		if i == len(s.blocks) {
			continue
		}
		at, found := slices.BinarySearch(s.blocks[i], v)
		if !found {
			continue
		}
		s.count--
		if s.blocks[i] = slices.Delete(s.blocks[i], at, at+1); len(s.blocks[i]) == 0 {
			s.blocks = slices.Delete(s.blocks, i, i+1)
		}
	}
}

// blockOf returns the first block whose last label is not smaller than a value, or how many blocks there are.
func (s *Sorted) blockOf(v float64) int {
	return sort.Search(len(s.blocks), func(i int) bool { return s.blocks[i][len(s.blocks[i])-1] >= v })
}

// at returns a label by its place, from 0.
func (s *Sorted) at(place int) float64 {
	for _, block := range s.blocks {
		if place < len(block) {
			return block[place]
		}
		place -= len(block)
	}
	panic("plausible: there is no such place")
}

// below counts the labels up to the first for which a condition holds, which then holds for all larger ones.
func (s *Sorted) below(holds func(v float64) bool) (n int) {
	last := sort.Search(len(s.blocks), func(i int) bool { return holds(s.blocks[i][len(s.blocks[i])-1]) })
	for _, block := range s.blocks[:last] {
		n += len(block)
	}
	if last < len(s.blocks) {
		n += sort.Search(len(s.blocks[last]), func(i int) bool { return holds(s.blocks[last][i]) })
	}
	return n
}

// place is where a quantile of so many values is.
func place(count int, share float64) int { return int(share*float64(count-1) + 0.5) }

func (s *Sorted) quantile(share float64) float64 { return s.at(place(s.count, share)) }

// sizes are the absolute values of the labels that are not zero, in ascending order.
type sizes struct {
	of       *Sorted
	negative int // how many labels are below zero
	skipped  int // how many are not above it
	count    int
}

func (s *Sorted) sizes() sizes {
	negative := s.below(func(v float64) bool { return v >= 0 })
	skipped := s.below(func(v float64) bool { return v > 0 })
	return sizes{s, negative, skipped, negative + s.count - skipped}
}

// at returns a size by its place: the first places are shared between the least labels below zero, of which there are
// the fewest that leave none of the others smaller, and those above it.
func (z sizes) at(place int) float64 {
	positive := z.count - z.negative
	below := func(i int) float64 { return -z.of.at(z.negative - 1 - i) }
	above := func(i int) float64 { return z.of.at(z.skipped + i) }
	fewest, most := max(0, place-positive), min(place, z.negative)
	n := fewest + sort.Search(most-fewest, func(i int) bool { return below(fewest+i) >= above(place-fewest-i-1) })
	least := math.Inf(1)
	if n < z.negative {
		least = below(n)
	}
	if place-n < positive {
		least = min(least, above(place-n))
	}
	return least
}

func (z sizes) quantile(share float64) float64 { return z.at(place(z.count, share)) }
