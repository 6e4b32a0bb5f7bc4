//go:build !linux && !noasm

package simd

// requestTiles says no: it is not known how to ask.
func requestTiles() bool { return false }
