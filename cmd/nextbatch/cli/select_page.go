package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/conformal"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/report"
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
		Intro: []string{fmt.Sprintf("%s picked %d of %d candidates, given %s.", r.Spec, len(batch.Picks), r.Metrics.Pool, words.Count(r.Metrics.Labelled, "labelled row", "labelled rows"))},
		Facts: s.facts(r), Typical: math.NaN(),
	}
	inputs := s.inputColumns()
	for _, c := range inputs {
		page.Inputs = append(page.Inputs, c.Name())
	}
	for i, p := range batch.Picks {
		pick := report.BatchPick{ID: r.IDs[i], Row: r.Indices[i], Score: p.Score,
			Prediction: math.NaN(), Uncertainty: math.NaN(), Reason: r.Reasons[i]}
		for _, c := range inputs {
			pick.Inputs = append(pick.Inputs, c.Format(pick.Row))
		}
		page.Picks = append(page.Picks, pick)
	}
	candidates, labelled := s.shown("report candidates", problem.Pool.Rows, nextbatch.ShownCandidates), s.shown("report labelled", problem.Train.Rows, nextbatch.ShownLabelled)
	var err error
	if page.Map, err = s.place(ctx, batch.Rows(), candidates, labelled); ctx.Err() != nil {
		return nil, ctx.Err()
	} else if err != nil {
		s.progress.warn("the page has no picture of the rows: " + err.Error())
		r.Warnings = slices.Clone(s.progress.warnings)
	}
	if s.plan.Model() != nil && s.plan.Rows != nil {
		page.Blend = s.plan.Model().Kind().Blends()
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

// someOf counts the rows that the map shows.
func someOf(n, of int, what string) string {
	if n == of {
		return fmt.Sprintf("all %d %s", n, what)
	}
	return fmt.Sprintf("%d of %d %s", n, of, what)
}

// facts lists how the batch was made.
func (s *selecting) facts(r *nextbatch.Result) []report.Fact {
	list := []report.Fact{
		{Name: "method", Value: r.Spec}, {Name: "seed", Value: strconv.FormatUint(r.Seed, 10)},
		{Name: "input", Value: strings.Join(s.inputs(), ", ")},
		{Name: "rows", Value: fmt.Sprintf("%d labelled, %d candidates, %d requested, %d picked", r.Metrics.Labelled, r.Metrics.Pool, s.plan.Batch, len(r.IDs))},
		{Name: "inputs", Value: strconv.Itoa(r.Metrics.Inputs) + " numbers per row" + s.inputNames()},
	}
	if model := s.plan.Model(); model != nil && model.Kind().Blends() {
		list = append(list, learnerFacts(r)...)
	} else if model != nil {
		networks := model.Ensemble()
		list = append(list, report.Fact{Name: "networks", Value: fmt.Sprintf("%d, hidden layers %v, %s", len(networks),
			networks[0].Architecture().Hidden, networks[0].Architecture().Activation)})
	}
	if r.Metrics.Cost != nil {
		list = append(list, report.Fact{Name: "cost", Value: fmt.Sprintf("%.6g of %.6g", float64(*r.Metrics.Cost), s.limits.budget)})
	}
	t := r.Timings
	return append(list,
		report.Fact{Name: "seconds", Value: fmt.Sprintf("%.1f in all: reading %.1f, training %.1f, kernel %.1f, selection %.1f", t.Total, t.Read, t.Train, t.Kernel, t.Select)},
		report.Fact{Name: "version", Value: r.Version})
}

// learnerFacts say what was chosen for each target, and why.
func learnerFacts(r *nextbatch.Result) (list []report.Fact) {
	for _, t := range r.Targets {
		list = append(list, report.Fact{Name: t.Target + ": learner", Value: t.Learner})
	}
	if list == nil {
		list = []report.Fact{{Name: "learner", Value: r.Learner}}
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
		names = append(names, fmt.Sprintf("%s (%d levels)", c.Column, len(c.Levels)))
	}
	return ": " + strings.Join(names, ", ")
}

// predictedErrors adds the errors that the networks predict.
func (s *selecting) predictedErrors(ctx context.Context, page *report.Batch, r *nextbatch.Result, picks, candidates []int) error {
	u, err := s.plan.Model().PredictStd(ctx, s.plan.Rows.Pool.SelectRows(picks))
	if err != nil {
		return dataError{err}
	}
	for i := range page.Picks {
		page.Picks[i].Prediction = u.Mean[i]
	}
	for k, t := range r.Targets {
		page.Targets = append(page.Targets, t.Target)
		for i, one := range t.Predictions {
			if k > 0 {
				page.Picks[i].Others = append(page.Picks[i].Others, float64(one.Value))
			}
		}
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
		page.Errors = append(page.Errors, report.Fact{Name: "uncertainty", Value: fmt.Sprintf("%.3g times that of a typical held-out row, the median over the candidates", page.Typical)})
	}
	return nil
}

// targetErrors adds what is known about the errors of a target.
func (s *selecting) targetErrors(ctx context.Context, page *report.Batch, r *nextbatch.Result, k int, candidates []int) error {
	model, prefix := s.plan.Model().Target(k), ""
	valid, pool := r.Metrics.ValidRMSE, r.Metrics.PoolRMSE
	if r.Targets != nil {
		prefix, valid, pool = r.Targets[k].Target+": ", r.Targets[k].ValidRMSE, r.Targets[k].PoolRMSE
	}
	add := func(name, format string, args ...any) {
		page.Errors = append(page.Errors, report.Fact{Name: prefix + name, Value: fmt.Sprintf(format, args...)})
	}
	for i, v := range valid {
		name := fmt.Sprintf("RMSE of network %d", i+1)
		if model.Kind().Blends() {
			name = "RMSE out of fold"
		}
		add(name, "%.4g: %s", float64(v), r.Metrics.ValidRMSEOf)
	}
	if pool != nil {
		add("RMSE on the pool", "%v, from %d held-out labelled rows that were drawn at random", pool, pool.Rows)
	}
	if at := slices.Index(s.plan.Rows.Targets, s.plan.Model().TargetName(k)); at >= 0 {
		_, labels := s.plan.Rows.Labelled(at)
		if scale, err := dataset.FitLabelScaler(labels); err == nil {
			add("deviation of the labels", "%.4g: the RMSE of always predicting their mean", scale.Deviation)
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
	add("interval", "a label is within ± %.4g (the median over the candidates) of its prediction with probability %.0f %%; intervals: %v",
		high[len(high)/2], 100*conformal.DefaultCoverage, model.Intervals())
	return nil
}
