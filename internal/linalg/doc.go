// Package linalg provides dense linear algebra at the speed of the machine: matrix
// products, factorisations and distances on matrix.Dense, for float32 and float64,
// built on the vector loops of package simd.
//
// Conventions. The destination comes first and is overwritten. It must not overlap
// an input unless the function's comment says that it works in place. Mismatched
// shapes panic with a matrix.ShapeError, and views that extend beyond their data
// with a matrix.LayoutError, before anything is written. Numerics that can fail
// return an error that carries the number.
//
// Threads. The team, always the first argument, does the work (pool.go). No result
// depends on the number of threads: work is split along rows and columns of the
// result, never along a sum, or along a sum in blocks of fixed size whose sums are
// added in order.
//
// Memory. Scratch memory is kept and reused, so that a steady state allocates
// nothing. Scratch that is not used between two garbage collections is freed.
package linalg
