//go:build !linux

package matrix

// ReadAhead does nothing: this is for Linux.
func ReadAhead[T Float](Dense[T]) {}
