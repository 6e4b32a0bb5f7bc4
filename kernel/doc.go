// Package kernel measures how similar rows are. It defines the interfaces Kernel
// and FeatureMap, and the base kernels of the paper (section "Kernels"), one per
// file.
//
// Every kernel here has two steps. An Embedding maps a row to numbers that
// depend on that row alone: the layer inputs and gradients of a network,
// sketched features, or the row itself. A Form computes the kernel of two
// embedded rows from those numbers: an inner product, sums and products of
// forms, a closed formula. This is how the gradient kernel, a sum over layers of
// products of two inner products, is evaluated without its feature space of a
// million dimensions, and how a sketch works factor by factor (package
// transform).
//
// Rows of the wrong width and numbers that are not finite are errors that name
// the row (*WidthError, *RowError). A destination of the wrong shape is a bug in
// the calling program and panics with a matrix.ShapeError. The destination comes
// first, is overwritten, and must not overlap an input.
package kernel
