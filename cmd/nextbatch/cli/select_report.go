package cli

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/selection"
)

// selectResult is what select prints as JSON.
type selectResult struct {
	Indices   []int           `json:"indices"` // rows of the pool input, from 0, in pick order
	IDs       []string        `json:"ids"`
	Scores    []number        `json:"scores"`
	Reasons   []string        `json:"reasons"`
	Spec      string          `json:"spec"`
	Seed      uint64          `json:"seed"`
	Missing   int             `json:"missing"` // rows by which the batch is short
	Short     string          `json:"short"`   // why
	Fallbacks []fallbackEntry `json:"fallbacks"`
	Warnings  []string        `json:"warnings"`
	Timings   timings         `json:"timings"` // seconds
	Metrics   selectMetrics   `json:"metrics"`
	Version   string          `json:"version"`
}

type fallbackEntry struct {
	Step    int    `json:"step"`
	Reason  string `json:"reason"`
	Indices []int  `json:"indices"` // that were drawn at random instead
	Cut     []int  `json:"cut"`     // that were taken out again
}

type selectMetrics struct {
	Labelled  int      `json:"labelled"`
	Pool      int      `json:"pool"`
	Inputs    int      `json:"inputs"`     // after encoding
	ValidRows int      `json:"valid_rows"` // labelled rows that were held out
	ValidRMSE []number `json:"valid_rmse"` // of each network on them, in units of the labels
	Cost      *number  `json:"cost,omitempty"`
	Memory    int64    `json:"memory_forecast"`
}

func (s *selecting) report(ctx context.Context, out io.Writer, batch *nextbatch.Batch) error {
	r := s.result(batch)
	if s.out != "" {
		t, err := s.outputTable(batch, r)
		if err != nil {
			return err
		}
		if err := source.WriteFile(s.out, t); err != nil {
			return err
		}
		s.progress.say("%d rows written to %s", len(r.Indices), s.out)
	}
	if s.page != "" {
		if err := s.writePage(ctx, batch, r); err != nil {
			return err
		}
		r.Warnings = append([]string{}, s.progress.warnings...)
	}
	if s.json {
		if err := printJSON(out, r); err != nil {
			return err
		}
	} else if s.out == "" {
		if err := printBatch(out, r); err != nil {
			return err
		}
	}
	if batch.Missing > 0 {
		return partialError{len(batch.Picks), s.batch, batch.Short}
	}
	return nil
}

func (s *selecting) result(batch *nextbatch.Batch) selectResult {
	r := selectResult{
		Indices: s.inputRows(batch.Rows()), Spec: s.spec.String(), Seed: s.net.seed,
		IDs: []string{}, Scores: []number{}, Reasons: []string{}, Fallbacks: []fallbackEntry{},
		Missing: batch.Missing, Short: batch.Short, Timings: s.timings, Version: thisBuild().Version,
		Metrics: selectMetrics{Labelled: s.problem.Train.Rows, Pool: s.problem.Pool.Rows, Inputs: s.problem.Pool.Cols,
			ValidRMSE: []number{}, Memory: s.forecastBytes},
	}
	for i, p := range batch.Picks {
		r.IDs = append(r.IDs, s.name(selection.PoolSet, p.Row))
		r.Scores = append(r.Scores, number(p.Score))
		r.Reasons = append(r.Reasons, batch.Reason(i, s.name))
	}
	for _, f := range batch.Fallbacks {
		r.Fallbacks = append(r.Fallbacks, fallbackEntry{f.Step, f.Reason, s.inputRows(f.Rows), s.inputRows(f.Cut)})
		s.progress.warn(fmt.Sprintf("from step %d on, %d rows were drawn at random: %s", f.Step, len(f.Rows), f.Reason))
	}
	for _, w := range slices.Concat(batch.Warnings, batch.Notes) {
		s.progress.warn(w)
	}
	if s.fitted != nil {
		p := s.fitted.Provenance()
		r.Metrics.ValidRows = p.ValidRows
		for _, v := range p.ValidRMSE {
			r.Metrics.ValidRMSE = append(r.Metrics.ValidRMSE, number(v))
		}
	}
	if costs := s.problem.Constraints.Cost; costs != nil {
		sum := 0.0
		for _, p := range batch.Picks {
			sum += costs[p.Row]
		}
		spent := number(sum)
		r.Metrics.Cost = &spent
	}
	r.Warnings = append([]string{}, s.progress.warnings...)
	return r
}

// inputRows are rows of the pool as rows of the input.
func (s *selecting) inputRows(rows []int) []int {
	list := make([]int, len(rows))
	for i, row := range rows {
		list[i] = s.poolRows[row]
	}
	return list
}

// outputTable is the batch as a table: the id, if there is one, then the row of
// the input, the number of the pick, score and reason.
func (s *selecting) outputTable(batch *nextbatch.Batch, r selectResult) (*dataset.Table, error) {
	label := func(name string) string {
		if name == s.columns.id {
			return "nextbatch_" + name
		}
		return name
	}
	row, pick, score := dataset.NewNumeric(label("row")), dataset.NewNumeric(label("pick")), dataset.NewNumeric(label("score"))
	why, reason := dataset.NewText(label("why")), dataset.NewText(label("reason"))
	for i, p := range batch.Picks {
		row.Append(float64(r.Indices[i]))
		pick.Append(float64(i + 1))
		if math.IsInf(p.Score, 0) {
			p.Score = math.NaN()
		}
		score.Append(p.Score)
		why.Append([]byte(p.Why.String()))
		reason.Append([]byte(r.Reasons[i]))
	}
	columns := []dataset.Column{row, pick, score, why, reason}
	if s.columns.id != "" {
		columns = slices.Insert(columns, 0, dataset.Column(dataset.NewText(s.columns.id, r.IDs...)))
	}
	return dataset.NewTable(columns...)
}

func printBatch(out io.Writer, r selectResult) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "pick\tid\tscore\treason")
	for i, id := range r.IDs {
		fmt.Fprintf(w, "%d\t%s\t%.4g\t%s\n", i+1, shown(id), float64(r.Scores[i]), shown(r.Reasons[i]))
	}
	return w.Flush()
}
