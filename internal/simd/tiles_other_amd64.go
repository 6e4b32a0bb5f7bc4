//go:build !linux && !noasm

package simd

// requestTiles reports false: we know of no way to ask this system.
func requestTiles() bool { return false }
