package selection

// The steps of a selection, forward and backward, and the rows that need no method.

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/nextbatch/nextbatch/internal/rng"
)

// driver is one selection in progress.
type driver struct {
	space    *Space
	method   traits
	state    Forward
	limits   *limits
	size     int // of the batch
	step     int
	steps    int  // in total
	quick    bool // the method is replayable
	progress func(step, of int)
	picked   func(Choice)
	tied     int          // the first of the latest steps in which all candidates were equal; 0 if there is none
	required map[int]bool // pool rows
	gain     float64      // of the rows that the method chose (runs.go)
	result   *Result
}

func (d *driver) timed(took *time.Duration, f func() error) error {
	start := time.Now()
	err := f()
	*took += time.Since(start)
	return err
}

// addFirst adds the rows that count as selected before the first step.
func (d *driver) addFirst(pending, require []int) error {
	if d.space.mode == TP {
		train := make([]int, d.space.TrainSize())
		for i := range train {
			train[i] = d.space.PoolSize() + i
		}
		if err := d.state.Add(train); err != nil {
			return err
		}
	}
	if len(pending) > 0 && !d.space.Cancelled() {
		if err := d.state.Add(pending); err != nil {
			return err
		}
	}
	if len(require) == 0 || d.space.Cancelled() {
		return nil
	}
	for _, row := range require {
		if !d.limits.open[row] {
			why := fmt.Sprintf("row %d exceeds the budget or the limit of its group", d.space.number(row))
			return &ProblemError{Field: "Require", Reason: why}
		}
		d.required[row] = true
		d.take(Choice{Row: row}, Required)
	}
	return d.state.Add(require)
}

// take puts a row into the batch.
func (d *driver) take(c Choice, why Why) {
	if why == Required {
		d.steps--
	} else {
		d.stepped()
	}
	d.limits.add(c.Row)
	d.result.Picks = append(d.result.Picks, Pick{Row: c.Row, Step: d.step, Why: why, Score: c.Score,
		Tied: c.Tied, Cluster: c.Cluster})
}

// choose puts a row into the batch that the method has chosen.
func (d *driver) choose(c Choice) {
	d.take(c, Chosen)
	d.gain += d.gainOf(c)
	d.compare(c)
	if d.picked != nil {
		d.picked(c)
	}
}

// stepped counts a step and reports progress.
func (d *driver) stepped() {
	d.step++
	if d.progress != nil {
		d.progress(d.step, max(d.step, d.steps))
	}
}

// selectRows fills the batch, forward and, if the method can, backward.
func (d *driver) selectRows() error {
	back, ok := d.state.(Backward)
	if !ok {
		return d.timed(&d.result.Timing.Forward, func() error { return d.forward(d.size) })
	}
	return d.forwardBackward(back)
}

func (d *driver) forwardBackward(back Backward) error {
	needed := d.size - d.limits.Count
	extra := back.Extra(d.size, max(0, d.limits.room-needed))
	if extra > 0 {
		d.limits.setSlack(2)
	}
	d.steps += 2 * extra // forward and back
	if err := d.timed(&d.result.Timing.Forward, func() error { return d.forward(d.size + extra) }); err != nil {
		return err
	}
	if err := d.timed(&d.result.Timing.Backward, func() error { return d.backward(back) }); err != nil {
		return err
	}
	d.limits.setSlack(1)
	// To satisfy the constraints, more rows may have been removed than the batch had in excess.
	return d.timed(&d.result.Timing.Forward, func() error { return d.forward(d.size) })
}

// forward picks rows until there are size of them, or no row is open.
func (d *driver) forward(size int) error {
	for d.limits.Count < size && len(d.result.Fallbacks) == 0 {
		if d.limits.room == 0 || d.space.rows.AgreeToEnd() {
			return nil
		}
		d.space.rows.GoAhead(d.ahead(size))
		choice, err := d.state.Next()
		if ended, err := d.ends(err); ended {
			return err
		}
		if !d.limits.open[choice.Row] || math.IsNaN(choice.Score) {
			return &RowError{Set: "pool", Row: choice.Row, What: "the score of a pick that is not allowed", Value: choice.Score}
		}
		d.choose(choice)
		if err := d.state.Add([]int{choice.Row}); err != nil {
			return err
		}
		if err := d.limits.err(); err != nil {
			return err
		}
	}
	return nil
}

// ends reports whether an error of the method, or the context, ends its steps, and with which error.
func (d *driver) ends(err error) (bool, error) {
	var stuck *Stuck
	switch {
	case d.space.Cancelled():
		return true, nil
	case errors.As(err, &stuck):
		return true, d.fallBack(stuck.Reason)
	}
	return err != nil, err
}

// ahead is how many rows will be picked before any other decision: none if a pick may close
// other rows.
func (d *driver) ahead(size int) int {
	if d.limits.Cost != nil || d.limits.Group != nil || d.limits.ahead != nil {
		return 0
	}
	return size - d.limits.Count - 1
}

// compare records since when the picks have been no better than other candidates.
func (d *driver) compare(c Choice) {
	switch {
	case !c.Tied:
		d.tied = 0
	case d.tied == 0:
		d.tied = d.step
	}
}

// fallBack brings the batch to its size without the method: it removes the latest
// rows, or backs off to random ones.
func (d *driver) fallBack(reason string) error {
	f := Fallback{Step: d.step + 1, Reason: reason, Rows: []int{}, Cut: []int{}}
	for d.overFull() && !d.space.Cancelled() {
		last := len(d.result.Picks) - 1
		if d.result.Picks[last].Why == Required {
			break
		}
		f.Cut = append(f.Cut, d.drop(last).Row)
	}
	d.limits.setSlack(1)
	draw := rng.New(d.space.seed, "selection fallback")
	for d.limits.Count < d.size && d.limits.room > 0 && !d.space.Cancelled() {
		row := d.limits.rank(draw.IntN(d.limits.room))
		d.take(Choice{Row: row}, Filled)
		f.Rows = append(f.Rows, row)
	}
	d.result.Fallbacks = append(d.result.Fallbacks, f)
	return nil
}

// overFull reports whether the batch exceeds a limit, or has rows with which it cannot be completed.
func (d *driver) overFull() bool {
	return d.limits.over(d.size) || d.limits.overGroups > 0 || !d.limits.fits()
}

// drop removes a pick from the batch.
func (d *driver) drop(at int) Pick {
	dropped := d.result.Picks[at]
	d.limits.remove(dropped.Row)
	d.result.Picks = slices.Delete(d.result.Picks, at, at+1)
	return dropped
}

// backward removes rows while there are too many.
func (d *driver) backward(back Backward) error {
	for d.overFull() && len(d.result.Fallbacks) == 0 && !d.space.Cancelled() {
		removable := d.removable()
		if !slices.ContainsFunc(d.result.Picks, func(p Pick) bool { return removable(p.Row) }) {
			return nil
		}
		choice, err := back.NextBackward(d.result.Rows(), removable)
		if ended, err := d.ends(err); ended {
			return err
		}
		d.stepped()
		picked := d.drop(slices.IndexFunc(d.result.Picks, func(p Pick) bool { return p.Row == choice.Row }))
		d.gain -= choice.Score
		d.result.Removed = append(d.result.Removed, Removal{Row: choice.Row, Picked: picked.Step,
			Step: d.step, Score: choice.Score})
		if err := back.Remove(choice.Row); err != nil {
			return err
		}
	}
	return nil
}

// removable returns which rows may be removed: any that the method has picked or, if
// only groups are too large, those of these groups.
func (d *driver) removable() func(row int) bool {
	any := d.limits.over(d.size) || d.limits.overGroups == 0
	return func(row int) bool { return !d.required[row] && (any || d.limits.overGroup(row)) }
}

// report finds the nearest training row of each pick, and the median distance of some
// rows that are spread over the pool from theirs.
func (d *driver) report() error {
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
	at, distance, err := d.space.rows.Labelled(rows)
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

// itself is the gain of a row whose score is the gain.
func itself(score float64) float64 { return score }

// measured is a state that knows what its method makes small.
type measured interface{ left() (float64, error) }

// gainOf is what a choice adds to the gain of a run.
func (d *driver) gainOf(c Choice) float64 {
	if d.method.gain == nil {
		return 0
	}
	if d.space.price != nil {
		c.Score *= d.space.price[c.Row]
	}
	return d.method.gain(c.Score)
}

// left is what a method that has no sum of scores makes small, if a run is picked.
func (d *driver) left(run bool) (float64, error) {
	if of, ok := d.state.(measured); ok && run && !d.space.Cancelled() {
		return of.left()
	}
	return 0, nil
}
