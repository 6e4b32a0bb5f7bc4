package selection

// Runs: parts of the batch whose rows share a value (Constraints.Same), such as the rows of one furnace run at one
// temperature. What is optimised:
//
//   - The runs are picked one after the other. Run r has s(r) = ⌊N_batch/K⌋ rows, one more if r ≤ N_batch mod K. All
//     rows of earlier runs, and all required rows, count as selected.
//   - For each value v that run r can have, so that the whole batch can be completed (internal/ahead), the method's
//     own greedy steps are carried out on the rows of that value: NEXT is the argmax over those that leave the batch
//     completable. Required rows of the value that no earlier run has come first, and are part of the run.
//   - The value of largest gain wins; of equal ones the lowest. With S the rows selected before, R the rows that the
//     run adds, and T the target, which is the pool unless another one is given, the gain is, in the paper's terms,
//
//     maxdiag             Σ_{x in R} k(x, x)
//     maxdet              log det(k(S∪R, S∪R) + σ²I) − log det(k(S, S) + σ²I)
//     bait-f, bait-fb     a(S) − a(S∪R), the fall of the summed variance
//     frankwolfe          the fall of ‖Σ φ(x) − Σ w[x]·φ(x)‖²
//     maxdist, lcmd,      Σ_{y in T} w(y)·(d(y, S)² − d(y, S∪R)²), the fall of the summed squared distance
//     k-means++           from the nearest selected row; −Σ w(y)·d(y, R)² if S is empty
//     random              none: a value is drawn in proportion to the number of its candidates
//
//     PerCost divides the scores of rows, not the gains of runs. Rows that a fallback drew
//     add nothing to sums of scores.
//   - If run r can have more than maxValues values, an ordinary selection, without values, first picks screenRows rows;
//     the maxValues values are compared that have most of these, of equal ones those with most
//     candidates, then the lowest.
//
// So every step is greedy, and the choice of a value looks ahead to the end of its run, not to later
// runs. Each look-ahead is an ordinary selection on the same rows, so it is the same wherever these are.

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/selection/internal/ahead"
	"github.com/nextbatch/nextbatch/selection/internal/space"
)

const (
	maxValues  = 32  // how many values of a run are compared
	screenRows = 256 // how many rows are picked to find these
)

// runs is a batch in progress.
type runs struct {
	question *question
	method   Method
	open     func(space.Use) (space.Rows, error)
	pool     int
	limits   *limits // with the rows of the batch so far
	ahead    *ahead.Runs
	sizes    []int
	fixed    []int        // rows of each value in the runs so far
	placed   map[int]int  // the run of each required row; 0: none yet
	chosen   []int        // rows of earlier runs that are not required
	steps    int          // so far
	known    map[int]Pick // the required rows
	result   *Result
}

// solveRuns picks run after run.
func (q *question) solveRuns(m Method, pool int, open func(space.Use) (space.Rows, error)) (*Result, error) {
	if _, known := m.(described); !known {
		return nil, &MethodError{Method: m.Name(), Reason: "it has no gain by which the values of runs could be compared"}
	}
	l := q.withRequired(pool)
	r := &runs{question: q, method: m, open: open, pool: pool, limits: l, ahead: ahead.NewRuns(l.Tally),
		sizes:  runSizes(q.batch, q.constraints.Runs),
		placed: map[int]int{}, known: map[int]Pick{}}
	r.fixed = make([]int, len(r.ahead.Values))
	for number := range r.sizes {
		if err := r.pick(number); err != nil {
			return nil, err
		}
	}
	return r.result, nil
}

// pick picks a run, numbered from 0.
func (r *runs) pick(number int) error {
	values, err := r.values(number)
	if err != nil {
		return err
	}
	if _, draws := r.method.(Random); draws {
		values = []int{r.draw(number, values)}
	}
	var best *Result
	value := -1
	for _, v := range values {
		one, err := r.try(number, v)
		if err != nil {
			return err
		}
		if best == nil || one.gain > best.gain {
			best, value = one, v
		}
	}
	r.keep(number, value, len(values), best)
	return nil
}

// values returns the values that a run can have and that are to be compared, in order.
func (r *runs) values(number int) ([]int, error) {
	order := make([]int, len(r.fixed))
	for v := range order {
		order[v] = v
	}
	possible := func(v int) (bool, error) {
		fixed := slices.Clone(r.fixed)
		fixed[v] += r.sizes[number]
		can := r.ahead.Room(v) >= fixed[v] && r.ahead.Start(fixed, r.sizes[number+1:], v)
		return can, r.ahead.Err()
	}
	r.ahead.Count()
	var enough []int
	for _, v := range order {
		if r.ahead.Room(v) >= r.fixed[v]+r.sizes[number] {
			enough = append(enough, v)
		}
	}
	if _, draws := r.method.(Random); len(enough) > maxValues && !draws {
		if err := r.screen(number, enough); err != nil {
			return nil, err
		}
	}
	var list []int
	for _, v := range enough {
		can, err := possible(v)
		if err != nil {
			return nil, err
		}
		if can {
			list = append(list, v)
		}
		if _, draws := r.method.(Random); len(list) == maxValues && !draws {
			break
		}
	}
	slices.Sort(list)
	return list, nil
}

// screen sorts values by the rows of them that an ordinary selection picks, then by their candidates.
func (r *runs) screen(number int, values []int) error {
	free := *r.question
	free.constraints = Constraints{Exclude: r.question.constraints.Exclude, Require: r.required()}
	free.batch = min(r.pool, len(free.constraints.Require)+screenRows)
	free.progress, free.picked = nil, nil
	result, err := free.solveOnce(r.method, r.open)
	if err != nil {
		return err
	}
	picked := make([]int, len(r.fixed))
	for _, pick := range result.Picks {
		if pick.Why != Required {
			picked[r.ahead.ValueOf[pick.Row]]++
		}
	}
	slices.SortStableFunc(values, func(v, w int) int {
		return cmp.Or(cmp.Compare(picked[w], picked[v]), cmp.Compare(r.ahead.Left(w), r.ahead.Left(v)), cmp.Compare(v, w))
	})
	return nil
}

// draw draws a value in proportion to the number of its candidates.
func (r *runs) draw(number int, values []int) int {
	weights := make([]float64, len(values))
	for i, v := range values {
		weights[i] = float64(r.ahead.Room(v))
	}
	at, err := rng.New(r.question.seed, fmt.Sprintf("selection run %d", number)).Weighted(weights)
	if err != nil {
		return values[0] // no weight: none of them has candidates left
	}
	return values[at]
}

// required lists the rows that count as selected.
func (r *runs) required() []int { return slices.Concat(r.question.constraints.Require, r.chosen) }

// unplaced lists the required rows of a value that no run has yet.
func (r *runs) unplaced(v int) (rows []int) {
	for _, row := range r.question.constraints.Require {
		if r.placed[row] == 0 && r.ahead.ValueOf[row] == v {
			rows = append(rows, row)
		}
	}
	return rows
}

// try picks a run of the given value.
func (r *runs) try(number, v int) (*Result, error) {
	fixed := slices.Clone(r.fixed)
	fixed[v] += r.sizes[number]
	one := *r.question
	one.constraints.Require = r.required()
	one.batch = len(one.constraints.Require) + max(0, r.sizes[number]-len(r.unplaced(v)))
	one.run = &present{runs: r.ahead, byCost: r.limits.byCost, value: v, fixed: fixed, later: r.sizes[number+1:]}
	one.picked = nil
	if number > 0 { // draws of one run say nothing about those of another
		one.seed = rng.New(r.question.seed, fmt.Sprintf("selection seed of run %d", number)).Uint64()
	}
	if r.question.progress != nil {
		one.progress = func(int, int) {
			r.steps++
			r.question.progress(r.steps, max(r.steps, r.forecast()))
		}
	}
	return one.solveOnce(r.method, r.open)
}

// forecast is how many steps there will be at most.
func (r *runs) forecast() int {
	steps := 0
	for _, size := range r.sizes {
		steps += size * min(maxValues, len(r.fixed))
	}
	return steps
}

// keep makes a run part of the batch.
func (r *runs) keep(number, v, tried int, one *Result) {
	size := r.sizes[number]
	r.fixed[v] += size
	first := r.result == nil
	if first {
		all := *one
		all.Picks, all.Fallbacks, all.Removed, all.Notes, all.Timing = []Pick{}, []Fallback{},
			[]Removal{}, []string{}, Timing{}
		r.result = &all
	}
	step := 0
	for _, pick := range r.result.Picks {
		step = max(step, pick.Step)
	}
	for _, gone := range r.result.Removed {
		step = max(step, gone.Step)
	}
	for _, pick := range one.Picks {
		if _, known := r.known[pick.Row]; !known && pick.Why == Required {
			r.known[pick.Row] = pick
		}
	}
	taken := r.unplaced(v)
	for _, row := range taken[:min(size, len(taken))] {
		r.placed[row] = number + 1
		pick := r.known[row]
		pick.Run = number + 1
		r.result.Picks = append(r.result.Picks, pick)
	}
	for _, pick := range one.Picks {
		if pick.Why == Required {
			continue
		}
		pick.Run = number + 1
		pick.Step += step
		r.result.Picks = append(r.result.Picks, pick)
		r.chosen = append(r.chosen, pick.Row)
		r.limits.add(pick.Row)
	}
	r.join(one, step)
	gain := one.gain
	if math.IsNaN(gain) || math.IsInf(gain, 0) {
		gain = 0
	}
	r.result.Runs = append(r.result.Runs, Run{Value: r.ahead.Values[v], Rows: size, Gain: gain, Tried: tried})
}

// join adds what happened in a run to the result.
func (r *runs) join(one *Result, step int) {
	all := r.result
	for _, f := range one.Fallbacks {
		f.Step += step
		all.Fallbacks = append(all.Fallbacks, f)
	}
	for _, gone := range one.Removed {
		gone.Picked += step
		gone.Step += step
		all.Removed = append(all.Removed, gone)
	}
	for _, note := range one.Notes {
		if !slices.Contains(all.Notes, note) {
			all.Notes = append(all.Notes, note)
		}
	}
	t := &all.Timing
	t.Init += one.Timing.Init
	t.Train += one.Timing.Train
	t.Forward += one.Timing.Forward
	t.Backward += one.Timing.Backward
	t.Report += one.Timing.Report
	t.Total += one.Timing.Total
}
