package campaign

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/internal/forecast"
	"github.com/nextbatch/nextbatch/internal/needs"
	"github.com/nextbatch/nextbatch/internal/picture"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/spec"
	"github.com/nextbatch/nextbatch/tables"
)

// A map shows the rows in the plane of the two principal directions of the kernel. Of the
// open rows, at most a given number is shown, drawn at random; all others are shown.

// Map is rows in the plane in which they vary most.
type Map struct {
	Labels      int                   // labelled rows that the model was fitted to; 0 without a model
	Rows        []int64               // their numbers, in ascending order
	At          [][2]float64          // the place of each row
	Predictions [][]fitted.Prediction // of each target; nil without a model
	Distances   []float64             // from the nearest labelled row, in the kernel; nil without labels
	Of          int64                 // rows that could be shown
	Share       [2]float64            // of the variance along each direction
	Warnings    []string
}

// Map places at most the given number of rows in a plane, with predictions for them. It uses the kept
// model, or fits one. Rows that failed, were retired or lack inputs are not shown. Of the
// ask, only the functions and the trainer have an effect.
func (c *Campaign) Map(ctx context.Context, a Ask, most int) (*Map, error) {
	s, err := c.State(ctx)
	if err != nil {
		return nil, err
	}
	if s.Counts().Open == 0 && (!s.fromSpace() || s.Total() == 0) {
		return nil, ErrNothingOpen
	}
	rows, err := c.candidates(ctx, s)
	if err != nil {
		return nil, err
	}
	rows.hold(nil)
	r, err := rows.request(s)
	if err != nil {
		return nil, err
	}
	a.into(&r, c.shelf().trainer(ctx, a))
	shown, err := c.shown(ctx, s, rows, r)
	if err != nil {
		return nil, err
	}
	m := &Map{Warnings: shown.warnings}
	places := m.choose(shown.rows, rows, most, rng.New(s.Settings.Seed, "map"))
	// all rows for the plane, and again for distances
	sizes := forecast.Sizes{Train: len(places.train), Pool: 2 * len(m.Rows)}
	if err := r.AdmitKernel(shown.by, shown.model(), shown.rows, sizes); err != nil {
		return nil, err
	}
	if err := m.place(ctx, shown, places); err != nil {
		return nil, err
	}
	if shown.fit == nil {
		return m, nil
	}
	m.Labels = shown.rows.Train.Rows
	return m, m.predict(ctx, shown.fit, places)
}

// shown is what a map shows: rows, with the model if there are enough labels for one, and the method whose kernel it
// is.
type shown struct {
	rows     *tables.Rows
	fit      *fitted.Fitted
	by       spec.Spec
	problem  nextbatch.Problem
	warnings []string
}

func (v *shown) model() *learner.Model {
	if v.fit == nil {
		return nil
	}
	return v.fit.Model
}

// shown reads the rows and fits the model, with the networks that the kernel of the campaign's method uses.
func (c *Campaign) shown(ctx context.Context, s *State, rows *candidates, r nextbatch.Request) (*shown, error) {
	v, few := &shown{}, &needs.FewRowsError{}
	var err error
	if rows.suffice(r.Learner) {
		if v.fit, _, _, err = c.shelf().fit(ctx, s, rows, r); errors.As(err, &few) { // some labelled rows lack inputs
			r.Spec = needs.Start(few.Rows, len(rows.open))
		} else if err != nil {
			return nil, err
		}
	}
	if v.fit != nil {
		r.Model = v.fit.Model
		v.by = mapSpec(r)
		if err := v.fit.Train(ctx, r.Options, v.by.TrainedNetworks()); err != nil {
			return nil, err
		}
		v.rows, v.warnings = v.fit.Rows, warnings(v.fit)
		if text := v.rows.Unlabelled(); text != "" {
			v.warnings = append(v.warnings, text)
		}
	} else {
		v.by = r.WithDefaults().Spec
		if v.rows, err = r.Rows(ctx); err != nil {
			return nil, err
		}
		v.warnings = v.rows.Warnings
	}
	if v.problem, err = nextbatch.NewProblem(ctx, v.rows, v.fit, r.Network.Architecture); err != nil {
		return nil, &tables.DataError{Cause: err}
	}
	v.problem.Seed, v.problem.KernelSeed = r.Seed, r.KernelSeed
	return v, nil
}

// mapped is rows of a map as rows of the plan: labelled ones, then candidates, each in
// ascending order, and for each the row of the map.
type mapped struct {
	train, pool []int
	places      []int
}

// choose decides which rows are shown, and notes their numbers.
func (m *Map) choose(of *tables.Rows, rows *candidates, most int, draw *rng.Stream) mapped {
	var p mapped
	for i := range of.TrainRows {
		p.train = append(p.train, i)
	}
	var open []int
	for i, at := range of.PoolRows {
		if rows.isDrawn(at) {
			continue
		}
		if _, out := slices.BinarySearch(rows.out, at); out {
			p.pool = append(p.pool, i)
		} else {
			open = append(open, i)
		}
	}
	m.Of = int64(len(p.train) + len(p.pool) + len(open))
	if room := max(0, most-len(p.train)-len(p.pool)); len(open) > room {
		drawn := make([]int, room)
		for i, at := range draw.Perm(len(open))[:room] {
			drawn[i] = open[at]
		}
		open = drawn
	}
	p.pool = append(p.pool, open...)
	slices.Sort(p.pool)
	numbers := make([]int64, 0, len(p.train)+len(p.pool))
	for _, i := range p.train {
		numbers = append(numbers, rows.numbers[of.TrainRows[i]])
	}
	for _, i := range p.pool {
		numbers = append(numbers, rows.numbers[of.PoolRows[i]])
	}
	m.Rows = slices.Sorted(slices.Values(numbers))
	for _, row := range numbers {
		at, _ := slices.BinarySearch(m.Rows, row)
		p.places = append(p.places, at)
	}
	return p
}

// mapSpec returns the method whose kernel a map shows. Blends have no posterior of their default method: it would put
// all labelled rows in the same place.
func mapSpec(r nextbatch.Request) spec.Spec {
	used := r.WithDefaults().Spec
	if r.Learner.Blends() && r.Spec.Method == "" {
		used.Transforms = slices.DeleteFunc(slices.Clone(used.Transforms),
			func(t spec.Transform) bool { return t.Info().Train })
	}
	return used
}

// place finds the coordinates and the distances.
func (m *Map) place(ctx context.Context, v *shown, p mapped) error {
	problem := v.problem
	known := problem.Train.SelectRows(p.train)
	rows := matrix.Stack(known, problem.Pool.SelectRows(p.pool))
	sample := rows.SelectRows(picture.Spread(rows.Rows, picture.PlaneSample))
	kernel, err := nextbatch.KernelOf(ctx, v.by, problem, sample.Rows+rows.Rows)
	if err != nil {
		return err
	}
	plane, err := kernel.Plane(ctx, sample, rows)
	if err != nil {
		return err
	}
	m.At, m.Share = make([][2]float64, rows.Rows), plane.Share
	for i, at := range p.places {
		m.At[at] = [2]float64(plane.At.Row(i))
	}
	if known.Rows == 0 {
		return nil
	}
	if kernel, err = nextbatch.KernelOf(ctx, v.by, problem, rows.Rows+known.Rows); err != nil {
		return err
	}
	distances, err := kernel.Distances(ctx, rows, known)
	if err != nil {
		return err
	}
	m.Distances = make([]float64, rows.Rows)
	for i, at := range p.places {
		m.Distances[at] = distances[i]
	}
	return nil
}

// predict predicts the labels of all rows of the map, also of those that are known.
func (m *Map) predict(ctx context.Context, f *fitted.Fitted, p mapped) error {
	inputs := matrix.Stack(f.Rows.Train.SelectRows(p.train), f.Rows.Pool.SelectRows(p.pool))
	list, err := fitted.Predict(ctx, f.Model, inputs)
	if err != nil {
		return err
	}
	m.Predictions = make([][]fitted.Prediction, len(m.Rows))
	for i, at := range p.places {
		m.Predictions[at] = list[i]
	}
	return nil
}

// HalfWidth returns half the width of a prediction's interval; NaN without one.
func HalfWidth(p fitted.Prediction) float64 {
	if p.Low == nil || p.High == nil {
		return math.NaN()
	}
	return float64(*p.High-*p.Low) / 2
}
