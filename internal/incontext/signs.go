package incontext

import (
	"cmp"
	"slices"
)

// mix is a hash of 32 bits.
func mix(v uint64) uint64 {
	const bits = 0xFFFFFFFF
	v = (v ^ v>>16) * 0x85EBCA6B & bits
	v = (v ^ v>>13) * 0xC2B2AE35 & bits
	v = (v ^ v>>16) * 0x9E3779B1 & bits
	return v ^ v>>16
}

// putSigns writes the first bits of the hash of v as -1 and 1.
func putSigns(to []float32, v uint64) {
	h := mix(v)
	for i := range to {
		to[i] = float32(h>>i&1)*2 - 1
	}
}

// view is one way to show a table to the network: all that is random in it comes from its number.
type view struct {
	order []int    // of the columns
	seeds []uint64 // of the signs of levels, for the columns in that order
	names [][]float32
}

func newView(number, columns int) view {
	first := uint64(number) << 20
	v := view{order: make([]int, columns), seeds: make([]uint64, columns)}
	keys := make([]uint64, columns)
	for j := range columns {
		v.order[j], keys[j] = j, mix(first+uint64(j))
		v.seeds[j] = mix(first+1<<18+uint64(j)) & 0xFFFF
	}
	slices.SortFunc(v.order, func(a, b int) int { return cmp.Compare(keys[a], keys[b]) })
	for j := range (columns + 1) / 2 {
		name := make([]float32, nameSize)
		putSigns(name, first+1<<19+uint64(j))
		v.names = append(v.names, name)
	}
	return v
}
