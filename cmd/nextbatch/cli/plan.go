package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/internal/words"
)

// forecast returns the plan with a forecast of time. That is measured on samples, so the plan is printed before it.
func (s *selecting) forecast(ctx context.Context) (*answer, error) {
	s.plan.Available = s.columns.memory.bytes
	measure := func() error { return requestError(s.plan.Forecast(ctx, s.reading)) }
	if s.json {
		return &answer{json: s.plan}, measure()
	}
	return &answer{text: func(out io.Writer) error {
		printPlan(out, s.plan)
		if err := measure(); err != nil {
			return err
		}
		printSeconds(out, s.plan.Seconds)
		return nil
	}}, nil
}

func printPlan(out io.Writer, p *nextbatch.Plan) {
	fmt.Fprintf(out, "method      %s\n", p.Spec)
	fmt.Fprintf(out, "rows        %s labelled, %s, ", words.Whole(p.Labelled),
		words.Count(p.Pool, "candidate", "candidates"))
	if p.Pending > 0 {
		fmt.Fprintf(out, "%d of them pending, ", p.Pending)
	}
	fmt.Fprintf(out, "%d to pick\n", p.Batch)
	fmt.Fprintf(out, "inputs      %d", p.Inputs)
	if len(p.Numeric) > 0 {
		fmt.Fprintf(out, ": %s", shown(strings.Join(p.Numeric, ", ")))
	}
	fmt.Fprintln(out)
	for _, name := range slices.Sorted(maps.Keys(p.OneHot)) {
		fmt.Fprintf(out, "one-hot     %s, %s\n", shown(name), words.Count(p.OneHot[name], "level", "levels"))
	}
	for _, name := range p.Imputed {
		fmt.Fprintf(out, "imputed     %s\n", shown(name))
	}
	for _, note := range p.Notes {
		heading := "read"
		if strings.Contains(note, "is dates or times") {
			heading = "dates"
		}
		fmt.Fprintf(out, "%-11s %s\n", heading, shown(note))
	}
	for _, name := range p.Dropped {
		fmt.Fprintf(out, "not used    %s\n", shown(name))
	}
	for _, limit := range p.Limits {
		fmt.Fprintf(out, "limit       %s\n", shown(limit))
	}
	if p.Learner != "" {
		fmt.Fprintf(out, "learner     %s\n", p.Learner)
	} else {
		fmt.Fprintf(out, "networks    %d to train\n", p.Networks)
	}
	fmt.Fprintf(out, "memory      about %s", words.Memory(p.Memory))
	if p.Available > 0 {
		fmt.Fprintf(out, " of %s available", words.Memory(p.Available))
	}
	if p.File > 0 {
		fmt.Fprintf(out, "\nfeatures    in a file of %s", words.Memory(p.File))
		if p.Folder != "" {
			fmt.Fprintf(out, " in %s", p.Folder)
		}
	}
	fmt.Fprintln(out)
}

func printSeconds(out io.Writer, s *nextbatch.Seconds) {
	fmt.Fprintf(out, "time        about %.1f s: training %.1f, kernel %.1f, selection %.1f\n", s.Total,
		s.Train, s.Kernel, s.Select)
}
