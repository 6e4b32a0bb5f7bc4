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
)

func (s *selecting) report(ctx context.Context, out io.Writer, r *nextbatch.Result) error {
	if s.out != "" {
		t, err := s.outputTable(r)
		if err != nil {
			return err
		}
		if err := source.WriteFile(s.out, t); err != nil {
			return err
		}
		s.progress.say("%d rows written to %s", len(r.Indices), s.out)
	}
	if s.page != "" {
		if err := s.writePage(ctx, r); err != nil {
			return err
		}
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
	if r.Missing > 0 {
		return partialError{len(r.Indices), s.batch, r.Short}
	}
	return nil
}

// outputTable is the batch as a table: the id, if there is one, then the row of
// the input, the number of the pick, score and reason.
func (s *selecting) outputTable(r *nextbatch.Result) (*dataset.Table, error) {
	label := func(name string) string {
		if name == s.columns.id {
			return "nextbatch_" + name
		}
		return name
	}
	row, pick, score := dataset.NewNumeric(label("row")), dataset.NewNumeric(label("pick")), dataset.NewNumeric(label("score"))
	why, reason := dataset.NewText(label("why")), dataset.NewText(label("reason"))
	for i, p := range r.Batch.Picks {
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

func printBatch(out io.Writer, r *nextbatch.Result) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "pick\tid\tscore\treason")
	for i, id := range r.IDs {
		fmt.Fprintf(w, "%d\t%s\t%.4g\t%s\n", i+1, shown(id), float64(r.Scores[i]), shown(r.Reasons[i]))
	}
	return w.Flush()
}
