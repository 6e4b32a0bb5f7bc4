package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/conformal"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/internal/options"
	"github.com/nextbatch/nextbatch/internal/report"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/limits"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection"
)

// batchPage returns the page about the batch.
func (s *selecting) batchPage(ctx context.Context, r *nextbatch.Result) (*report.Page, error) {
	batch, err := s.describe(ctx, r)
	if err != nil {
		return nil, err
	}
	return batch.Page(), nil
}

// describe returns the contents of the page.
func (s *selecting) describe(ctx context.Context, r *nextbatch.Result) (*report.Batch, error) {
	batch, problem := r.Batch, s.plan.Problem()
	page := &report.Batch{
		Title: words.Count(len(batch.Picks), "row to label next", "rows to label next"),
		Intro: []string{fmt.Sprintf("Picked from %s, given %s.", words.Count(r.Metrics.Pool, "candidate", "candidates"),
			words.Count(r.Metrics.Labelled, "labelled row", "labelled rows"))},
		Next: s.next(ctx, linesText(r)), Facts: s.facts(r), Typical: math.NaN(), Decimal: s.candidates().Origin().Decimal,
	}
	page.Intro[0] = words.MarkedIn(page.Intro[0], page.Decimal)
	inputs := s.inputColumns()
	for _, c := range inputs {
		page.Inputs = append(page.Inputs, c.Name())
	}
	for i, p := range batch.Picks {
		pick := report.BatchPick{ID: r.IDs[i], Row: r.Indices[i], Score: p.Score,
			Predictions: predictedFor(r, i), Uncertainty: math.NaN(), Short: s.shortReason(r, i), Reason: r.Reasons[i]}
		if len(r.Apart) > 0 {
			for _, a := range r.Apart[i] {
				pick.Apart = append(pick.Apart, a.Input)
			}
		}
		for _, c := range inputs {
			pick.Inputs = append(pick.Inputs, c.Format(pick.Row))
		}
		if len(r.Run) > 0 {
			pick.Run = r.Run[i]
		}
		page.Picks = append(page.Picks, pick)
	}
	if err := s.layOut(page, r); err != nil {
		return nil, err
	}
	candidates, labelled := s.shown("report candidates", problem.Pool.Rows, nextbatch.ShownCandidates),
		s.shown("report labelled", problem.Train.Rows, nextbatch.ShownLabelled)
	var err error
	if page.Map, err = s.place(ctx, batch.Rows(), candidates, labelled); ctx.Err() != nil {
		return nil, ctx.Err()
	} else if err == nil {
		page.Map.Note = words.MarkedIn(page.Map.Note, page.Decimal)
	} else {
		s.progress.warn("the page has no picture of the rows: " + err.Error())
		r.Warnings = slices.Clone(s.progress.warnings)
	}
	if s.plan.Model() != nil && s.plan.Rows != nil {
		page.Blend = s.plan.Model().Kind().Blends()
		if page.Matters, err = s.matters(ctx, page.Inputs); err != nil {
			return nil, err
		}
		if err := s.predictedErrors(ctx, page, r, batch.Rows(), candidates); err != nil {
			return nil, err
		}
	}
	page.Warnings = slices.Clone(s.progress.warnings)
	if batch.Missing > 0 {
		page.Warnings = append(page.Warnings, partialError{len(batch.Picks), s.plan.Batch, batch.Short}.Error())
	}
	return page, nil
}

// layOut adds runs, replicates and plates to the page.
func (s *selecting) layOut(page *report.Batch, r *nextbatch.Result) error {
	page.Runs = runTexts(s.request.Same, r.Runs)
	shape, err := s.request.Layout.Parse(options.Flag)
	if err != nil {
		return requestError(err)
	}
	lines, plates := r.Lines(), 0
	for _, m := range lines {
		plates = max(plates, m.Plate)
	}
	for k := range plates {
		page.Plates = append(page.Plates, &report.BatchPlate{Shape: shape, Title: s.plateTitle(r, lines, k+1, plates),
			Of: s.request.GroupColumn})
	}
	for _, m := range lines {
		well := report.BatchWell{Well: m.Well, Pick: m.Pick, ID: m.ID, Colour: s.groupOf(m)}
		if s.request.Replicates > 1 {
			well.Replicate = m.Replicate
		}
		if m.Plate > 0 {
			page.Plates[m.Plate-1].Wells = append(page.Plates[m.Plate-1].Wells, well)
		}
		if plates > 1 {
			well.Well = fmt.Sprintf("%d: %s", m.Plate, m.Well)
		}
		if m.Repeat {
			page.Repeats = append(page.Repeats, well)
			continue
		}
		pick := &page.Picks[m.Pick]
		if pick.Times++; m.Well != "" {
			pick.Wells = append(pick.Wells, well.Well)
		}
	}
	return nil
}

// plateTitle names a plate, and the run that it belongs to.
func (s *selecting) plateTitle(r *nextbatch.Result, lines []limits.Measurement, number, of int) string {
	title := "Plate"
	if of > 1 {
		title = fmt.Sprintf("Plate %d of %d", number, of)
	}
	at := slices.IndexFunc(lines, func(m limits.Measurement) bool { return m.Plate == number })
	if run := r.RunOf(lines[at]); run > 0 {
		title += ", " + runTexts(s.request.Same, r.Runs)[run-1]
	}
	return title
}

// groupOf returns the group of a measurement; empty without groups.
func (s *selecting) groupOf(m limits.Measurement) string {
	table := s.candidates()
	if m.Repeat {
		table = s.labelled()
	}
	if s.request.GroupColumn == "" || !hasColumn(table, s.request.GroupColumn) {
		return ""
	}
	column, _ := table.Column(s.request.GroupColumn)
	return column.Format(m.Index)
}

// runTexts are a line for each run: run 2 of 3: temperature 350, 16 rows.
func runTexts(same []string, runs []nextbatch.RunResult) (list []string) {
	for i, run := range runs {
		text := fmt.Sprintf("run %d of %d: ", i+1, len(runs))
		for k, value := range run.Values {
			text += same[k] + " " + value + ", "
		}
		list = append(list, text+words.Count(run.Rows, "row", "rows"))
	}
	return list
}

// next says what to do with the batch of so many rows and measurements.
func (s *selecting) next(ctx context.Context, lines string) []report.Step {
	if s.out == "" {
		return []report.Step{{Text: "Measure these rows. With --out batch.csv the command that made this page also writes them to a file, for you to fill in."}}
	}
	steps := []report.Step{{Text: fmt.Sprintf("Measure the %s of %s, in this order if you can, and fill in %s.",
		lines, s.out, columnsText(s.request.TargetColumns))}}
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
	case isWorkbook(into) && source.CheckRewrite(ctx, into) != nil:
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
	return words.CommandLine(append(args, "--target", strings.Join(s.request.TargetColumns, ","), "--out", into)...)
}

// shortReason says in a few words why a pick is in the batch.
func (s *selecting) shortReason(r *nextbatch.Result, i int) string {
	pick := r.Batch.Picks[i]
	method := s.request.Spec.Method.Info()
	switch {
	case pick.Why == selection.Required:
		return "required"
	case pick.Why == selection.Filled || method.NoKernel && method.Draws:
		return "drawn at random"
	case len(r.Apart) == 0:
		first, _, _ := strings.Cut(r.Reasons[i], ";")
		return first
	case len(r.Untried) > 0 && len(r.Untried[i]) > 0:
		return "never measured: " + r.Untried[i][0]
	}
	other := "most candidates"
	if len(r.Closest) > 0 && r.Closest[i] != "" {
		other = r.Closest[i]
	} else if pick.Labelled >= 0 {
		other = s.plan.Name(selection.TrainSet, pick.Labelled)
	}
	if len(r.Apart[i]) == 0 {
		return "like " + other
	}
	text, mark := "unlike "+other, ": "
	if r.Apart[i][0].Deviations < 1 {
		text = "a little " + text
	}
	for _, a := range r.Apart[i] {
		difference := fmt.Sprintf("%s%s %s, not %s", mark, a.Input, a.Value, a.Other)
		if mark == "; " && utf8.RuneCountInString(text+difference) > shortReasonLength {
			break
		}
		text, mark = text+difference, "; "
	}
	return text
}

const shortReasonLength = 60 // characters up to which a short reason names a further input

// predictedFor returns the predictions for pick i, one for each target.
func predictedFor(r *nextbatch.Result, i int) (list []report.Predicted) {
	add := func(predictions []fitted.Prediction) {
		one := report.Predicted{Value: float64(predictions[i].Value), Low: math.NaN(), High: math.NaN()}
		if low := predictions[i].Low; low != nil {
			one.Low, one.High = float64(*low), float64(*predictions[i].High)
		}
		list = append(list, one)
	}
	for _, t := range r.Targets {
		add(t.Predictions)
	}
	if len(r.Targets) == 0 && len(r.Predictions) > 0 {
		add(r.Predictions)
	}
	return list
}

// inputColumns returns the columns of the candidates that the page shows: all but
// those of ids and labels, and those that the plan dropped.
func (s *selecting) inputColumns() (list []dataset.Column) {
	table := s.request.Table
	if table == nil {
		table = s.request.Pool
	}
	if table == nil {
		return nil
	}
	hidden := map[string]bool{}
	for _, name := range slices.Concat([]string{s.request.IDColumn}, s.request.TargetColumns, s.plan.Dropped) {
		hidden[name] = true
	}
	for _, c := range table.Columns() {
		if !hidden[c.Name()] {
			list = append(list, c)
		}
	}
	return list
}

// shown draws at most most of n rows and returns them in order.
func (s *selecting) shown(purpose string, n, most int) []int {
	rows := rng.New(s.net.seed, purpose).Perm(n)
	rows = rows[:min(n, most)]
	slices.Sort(rows)
	return rows
}

// place finds where rows lie in the plane of the kernel.
func (s *selecting) place(ctx context.Context, picks, candidates, labelled []int) (*report.BatchMap, error) {
	p := s.plan.Problem()
	p.Progress = nil
	rows := matrix.Stack(p.PoolRows(candidates), p.Train.SelectRows(labelled), p.PoolRows(picks))
	sample := rows.SelectRows(s.shown("report sample", len(candidates)+len(labelled), nextbatch.PlaneSample))
	plane, err := nextbatch.Plane(ctx, s.request.Spec, p, sample, rows)
	if err != nil {
		return nil, err
	}
	of := func(from, n int) (list [][2]float64) {
		for i := from; i < from+n; i++ {
			list = append(list, [2]float64(plane.At.Row(i)))
		}
		return list
	}
	m := &report.BatchMap{
		Candidates: of(0, len(candidates)), Labelled: of(len(candidates), len(labelled)),
		Picks: of(len(candidates)+len(labelled), len(picks)), Share: plane.Share,
	}
	m.Note = fmt.Sprintf("Shown are %s, %s and all picks; the directions are computed from %d of the rows.",
		someOf(len(candidates), p.Pool.Rows, "candidates"), someOf(len(labelled), p.Train.Rows, "labelled rows"), sample.Rows)
	if !s.request.Spec.UsesKernel() {
		m.Note = "Random selection uses no kernel: the picture shows the inputs. " + m.Note
	}
	return m, nil
}

// relevanceRows and relevanceWork limit the candidates that relevance is computed from, and the predictions that it
// takes.
const relevanceRows, relevanceWork = 512, 1 << 16

// matters returns how much the predictions depend on each of these inputs; nil if that is unknown.
func (s *selecting) matters(ctx context.Context, inputs []string) ([]float64, error) {
	if len(inputs) == 0 {
		return nil, nil
	}
	pool := s.plan.Rows.Pool
	sample := s.shown("report relevance", pool.Rows, min(relevanceRows, max(16, relevanceWork/len(inputs))))
	relevance, err := s.plan.Model().Relevance(ctx, pool.SelectRows(sample))
	if err != nil {
		return nil, dataError{err}
	}
	if relevance == nil {
		return nil, nil
	}
	list := make([]float64, len(inputs))
	for i, name := range inputs {
		list[i] = relevance[name]
	}
	return list, nil
}

// someOf counts the rows that the map shows.
func someOf(n, of int, what string) string {
	if n == of {
		return fmt.Sprintf("all %s %s", words.Whole(n), what)
	}
	return fmt.Sprintf("%s of %s %s", words.Whole(n), words.Whole(of), what)
}

// facts lists how the batch was made.
func (s *selecting) facts(r *nextbatch.Result) []report.Fact {
	decimal := s.candidates().Origin().Decimal
	list := []report.Fact{
		{Name: "method", Value: r.Spec}, {Name: "seed", Value: strconv.FormatUint(r.Seed, 10)},
		{Name: "input", Value: strings.Join(s.inputs(), ", ")},
		{Name: "rows", Value: words.MarkedIn(fmt.Sprintf("%s labelled, %s, %d requested, %d picked",
			words.Whole(r.Metrics.Labelled), words.Count(r.Metrics.Pool, "candidate", "candidates"), s.plan.Batch,
			len(r.IDs)), decimal)},
		{Name: "inputs", Value: words.Count(r.Metrics.Inputs, "number", "numbers") + " per row" + s.inputNames()},
	}
	if model := s.plan.Model(); model != nil && model.Kind().Blends() {
		list = append(list, learnerFacts(r, decimal)...)
	} else if model != nil {
		networks := model.Ensemble()
		list = append(list, report.Fact{Name: "networks", Value: fmt.Sprintf("%d, hidden layers %v, %s", len(networks),
			networks[0].Architecture().Hidden, networks[0].Architecture().Activation)})
	}
	if r.Metrics.Cost != nil {
		list = append(list, report.Fact{Name: "cost", Value: words.MarkedIn(words.Number(float64(*r.Metrics.Cost))+" of "+
			words.Number(s.limits.budget), decimal)})
	}
	t := r.Timings
	return append(list,
		report.Fact{Name: "seconds",
			Value: words.MarkedIn(fmt.Sprintf("%.1f in all: reading %.1f, training %.1f, kernel %.1f, selection %.1f", t.Total,
				t.Read, t.Train, t.Kernel, t.Select), decimal)},
		report.Fact{Name: "version", Value: r.Version})
}

// learnerFacts say what was chosen for each target, and why.
func learnerFacts(r *nextbatch.Result, decimal byte) (list []report.Fact) {
	for _, t := range r.Targets {
		list = append(list, report.Fact{Name: t.Target + ": learner", Value: words.MarkedIn(t.Learner, decimal)})
	}
	if list == nil {
		list = []report.Fact{{Name: "learner", Value: words.MarkedIn(r.Learner, decimal)}}
	}
	return list
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

func (s *selecting) inputNames() string {
	if s.plan.Rows == nil {
		return ""
	}
	names := slices.Clone(s.plan.Rows.Encoder.Numeric)
	for _, c := range s.plan.Rows.Encoder.Categories {
		names = append(names, fmt.Sprintf("%s (%s)", c.Column, words.Count(len(c.Levels), "level", "levels")))
	}
	return ": " + strings.Join(names, ", ")
}

// predictedErrors adds the errors that the networks predict.
func (s *selecting) predictedErrors(ctx context.Context, page *report.Batch, r *nextbatch.Result, picks,
	candidates []int) error {
	u, err := s.plan.Model().PredictStd(ctx, s.plan.Rows.Pool.SelectRows(picks))
	if err != nil {
		return dataError{err}
	}
	for _, t := range r.Targets {
		page.Targets = append(page.Targets, t.Target)
	}
	for i, v := range u.Relative {
		page.Picks[i].Uncertainty = v
	}
	others, err := s.plan.Model().PredictStd(ctx, s.plan.Rows.Pool.SelectRows(candidates))
	if err != nil {
		return dataError{err}
	}
	if others.Relative != nil {
		slices.Sort(others.Relative)
		page.Typical = others.Relative[len(others.Relative)/2]
	}
	for k := range s.plan.Model().Targets() {
		if err := s.targetErrors(ctx, page, r, k, candidates); err != nil {
			return err
		}
	}
	if others.Relative != nil {
		page.Errors = append(page.Errors, report.Fact{Name: "uncertainty",
			Value: words.MarkedIn(fmt.Sprintf("%.2f times that of a typical held-out row, the median over the candidates",
				page.Typical), page.Decimal)})
	}
	return nil
}

// targetErrors adds what is known about the errors of a target.
func (s *selecting) targetErrors(ctx context.Context, page *report.Batch, r *nextbatch.Result, k int,
	candidates []int) error {
	model, prefix := s.plan.Model().Target(k), ""
	valid, pool := r.Metrics.ValidRMSE, r.Metrics.PoolRMSE
	if r.Targets != nil {
		prefix, valid, pool = r.Targets[k].Target+": ", r.Targets[k].ValidRMSE, r.Targets[k].PoolRMSE
	}
	add := func(name, format string, args ...any) {
		page.Errors = append(page.Errors, report.Fact{Name: prefix + name,
			Value: words.MarkedIn(fmt.Sprintf(format, args...), page.Decimal)})
	}
	for i, v := range valid {
		name := fmt.Sprintf("RMSE of network %d", i+1)
		if model.Kind().Blends() {
			name = "RMSE out of fold"
		}
		add(name, "%s: %s", words.Number(float64(v)), fitted.ValidRMSEMeaning(model))
	}
	if pool != nil {
		add("RMSE on the pool", "%v, from %d held-out labelled rows that were drawn at random", pool, pool.Rows)
	}
	if at := slices.Index(s.plan.Rows.Targets, s.plan.Model().TargetName(k)); at >= 0 {
		_, labels := s.plan.Rows.Labelled(at)
		if scale, err := dataset.FitLabelScaler(labels); err == nil {
			add("deviation of the labels", "%s: the RMSE of always predicting their mean", words.Number(scale.Deviation))
		}
	}
	low, high, err := model.PredictInterval(ctx, s.plan.Rows.Pool.SelectRows(candidates), conformal.DefaultCoverage)
	if few := (*conformal.CoverageError)(nil); errors.As(err, &few) {
		return nil
	}
	if err != nil {
		return dataError{err}
	}
	for i := range low {
		high[i] = (high[i] - low[i]) / 2
	}
	slices.Sort(high)
	add("interval",
		"a label is within ± %s (the median over the candidates) of its prediction with probability %.0f %%; intervals: %v",
		words.Number(high[len(high)/2]), 100*conformal.DefaultCoverage, model.Intervals())
	return nil
}
