package cli

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/internal/report"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/limits"
	"github.com/nextbatch/nextbatch/tables"
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
	s.progress.say("%s written to %s", linesText(r), s.out)
	return s.writePredictions(r)
}

// linesText counts the rows of a batch, and its lines if they are more.
func linesText(r *nextbatch.Result) string {
	rows, lines := words.Count(len(r.Indices), "row", "rows"), len(r.Lines())
	if lines == len(r.Indices) {
		return rows
	}
	return fmt.Sprintf("%s (%s)", rows, words.Count(lines, "measurement", "measurements"))
}

// outputTable is the batch as a table, with a line for each measurement: the id, if there is one, then the row of
// the input, the number of the pick, run, replicate and well where they were asked for, score and reason; then the row
// as it is in the input, and empty target columns to fill in.
func (s *selecting) outputTable(r *nextbatch.Result) (*dataset.Table, error) {
	lines := r.Lines()
	inputs := s.batchInputs(lines)
	taken := map[string]bool{s.columns.id: true}
	for _, target := range s.request.TargetColumns {
		taken[target] = true
	}
	for _, c := range inputs {
		taken[c.Name()] = true
	}
	row, pick, score := dataset.NewNumeric(ownName("row", taken)), dataset.NewNumeric(ownName("pick", taken)),
		dataset.NewNumeric(ownName("score", taken))
	why, reason := dataset.NewText(ownName("why", taken)), dataset.NewText(ownName("reason", taken))
	reasons := r.ReasonsAlone()
	if s.showPredictions {
		reasons = r.Reasons
	}
	ids := dataset.NewText(s.columns.id)
	for _, m := range lines {
		ids.Append([]byte(m.ID))
		row.Append(float64(m.Index))
		if m.Repeat {
			pick.Append(math.NaN())
			score.Append(math.NaN())
			why.Append([]byte("repeat"))
			reason.Append([]byte(m.Reason))
			continue
		}
		p := r.Batch.Picks[m.Pick]
		pick.Append(float64(m.Pick + 1))
		score.Append(finite(p.Score))
		why.Append([]byte(p.Why.String()))
		reason.Append([]byte(reasons[m.Pick]))
	}
	columns := slices.Concat([]dataset.Column{row, pick}, s.labColumns(r, lines, taken),
		[]dataset.Column{score, why, reason}, inputs)
	if s.columns.id != "" {
		columns = slices.Insert(columns, 0, dataset.Column(ids))
	}
	empty := slices.Repeat([]float64{math.NaN()}, len(lines))
	for _, target := range s.request.TargetColumns {
		columns = append(columns, dataset.NewNumeric(target, empty...))
	}
	t, err := dataset.NewTable(columns...)
	if err != nil {
		return nil, err
	}
	return t.WrittenLike(s.candidates().Origin().Style), nil
}

// labColumns are the columns about runs, replicates and wells, where they were asked for.
func (s *selecting) labColumns(r *nextbatch.Result, lines []limits.Measurement,
	taken map[string]bool) []dataset.Column {
	list := make([]labLine, len(lines))
	measured := s.measured(lines)
	for i, m := range lines {
		list[i] = labLine{r.RunOf(m), m.Replicate + measured[m.ID], m.Plate, m.Well}
	}
	l := s.request.Limits
	return labColumns(list, len(l.Same) > 0, l.Replicates > 1 || l.ReplicateShare > 0, s.request.Layout.Plate != "", taken)
}

// measured returns how often the rows that are repeated have been measured, by their names: the numbers of their
// replicates continue from there.
func (s *selecting) measured(lines []limits.Measurement) map[string]int {
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
	labelled, names := tables.AnyLabel(table, s.request.TargetColumns), tables.IDs{Table: table, Column: s.columns.id}
	for row := range table.Rows() {
		if name := names.Name(row); labelled != nil && labelled(row) {
			if _, repeated := times[name]; repeated {
				times[name]++
			}
		}
	}
	return times
}

// labLine is what a lab needs to know about a line of a batch.
type labLine struct {
	run, replicate, plate int
	well                  string
}

// The columns of batch files about runs, replicates and wells.
const runColumn, replicateColumn, plateColumn, wellColumn = "run", campaign.ReplicateColumn, "plate", "well"

// labColumns returns the columns about runs, replicates and wells.
func labColumns(lines []labLine, runs, replicates, wells bool, taken map[string]bool) (columns []dataset.Column) {
	add := func(name string, of func(labLine) int) {
		c := dataset.NewNumeric(ownName(name, taken))
		for _, l := range lines {
			v := float64(of(l))
			if v == 0 { // a repeat belongs to no run
				v = math.NaN()
			}
			c.Append(v)
		}
		columns = append(columns, c)
	}
	if runs {
		add(runColumn, func(l labLine) int { return l.run })
	}
	if replicates {
		add(replicateColumn, func(l labLine) int { return l.replicate })
	}
	if wells {
		add(plateColumn, func(l labLine) int { return l.plate })
		c := dataset.NewText(ownName(wellColumn, taken))
		for _, l := range lines {
			c.Append([]byte(l.well))
		}
		columns = append(columns, c)
	}
	return columns
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

// labelled is the table that holds the labelled rows; nil with features.
func (s *selecting) labelled() *dataset.Table {
	if s.request.Table != nil {
		return s.request.Table
	}
	return s.request.Train
}

// batchInputs are the columns of the rows of a batch, as in the input, except for id and
// label.
func (s *selecting) batchInputs(lines []limits.Measurement) (columns []dataset.Column) {
	table := s.candidates()
	if table == nil {
		return nil
	}
	for _, c := range table.Columns() {
		if c.Name() != s.columns.id && !slices.Contains(s.request.TargetColumns, c.Name()) {
			columns = append(columns, s.linesOf(c, lines))
		}
	}
	return columns
}

// linesOf returns the values that the lines of a batch have in a column of the candidates. Repeats are rows of the
// labelled ones.
func (s *selecting) linesOf(c dataset.Column, lines []limits.Measurement) dataset.Column {
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

// printBatch prints a line for each measurement, with run, replicate and well where the batch has them.
func printBatch(out io.Writer, r *nextbatch.Result) error {
	lines := r.Lines()
	has := func(of func(limits.Measurement) bool) bool { return slices.ContainsFunc(lines, of) }
	runs, wells := len(r.Run) > 0, has(func(m limits.Measurement) bool { return m.Well != "" })
	replicates := has(func(m limits.Measurement) bool { return m.Repeat || m.Replicate > 1 })
	head, cells := []string{"pick", "id"}, func(limits.Measurement) []string { return nil }
	add := func(shown bool, name string, of func(limits.Measurement) string) {
		if shown {
			before := cells
			head, cells = append(head, name), func(m limits.Measurement) []string { return append(before(m), of(m)) }
		}
	}
	add(runs, runColumn, func(m limits.Measurement) string { return numberText(r.RunOf(m)) })
	add(replicates, replicateColumn, func(m limits.Measurement) string { return replicateText(m) })
	add(wells, plateColumn, func(m limits.Measurement) string { return strconv.Itoa(m.Plate) })
	add(wells, wellColumn, func(m limits.Measurement) string { return m.Well })
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, strings.Join(append(head, "score", "reason"), "\t"))
	for _, m := range lines {
		score, pick := "", ""
		if !m.Repeat {
			score, pick = words.Number(float64(r.Scores[m.Pick])), strconv.Itoa(m.Pick+1)
		}
		fmt.Fprintln(w, strings.Join(slices.Concat([]string{pick, shown(m.ID)}, cells(m),
			[]string{score, shown(m.Reason)}), "\t"))
	}
	return w.Flush()
}

// numberText is a number from 1, or nothing.
func numberText(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// replicateText is the number of a replicate; that of a labelled row counts on from its measurements so far.
func replicateText(m limits.Measurement) string {
	if m.Repeat {
		return "again"
	}
	return strconv.Itoa(m.Replicate)
}
