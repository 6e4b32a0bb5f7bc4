// Package footprint estimates the memory of a process from the data that it holds.
package footprint

// base is the memory of a program without any data: its code, and buffers of the linear
// algebra.
const base = 32 << 20

// Resident estimates the memory of a process that has inUse bytes in use. It includes
// the program itself and garbage that waits to be collected at a GC percentage of 25,
// which costs little time because most of the data is in a few large matrices.
func Resident(inUse int64) int64 { return base + inUse + inUse/8 }

// Float32 returns the bytes of a float32 matrix.
func Float32(rows, cols int) int64 { return 4 * int64(rows) * int64(cols) }
