package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/network"
)

// plan is what a run is going to do.
type plan struct {
	Spec      string           `json:"spec"`
	Labelled  int              `json:"labelled"`
	Pool      int              `json:"pool"`
	Batch     int              `json:"batch"`
	Networks  int              `json:"networks"` // to train
	Inputs    int              `json:"inputs"`   // after encoding
	Numeric   []string         `json:"numeric"`
	OneHot    map[string]int   `json:"one_hot"` // levels of each encoded column
	Dropped   []string         `json:"dropped"`
	Memory    int64            `json:"memory"`    // bytes, forecast
	Available int64            `json:"available"` // bytes that the machine has to give; 0 where unknown
	Seconds   *forecastSeconds `json:"seconds,omitempty"`
	Warnings  []string         `json:"warnings"`
}

// forecastSeconds is what a run would take beyond reading.
type forecastSeconds struct {
	Train  float64 `json:"train"`
	Kernel float64 `json:"kernel"`
	Select float64 `json:"select"`
	Total  float64 `json:"total"`
}

// What the program needs without any data, and what a network needs to compute.
const (
	processMemory = 40 << 20
	networkMemory = 48 << 20
)

func (s *selecting) plan() plan {
	p := plan{
		Spec: s.spec.String(), Labelled: s.problem.Train.Rows, Pool: s.problem.Pool.Rows, Batch: s.batch, Inputs: s.problem.Pool.Cols,
		Numeric: []string{}, OneHot: map[string]int{}, Dropped: []string{}, Warnings: append([]string{}, s.progress.warnings...), Available: availableMemory(),
	}
	if s.spec.TrainedNetworks() > 0 && s.fitted == nil {
		p.Networks = max(s.spec.TrainedNetworks(), s.net.ensemble)
	}
	sizes := nextbatch.Sizes{Train: p.Labelled, Pool: p.Pool, Aims: s.problem.Target.Rows.Rows, Inputs: p.Inputs, Batch: p.Batch, Hidden: s.config.Architecture.Hidden}
	p.Memory = processMemory + s.spec.Memory(sizes)
	if s.spec.TrainedNetworks() > 0 {
		p.Memory += networkMemory
	}
	if s.rows != nil {
		p.Numeric = append(p.Numeric, s.rows.Encoder.Numeric...)
		for _, c := range s.rows.Encoder.Categories {
			p.OneHot[c.Column] = len(c.Levels)
		}
		for _, d := range s.rows.Encoder.Dropped {
			p.Dropped = append(p.Dropped, d.Column)
		}
		cells := int64(s.poolT.Rows()) * int64(len(s.poolT.Columns()))
		p.Memory += 8*cells + 4*int64(p.Pool+p.Labelled)*int64(p.Inputs) // the table, and its rows before scaling
	}
	p.Memory += p.Memory / 8 // what waits to be collected
	return p
}

// refusal says that the memory does not suffice, and what would help.
func (p plan) refusal(limit int64) string {
	return fmt.Sprintf("%s would need about %s, and the limit is %s; try a smaller sketch, as in %s, or fewer candidates",
		p.Spec, bytesText(p.Memory), bytesText(limit), "lcmd-tp:grad>sketch(128)")
}

// Sizes of the sample that a forecast of time is measured on.
const (
	samplePool   = 4096
	sampleBatch  = 32
	sampleEpochs = 6
)

// forecast prints the plan with a forecast of time, measured on a sample.
func (s *selecting) forecast(ctx context.Context, out io.Writer, p plan) error {
	seconds, err := s.measure(ctx, p)
	if err != nil {
		return err
	}
	p.Seconds = seconds
	if s.json {
		err = printJSON(out, p)
	} else {
		printPlan(out, p)
	}
	if err == nil && p.Available > 0 && p.Memory > p.Available {
		return usageError{errorf("%s", p.refusal(p.Available))}
	}
	return err
}

// measure trains for a few epochs and picks a few rows of a part of the pool.
// Training grows with the epochs, the kernel with the pool, the selection with
// the pool and the rows that are selected.
func (s *selecting) measure(ctx context.Context, p plan) (*forecastSeconds, error) {
	f := &forecastSeconds{}
	quiet := &progress{log: io.Discard, quiet: true}
	if p.Networks > 0 {
		c := s.config
		c.Training.Epochs = min(sampleEpochs, c.Training.Epochs)
		var first time.Time
		var perEpoch float64
		r := &network.Regressor[float32]{Config: c, Progress: func(e network.Epoch) {
			if e.Number == 1 {
				first = time.Now()
			} else {
				perEpoch = time.Since(first).Seconds() / float64(e.Number-1)
			}
		}}
		begin := time.Now()
		if err := r.Fit(ctx, s.rows.Train, s.rows.Labels); err != nil && r.Ensemble() == nil {
			return nil, err
		}
		taken := time.Since(begin).Seconds()
		if perEpoch == 0 {
			perEpoch = taken
		}
		f.Train = (taken + perEpoch*float64(s.config.Training.Epochs-c.Training.Epochs)) * float64(p.Networks)
		if p.Networks == 1 {
			s.fitted = r
		} else {
			var err error
			c.Training.Epochs = 1
			if s.fitted, err = train(ctx, c, p.Networks, s.rows.Train, s.rows.Labels, quiet); err != nil {
				return nil, err
			}
		}
	}
	pool, batch := min(p.Pool, samplePool), min(s.batch, sampleBatch)
	small := *s
	small.progress = quiet
	if s.rows != nil {
		rows := *s.rows
		rows.Pool = rows.Pool.Slice(0, pool)
		small.rows = &rows
		if err := small.prepare(ctx); err != nil {
			return nil, err
		}
	} else {
		small.problem.Pool = s.problem.Pool.Slice(0, pool)
	}
	small.problem.Batch = min(batch, pool)
	small.problem.Constraints.Exclude, small.problem.Constraints.Require = nil, nil
	small.problem.Constraints.Cost, small.problem.Constraints.Budget = nil, 0
	small.problem.Constraints.Group, small.problem.Constraints.PerGroup = nil, 0
	small.spec = s.spec
	b, err := small.pick(ctx)
	if err != nil {
		return nil, err
	}
	grown := float64(p.Pool+p.Labelled) / float64(pool+p.Labelled)
	f.Kernel = b.Kernel.Seconds() * grown
	t := b.Timing
	f.Select = t.Init.Seconds()*grown + t.Train.Seconds()*float64(p.Pool)/float64(pool) +
		(t.Forward+t.Backward).Seconds()*float64(p.Pool)/float64(pool)*float64(min(s.batch, p.Pool))/float64(small.problem.Batch) +
		t.Report.Seconds()*float64(s.batch)/float64(small.problem.Batch)
	f.Total = s.timings.Read + f.Train + f.Kernel + f.Select
	return f, nil
}

func printPlan(out io.Writer, p plan) {
	fmt.Fprintf(out, "method      %s\n", p.Spec)
	fmt.Fprintf(out, "rows        %d labelled, %d candidates, %d to pick\n", p.Labelled, p.Pool, p.Batch)
	fmt.Fprintf(out, "inputs      %d", p.Inputs)
	if len(p.Numeric) > 0 {
		fmt.Fprintf(out, ": %s", strings.Join(p.Numeric, ", "))
	}
	fmt.Fprintln(out)
	for _, name := range slices.Sorted(maps.Keys(p.OneHot)) {
		fmt.Fprintf(out, "one-hot     %s, %d levels\n", name, p.OneHot[name])
	}
	for _, name := range p.Dropped {
		fmt.Fprintf(out, "not used    %s\n", name)
	}
	fmt.Fprintf(out, "networks    %d to train\n", p.Networks)
	fmt.Fprintf(out, "memory      about %s", bytesText(p.Memory))
	if p.Available > 0 {
		fmt.Fprintf(out, " of %s available", bytesText(p.Available))
	}
	fmt.Fprintf(out, "\ntime        about %.1f s: training %.1f, kernel %.1f, selection %.1f\n",
		p.Seconds.Total, p.Seconds.Train, p.Seconds.Kernel, p.Seconds.Select)
}

func bytesText(n int64) string {
	if n >= 1<<30 {
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	}
	return fmt.Sprintf("%.0f MiB", float64(n)/(1<<20))
}

// availableMemory is what the system says it can give; 0 where it does not.
func availableMemory() int64 {
	raw, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(raw)) {
		if rest, ok := strings.CutPrefix(line, "MemAvailable:"); ok {
			kib, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			return kib << 10
		}
	}
	return 0
}
