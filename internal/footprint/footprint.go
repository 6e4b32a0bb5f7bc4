// Package footprint estimates the memory of a process from the data that it holds.
package footprint

// base is the memory of a program without any data: its code, buffers of the linear
// algebra, and what a file leaves to the collector while it is read.
const base = 36 << 20

// Most is the largest forecast. No machine has as much, and a few of them still add up
// to an int64.
const Most = 1 << 59

// Bytes returns a forecast as a whole number, at most Most. Forecasts multiply sizes that
// users choose, so the products are computed in floating point, where they cannot overflow.
func Bytes(v float64) int64 { return int64(min(v, Most)) }

// Resident estimates the memory of a process that has inUse bytes in use. It includes
// the program itself and garbage that waits to be collected at a GC percentage of 25,
// which costs little time because most of the data is in a few large matrices.
func Resident(inUse int64) int64 { return min(base+inUse+inUse/8, Most) }

// Float32 returns the bytes of a float32 matrix.
func Float32(rows, cols int) int64 { return Bytes(4 * float64(rows) * float64(cols)) }
