package report

import (
	"context"
	"math"
	"slices"
	"strconv"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/wire"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/limits"
	"github.com/nextbatch/nextbatch/tables"
)

// Batches as tables for a lab to fill in.

// batchFile is a batch as a table, with a line for each measurement: what names the row; the number of the pick, run,
// replicate and well where they were asked for, score and reason; then the row as it is in the input, and empty target
// columns to fill in. A column whose name the input has gets another one (words.FreeName).
type batchFile struct {
	*nextbatch.Result
	lines                   []limits.Measurement
	names                   []dataset.Column // of the rows; the first columns
	runs                    []int            // of the lines, from 1; 0 for a repeat, which belongs to none
	same, replicates, wells bool             // have columns
	why                     bool             // has a column, too
	predictions             bool             // are in the reasons
	inputs                  []dataset.Column
	targets                 []string
	taken                   []string // names of columns
	style                   dataset.Style
}

func (f *batchFile) table() (*dataset.Table, error) {
	number := func(name string) *dataset.Numeric { return dataset.NewNumeric(words.FreeName(name, f.taken...)) }
	text := func(name string) *dataset.Text { return dataset.NewText(words.FreeName(name, f.taken...)) }
	pick, score, why, reason := number("pick"), number("score"), text("why"), text("reason")
	run, replicate, plate, well := number("run"), number(campaign.ReplicateColumn), number("plate"), text("well")
	for i, m := range f.lines {
		run.Append(orMissing(f.runs[i]))
		replicate.Append(orMissing(m.Replicate))
		plate.Append(orMissing(m.Plate))
		well.Append([]byte(m.Well))
		if m.Repeat {
			pick.Append(math.NaN())
			score.Append(math.NaN())
			why.Append([]byte("repeat"))
			reason.Append([]byte(m.Reason))
			continue
		}
		pick.Append(float64(m.Pick + 1))
		score.Append(finite(float64(f.Scores[m.Pick])))
		if f.why {
			why.Append([]byte(f.Batch.Picks[m.Pick].Why.String()))
		}
		if f.predictions {
			reason.Append([]byte(f.Reasons[m.Pick]))
		} else {
			reason.Append([]byte(wire.ReasonAlone(f.Result, m.Pick)))
		}
	}
	columns := append(f.names, pick)
	add := func(wanted bool, list ...dataset.Column) {
		if wanted {
			columns = append(columns, list...)
		}
	}
	add(f.same, run)
	add(f.replicates, replicate)
	add(f.wells, plate, well)
	add(true, score)
	add(f.why, why)
	add(true, reason)
	add(true, f.inputs...)
	for _, target := range f.targets {
		add(true, dataset.NewNumeric(target, slices.Repeat([]float64{math.NaN()}, len(f.lines))...))
	}
	t, err := dataset.NewTable(columns...)
	if err != nil {
		return nil, err
	}
	return t.WrittenLike(f.style), nil
}

// orMissing is a number from 1, or NaN for 0.
func orMissing(n int) float64 {
	if n == 0 {
		return math.NaN()
	}
	return float64(n)
}

// finite is a number, or NaN for one that a table cannot hold.
func finite(v float64) float64 {
	if math.IsInf(v, 0) {
		return math.NaN()
	}
	return v
}

// File is the batch as a table to fill in. Reasons leave out what is predicted, unless it is wanted.
func (s *Selected) File(predictions bool) (*dataset.Table, error) {
	r := s.Request
	f := &batchFile{Result: s.Result, lines: slices.Clone(s.Lines()), same: len(r.Same) > 0,
		replicates: r.Replicates > 1 || r.ReplicateShare > 0, wells: r.Layout.Plate != "", why: true,
		predictions: predictions, targets: toFill(r),
		style: s.candidates().Origin().Style}
	f.inputs = s.batchInputs(f.lines)
	f.taken = append(slices.Clone(f.targets), r.IDColumn)
	for _, c := range f.inputs {
		f.taken = append(f.taken, c.Name())
	}
	ids, row := dataset.NewText(r.IDColumn), dataset.NewNumeric(words.FreeName(RowColumn, f.taken...))
	measured := s.measured(f.lines)
	for i := range f.lines {
		m := &f.lines[i]
		ids.Append([]byte(m.ID))
		row.Append(float64(m.Index))
		f.runs = append(f.runs, s.RunOf(*m))
		m.Replicate += measured[m.ID]
	}
	if r.IDColumn != "" {
		f.names = append(f.names, ids)
	}
	f.names = append(f.names, row)
	return f.table()
}

// toFill lists the columns that a batch leaves empty: those of the labels and of their noise.
func toFill(r *nextbatch.Request) []string { return slices.Concat(r.TargetColumns, r.LabelSD) }

// RowColumn is the column of a batch file that holds the rows of the input.
const RowColumn = "row"

// AskedFile is a batch of a campaign as a table to fill in. Reasons leave out what is predicted, unless it is wanted.
func AskedFile(ctx context.Context, c *campaign.Campaign, s *campaign.State, b *campaign.Batch,
	predictions bool) (*dataset.Table, error) {
	refs := make([]campaign.RowRef, len(b.Rows))
	for i, row := range b.Rows {
		refs[i] = row.RowRef
	}
	inputs, err := c.Inputs(ctx, refs)
	if err != nil {
		return nil, err
	}
	f := &batchFile{Result: b.Result, lines: slices.Clone(b.Result.Lines()), same: len(b.Asked.Same) > 0,
		predictions: predictions, inputs: inputs.Columns()[1:], targets: s.Created.Targets,
		taken: slices.Concat(inputs.Names(), s.Created.Targets), style: s.Created.Style()}
	identity := dataset.NewText(words.FreeName(campaign.CampaignColumn, f.taken...))
	for i, row := range b.Rows {
		identity.Append([]byte(s.Created.Identity))
		f.runs = append(f.runs, row.Run)
		f.lines[i].Replicate, f.lines[i].Plate, f.lines[i].Well = row.Number(), row.Plate, row.Well
		f.wells, f.replicates = f.wells || row.Well != "", f.replicates || row.Number() > 1
	}
	f.names = []dataset.Column{inputs.Columns()[0], identity}
	return f.table()
}

// measured returns how often the rows that are repeated have been measured, by their names: the numbers of their
// replicates continue from there.
func (s *Selected) measured(lines []limits.Measurement) map[string]int {
	times := map[string]int{}
	for _, m := range lines {
		if m.Repeat {
			times[m.ID] = 0
		}
	}
	if len(times) == 0 {
		return times
	}
	table := s.labelled()
	labelled := tables.AnyLabel(table, s.Request.TargetColumns)
	names := tables.IDs{Table: table, Column: s.Request.IDColumn}
	for row := range table.Rows() {
		if name := names.Name(row); labelled != nil && labelled(row) {
			if _, repeated := times[name]; repeated {
				times[name]++
			}
		}
	}
	return times
}

// batchInputs are the columns of the rows of a batch, as in the input, except for id and
// label.
func (s *Selected) batchInputs(lines []limits.Measurement) (columns []dataset.Column) {
	table := s.candidates()
	if table == nil {
		return nil
	}
	for _, c := range table.Columns() {
		if c.Name() != s.Request.IDColumn && !slices.Contains(toFill(s.Request), c.Name()) {
			columns = append(columns, s.linesOf(c, lines))
		}
	}
	return columns
}

// linesOf returns the values that the lines of a batch have in a column of the candidates. Repeats are rows of the
// labelled ones.
func (s *Selected) linesOf(c dataset.Column, lines []limits.Measurement) dataset.Column {
	rows, other := make([]int, len(lines)), s.labelled()
	repeats := false
	for i, m := range lines {
		rows[i], repeats = m.Index, repeats || m.Repeat
	}
	if !repeats || other == s.candidates() {
		return c.Select(rows)
	}
	text := dataset.NewText(c.Name())
	for _, m := range lines {
		switch from, err := other.Column(c.Name()); {
		case !m.Repeat:
			text.Append([]byte(c.Format(m.Index)))
		case err == nil:
			text.Append([]byte(from.Format(m.Index)))
		default:
			text.Append(nil)
		}
	}
	return numbersOf(text, c)
}

// numbersOf returns a column of text as numbers, if another one is numbers.
func numbersOf(text *dataset.Text, like dataset.Column) dataset.Column {
	if like.Kind() != dataset.KindNumeric {
		return text
	}
	numbers := dataset.NewNumeric(text.Name())
	for row := range text.Len() {
		v, err := strconv.ParseFloat(text.Format(row), 64)
		if err != nil && !text.Missing(row) {
			return text
		}
		if text.Missing(row) {
			v = math.NaN()
		}
		numbers.Append(v)
	}
	return numbers
}
