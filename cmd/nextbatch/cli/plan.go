package cli

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/spec"
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

	sketch int // features of the spec's smallest sketch; 0 if it has none
}

// What the program needs without any data, and what a network needs to compute.
const (
	processMemory = 24 << 20
	networkMemory = 48 << 20

	// garbagePercent is how much may wait to be collected beside what is in use.
	// Most of that are a few large matrices, so that collecting costs little.
	garbagePercent = 25
)

func (s *selecting) plan() plan {
	p := plan{
		Spec: s.spec.String(), Labelled: s.problem.Train.Rows, Pool: s.problem.Pool.Rows, Batch: s.batch, Inputs: s.problem.Pool.Cols,
		Numeric: []string{}, OneHot: map[string]int{}, Dropped: []string{}, Warnings: append([]string{}, s.progress.warnings...), Available: availableMemory(),
	}
	if s.spec.TrainedNetworks() > 0 && s.fitted == nil {
		p.Networks = max(s.spec.TrainedNetworks(), s.net.ensemble)
	}
	for _, t := range s.spec.Transforms {
		if k, ok := t.(spec.Sketch); ok && (p.sketch == 0 || k.P < p.sketch) {
			p.sketch = k.P
		}
	}
	sizes := nextbatch.Sizes{Train: p.Labelled, Pool: p.Pool, Aims: s.problem.Target.Rows.Rows, Inputs: p.Inputs, Batch: p.Batch, Hidden: s.config.Architecture.Hidden}
	p.Memory = processMemory + nextbatch.Memory(s.spec, sizes)
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
	try := ""
	switch {
	case p.sketch == 0:
		try = "a sketch, as in lcmd-tp:grad>sketch(128), or "
	case p.sketch > 32: // fewer features say little
		try = fmt.Sprintf("a smaller sketch, such as sketch(%d), or ", p.sketch/2)
	}
	return fmt.Sprintf("%s would need about %s, and the limit is %s; try %sfewer candidates",
		p.Spec, bytesText(p.Memory), bytesText(limit), try)
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
