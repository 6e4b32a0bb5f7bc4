package benchmark

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/needs"
	"github.com/nextbatch/nextbatch/internal/stats"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/spec"
)

// Record is a round as a store keeps it.
type Record struct {
	Round
	Picked   []int    // rows of the data set, in pick order; none in the last round
	Warnings []string // of training and selection
	Threads  int      // available to the round

	By       Process // who computed it, and when; set in records read from a store
	Finished time.Time
}

// runner is a run in progress: which rows are labelled, and which are still in the pool.
type runner struct {
	run      Run
	spec     spec.Spec
	settings Settings
	task     *task
	labelled []int              // rows of the data set, in the order of labelling
	pool     []int              // rows of the data set, in the order of the split
	next     int                // the next round
	clock    time.Time          // when the round started
	starts   map[startKey]start // of the split, to share; nil if every run fits its own
}

// newRunner resumes a run after the given rounds.
func newRunner(run Run, s Settings, t *task, done []Record) (*runner, error) {
	spec, err := run.Method()
	if err != nil {
		return nil, err
	}
	if need := run.Rounds * run.BatchSize; need > len(t.split.Pool) {
		return nil, fmt.Errorf("%d rounds of %d rows need a pool of %d rows; it has %d", run.Rounds, run.BatchSize,
			need, len(t.split.Pool))
	}
	r := &runner{
		run: run, spec: spec, settings: s.WithDefaults(), task: t, clock: time.Now(),
		labelled: slices.Clone(t.split.Train), pool: slices.Clone(t.split.Pool),
	}
	for i, record := range done {
		if record.Round.Round != i || record.Labels != len(r.labelled) {
			return nil, fmt.Errorf("round %d of the results, with %d labels, does not follow from the rounds before it",
				record.Round.Round, record.Labels)
		}
		if err := r.label(record.Picked); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (r *runner) finished() bool { return r.next > r.run.Rounds }

// label moves rows from the pool to the labelled ones, in pool order, and advances
// to the next round.
func (r *runner) label(picked []int) error {
	chosen := make(map[int]bool, len(picked))
	for _, row := range picked {
		chosen[row] = true
	}
	left := make([]int, 0, len(r.pool))
	before := len(r.labelled)
	for _, row := range r.pool {
		if chosen[row] {
			r.labelled = append(r.labelled, row)
		} else {
			left = append(left, row)
		}
	}
	if len(r.labelled)-before != len(picked) {
		return fmt.Errorf("round %d picked %d rows, of which %d are in the pool", r.next, len(picked), len(r.labelled)-before)
	}
	r.pool = left
	r.next++
	return nil
}

// round performs the next round: train, measure, and select a batch unless it is
// the last. The caller stores the record, then calls label.
func (r *runner) round(ctx context.Context) (Record, error) {
	rec := Record{Round: Round{Run: r.run, Round: r.next, Labels: len(r.labelled), EffectiveDimension: math.NaN()},
		Threads: linalg.TeamOf(ctx).Threads()}
	m, err := r.fit(ctx, &rec)
	if err != nil {
		return rec, err
	}
	rec.Testing = seconds(func() { rec.Test, rec.Targets, err = r.measure(ctx, m) })
	if err != nil {
		return rec, err
	}
	if r.next < r.run.Rounds {
		if err := r.pick(ctx, &rec, m); err != nil {
			return rec, err
		}
	}
	now := time.Now()
	rec.Elapsed, r.clock = now.Sub(r.clock).Seconds(), now
	return rec, nil
}

// roundModel is the model of a round.
type roundModel interface {
	// predict returns predictions for the labels of the test rows: a row for each network whose errors
	// are averaged.
	predict(ctx context.Context) (matrix.Dense[float32], error)
	// problem returns labelled rows and pool as a method sees them.
	problem(ctx context.Context) (nextbatch.Problem, error)
	// of returns the same model for another run whose labelled rows are the same.
	of(r *runner) roundModel
}

// fit fits the model of a round from scratch, or takes that of another run for the first round.
func (r *runner) fit(ctx context.Context, rec *Record) (roundModel, error) {
	if r.starts == nil || r.next > 0 {
		return r.fitAnew(ctx, rec)
	}
	key := startKey{r.run.Learner(), r.spec.Members()}
	if key.learner.Blends() {
		key.networks = needs.Networks(r.spec)
	}
	if had, ok := r.starts[key]; ok {
		rec.Warnings = append(rec.Warnings, had.warnings...)
		return had.model.of(r), nil
	}
	m, err := r.fitAnew(ctx, rec)
	if err == nil {
		r.starts[key] = start{m, slices.Clone(rec.Warnings)}
	}
	return m, err
}

// start is the model of the first round of a split. Methods that use as many networks have the same.
type start struct {
	model    roundModel
	warnings []string
}

type startKey struct {
	learner  learner.Kind
	networks int
}

func (r *runner) fitAnew(ctx context.Context, rec *Record) (roundModel, error) {
	if r.run.Learner().Blends() || r.settings.Valid == NoValidation {
		return r.learn(ctx, rec)
	}
	x, y := r.task.rows(r.labelled)
	networks, err := r.train(ctx, rec, x, y)
	return &paperNetworks{r, networks, x, y}, err
}

// paperNetworks are networks as the paper trains them, with validation rows of their own.
type paperNetworks struct {
	*runner
	networks network.Ensemble
	x, y     matrix.Dense[float32] // labelled rows
}

func (n *paperNetworks) of(r *runner) roundModel {
	return &paperNetworks{r, n.networks, n.x, n.y}
}

func (n *paperNetworks) predict(ctx context.Context) (matrix.Dense[float32], error) {
	predictions := matrix.New[float32](len(n.networks), len(n.task.testY.Data))
	n.networks.Predict(ctx, predictions, n.task.testX)
	return predictions, nil
}

func (n *paperNetworks) problem(context.Context) (nextbatch.Problem, error) {
	return nextbatch.Problem{
		Models: nextbatch.Models(n.networks, n.settings.Weights...), Weights: n.settings.Weights,
		Train: n.x, Pool: n.task.x.SelectRows(n.pool), Labels: matrix.Converted[float64](n.y),
	}, nil
}

// train trains the networks of a round from scratch. If one diverges, its best
// parameters are kept, as in the published code, with a warning.
func (r *runner) train(ctx context.Context, rec *Record, x, y matrix.Dense[float32]) (network.Ensemble, error) {
	d := network.Data{X: x, Y: y, ValidX: r.task.validX, ValidY: r.task.validY}
	c := r.settings.network(r.run.Activation, r.run.Split, r.next)
	c.Architecture.Outputs = y.Cols
	var networks network.Ensemble
	var histories []network.History
	var err error
	rec.Training = seconds(func() {
		networks, histories, err = r.settings.Trainer.Train(ctx, c,
			r.spec.Members(), d, nil)
	})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if len(histories) > 0 && histories[0].Note != "" {
		rec.Warnings = append(rec.Warnings, histories[0].Note)
	}
	diverged := (*network.DivergedError)(nil)
	if errors.As(err, &diverged) && networks != nil {
		rec.Warnings = append(rec.Warnings, err.Error())
		err = nil
	}
	return networks, err
}

// measure returns the errors on the test rows, each in units of the deviation of its
// target: those of all labels together, and those of each target if there are several.
func (r *runner) measure(ctx context.Context, m roundModel) (all stats.Metrics, each []TargetErrors, err error) {
	labels := r.task.testY.Data
	predictions, err := m.predict(ctx)
	if err != nil {
		return all, nil, err
	}
	for k, name := range r.task.targets {
		each = append(each, TargetErrors{name, errorsOf(predictions, labels, k, len(r.task.targets))})
	}
	return errorsOf(predictions, labels, 0, 1), each, nil
}

// errorsOf compares predictions with every step-th label from the first on, except for
// missing ones.
func errorsOf(predictions matrix.Dense[float32], labels []float32, first, step int) stats.Metrics {
	var known []float64
	of := matrix.New[float64](predictions.Rows, len(labels))
	for j := first; j < len(labels); j += step {
		if labels[j] != labels[j] {
			continue // missing
		}
		for i := range of.Rows {
			of.Set(i, len(known), float64(predictions.At(i, j)))
		}
		known = append(known, float64(labels[j]))
	}
	return stats.Measure(of.Block(0, of.Rows, 0, len(known)), known)
}

func (r *runner) pick(ctx context.Context, rec *Record, m roundModel) error {
	p, err := m.problem(ctx)
	if err != nil {
		return err
	}
	// the seed does not depend on the learner: by random selection, all get the same rows
	_, method := SplitSpec(r.run.Spec)
	p.Batch, p.Seed = r.run.BatchSize, r.settings.methodSeed(method, r.run.Split, r.next)
	chosen := r.spec
	if alone(r.spec, p) {
		chosen, _ = spec.Parse(randomSpec)
		rec.Fallbacks = p.Batch
		//warning:single-member
		rec.Warnings = append(rec.Warnings,
			"the blend has a single member, which has no predictions to compare with: the batch is random")
	}
	batch, err := nextbatch.Select(ctx, chosen, p)
	if err != nil {
		return err
	}
	if batch.Missing > 0 {
		return fmt.Errorf("the batch lacks %d rows: %s", batch.Missing, batch.Short)
	}
	for _, row := range batch.Rows() {
		rec.Picked = append(rec.Picked, r.pool[row])
	}
	for _, f := range batch.Fallbacks {
		rec.Fallbacks += len(f.Rows)
	}
	rec.Warnings = append(rec.Warnings, batch.Warnings...)
	rec.Features, rec.Selection = batch.Kernel.Seconds(), batch.Timing.Total.Seconds()
	if !chosen.UsesKernel() || r.settings.noDimension {
		return nil
	}
	rec.EffectiveDimension, err = effectiveDimension(ctx, r.spec, p)
	if err != nil {
		//warning:effective-dimension
		rec.Warnings = append(rec.Warnings, "effective dimension: "+err.Error())
	}
	return ctx.Err()
}

// seconds measures how long a call takes.
func seconds(do func()) float64 {
	begin := time.Now()
	do()
	return time.Since(begin).Seconds()
}
