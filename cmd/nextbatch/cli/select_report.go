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
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/report"
)

// answer is the batch as a table, a page, and JSON or text.
func (s *selecting) answer(ctx context.Context, r *nextbatch.Result) *answer {
	found := &answer{}
	if s.out != "" {
		found.save = append(found.save, func() error { return s.write(r) })
	} else {
		found.text = func(out io.Writer) error { return printBatch(out, r) }
	}
	found.savePage(s.page, s.progress, func() (*report.Page, error) { return s.batchPage(ctx, r) })
	if s.json {
		found.json = r
	}
	if r.Missing > 0 {
		found.short = partialError{len(r.Indices), s.plan.Batch, r.Short}
	}
	return found
}

// write writes the batch to the file of --out.
func (s *selecting) write(r *nextbatch.Result) error {
	t, err := s.outputTable(r)
	if err != nil {
		return err
	}
	if err := source.WriteToFill(s.out, t, s.request.TargetColumns...); err != nil {
		return err
	}
	s.progress.say("%s written to %s", words.Count(len(r.Indices), "row", "rows"), s.out)
	return s.writePredictions(r)
}

// outputTable is the batch as a table: the id, if there is one, then the row of
// the input, the number of the pick, score and reason; then the row as it is in the
// input, and empty target columns to fill in.
func (s *selecting) outputTable(r *nextbatch.Result) (*dataset.Table, error) {
	inputs := s.batchInputs(r)
	taken := map[string]bool{s.columns.id: true}
	for _, target := range s.request.TargetColumns {
		taken[target] = true
	}
	for _, c := range inputs {
		taken[c.Name()] = true
	}
	row, pick, score := dataset.NewNumeric(ownName("row", taken)), dataset.NewNumeric(ownName("pick", taken)), dataset.NewNumeric(ownName("score", taken))
	why, reason := dataset.NewText(ownName("why", taken)), dataset.NewText(ownName("reason", taken))
	reasons := r.ReasonsAlone()
	if s.showPredictions {
		reasons = r.Reasons
	}
	for i, p := range r.Batch.Picks {
		row.Append(float64(r.Indices[i]))
		pick.Append(float64(i + 1))
		if math.IsInf(p.Score, 0) {
			p.Score = math.NaN()
		}
		score.Append(p.Score)
		why.Append([]byte(p.Why.String()))
		reason.Append([]byte(reasons[i]))
	}
	columns := append([]dataset.Column{row, pick, score, why, reason}, inputs...)
	if s.columns.id != "" {
		columns = slices.Insert(columns, 0, dataset.Column(dataset.NewText(s.columns.id, r.IDs...)))
	}
	empty := slices.Repeat([]float64{math.NaN()}, len(r.Indices))
	for _, target := range s.request.TargetColumns {
		columns = append(columns, dataset.NewNumeric(target, empty...))
	}
	t, err := dataset.NewTable(columns...)
	if err != nil {
		return nil, err
	}
	return t.WrittenLike(s.candidates().Origin().Style), nil
}

// ownName is the name of a column that is not one of the input's.
func ownName(name string, taken map[string]bool) string {
	for taken[name] {
		name = "nextbatch_" + name
	}
	return name
}

// candidates is the table that holds them; nil with features.
func (s *selecting) candidates() *dataset.Table {
	if s.request.Table != nil {
		return s.request.Table
	}
	return s.request.Pool
}

func hasColumn(t *dataset.Table, name string) bool {
	return t != nil && t.Has(name)
}

// batchInputs are the columns of the picked rows, as in the input, except for id and
// label.
func (s *selecting) batchInputs(r *nextbatch.Result) (columns []dataset.Column) {
	table := s.candidates()
	if table == nil {
		return nil
	}
	for _, c := range table.Columns() {
		if c.Name() != s.columns.id && !slices.Contains(s.request.TargetColumns, c.Name()) {
			columns = append(columns, c.Select(r.Indices))
		}
	}
	return columns
}

func printBatch(out io.Writer, r *nextbatch.Result) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "pick\tid\tscore\treason")
	for i, id := range r.IDs {
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\n", i+1, shown(id), words.Number(float64(r.Scores[i])), shown(r.Reasons[i]))
	}
	return w.Flush()
}
