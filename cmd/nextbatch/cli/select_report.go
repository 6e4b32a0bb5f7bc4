package cli

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/report"
	"github.com/nextbatch/nextbatch/internal/source/formats"
	"github.com/nextbatch/nextbatch/internal/wire"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/limits"
)

// answer is the batch as a table, a page, and JSON or text.
func (s *selecting) answer(ctx context.Context, r *nextbatch.Result) *answer {
	found := &answer{}
	if s.out != "" {
		found.save = append(found.save, func() error { return s.write(r) })
	} else {
		found.text = func(out io.Writer) error { return printBatch(out, r) }
	}
	found.savePage(s.page, s.progress, func() (*report.Page, error) {
		batch, err := s.reported(r, s.next(ctx, report.LinesText(r))).Batch(ctx)
		if err != nil {
			return nil, dataError{err}
		}
		return batch.Page(), nil
	})
	if s.json {
		found.json = wire.Printed(r)
	}
	if r.Missing > 0 {
		found.short = partialError{len(r.Indices), s.plan.Batch, r.Short}
	}
	return found
}

// reported is the batch as its page and its file show it, with what its reader does next.
func (s *selecting) reported(r *nextbatch.Result, next []report.Step) *report.Selected {
	page := &report.Selected{Result: r, Plan: s.plan, Request: &s.request, Files: s.inputs(), Next: next,
		Said: s.progress.warnings, Warn: func(text string) {
			s.progress.warn(text)
			r.Warnings = slices.Clone(s.progress.warnings)
		}}
	if r.Missing > 0 {
		page.Short = partialError{len(r.Indices), s.plan.Batch, r.Short}.Error()
	}
	return page
}

// write writes the batch to the file of --out.
func (s *selecting) write(r *nextbatch.Result) error {
	t, err := s.reported(r, nil).File(s.showPredictions)
	if err != nil {
		return err
	}
	if err := formats.WriteToFill(s.out, t, s.toFill()...); err != nil {
		return err
	}
	s.progress.say("%s written to %s", report.LinesText(r), s.out)
	return s.writePredictions(r)
}

// toFill lists the columns that are filled in: those of the labels and of their noise.
func (s *selecting) toFill() []string {
	return slices.Concat(s.request.TargetColumns, s.request.LabelSD)
}

// candidates is the table that holds them; nil with features.
func (s *selecting) candidates() *dataset.Table {
	if s.request.Table != nil {
		return s.request.Table
	}
	return s.request.Pool
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
	add(runs, "run", func(m limits.Measurement) string { return numberText(r.RunOf(m)) })
	add(replicates, campaign.ReplicateColumn, func(m limits.Measurement) string { return replicateText(m) })
	add(wells, "plate", func(m limits.Measurement) string { return strconv.Itoa(m.Plate) })
	add(wells, "well", func(m limits.Measurement) string { return m.Well })
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

// next says what to do with the batch of so many rows and measurements.
func (s *selecting) next(ctx context.Context, lines string) []report.Step {
	if s.out == "" {
		return []report.Step{{Text: "Measure these rows. With --out batch.csv the command that made this page also writes " +
			"them to a file, for you to fill in."}}
	}
	steps := []report.Step{{Text: fmt.Sprintf("Measure the %s of %s, in this order if you can, and fill in %s.",
		lines, s.out, columnsText(s.toFill()))}}
	if s.table == "" || len(s.request.TargetColumns) == 0 {
		return append(steps,
			report.Step{Text: "Add them to the labelled rows, and run the command that made this page again."})
	}
	again := "Run the command that made this page again, for the next batch."
	into := s.mergedTable(ctx)
	if file, _ := splitArray(s.table); into != file {
		again = fmt.Sprintf("Run the command that made this page again, for the next batch, with %s in place of %s.", into,
			s.table)
	}
	return append(steps,
		report.Step{Text: "Bring the labels back into the table:", Command: s.mergeCommand(into)},
		report.Step{Text: again})
}

func columnsText(names []string) string {
	switch len(names) {
	case 0:
		return "the labels"
	case 1:
		return "the column " + names[0]
	}
	return "the columns " + words.List(names)
}

// mergedTable is the file for the table with the labels of the batch: its own, if that can be written and holds nothing
// else.
func (s *selecting) mergedTable(ctx context.Context) string {
	into, _ := splitArray(s.table)
	base := strings.TrimSuffix(into, filepath.Ext(into))
	switch {
	case !slices.Contains(tableExtensions(), strings.ToLower(filepath.Ext(strings.TrimSuffix(into, ".gz")))):
		return base + ".csv"
	case isWorkbook(into) && formats.CheckRewrite(ctx, into) != nil:
		return base + "-labelled.xlsx"
	}
	return into
}

// mergeCommand brings the labels of the batch back into the table, in a file.
func (s *selecting) mergeCommand(into string) string {
	args := append([]string{"nextbatch", "merge", s.table, s.out}, s.columns.format.given()...)
	if s.columns.id != "" {
		args = append(args, "--id", s.columns.id)
	}
	if len(s.request.LabelSD) > 0 {
		args = append(args, "--label-sd", strings.Join(s.request.LabelSD, ","))
	}
	return words.CommandLine(append(args, "--target", strings.Join(s.request.TargetColumns, ","), "--out", into)...)
}

// inputs lists the files that were read.
func (s *selecting) inputs() (files []string) {
	for _, path := range []string{s.table, s.train, s.pool, s.trainFeatures, s.poolFeatures, s.targets, s.model} {
		if path != "" {
			files = append(files, path)
		}
	}
	return files
}
