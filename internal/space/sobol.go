package space

import "math/bits"

// The first ten dimensions of Sobol's sequence: for each one after the first the degree and the inner coefficients of
// its primitive polynomial, and its first direction numbers, which are those of Joe and Kuo (SIAM J. Sci. Comput. 30,
// 2008).
var directions = [][]uint32{{1, 0, 1}, {2, 1, 1, 3}, {3, 1, 1, 3, 1}, {3, 2, 1, 1, 1}, {4, 1, 1, 1, 3, 3},
	{4, 4, 1, 3, 5, 13}, {5, 2, 1, 1, 5, 5, 17}, {5, 4, 1, 1, 5, 5, 5}, {5, 7, 1, 1, 7, 11, 1}}

// sobolVectors are the columns of the generator matrices of the dimensions.
var sobolVectors = func() (v [][32]uint32) {
	first := [32]uint32{}
	for i := range first {
		first[i] = 1 << (31 - i)
	}
	v = append(v, first)
	for _, d := range directions {
		degree, inner, m := int(d[0]), d[1], d[2:]
		column := [32]uint32{}
		for i := range column {
			if i < degree {
				column[i] = m[i] << (31 - i)
				continue
			}
			column[i] = column[i-degree] ^ column[i-degree]>>degree
			for k := 1; k < degree; k++ {
				if inner>>(degree-1-k)&1 == 1 {
					column[i] ^= column[i-k]
				}
			}
		}
		v = append(v, column)
	}
	return v
}()

// sobol is a sequence of points between 0 and 1 in any number of dimensions: Sobol's with Owen's nested scrambling.
// After ten dimensions it starts over with the points in another order, in which blocks of 2^k stay together.
type sobol struct{ seeds []uint32 }

// coordinate returns one of a point. Its index must be less than 2^32.
func (s sobol) coordinate(index uint32, dimension int) float64 {
	block := dimension / len(sobolVectors)
	if block > 0 {
		index = scramble(index, s.seeds[block*len(sobolVectors)]*2654435761+1)
	}
	x := uint32(0)
	for column := &sobolVectors[dimension%len(sobolVectors)]; index != 0; index &= index - 1 {
		x ^= column[bits.TrailingZeros32(index)]
	}
	return float64(scramble(x, s.seeds[dimension])) / (1 << 32)
}

// scramble permutes the halves of an interval, then the halves of each half, and so on, by a hash of the digits before:
// the hash of Laine and Karras on reversed digits, as Burley (JCGT 9, 2020) has it.
func scramble(x, seed uint32) uint32 {
	x = bits.Reverse32(x)
	x += seed
	x ^= x * 0x6c50b47c
	x ^= x * 0xb82f1e52
	x ^= x * 0xc7afe638
	x ^= x * 0x8d22f6e6
	return bits.Reverse32(x)
}
