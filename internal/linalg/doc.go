// Package linalg is dense linear algebra at the speed of the machine: matrix
// products, factorisations and distances over matrix.Dense, for float32 and
// float64, on the vector loops of package simd.
//
// Conventions. The destination comes first and is written. It must not overlap
// an input unless the function says that it works in place. Shapes that do not
// fit panic with a matrix.ShapeError, views beyond their data with a
// matrix.LayoutError, before anything is written. Numerics that can fail return
// an error that carries the number.
//
// Threads. The team that comes first does the work (pool.go). No result
// depends on the number of threads: work is cut along rows and columns of the
// result, never along a sum, or along a sum in blocks of fixed size that are
// added up in their order.
//
// Memory. Scratch is kept and used again, so that a steady state allocates
// nothing. What nobody has used from one garbage collection to the next is dropped.
package linalg
