// Package network holds fully-connected networks in neural tangent
// parametrization (paper, section "Regression with Fully-Connected Neural
// Networks"), their training, and what is computed from them.
//
// For raw tables Fit does everything: it scales inputs and labels, trains, and
// returns a Model, which predicts in the units of the labels, with a standard
// deviation or an interval on request. Below it, a Trainer takes inputs that are
// already scaled and returns the networks, Measure computes the error metrics of the
// benchmark, and Taps returns layer inputs and gradients, the factors of the gradient
// kernel.
//
// Networks compute in float32. The build tag network64 compiles the same code in
// float64, the precision that some tests need.
//
// The same configuration, seed and data give the same bits whatever the number
// of threads. The functions of this package may be called from several
// goroutines at once, as long as none writes what another one reads; a Taps
// belongs to one goroutine at a time.
package network
