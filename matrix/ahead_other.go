//go:build !linux

package matrix

// Resident returns 1: it is not known here.
func Resident[T Float](Dense[T]) float64 { return 1 }

// ReadAhead does nothing: this is for Linux.
func ReadAhead[T Float](Dense[T]) {}
