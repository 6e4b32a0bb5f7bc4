// Package benchmark repeats the paper's experiments (section "Experiments" and
// appendix "Details on Experiments"): for each data set, method and split, start
// from a few labelled rows; then, in each round, train from scratch, measure, and
// let the method select the next batch.
package benchmark

import "github.com/nextbatch/nextbatch/internal/stats"

// Run names one experiment of the grid. Runs that differ only in Spec start from
// the same split and, if they have the same learner, from the same initial model.
type Run struct {
	DataSet    string
	Activation string // of the network: "relu" or "silu"
	// canonical text of the method, without @compat; after that of the learner, unless it is a network (JoinSpec)
	Spec      string
	Compat    bool // follow the published code where it differs from the paper
	BatchSize int  // rows picked per round
	Rounds    int  // rounds that pick a batch; there are Rounds+1 measurements
	Split     int
}

// Round is one row of the results: how the networks trained on Labels rows perform
// on the test set, and how the next batch was selected.
type Round struct {
	Run
	Round  int // 0 is the start
	Labels int // labelled rows that the model was fitted to

	Test    stats.Metrics  // on standardised labels; those of all targets together
	Targets []TargetErrors // the errors of each, if there are several

	// Seconds. Features and Selection are those of selecting the next batch; the
	// last round has none.
	Training, Features, Selection, Testing float64
	Elapsed                                float64 // these four and everything else

	EffectiveDimension float64 // of the kernel, on a sample of the pool; NaN if there is none
	Fallbacks          int     // rows of the batch for which the method fell back to random selection
}

// TargetErrors are the errors on the test set for one of several targets, in units of the
// deviation of its labels.
type TargetErrors struct {
	Target string
	stats.Metrics
}

// Results holds rounds in the order of their runs, then by number.
type Results []Round
