// Package kernel measures how similar rows are. It defines the interfaces Kernel
// and FeatureMap, kernels of features of your own (NewFunc, NewFeatureMap,
// NewLinear), and what kernels need from models: the Taps of a network, the
// Learnt of other learners. Package spec names the kernels of the paper.
//
// Rows of the wrong width and numbers that are not finite are errors that name
// the row (*WidthError, *RowError). A destination of the wrong shape is a bug in
// the calling program and panics with a matrix.ShapeError. The destination comes
// first, is overwritten, and must not overlap an input.
package kernel
