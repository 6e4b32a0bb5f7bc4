package campaign

import (
	"context"
	"math"
	"slices"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/forecast"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/plate"
	"github.com/nextbatch/nextbatch/spec"
)

// A map shows the rows in the plane of the two principal directions of the kernel. Of the
// open rows, at most a given number is shown, drawn at random; all others are shown.

// Map is rows in the plane in which they vary most.
type Map struct {
	Labels      int                      // labelled rows that the model was fitted to; 0 without a model
	Rows        []int64                  // their numbers, in ascending order
	At          [][2]float64             // the place of each row
	Predictions [][]nextbatch.Prediction // of each target; nil without a model
	Distances   []float64                // from the nearest labelled row, in the kernel; nil without labels
	Of          int64                    // rows that could be shown
	Share       [2]float64               // of the variance along each direction
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
	if s.Counts().Open == 0 {
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
	a.into(&r, c.trainer(ctx, a))
	pickNothing(&r)
	m := &Map{}
	plan, err := c.mapPlan(ctx, s, rows, r)
	if err != nil {
		return nil, err
	}
	m.Warnings = plan.Warnings
	places := m.choose(plan, rows, most, rng.New(s.Settings.Seed, "map"))
	used, err := mapSpec(plan, r)
	if err != nil {
		return nil, err
	}
	if err := plan.Admit(used, forecast.Sizes{Train: len(places.train), Pool: 2 * len(m.Rows)}); err != nil { // all rows for the plane, and again for distances
		return nil, err
	}
	if err := m.place(ctx, plan, used, places); err != nil {
		return nil, err
	}
	if plan.Model() == nil {
		return m, nil
	}
	m.Labels = plan.Labelled
	return m, m.predict(ctx, plan, places)
}

// pickNothing leaves a request only those limits that its inputs depend on.
func pickNothing(r *nextbatch.Request) {
	r.Batch, r.Layout = 1, plate.Layout{}
	r.MinPerGroup, r.MaxGroups, r.Same, r.Runs, r.Replicates, r.ReplicateShare = 0, 0, nil, 0, 0, 0
	if r.GroupColumn != "" {
		r.PerGroup = 1
	}
}

// mapPlan returns the plan of the campaign's method, with a model if there are enough labels.
func (c *Campaign) mapPlan(ctx context.Context, s *State, rows *candidates, r nextbatch.Request) (*nextbatch.Plan, error) {
	if rows.suffice(r.Learner) {
		plan, _, _, err := c.modelPlan(ctx, s, rows, r)
		if err != nil || !r.Learner.Blends() {
			return plan, err
		}
		r.Model = plan.Model() // whose plan lacks networks that the kernel may use
	}
	plan, err := r.Plan(ctx)
	if err != nil {
		return nil, err
	}
	return plan, plan.Train(ctx)
}

// mapped is rows of a map as rows of the plan: labelled ones, then candidates, each in
// ascending order, and for each the row of the map.
type mapped struct {
	train, pool []int
	places      []int
}

// choose decides which rows are shown, and notes their numbers.
func (m *Map) choose(plan *nextbatch.Plan, rows *candidates, most int, draw *rng.Stream) mapped {
	var p mapped
	for i := range plan.Rows.TrainRows {
		p.train = append(p.train, i)
	}
	var open []int
	for i, at := range plan.Rows.PoolRows {
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
		numbers = append(numbers, rows.numbers[plan.Rows.TrainRows[i]])
	}
	for _, i := range p.pool {
		numbers = append(numbers, rows.numbers[plan.Rows.PoolRows[i]])
	}
	m.Rows = slices.Sorted(slices.Values(numbers))
	for _, row := range numbers {
		at, _ := slices.BinarySearch(m.Rows, row)
		p.places = append(p.places, at)
	}
	return p
}

// mapSpec returns the method whose kernel a map shows. Blends have no posterior of their default method: it would put all
// labelled rows in the same place.
func mapSpec(plan *nextbatch.Plan, r nextbatch.Request) (spec.Spec, error) {
	if plan.Model() == nil { // the plan has chosen a method that needs no model
		return spec.Parse(plan.Spec)
	}
	used := r.WithDefaults().Spec
	if r.Learner.Blends() && r.Spec.Method == "" {
		used.Transforms = slices.DeleteFunc(slices.Clone(used.Transforms), func(t spec.Transform) bool { return t.Info().Train })
	}
	return used, nil
}

// place finds the coordinates and the distances.
func (m *Map) place(ctx context.Context, plan *nextbatch.Plan, used spec.Spec, p mapped) error {
	problem := plan.Problem()
	problem.Progress = nil
	known := problem.Train.SelectRows(p.train)
	rows := matrix.Stack(known, problem.Pool.SelectRows(p.pool))
	sample := rows.SelectRows(nextbatch.Spread(rows.Rows, nextbatch.PlaneSample))
	plane, err := nextbatch.Plane(ctx, used, problem, sample, rows)
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
	distances, err := nextbatch.Distances(ctx, used, problem, rows, known)
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
func (m *Map) predict(ctx context.Context, plan *nextbatch.Plan, p mapped) error {
	inputs := matrix.Stack(plan.Rows.Train.SelectRows(p.train), plan.Rows.Pool.SelectRows(p.pool))
	list, err := predictRows(ctx, plan.Model(), inputs)
	if err != nil {
		return err
	}
	m.Predictions = make([][]nextbatch.Prediction, len(m.Rows))
	for i, at := range p.places {
		m.Predictions[at] = list[i]
	}
	return nil
}

// HalfWidth returns half the width of a prediction's interval; NaN without one.
func HalfWidth(p nextbatch.Prediction) float64 {
	if p.Low == nil || p.High == nil {
		return math.NaN()
	}
	return float64(*p.High-*p.Low) / 2
}
