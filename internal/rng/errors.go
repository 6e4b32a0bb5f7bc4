package rng

import "fmt"

// NilError is the value of the panic that a nil stream causes.
type NilError struct{ Op string }

func (e NilError) Error() string {
	return e.Op + ": the random stream is nil; make one with rng.New"
}

// CountError is the value of the panic that an impossible count causes.
type CountError struct {
	Op string
	N  int
}

func (e CountError) Error() string { return fmt.Sprintf("%s: cannot choose from %d", e.Op, e.N) }

// WeightError says which weight cannot be drawn with.
type WeightError struct {
	Index    int
	Weight   float64
	Overflow bool // the weight itself is fine; the sum up to it is infinite
}

func (e WeightError) Error() string {
	if e.Overflow {
		return fmt.Sprintf("the sum of the weights is beyond float64 at index %d", e.Index)
	}
	return fmt.Sprintf("weight %v at index %d is not a number from zero up", e.Weight, e.Index)
}
