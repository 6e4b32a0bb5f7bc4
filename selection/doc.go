// Package selection picks a batch of rows from a pool (paper, section "Selection
// Methods" and appendix "Details on Selection Methods").
//
// Select runs a Method on a Problem. A method follows the paper's template: Init
// looks at the rows, Add is told which rows count as selected, Next says which
// row comes next; with Remove and NextBackward it can also take rows back. One
// driver, Select, does all the rest: the P and TP modes, constraints, fallbacks,
// the report. So a new method is one file (see the example of Method).
//
// Rows are features, that is, the kernel is their inner product; or they are
// what a Kernel takes. Methods that measure distances, and MaxDet, work without
// features. Methods with the noise variance σ² in them compute in float64
// whatever the rows are; those that measure distances compute in the type of the
// rows.
//
// The same problem gives the same batch for any number of threads. Of rows with
// equal scores the lowest wins.
package selection
