// Package kernel holds similarities of rows: the interfaces Kernel and
// FeatureMap, and the base kernels of the paper (section "Kernels"), one a file.
//
// Every kernel here is made of two steps. An Embedding takes a row to numbers
// that depend on this row alone: the layer inputs and gradients of a network,
// sketched features, or the row as it is. A Form computes the kernel of two
// embedded rows from them: an inner product, sums and products of forms, a
// closed formula. So the gradient kernel, a sum over layers of products of two
// inner products, is evaluated without its feature space of a million
// dimensions, and a sketch goes factor by factor (package transform).
//
// Rows of the wrong width and numbers that are not finite are errors that name
// the row (*WidthError, *RowError). A destination of the wrong shape is a
// mistake in the program and panics with a matrix.ShapeError. The destination
// comes first, is written, and must not overlap an input.
package kernel
