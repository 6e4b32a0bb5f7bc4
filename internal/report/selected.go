package report

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/internal/conformal"
	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/internal/picture"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/limits"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection"
)

// Selected is a batch with what it was picked from.
type Selected struct {
	*nextbatch.Result
	Plan    *nextbatch.Plan
	Request *nextbatch.Request
	Files   []string // that were read
	Next    []Step   // what the reader does with the batch
	Said    []string // warnings so far
	Short   string   // why the batch has fewer rows than requested; empty if it has not
	Warn    func(text string)
}

// decimal is the decimal mark of the candidates' table; 0 means a point.
func (s *Selected) decimal() byte { return s.candidates().Origin().Decimal }

// say writes a text with the numbers as the table has them.
func (s *Selected) say(format string, args ...any) string {
	return words.Textf(format, args...).In(s.decimal())
}

// Batch returns the contents of the page about the batch.
func (s *Selected) Batch(ctx context.Context) (*BatchPage, error) {
	batch, problem := s.Result.Batch, s.Plan.Problem()
	page := &BatchPage{
		Title: words.Count(len(batch.Picks), "row to label next", "rows to label next"),
		Intro: []string{s.say("Picked from %v, given %v.", words.Counted(s.Metrics.Pool, "candidate", "candidates"),
			words.Counted(s.Metrics.Labelled, "labelled row", "labelled rows"))},
		Next: s.Next, Facts: s.facts(), Typical: math.NaN(), Decimal: s.decimal(), Warnings: slices.Clone(s.Said),
	}
	inputs := s.inputColumns()
	for _, c := range inputs {
		page.Inputs = append(page.Inputs, c.Name())
	}
	for i, p := range batch.Picks {
		pick := BatchPick{ID: s.IDs[i], Row: s.Indices[i], Score: p.Score,
			Predictions: s.predictedFor(i), Uncertainty: math.NaN(), Short: s.shortReason(i), Reason: s.Reasons[i]}
		if len(s.Apart) > 0 {
			for _, a := range s.Apart[i] {
				pick.Apart = append(pick.Apart, a.Input)
			}
		}
		for _, c := range inputs {
			pick.Inputs = append(pick.Inputs, c.Format(pick.Row))
		}
		if len(s.Run) > 0 {
			pick.Run = s.Run[i]
		}
		page.Picks = append(page.Picks, pick)
	}
	if err := s.layOut(page); err != nil {
		return nil, err
	}
	candidates, labelled := s.shown("report candidates", problem.Pool.Rows, picture.ShownCandidates),
		s.shown("report labelled", problem.Train.Rows, picture.ShownLabelled)
	var err error
	if page.Map, err = s.place(ctx, batch.Rows(), candidates, labelled); ctx.Err() != nil {
		return nil, ctx.Err()
	} else if err != nil {
		//warning:no-picture
		text := "the page has no picture of the rows: " + err.Error()
		s.Warn(text)
		page.Warnings = append(page.Warnings, text)
	}
	if s.Plan.Model() != nil && s.Plan.Rows != nil {
		page.Blend = s.Plan.Model().Kind().Blends()
		if page.Matters, err = s.matters(ctx, page.Inputs); err != nil {
			return nil, err
		}
		if err := s.predictedErrors(ctx, page, batch.Rows(), candidates); err != nil {
			return nil, err
		}
	}
	if s.Short != "" {
		page.Warnings = append(page.Warnings, s.Short)
	}
	return page, nil
}

// layOut adds runs, replicates and plates to the page.
func (s *Selected) layOut(page *BatchPage) error {
	page.Runs = runTexts(s.Request.Same, s.Runs)
	shape, err := s.Request.Layout.Parse(s.Request.FieldName)
	if err != nil {
		return err
	}
	lines, plates := s.Lines(), 0
	for _, m := range lines {
		plates = max(plates, m.Plate)
	}
	for k := range plates {
		page.Plates = append(page.Plates, &BatchPlate{Shape: shape, Title: s.plateTitle(lines, k+1, plates),
			Of: s.Request.GroupColumn})
	}
	for _, m := range lines {
		well := BatchWell{Well: m.Well, Pick: m.Pick, ID: m.ID, Colour: s.groupOf(m)}
		if s.Request.Replicates > 1 {
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
func (s *Selected) plateTitle(lines []limits.Measurement, number, of int) string {
	title := "Plate"
	if of > 1 {
		title = fmt.Sprintf("Plate %d of %d", number, of)
	}
	at := slices.IndexFunc(lines, func(m limits.Measurement) bool { return m.Plate == number })
	if run := s.RunOf(lines[at]); run > 0 {
		title += ", " + runTexts(s.Request.Same, s.Runs)[run-1]
	}
	return title
}

// groupOf returns the group of a measurement; empty without groups.
func (s *Selected) groupOf(m limits.Measurement) string {
	table := s.candidates()
	if m.Repeat {
		table = s.labelled()
	}
	if s.Request.GroupColumn == "" || table == nil || !table.Has(s.Request.GroupColumn) {
		return ""
	}
	column, _ := table.Column(s.Request.GroupColumn)
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

// shortReason says in a few words why a pick is in the batch.
func (s *Selected) shortReason(i int) string {
	pick := s.Result.Batch.Picks[i]
	method := s.Request.Spec.Method.Info()
	switch {
	case pick.Why == selection.Required:
		return "required"
	case pick.Why == selection.Filled || method.NoKernel && method.Draws:
		return "drawn at random"
	case len(s.Apart) == 0:
		first, _, _ := strings.Cut(s.Reasons[i], ";")
		return first
	case len(s.Untried) > 0 && len(s.Untried[i]) > 0:
		return "never measured: " + s.Untried[i][0]
	}
	other := "most candidates"
	if len(s.Closest) > 0 && s.Closest[i] != "" {
		other = s.Closest[i]
	} else if pick.Labelled >= 0 {
		other = s.Plan.Name(selection.TrainSet, pick.Labelled)
	}
	if len(s.Apart[i]) == 0 {
		return "like " + other
	}
	text, mark := "unlike "+other, ": "
	if s.Apart[i][0].Deviations < 1 {
		text = "a little " + text
	}
	for _, a := range s.Apart[i] {
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
func (s *Selected) predictedFor(i int) (list []Predicted) {
	add := func(predictions []fitted.Prediction) {
		one := Predicted{Value: float64(predictions[i].Value), Low: math.NaN(), High: math.NaN()}
		if low := predictions[i].Low; low != nil {
			one.Low, one.High = float64(*low), float64(*predictions[i].High)
		}
		list = append(list, one)
	}
	for _, t := range s.Targets {
		add(t.Predictions)
	}
	if len(s.Targets) == 0 && len(s.Predictions) > 0 {
		add(s.Predictions)
	}
	return list
}

// inputColumns returns the columns of the candidates that the page shows: all but
// those of ids and labels, and those that the plan dropped.
func (s *Selected) inputColumns() (list []dataset.Column) {
	table := s.Request.Table
	if table == nil {
		table = s.Request.Pool
	}
	if table == nil {
		return nil
	}
	hidden := map[string]bool{}
	for _, name := range slices.Concat([]string{s.Request.IDColumn}, s.Request.TargetColumns, s.Plan.Dropped) {
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
func (s *Selected) shown(purpose string, n, most int) []int {
	rows := rng.New(s.Request.Seed, purpose).Perm(n)
	rows = rows[:min(n, most)]
	slices.Sort(rows)
	return rows
}

// place finds where rows lie in the plane of the kernel.
func (s *Selected) place(ctx context.Context, picks, candidates, labelled []int) (*BatchMap, error) {
	p := s.Plan.Problem()
	p.Progress = nil
	rows := matrix.Stack(p.PoolRows(candidates), p.Train.SelectRows(labelled), p.PoolRows(picks))
	sample := rows.SelectRows(s.shown("report sample", len(candidates)+len(labelled), picture.PlaneSample))
	kernel, err := nextbatch.KernelOf(ctx, s.Request.Spec, p, sample.Rows+rows.Rows)
	if err != nil {
		return nil, err
	}
	plane, err := kernel.Plane(ctx, sample, rows)
	if err != nil {
		return nil, err
	}
	of := func(from, n int) (list [][2]float64) {
		for i := from; i < from+n; i++ {
			list = append(list, [2]float64(plane.At.Row(i)))
		}
		return list
	}
	m := &BatchMap{
		Candidates: of(0, len(candidates)), Labelled: of(len(candidates), len(labelled)),
		Picks: of(len(candidates)+len(labelled), len(picks)), Share: plane.Share,
	}
	m.Note = s.say("Shown are %v, %v and all picks; the directions are computed from %d of the rows.",
		someOf(len(candidates), p.Pool.Rows, "candidates"), someOf(len(labelled), p.Train.Rows, "labelled rows"), sample.Rows)
	if !s.Request.Spec.UsesKernel() {
		m.Note = "Random selection uses no kernel: the picture shows the inputs. " + m.Note
	}
	return m, nil
}

// relevanceRows and relevanceWork limit the candidates that relevance is computed from, and the predictions that it
// takes.
const relevanceRows, relevanceWork = 512, 1 << 16

// matters returns how much the predictions depend on each of these inputs; nil if that is unknown.
func (s *Selected) matters(ctx context.Context, inputs []string) ([]float64, error) {
	if len(inputs) == 0 {
		return nil, nil
	}
	pool := s.Plan.Rows.Pool
	sample := s.shown("report relevance", pool.Rows, min(relevanceRows, max(16, relevanceWork/len(inputs))))
	relevance, err := s.Plan.Model().Relevance(ctx, pool.SelectRows(sample))
	if err != nil {
		return nil, err
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
func someOf(n, of int, what string) words.Text {
	if n == of {
		return words.Textf("all %s %s", words.Num(words.Whole(n)), what)
	}
	return words.Textf("%s of %s %s", words.Num(words.Whole(n)), words.Num(words.Whole(of)), what)
}

// facts lists how the batch was made.
func (s *Selected) facts() []Fact {
	list := []Fact{
		{Name: "method", Value: s.Spec}, {Name: "seed", Value: strconv.FormatUint(s.Seed, 10)},
		{Name: "input", Value: strings.Join(s.Files, ", ")},
		{Name: "rows", Value: s.say("%s labelled, %v, %d requested, %d picked",
			words.Num(words.Whole(s.Metrics.Labelled)), words.Counted(s.Metrics.Pool, "candidate", "candidates"),
			s.Plan.Batch, len(s.IDs))},
		{Name: "inputs", Value: words.Count(s.Metrics.Inputs, "number", "numbers") + " per row" + s.inputNames()},
	}
	if model := s.Plan.Model(); model != nil && model.Kind().Blends() {
		list = append(list, s.learnerFacts()...)
	} else if model != nil {
		networks := model.Ensemble()
		list = append(list, Fact{Name: "networks", Value: fmt.Sprintf("%d, hidden layers %v, %s", len(networks),
			networks[0].Architecture().Hidden, networks[0].Architecture().Activation)})
	}
	if s.Metrics.Cost != nil {
		text := words.Textf("%s", words.Num(words.Number(float64(*s.Metrics.Cost))))
		if s.Request.Budget != nil {
			text = words.Textf("%v of %s", text, words.Num(words.Number(*s.Request.Budget)))
		}
		list = append(list, Fact{Name: "cost", Value: s.say("%v", text)})
	}
	t := s.Timings
	return append(list,
		Fact{Name: "seconds",
			Value: s.say("%.1f in all: reading %.1f, training %.1f, kernel %.1f, selection %.1f", t.Total,
				t.Read, t.Train, t.Kernel, t.Select)},
		Fact{Name: "version", Value: s.Version})
}

// learnerFacts say what was chosen for each target, and why.
func (s *Selected) learnerFacts() (list []Fact) {
	model := s.Plan.Model()
	other := s.Plan.Fitted().PickedBy(s.Request.WithDefaults().Spec)
	for k := range model.Targets() {
		name, one := "learner", model.Target(k)
		if len(s.Targets) > 0 {
			name = s.Targets[k].Target + ": learner"
		}
		text := learner.ChoiceText(one.Candidates(), one.Provenance().ValidRMSE[0])
		if other != "" {
			text = words.Textf("%v; %s", text, other)
		}
		list = append(list, Fact{Name: name, Value: s.say("%v", text)})
	}
	return list
}

func (s *Selected) inputNames() string {
	if s.Plan.Rows == nil {
		return ""
	}
	names := slices.Clone(s.Plan.Rows.Encoder.Numeric)
	for _, c := range s.Plan.Rows.Encoder.Categories {
		names = append(names, fmt.Sprintf("%s (%s)", c.Column, words.Count(len(c.Levels), "level", "levels")))
	}
	return ": " + strings.Join(names, ", ")
}

// predictedErrors adds the errors that the networks predict.
func (s *Selected) predictedErrors(ctx context.Context, page *BatchPage, picks,
	candidates []int) error {
	u, err := s.Plan.Model().PredictStd(ctx, s.Plan.Rows.Pool.SelectRows(picks))
	if err != nil {
		return err
	}
	for _, t := range s.Targets {
		page.Targets = append(page.Targets, t.Target)
	}
	for i, v := range u.Relative {
		page.Picks[i].Uncertainty = v
	}
	others, err := s.Plan.Model().PredictStd(ctx, s.Plan.Rows.Pool.SelectRows(candidates))
	if err != nil {
		return err
	}
	if others.Relative != nil {
		slices.Sort(others.Relative)
		page.Typical = others.Relative[len(others.Relative)/2]
	}
	for k := range s.Plan.Model().Targets() {
		if err := s.targetErrors(ctx, page, k, candidates); err != nil {
			return err
		}
	}
	if others.Relative != nil {
		page.Errors = append(page.Errors, Fact{Name: "uncertainty",
			Value: s.say("%.2f times that of a typical held-out row, the median over the candidates", page.Typical)})
	}
	return nil
}

// targetErrors adds what is known about the errors of a target.
func (s *Selected) targetErrors(ctx context.Context, page *BatchPage, k int,
	candidates []int) error {
	model, prefix := s.Plan.Model().Target(k), ""
	valid, pool := s.Metrics.ValidRMSE, s.Metrics.PoolRMSE
	if s.Targets != nil {
		prefix, valid, pool = s.Targets[k].Target+": ", s.Targets[k].ValidRMSE, s.Targets[k].PoolRMSE
	}
	add := func(name, format string, args ...any) {
		page.Errors = append(page.Errors, Fact{Name: prefix + name, Value: s.say(format, args...)})
	}
	for i, v := range valid {
		name := fmt.Sprintf("RMSE of network %d", i+1)
		if model.Kind().Blends() {
			name = "RMSE out of fold"
		}
		add(name, "%s: %s", words.Num(words.Number(float64(v))), fitted.ValidRMSEMeaning(model))
	}
	if pool != nil {
		add("RMSE on the pool", "%v, from %d held-out labelled rows that were drawn at random", *pool, pool.Rows)
	}
	if at := slices.Index(s.Plan.Rows.Targets, s.Plan.Model().TargetName(k)); at >= 0 {
		_, labels := s.Plan.Rows.Labelled(at)
		if scale, err := encode.FitLabelScaler(labels); err == nil {
			add("deviation of the labels", "%s: the RMSE of always predicting their mean",
				words.Num(words.Number(scale.Deviation)))
		}
	}
	low, high, err := model.PredictInterval(ctx, s.Plan.Rows.Pool.SelectRows(candidates), conformal.DefaultCoverage)
	if few := (*conformal.CoverageError)(nil); errors.As(err, &few) {
		return nil
	}
	if err != nil {
		return err
	}
	for i := range low {
		high[i] = (high[i] - low[i]) / 2
	}
	slices.Sort(high)
	add("interval",
		"a label is within ± %s (the median over the candidates) of its prediction with probability %.0f %%; intervals: %v",
		words.Num(words.Number(high[len(high)/2])), 100*conformal.DefaultCoverage, model.Intervals())
	return nil
}

// LinesText counts the rows of a batch, and its lines if they are more.
func LinesText(r *nextbatch.Result) string {
	rows, lines := words.Count(len(r.Indices), "row", "rows"), len(r.Lines())
	if lines == len(r.Indices) {
		return rows
	}
	return fmt.Sprintf("%s (%s)", rows, words.Count(lines, "measurement", "measurements"))
}

// candidates is the table that holds them; nil with features.
func (s *Selected) candidates() *dataset.Table {
	if s.Request.Table != nil {
		return s.Request.Table
	}
	return s.Request.Pool
}

// labelled is the table that holds the labelled rows; nil with features.
func (s *Selected) labelled() *dataset.Table {
	if s.Request.Table != nil {
		return s.Request.Table
	}
	return s.Request.Train
}
