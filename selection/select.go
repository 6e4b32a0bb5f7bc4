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
	"time"

	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection/internal/space"
)

// Select picks a batch. Errors are *ProblemError (all violations together),
// *MethodError, *PrecisionError, *RowError, *DeviceError, those of the kernel, and that of
// the context, which is checked once per step and once per block of work.
//
// The instance for a precision hands the rows on; the code that works on them is compiled
// once for each precision, in package space.
func Select[T matrix.Float](ctx context.Context, m Method, p Problem[T]) (*Result, error) {
	if err := fetchPlaced(ctx, &p, searchesOnDevice(m)); err != nil {
		return nil, err
	}
	q := questionOf(&p)
	return q.solve(m, q.shapes.pool.Rows, func(use space.Use) (space.Rows,
		error) {
		return space.Open(ctx, sourceOf(&p, &q, use), nil)
	})
}

// solve checks a question about a pool of the given number of rows, opens them and runs the method.
func (q *question) solve(m Method, pool int, open func(space.Use) (space.Rows, error)) (*Result, error) {
	if err := q.check(pool); err != nil {
		return nil, err
	}
	if err := q.conflict(pool); err != nil {
		return nil, err
	}
	if len(q.order) == 0 {
		return q.solveChecked(m, pool, open)
	}
	q.putInOrder()
	result, err := q.solveChecked(m, pool, open)
	if err != nil {
		return nil, renamed(err, q.order)
	}
	result.rename(q.order)
	return result, nil
}

func (q *question) solveChecked(m Method, pool int, open func(space.Use) (space.Rows, error)) (*Result, error) {
	if q.constraints.Same != nil {
		return q.solveRuns(m, pool, open)
	}
	return q.solveOnce(m, open)
}

// solveOnce opens the rows and runs the method.
func (q *question) solveOnce(m Method, open func(space.Use) (space.Rows, error)) (*Result, error) {
	start := time.Now()
	traits := traitsOf(m)
	if q.constraints.PerCost && !traits.scored {
		return nil, &MethodError{Method: m.Name(), Reason: "it has no score that could be divided by costs"}
	}
	if q.shapes.single && !ReadsSingle(m) {
		return nil, &MethodError{Method: m.Name(), Reason: "it does not read rows in float32"}
	}
	rows, err := open(space.Use{Method: m.Name(), AnyUnit: traits.anyUnit, OnDevice: searchesOnDevice(m),
		NoKernel: traits.noKernel, ByDiag: traits.byDiag, Moments: traits.moments,
		Batch: q.batch, Pending: len(q.pending), TrainSelected: q.mode == TP, Plain: q.plain})
	if err != nil {
		return nil, err
	}
	result, err := newSpace(rows, q).run(m, q, start)
	if failed := rows.Close(); failed != nil && rows.Ended() == nil {
		return nil, failed // whatever else went wrong, this did first
	}
	return result, err
}

// run runs a method.
func (s *Space) run(m Method, q *question, start time.Time) (*Result, error) {
	state, err := m.Init(s)
	if ended := s.rows.Ended(); ended != nil {
		return nil, ended
	}
	if err != nil {
		return nil, err
	}
	device, _ := s.rows.Device()
	d := &driver{space: s, method: traitsOf(m), state: state, limits: s.limits, size: q.batch, steps: q.batch,
		quick: traitsOf(m).replayable, progress: q.progress, picked: q.picked,
		required: map[int]bool{},
		result: &Result{Method: m.Name(), Mode: q.mode, Device: device, Picks: []Pick{}, Fallbacks: []Fallback{},
			Removed: []Removal{}, Notes: []string{}}}
	d.result.Timing.Init = time.Since(start)
	err = d.run(q)
	if ended := s.rows.Ended(); ended != nil {
		return nil, ended // work that stopped halfway may have failed for other reasons
	}
	if err != nil {
		return nil, err
	}
	d.result.Timing.Total = time.Since(start)
	return d.result, nil
}

// run follows the template, and then describes the batch.
func (d *driver) run(q *question) error {
	if err := d.timed(&d.result.Timing.Train, func() error {
		return d.addFirst(q.pending,
			q.constraints.Require)
	}); err != nil {
		return err
	}
	if err := d.limits.startAhead(q.run); err != nil {
		return err
	}
	before, err := d.left(q.run != nil)
	if err != nil {
		return err
	}
	if err := d.timed(&d.result.Timing.Forward, func() error { return d.resume(q.resume) }); err != nil {
		return err
	}
	if err := d.selectRows(); err != nil {
		return err
	}
	after, err := d.left(q.run != nil)
	if err != nil {
		return err
	}
	d.result.gain = d.gain + before - after
	if missing := d.size - d.limits.Count; missing > 0 {
		d.result.Missing, d.result.Short = missing, d.limits.whyNone()
	}
	if d.tied > 0 {
		how := "picked in the order of their numbers"
		if len(q.order) > 0 {
			how = "drawn at random"
		}
		//warning:random-rows
		d.space.Note("from step %d on, all candidates are equally good: they coincide with labelled or picked rows, "+
			"or their features are zero; rows were %s", d.tied, how)
	}
	err = d.timed(&d.result.Timing.Report, d.report)
	d.result.Notes = append(d.result.Notes, d.space.notes...)
	return err
}
