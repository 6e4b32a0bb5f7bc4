// Package kernels has the base kernels of the paper (section "Kernels"), one per file, and takes kernels apart.
//
// Every kernel here has two steps. An Embedding maps a row to numbers that
// depend on that row alone: the layer inputs and gradients of a network,
// sketched features, or the row itself. A Form computes the kernel of two
// embedded rows from those numbers: an inner product, sums and products of
// forms, a closed formula. This is how the gradient kernel, a sum over layers of
// products of two inner products, is evaluated without its feature space of a
// million dimensions, and how a sketch works factor by factor (package
// transform).
package kernels
