package selection

// The paper's templates (appendix, "Iterative Selection Scheme" and
// "Forward-Backward Version"):
//
//	INIT
//	ADD every x in X_mode (the training rows in mode TP), then the pending rows
//	ADD every required row, which is in the batch
//	N_batch + N_extra times:  x = NEXT, add x to the batch, ADD x
//	N_extra times:            x = NEXT-BACKWARD, take x out of the batch, REMOVE x
//
// If NEXT finds no valid row, the batch is cut to its size, or filled with random
// rows.

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
)

// Select picks a batch. Errors are *ProblemError (all violations together),
// *MethodError, *PrecisionError, *RowError, *DeviceError, those of the kernel, and that of
// the context, which is checked once per step and once per block of work.
func Select[T matrix.Float](ctx context.Context, m Method[T], p Problem[T]) (*Result, error) {
	if err := p.fetchPlaced(ctx, m); err != nil {
		return nil, err
	}
	return selectFrom(ctx, m, p, nil, whereFor(ctx, m, &p))
}

// selectFrom is Select with the rows of the pool where the caller puts them, shared with
// other ranks unless ranks is nil.
func selectFrom[T matrix.Float](ctx context.Context, m Method[T], p Problem[T], ranks *network, where func(*Space[T]) poolRows[T]) (*Result, error) {
	start := time.Now()
	if err := p.check(poolSize(&p, ranks)); err != nil {
		return nil, err
	}
	if s, ok := m.(scored); p.Constraints.PerCost && !(ok && s.scored()) {
		return nil, &MethodError{m.Name(), "it has no score that could be divided by costs"}
	}
	if inDouble, ok := any(m).(Method[float64]); p.Single.Rows > 0 && !(ok && ReadsSingle(inDouble)) {
		return nil, &MethodError{m.Name(), "it does not read rows in float32"}
	}
	method := spaceOf(ctx, m, &p, ranks)
	s, err := newSpace(ctx, &p, method, ranks)
	if _, blind := m.(Random[T]); blind && err != nil {
		p.Kernel = nil // it uses none
		if s, err = newSpace(ctx, &p, method, ranks); err == nil {
			s.train = set[T]{} // without a kernel there are no distances from them
		}
	}
	if err != nil {
		return nil, err
	}
	s.place(where(s))
	result, err := s.run(m, &p, start)
	if rows, ok := s.rows.(*deviceRows[T]); ok {
		if failed := rows.end(); failed != nil && s.ended() == nil {
			return nil, failed // whatever else went wrong, this did first
		}
	}
	return result, err
}

// run runs a method whose rows have been placed.
func (s *Space[T]) run(m Method[T], p *Problem[T], start time.Time) (*Result, error) {
	state, err := m.Init(s)
	if s.ended() != nil {
		return nil, s.ended()
	}
	if err != nil {
		return nil, err
	}
	d := &driver[T]{space: s, state: state, limits: s.limits, size: p.Batch, steps: p.Batch, progress: p.Progress, picked: p.Picked,
		required: map[int]bool{},
		result:   &Result{Method: m.Name(), Mode: p.Mode, Device: s.device, Picks: []Pick{}, Fallbacks: []Fallback{}, Removed: []Removal{}, Notes: []string{}}}
	d.result.Timing.Init = time.Since(start)
	err = d.run(p.Constraints.Require, p.Resume)
	if s.ended() != nil {
		return nil, s.ended() // work that stopped halfway may have failed for other reasons
	}
	if err != nil {
		return nil, err
	}
	d.result.Timing.Total = time.Since(start)
	return d.result, nil
}

// driver is one selection in progress.
type driver[T matrix.Float] struct {
	space    *Space[T]
	state    Forward
	limits   *limits
	size     int // of the batch
	step     int
	steps    int // in total
	progress func(step, of int)
	picked   func(Choice)
	tied     int          // the first of the latest steps in which all candidates were equal; 0 if there is none
	required map[int]bool // pool rows
	result   *Result
}

func (d *driver[T]) run(require []int, earlier []Choice) error {
	if err := d.timed(&d.result.Timing.Train, func() error { return d.addFirst(require) }); err != nil {
		return err
	}
	if err := d.timed(&d.result.Timing.Forward, func() error { return d.resume(earlier) }); err != nil {
		return err
	}
	if err := d.selectRows(); err != nil {
		return err
	}
	if missing := d.size - d.limits.count; missing > 0 {
		d.result.Missing, d.result.Short = missing, d.limits.whyNone()
	}
	if d.tied > 0 {
		d.space.Note("from step %d on, all candidates are equally good: they coincide with labelled or picked rows, or their features are zero; "+
			"rows were picked in the order of their numbers", d.tied)
	}
	err := d.timed(&d.result.Timing.Report, d.report)
	d.result.Notes = append(d.result.Notes, d.space.notes...)
	return err
}

func (d *driver[T]) timed(took *time.Duration, f func() error) error {
	start := time.Now()
	err := f()
	*took += time.Since(start)
	return err
}

// addFirst adds the rows that count as selected before the first step.
func (d *driver[T]) addFirst(require []int) error {
	if d.space.mode == TP {
		train := make([]int, d.space.TrainSize())
		for i := range train {
			train[i] = d.space.PoolSize() + i
		}
		if err := d.state.Add(train); err != nil {
			return err
		}
	}
	if pending := d.space.pending; len(pending) > 0 && !d.space.Cancelled() {
		if err := d.state.Add(pending); err != nil {
			return err
		}
	}
	if len(require) == 0 || d.space.Cancelled() {
		return nil
	}
	for _, row := range require {
		if !d.limits.open[row] {
			return &ProblemError{Field: "Require", Reason: fmt.Sprintf("row %d exceeds the budget or the limit of its group", row)}
		}
		d.required[row] = true
		d.take(Choice{Row: row}, Required)
	}
	return d.state.Add(require)
}

// take puts a row into the batch.
func (d *driver[T]) take(c Choice, why Why) {
	if why == Required {
		d.steps--
	} else {
		d.stepped()
	}
	d.limits.add(c.Row)
	d.result.Picks = append(d.result.Picks, Pick{Row: c.Row, Step: d.step, Why: why, Score: c.Score, Tied: c.Tied, Cluster: c.Cluster})
}

// stepped counts a step and reports progress.
func (d *driver[T]) stepped() {
	d.step++
	if d.progress != nil {
		d.progress(d.step, max(d.step, d.steps))
	}
}

// selectRows fills the batch, forward and, if the method can, backward.
func (d *driver[T]) selectRows() error {
	back, ok := d.state.(Backward)
	if !ok {
		return d.timed(&d.result.Timing.Forward, func() error { return d.forward(d.size) })
	}
	return d.forwardBackward(back)
}

func (d *driver[T]) forwardBackward(back Backward) error {
	needed := d.size - d.limits.count
	extra := back.Extra(d.size, max(0, d.limits.room-needed))
	if extra > 0 {
		d.limits.setSlack(2)
	}
	d.steps += 2 * extra // forward and back
	if err := d.timed(&d.result.Timing.Forward, func() error { return d.forward(d.size + extra) }); err != nil {
		return err
	}
	d.limits.setSlack(1)
	if err := d.timed(&d.result.Timing.Backward, func() error { return d.backward(back) }); err != nil {
		return err
	}
	// To satisfy group limits, more rows may have been removed than the batch had in excess.
	return d.timed(&d.result.Timing.Forward, func() error { return d.forward(d.size) })
}

// forward picks rows until there are size of them, or no row is open.
func (d *driver[T]) forward(size int) error {
	for d.limits.count < size && len(d.result.Fallbacks) == 0 {
		if d.limits.room == 0 || d.space.agreeToEnd() {
			return nil
		}
		d.space.left = size - d.limits.count
		choice, err := d.state.Next()
		if d.space.Cancelled() {
			return nil
		}
		var stuck *Stuck
		if errors.As(err, &stuck) {
			return d.fallBack(stuck.Reason)
		}
		if err != nil {
			return err
		}
		if !d.limits.open[choice.Row] || math.IsNaN(choice.Score) {
			return &RowError{Set: "pool", Row: choice.Row, What: "the score of a pick that is not allowed", Value: choice.Score}
		}
		d.choose(choice)
		if err := d.state.Add([]int{choice.Row}); err != nil {
			return err
		}
	}
	return nil
}

// compare records since when the picks have been no better than other candidates.
func (d *driver[T]) compare(c Choice) {
	switch {
	case !c.Tied:
		d.tied = 0
	case d.tied == 0:
		d.tied = d.step
	}
}

// fallBack brings the batch to its size without the method: it removes the latest
// rows, or backs off to random ones.
func (d *driver[T]) fallBack(reason string) error {
	f := Fallback{Step: d.step + 1, Reason: reason, Rows: []int{}, Cut: []int{}}
	d.limits.setSlack(1)
	for d.overFull() && !d.space.Cancelled() {
		last := len(d.result.Picks) - 1
		if d.result.Picks[last].Why == Required {
			break
		}
		f.Cut = append(f.Cut, d.drop(last).Row)
	}
	draw := rng.New(d.space.seed, "selection fallback")
	for d.limits.count < d.size && d.limits.room > 0 && !d.space.Cancelled() {
		row := d.limits.rank(draw.IntN(d.limits.room))
		d.take(Choice{Row: row}, Filled)
		f.Rows = append(f.Rows, row)
	}
	d.result.Fallbacks = append(d.result.Fallbacks, f)
	return nil
}

// overFull reports whether the batch exceeds a limit.
func (d *driver[T]) overFull() bool { return d.limits.over(d.size) || d.limits.overGroups > 0 }

// drop removes a pick from the batch.
func (d *driver[T]) drop(at int) Pick {
	dropped := d.result.Picks[at]
	d.limits.remove(dropped.Row)
	d.result.Picks = slices.Delete(d.result.Picks, at, at+1)
	return dropped
}

// backward removes rows while there are too many.
func (d *driver[T]) backward(back Backward) error {
	for d.overFull() && len(d.result.Fallbacks) == 0 && !d.space.Cancelled() {
		removable := d.removable()
		if !slices.ContainsFunc(d.result.Picks, func(p Pick) bool { return removable(p.Row) }) {
			return nil
		}
		choice, err := back.NextBackward(d.result.Rows(), removable)
		if d.space.Cancelled() {
			return nil
		}
		var stuck *Stuck
		if errors.As(err, &stuck) {
			return d.fallBack(stuck.Reason)
		}
		if err != nil {
			return err
		}
		d.stepped()
		picked := d.drop(slices.IndexFunc(d.result.Picks, func(p Pick) bool { return p.Row == choice.Row }))
		d.result.Removed = append(d.result.Removed, Removal{Row: choice.Row, Picked: picked.Step, Step: d.step, Score: choice.Score})
		if err := back.Remove(choice.Row); err != nil {
			return err
		}
	}
	return nil
}

// removable returns which rows may be removed: any that the method has picked or, if
// only groups are too large, those of these groups.
func (d *driver[T]) removable() func(row int) bool {
	any := d.limits.over(d.size)
	return func(row int) bool { return !d.required[row] && (any || d.limits.overGroup(row)) }
}

// report finds the nearest training row of each pick, and the median distance of some
// rows that are spread over the pool from theirs.
func (d *driver[T]) report() error {
	for i := range d.result.Picks {
		d.result.Picks[i].Labelled = -1
	}
	if d.space.TrainSize() == 0 {
		return nil
	}
	n := d.space.PoolSize()
	rows := d.result.Rows()
	for i := range min(n, typicalSample) {
		rows = append(rows, i*n/min(n, typicalSample))
	}
	at, distance, err := d.nearestLabelled(rows)
	if err != nil || d.space.Cancelled() {
		return err
	}
	for i := range d.result.Picks {
		d.result.Picks[i].Labelled, d.result.Picks[i].Distance = at[i], distance[i]
	}
	sample := distance[len(d.result.Picks):]
	slices.Sort(sample)
	d.result.Typical = sample[len(sample)/2]
	return nil
}

// typicalSample is how many rows of the pool a typical distance is the median of.
const typicalSample = 256

// nearestLabelled returns the training row that is nearest to each of some pool rows, and
// how far it is.
func (d *driver[T]) nearestLabelled(rows []int) (at []int, distance []float64, err error) {
	at, distance = make([]int, len(rows)), make([]float64, len(rows))
	sq := make([]T, len(rows))
	if device, ok := d.space.rows.(*deviceRows[T]); ok {
		if at, sq = device.on.Labelled(d.space.train.rows, rows); device.on.Err() != nil {
			return nil, nil, device.on.Err()
		}
	} else if err := d.nearestInMemory(at, sq, rows); err != nil {
		return nil, nil, err
	}
	for i, v := range sq {
		distance[i] = d.space.inUnits(math.Sqrt(float64(v)), 1)
	}
	return at, distance, nil
}

// nearestInMemory finds the nearest training rows: one by one with a kernel, otherwise for some
// rows at a time, which share training rows in the cache.
func (d *driver[T]) nearestInMemory(at []int, sq []T, rows []int) error {
	if d.space.kernel == nil {
		d.nearestByFeatures(at, sq, rows)
		return nil
	}
	dist := make([]T, d.space.TrainSize())
	for i, row := range rows {
		if d.space.Cancelled() {
			return nil
		}
		if err := d.space.sqDist(dist, &d.space.train, row); err != nil {
			return err
		}
		for j, v := range dist {
			if v < dist[at[i]] {
				at[i] = j
			}
		}
		sq[i] = dist[at[i]]
	}
	return nil
}

// reportedRows is the number of rows after which the report checks the context.
const reportedRows = 512

func (d *driver[T]) nearestByFeatures(at []int, sq []T, rows []int) {
	train, set := d.space.train.rows, simd.For[T]()
	for block := 0; block < len(rows) && !d.space.Cancelled(); block += reportedRows {
		queries, _ := d.space.gather(rows[block:min(block+reportedRows, len(rows))])
		at, sq := at[block:], sq[block:]
		d.space.team.OverPieces(queries.Rows, cachedRows, func(_, from, to int) {
			var dist [cachedRows]T
			for first := 0; first < train.Rows; first += cachedRows {
				part := train.Slice(first, min(first+cachedRows, train.Rows))
				for i := from; i < to; i++ {
					set.SqDistRows(dist[:part.Rows], queries.Row(i), part.Data, part.Stride)
					for j, v := range dist[:part.Rows] {
						if first+j == 0 || v < sq[i] {
							at[i], sq[i] = first+j, v
						}
					}
				}
			}
		})
	}
}
