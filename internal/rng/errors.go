package rng

import "fmt"

// NilError is the panic value for a nil stream.
type NilError struct{ Op string }

func (e NilError) Error() string {
	return e.Op + ": the random stream is nil; make one with rng.New"
}

// CountError is the panic value for an impossible count.
type CountError struct {
	Op string
	N  int
}

func (e CountError) Error() string { return fmt.Sprintf("%s: cannot choose from %d", e.Op, e.N) }

// WeightError reports a weight that no draw can use.
type WeightError struct {
	Index    int
	Weight   float64
	Overflow bool // the weight itself is valid, but the sum up to it is infinite
}

func (e WeightError) Error() string {
	if e.Overflow {
		return fmt.Sprintf("the sum of the weights overflows float64 at index %d", e.Index)
	}
	return fmt.Sprintf("weight %v at index %d is negative or not finite", e.Weight, e.Index)
}
