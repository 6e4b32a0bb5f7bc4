// Package median finds numbers by their rank in linear time.
package median

import (
	"math/bits"
	"slices"
)

// Of returns the median. That of an even number of values is the mean of
// the middle two. It reorders its argument, which has no NaN and is not empty.
func Of(values []float64) float64 {
	n := len(values)
	upper := Upper(values)
	if n%2 == 1 {
		return upper
	}
	return (slices.Max(values[:n/2]) + upper) / 2
}

// Upper returns the upper median. As it is one of the numbers, adding a constant to all of them, exactly,
// changes no difference to it, not even in the last bit. It reorders its argument, which has no NaN and is
// not empty.
func Upper(values []float64) float64 { return Nth(values, len(values)/2) }

// Nth reorders values so that those before position k are at most the one there,
// which it returns. It takes linear time; should the pivots turn out badly, it
// sorts what remains.
func Nth(values []float64, k int) float64 {
	low, high := 0, len(values)-1
	for rounds := 4 * bits.Len(uint(len(values))); low < high; rounds-- {
		if rounds == 0 {
			slices.Sort(values[low : high+1])
			break
		}
		i, j, pivot := low, high, values[low+(high-low)/2]
		for i <= j {
			for values[i] < pivot {
				i++
			}
			for values[j] > pivot {
				j--
			}
			if i <= j {
				values[i], values[j] = values[j], values[i]
				i++
				j--
			}
		}
		switch {
		case k <= j:
			high = j
		case k >= i:
			low = i
		default:
			return values[k]
		}
	}
	return values[k]
}
