package wire

import (
	"time"

	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/internal/benchmark"
)

// The service and 'nextbatch bench status --json' both describe the progress of a benchmark. They count runs alike;
// their rounds, failures and workers have had different shapes since both exist, and clients rely on each.

// RunCounts counts runs.
type RunCounts struct {
	Runs    int `json:"runs"`
	Done    int `json:"done"`
	Working int `json:"working" doc:"runs under way"`
}

// Add counts a run.
func (c *RunCounts) Add(r benchmark.RunStatus) {
	c.Runs++
	switch {
	case r.Finished():
		c.Done++
	case r.Working:
		c.Working++
	}
}

// BenchmarkProgress is how far the runs are, and who works on them, as the service describes it.
type BenchmarkProgress struct {
	RunCounts
	Failed      int               `json:"failed"`
	Rounds      int               `json:"rounds"`
	RoundsDone  int               `json:"rounds_done"`
	SecondsLeft *float64          `json:"seconds_left" doc:"forecast, with as many runs at the same time as now; null if it is unknown"`
	Workers     []BenchmarkWorker `json:"workers"`
}

// BenchmarkWorker is a process that is working on runs, or waits for some, as the service describes it.
type BenchmarkWorker struct {
	Host    string    `json:"host"`
	Process int       `json:"process"`
	Started time.Time `json:"started"`
	Runs    int       `json:"runs" doc:"under way"`
	CPU     string    `json:"cpu"`
}

// BenchmarkStatus is what 'nextbatch bench status --json' prints.
type BenchmarkStatus struct {
	Settings benchmark.Settings `json:"settings"`
	RunCounts
	Rounds   RoundStatus    `json:"rounds"`
	Workers  []WorkerStatus `json:"workers"`
	Methods  []MethodStatus `json:"methods"`
	Failures []RunFailure   `json:"failures"`
}

// MethodStatus counts the runs of a method on a data set, one per split.
type MethodStatus struct {
	DataSet    string `json:"dataset"`
	Activation string `json:"activation"`
	Spec       string `json:"spec"`
	Compat     bool   `json:"compat"`
	Batch      int    `json:"batch"`
	Rounds     int    `json:"rounds"`
	RunCounts
	Failed  int          `json:"failed"`
	Seconds fitted.Float `json:"seconds"` // mean of the finished runs; 0 if there are none
}

// RoundStatus counts rounds, and forecasts the time of those that are left.
type RoundStatus struct {
	Done  int           `json:"done"`
	Total int           `json:"total"`
	Left  *fitted.Float `json:"seconds_left"` // with as many runs at the same time as now; null if unknown
}

// WorkerStatus is a process that is at work.
type WorkerStatus struct {
	Host    string    `json:"host"`
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
	Runs    int       `json:"runs"` // under way
	Version string    `json:"version"`
	CPU     string    `json:"cpu"`
	SIMD    string    `json:"simd"`
}

// RunFailure is why a run failed.
type RunFailure struct {
	Run   string `json:"run"`
	Error string `json:"error"`
}
