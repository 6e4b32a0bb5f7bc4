package cli

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/dataset"
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
	Available int64            `json:"available"` // bytes: --max-memory, or what the machine has to give; 0 where unknown
	Seconds   *forecastSeconds `json:"seconds,omitempty"`
	Warnings  []string         `json:"warnings"`
}

func (s *selecting) plan() plan {
	p := plan{
		Spec: s.spec.String(), Labelled: s.problem.Train.Rows, Pool: s.problem.Pool.Rows, Batch: s.batch, Inputs: s.problem.Pool.Cols,
		Numeric: []string{}, OneHot: map[string]int{}, Dropped: []string{}, Warnings: append([]string{}, s.progress.warnings...), Memory: s.forecastBytes, Available: s.columns.memory.bytes,
	}
	if s.fitted == nil {
		p.Networks = s.networks()
	}
	if s.rows != nil {
		p.Numeric = append(p.Numeric, s.rows.Encoder.Numeric...)
		for _, c := range s.rows.Encoder.Categories {
			p.OneHot[c.Column] = len(c.Levels)
		}
		for _, d := range s.rows.Encoder.Dropped {
			p.Dropped = append(p.Dropped, d.Column)
		}
	}
	return p
}

// networks is how many are trained, unless there is a model.
func (s *selecting) networks() int {
	if s.spec.TrainedNetworks() == 0 {
		return 0
	}
	return max(s.spec.TrainedNetworks(), s.net.ensemble)
}

// need forecasts the memory of a run on so many rows: the tables and their rows as
// numbers, which stay, and beside them the most that any later stage takes.
func (s *selecting) need(z nextbatch.Sizes) int64 {
	stay, stack := tableBytes(s.tables)
	if s.poolFeatures == "" {
		stay += rowBytes(z)
	}
	config, members := s.config, s.networks()
	if s.fitted != nil {
		config.Architecture, members = s.fitted.Ensemble()[0].Architecture(), len(s.fitted.Ensemble())
	}
	fit, kept := config.Memory(z.Inputs, z.Train, members)
	if s.fitted != nil || members == 0 {
		fit = 0
	}
	z.Hidden, z.Batch = config.WithDefaults().Architecture.Hidden, s.batch
	return withGarbage(stay + max(stack, fit, kept+nextbatch.Memory(s.spec, z)+s.written(z)))
}

// tableBytes is what tables take, and what the stack of their columns takes while
// numbers are made of several.
func tableBytes(tables []*dataset.Table) (stay, stack int64) {
	for _, t := range tables {
		stay += t.Bytes()
	}
	if len(tables) > 1 {
		stack = 2 * stay // columns grow, and leave what was too short behind
	}
	return stay, stack
}

// admit refuses a run that would need more memory than there is.
func (s *selecting) admit(z nextbatch.Sizes) error {
	s.forecastBytes = s.need(z)
	return s.columns.memory.admit(s.spec.String(), s.forecastBytes, s.smaller()...)
}

// smaller are runs that need less memory.
func (s *selecting) smaller() (list []string) {
	sketch := 0 // the smallest of the spec
	for _, t := range s.spec.Transforms {
		info, p := t.Info(), int(t.Number)
		if info.Projects && info.Single != nil && (sketch == 0 || p < sketch) {
			sketch = p
		}
	}
	switch {
	case !s.spec.UsesKernel():
	case sketch == 0:
		list = append(list, "a sketch, as in lcmd-tp:grad>sketch(128)")
	case sketch > 32: // fewer features say little
		list = append(list, fmt.Sprintf("a smaller sketch, such as sketch(%d)", sketch/2))
	}
	if s.networks() > 1 {
		list = append(list, "fewer networks")
	}
	if s.networks() > 0 && s.model == "" {
		list = append(list, "narrower layers (--hidden)")
	}
	return append(list, "fewer candidates")
}

func printPlan(out io.Writer, p plan) {
	fmt.Fprintf(out, "method      %s\n", p.Spec)
	fmt.Fprintf(out, "rows        %d labelled, %d candidates, %d to pick\n", p.Labelled, p.Pool, p.Batch)
	fmt.Fprintf(out, "inputs      %d", p.Inputs)
	if len(p.Numeric) > 0 {
		fmt.Fprintf(out, ": %s", shown(strings.Join(p.Numeric, ", ")))
	}
	fmt.Fprintln(out)
	for _, name := range slices.Sorted(maps.Keys(p.OneHot)) {
		fmt.Fprintf(out, "one-hot     %s, %d levels\n", shown(name), p.OneHot[name])
	}
	for _, name := range p.Dropped {
		fmt.Fprintf(out, "not used    %s\n", shown(name))
	}
	fmt.Fprintf(out, "networks    %d to train\n", p.Networks)
	fmt.Fprintf(out, "memory      about %s", bytesText(p.Memory))
	if p.Available > 0 {
		fmt.Fprintf(out, " of %s available", bytesText(p.Available))
	}
	fmt.Fprintf(out, "\ntime        about %.1f s: training %.1f, kernel %.1f, selection %.1f\n",
		p.Seconds.Total, p.Seconds.Train, p.Seconds.Kernel, p.Seconds.Select)
}
