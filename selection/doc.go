// Package selection picks a batch of rows from a pool (paper, section "Selection
// Methods" and appendix "Details on Selection Methods").
//
// Select runs a Method on a Problem. A method follows the paper's template: Init
// reads the rows, Add is given the rows that count as selected, Next returns the next
// pick; with NextBackward and Remove a method can also remove rows again. One driver,
// Select, does everything else: the P and TP modes, constraints, fallbacks, the report.
// So a new method is one file (see the example of Method).
//
// A file, or a family of files with one name, holds a method, its formula first: random,
// maxdiag, maxdet, bait, frankwolfe, maxdist, kmeanspp, greedy_kmeanspp, lcmd. A method does
// not know where rows are: it refers to them by their numbers, through a Space and the
// searches of package internal/space, which handles memory, files, devices, ranks and the
// two precisions. Package place has the contracts of devices and ranks.
//
// Rows are either features, whose inner product is the kernel, or the inputs of a
// Kernel. Methods that measure distances, MaxDet and FrankWolfe work without features.
// Methods that use the noise variance σ² compute in float64 whatever the rows are;
// those that measure distances compute in the type of the rows.
//
// The same problem gives the same batch for any number of threads. Of rows with
// equal scores the lowest wins.
package selection
