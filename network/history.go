package network

import "fmt"

// Epoch reports the progress of a training.
type Epoch struct {
	Member    int     // of the ensemble, from 0
	Number    int     // of the epoch that ended, from 1
	Of        int     // epochs in total
	Loss      float64 // mean over its mini-batches, each before its step
	ValidRMSE float64 // after the epoch; NaN without rows for validation

	Fold, Folds int // the fold of cross-fitting, from 1, and how many there are; 0 for the model itself
}

// History is the course of a training.
type History struct {
	Epochs []Epoch
	Best   int // number of the epoch whose parameters were kept; 0 for the initial ones

	Device string // that trained; empty: the CPU
	Note   string // why the CPU trained, and not the device of the context
}

// DivergedError reports a training that was stopped because its numbers were no longer
// finite.
type DivergedError struct {
	Epoch     // the one that it happened in
	Kept  int // number of the epoch whose parameters were kept; 0 for the initial ones
}

func (e *DivergedError) Error() string {
	//warning:diverged
	return fmt.Sprintf("training of network %d (from 0) diverged in epoch %d of %d (loss %v, validation RMSE %v); the "+
		"parameters of epoch %d were kept",
		e.Member, e.Number, e.Of, e.Loss, e.ValidRMSE, e.Kept)
}

// StoppedError reports a training that ended because its context did.
type StoppedError struct {
	Member int
	Number int   // of the epoch that was under way, from 1
	Of     int   // epochs in total
	Kept   int   // number of the epoch whose parameters were kept; 0 for the initial ones
	Cause  error // of the context's end
}

func (e *StoppedError) Error() string {
	return fmt.Sprintf("training of network %d (from 0) was stopped in epoch %d of %d: %v", e.Member,
		e.Number, e.Of, e.Cause)
}

func (e *StoppedError) Unwrap() error { return e.Cause }
