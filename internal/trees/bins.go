package trees

import (
	"slices"
	"sort"
)

// bins describes how the values of a feature become small numbers: bin 0 holds missing
// values, and bin b > 0 those above cuts[b-2] up to cuts[b-1], the last one without an
// upper end.
type bins struct{ cuts []float32 }

// count returns the number of bins.
func (b bins) count() int { return len(b.cuts) + 2 }

func (b bins) of(v float32) uint8 {
	if v != v {
		return 0
	}
	return uint8(1 + sort.Search(len(b.cuts), func(i int) bool { return v <= b.cuts[i] }))
}

// newBins cuts the values into at most limit bins, besides the one for missing values.
// Where there are no more distinct values than that, each has its bin; otherwise bins
// hold about the same number of values.
func newBins(values []float32, limit int) bins {
	sorted := slices.DeleteFunc(slices.Clone(values), func(v float32) bool { return v != v })
	slices.Sort(sorted)
	distinct := 0
	for i := range sorted {
		if i == 0 || sorted[i] != sorted[i-1] {
			distinct++
		}
	}
	var b bins
	done := 0 // values in bins that are complete
	for i := 1; i < len(sorted); i++ {
		if sorted[i] == sorted[i-1] {
			continue
		}
		left := limit - len(b.cuts) // bins still to fill
		if distinct <= limit || left > 1 && (i-done)*left >= len(sorted)-done {
			b.cuts = append(b.cuts, between(sorted[i-1], sorted[i]))
			done = i
		}
	}
	return b
}

// between returns a threshold that separates two values: low ≤ threshold < high.
func between(low, high float32) float32 {
	if mid := float32((float64(low) + float64(high)) / 2); mid < high {
		return mid
	}
	return low
}
