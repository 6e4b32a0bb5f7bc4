// Package benchmark repeats the paper's experiments (section "Experiments" and
// appendix "Details on Experiments"): for each data set, method and split, start
// from few labelled rows, then round after round train anew, measure, and let
// the method pick the next batch.
package benchmark

import "github.com/nextbatch/nextbatch/network"

// Run names one experiment of the grid. Runs that differ only in Spec start from
// the same split and the same initial network.
type Run struct {
	DataSet    string
	Activation string // of the network: "relu" or "silu"
	Spec       string // canonical text of the method, without @compat
	Compat     bool   // follows the published code where it differs from the paper
	BatchSize  int    // rows picked in each round
	Rounds     int    // rounds of picking; there are Rounds+1 measurements
	Split      int
}

// Round is one row of the results: what the networks trained on Labels rows do
// on the test set, and how the next batch was picked.
type Round struct {
	Run
	Round  int // 0 is the start
	Labels int // labelled rows that the networks were trained on

	Test network.Metrics // on standardised labels

	// Seconds. Features and Selection are of the pick that follows; the last
	// round has none.
	Training, Features, Selection, Testing float64
	Elapsed                                float64 // those four and everything else

	EffectiveDimension float64 // of the kernel that picked, on a sample of the pool; NaN where there is none
	Fallbacks          int     // rows of the batch that came from the random fill-up
}

// Results are rounds in the order of their runs, and of the rounds in each.
type Results []Round
