package estimate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/internal/golden"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/internal/sets"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/spec"
)

// The replay trains several hundred networks. With a folder for the errors that they
// made, a second run takes seconds, so that estimates can be compared; it trains again
// what is not there. After a change of networks or methods, take another folder.
//
//	NEXTBATCH_SOAK=1 go test ./campaign -count=1 -run TestSoakReplay -v -timeout 4h -replay-dir /tmp/replay
var (
	replaySets   = flag.String("replay-sets", "fried,protein,diamonds,sgemm", "data sets to replay")
	replaySeeds  = flag.Int("replay-seeds", 3, "campaigns per data set")
	replayEpochs = flag.Int("replay-epochs", 256, "epochs of training")
	replayDir    = flag.String("replay-dir", "", "folder that keeps the errors of the networks; empty means none")
)

const (
	replayStart  = 256 // random rows
	replayRounds = 8
	replayBatch  = 128
	replayAudit  = 16 // of each batch, where there are audit rows at all
	replayPool   = 10000
	replayTest   = 10000
)

// replayed is one campaign of the replay: the errors that its networks made.
type replayed struct {
	Set    string        `json:"set"`
	Seed   uint64        `json:"seed"`
	Audit  int           `json:"audit"` // rows per batch
	Rounds []roundErrors `json:"rounds"`
	Random []sizeErrors  `json:"random"` // networks trained on random rows alone
}

// rowError is label minus prediction of a row.
type rowError struct {
	Row   int     `json:"row"`
	Error float64 `json:"error"`
}

// roundErrors are the errors of the network that picked one batch.
type roundErrors struct {
	Labels  int        `json:"labels"`
	Test    testError  `json:"test"`
	Audited []rowError `json:"audited"`  // on the audit rows of the batch that the network picked
	HeldOut []rowError `json:"held_out"` // on the random rows that the network was not trained on
}

// sizeErrors are the errors of a network that was trained on random rows.
type sizeErrors struct {
	Labels int        `json:"labels"`
	Test   testError  `json:"test"`
	Errors []rowError `json:"errors"` // on other random rows
}

type testError struct {
	RMSE float64 `json:"rmse"`
	MAE  float64 `json:"mae"`
	Q95  float64 `json:"q95"`
}

// replayer is a campaign in progress.
type replayer struct {
	data     *sets.Regression
	seed     uint64
	labelled []int // rows of the data set; the first replayStart are random
	random   map[int]bool
	pool     []int
	test     []int
}

func newReplayer(data *sets.Regression, seed uint64) *replayer {
	order := rng.New(seed, "campaign replay").Perm(data.X.Rows)
	r := &replayer{data: data, seed: seed, labelled: order[:replayStart:replayStart], random: map[int]bool{}}
	r.test = order[replayStart : replayStart+replayTest]
	r.pool = slices.Clone(order[replayStart+replayTest : min(len(order), replayStart+replayTest+replayPool)])
	for _, row := range r.labelled {
		r.random[row] = true
	}
	return r
}

// fit trains the network of a round on some rows.
func (r *replayer) fit(ctx context.Context, rows []int, round int) (*network.Model, error) {
	s := network.Sample{X: r.data.X.SelectRows(rows), Y: r.labels(rows), Unlabelled: r.data.X.SelectRows(r.pool)}
	config := network.Config{Training: network.Training{Epochs: *replayEpochs}, Seed: 1000*r.seed + uint64(round)}
	m, err := network.Fit(ctx, s, network.Options{Config: config})
	if diverged := (*network.DivergedError)(nil); m != nil && errors.As(err, &diverged) {
		err = nil // its best parameters are kept
	}
	return m, err
}

func (r *replayer) labels(rows []int) []float64 {
	y := make([]float64, len(rows))
	for i, row := range rows {
		y[i] = r.data.Y[row]
	}
	return y
}

// errors returns the errors on some rows.
func (r *replayer) errors(ctx context.Context, m *network.Model, rows []int) ([]rowError, error) {
	p, err := m.Predict(ctx, r.data.X.SelectRows(rows))
	if err != nil {
		return nil, err
	}
	found := make([]rowError, len(rows))
	for i, row := range rows {
		found[i] = rowError{row, r.data.Y[row] - p[i]}
	}
	return found, nil
}

// heldOut returns the errors on the random rows that the network of a round held out.
func (r *replayer) heldOut(m *network.Model) (found []rowError) {
	for _, held := range m.Residuals() {
		if row := r.labelled[held.Row]; r.random[row] {
			found = append(found, rowError{row, -held.Error})
		}
	}
	return found
}

// randomRows returns the labelled rows that were drawn at random.
func (r *replayer) randomRows() []int {
	return slices.DeleteFunc(slices.Clone(r.labelled), func(row int) bool { return !r.random[row] })
}

func (r *replayer) measure(ctx context.Context, m *network.Model) (testError, error) {
	e, err := r.errors(ctx, m, r.test)
	if err != nil {
		return testError{}, err
	}
	var t testError
	sizes := make([]float64, len(e))
	for i := range e {
		sizes[i] = math.Abs(e[i].Error)
		t.RMSE += sizes[i] * sizes[i] / float64(len(e))
		t.MAE += sizes[i] / float64(len(e))
	}
	slices.Sort(sizes)
	t.RMSE, t.Q95 = math.Sqrt(t.RMSE), sizes[len(sizes)*95/100]
	return t, nil
}

// round trains on what is labelled, measures, and labels the next batch.
func (r *replayer) round(ctx context.Context, round, audit int) (found roundErrors, err error) {
	found.Labels = len(r.labelled)
	m, err := r.fit(ctx, r.labelled, round)
	if err != nil {
		return found, err
	}
	if found.Test, err = r.measure(ctx, m); err != nil {
		return found, err
	}
	found.HeldOut = r.heldOut(m)
	if round == replayRounds {
		return found, nil
	}
	pending := rng.New(r.seed, "campaign replay audit", uint64(round)).Perm(len(r.pool))[:audit]
	picked, err := r.pick(ctx, m, pending, round)
	if err != nil {
		return found, err
	}
	audited := make([]int, len(pending))
	for i, row := range pending {
		audited[i] = r.pool[row]
		r.random[r.pool[row]] = true
	}
	if found.Audited, err = r.errors(ctx, m, audited); err != nil {
		return found, err
	}
	batch := slices.Concat(audited, picked)
	r.labelled = append(r.labelled, batch...)
	r.pool = slices.DeleteFunc(r.pool, func(row int) bool { return slices.Contains(batch, row) })
	return found, nil
}

// pick returns the rest of a batch.
func (r *replayer) pick(ctx context.Context, m *network.Model, pending []int, round int) ([]int, error) {
	train, err := m.Inputs(r.data.X.SelectRows(r.labelled))
	if err != nil {
		return nil, err
	}
	pool, err := m.Inputs(r.data.X.SelectRows(r.pool))
	if err != nil {
		return nil, err
	}
	batch, err := nextbatch.Select(ctx, spec.MustParse(spec.Default), nextbatch.Problem{
		Models: nextbatch.Models(m.Ensemble()), Train: train, Pool: pool, Pending: pending,
		Batch: replayBatch - len(pending), Seed: 1000*r.seed + uint64(round),
	})
	if err != nil {
		return nil, err
	}
	var rows []int
	for _, row := range batch.Rows() {
		rows = append(rows, r.pool[row])
	}
	return rows, nil
}

// alone trains networks on random rows alone: the parts of the random rows take turns
// as test rows of networks that are trained on a quarter, half or all of the others.
func (r *replayer) alone(ctx context.Context) (found []sizeErrors, err error) {
	random := r.randomRows()
	for turn := range 3 {
		for part := range 3 {
			var train, test []int
			for i, row := range random {
				if i%3 == part {
					test = append(test, row)
				} else {
					train = append(train, row)
				}
			}
			train = train[:len(train)>>((turn+part)%3)]
			m, err := r.fit(ctx, train, 100+3*turn+part)
			if err != nil {
				return nil, err
			}
			size := sizeErrors{Labels: len(train)}
			if size.Test, err = r.measure(ctx, m); err != nil {
				return nil, err
			}
			if size.Errors, err = r.errors(ctx, m, test); err != nil {
				return nil, err
			}
			found = append(found, size)
		}
	}
	return found, nil
}

// replay returns the errors of one campaign, from its file if there is one.
func replay(t *testing.T, dir, set string, seed uint64, audit int, load func() *sets.Regression) *replayed {
	t.Helper()
	name := filepath.Join(dir, fmt.Sprintf("%s-%d-%d-epochs-%d.json", set, seed, audit, *replayEpochs))
	found := &replayed{Set: set, Seed: seed, Audit: audit}
	switch text, err := os.ReadFile(name); {
	case err == nil:
		if err := json.Unmarshal(text, found); err != nil {
			t.Fatalf("%s: %v; delete it", name, err)
		}
		return found
	case !errors.Is(err, fs.ErrNotExist):
		t.Fatal(err)
	}
	r := newReplayer(load(), seed)
	for round := range replayRounds + 1 {
		e, err := r.round(t.Context(), round, audit)
		if err != nil {
			t.Fatal(err)
		}
		found.Rounds = append(found.Rounds, e)
		t.Logf("%s, seed %d, %d audit rows, %d labels: RMSE %.4g", set, seed, audit, e.Labels, e.Test.RMSE)
	}
	if audit > 0 {
		var err error
		if found.Random, err = r.alone(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	text, err := json.Marshal(found)
	if err == nil {
		err = errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(name, text, 0o644))
	}
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// audited returns the predictions for random rows that are known before a batch: those
// for the audit rows of earlier batches and, if wanted, those for the random rows that
// each network held out.
func (r *replayed) audited(round int, heldOut bool) (found []Audited) {
	add := func(labels int, errors []rowError) {
		for _, e := range errors {
			found = append(found, Audited{Row: int64(e.Row), Labels: labels, Label: e.Error})
		}
	}
	for i, network := range r.Rounds[:round+1] {
		if i < round {
			add(network.Labels, network.Audited)
		}
		if heldOut {
			add(network.Labels, network.HeldOut)
		}
	}
	return found
}

// curve returns what a campaign knows before a batch.
func (r *replayed) curve(t *testing.T, round int, heldOut bool) *Curve {
	t.Helper()
	c, err := FitCurve(r.audited(round, heldOut), r.Rounds[round].Labels)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// gain compares the campaign with the networks that were trained on random rows.
func (r *replayed) gain(t *testing.T, heldOut bool) *Gain {
	t.Helper()
	var audited []Audited
	for _, network := range r.Random {
		for _, e := range network.Errors {
			audited = append(audited, Audited{Row: int64(e.Row), Labels: network.Labels, Label: e.Error})
		}
	}
	largest := slices.MaxFunc(audited, func(a, b Audited) int { return a.Labels - b.Labels }).Labels
	random, err := FitCurve(audited, largest)
	if err != nil {
		t.Fatal(err)
	}
	return gainOver(random, r.curve(t, replayRounds, heldOut))
}

// replayFigures sums up campaigns.
type replayFigures struct {
	heldOut                bool
	rounds, rmse, mae, q95 int       // rounds, and those whose interval holds the test error
	widths                 []float64 // high over low of the RMSE
	forecasts              []float64 // at half time, of the labels for the last RMSE, over what it took
	near, held             int       // forecasts within a factor of 1.5, and whose interval holds the truth
	losses                 []float64 // RMSE with audit rows over that without, over all rounds but the first, minus 1
	gains                  []string
}

func (f *replayFigures) add(t *testing.T, r, without *replayed) {
	loss := 0.0
	for round, network := range r.Rounds {
		if round > 0 {
			loss += math.Log(network.Test.RMSE/without.Rounds[round].Test.RMSE) / replayRounds
		} else if !f.heldOut {
			continue // no audit row has a label yet
		}
		c := r.curve(t, round, f.heldOut)
		f.rounds++
		for _, m := range []struct {
			in    Interval
			truth float64
			held  *int
		}{{c.RMSE, network.Test.RMSE, &f.rmse}, {c.MAE, network.Test.MAE, &f.mae}, {c.Q95, network.Test.Q95, &f.q95}} {
			if m.in.Low <= m.truth && m.truth <= m.in.High {
				*m.held++
			}
		}
		f.widths = append(f.widths, c.RMSE.High/c.RMSE.Low)
	}
	last := r.Rounds[replayRounds]
	forecast := r.curve(t, replayRounds/2, f.heldOut).labelsFor(RMSE, last.Test.RMSE)
	ratio := forecast.Value / float64(last.Labels)
	f.forecasts = append(f.forecasts, ratio)
	if math.Abs(math.Log(ratio)) <= math.Log(1.5) {
		f.near++
	}
	if truth := float64(last.Labels); forecast.Low <= truth && truth <= forecast.High {
		f.held++
	}
	f.losses = append(f.losses, math.Expm1(loss))
	f.gains = append(f.gains, r.gain(t, f.heldOut).Factor.String())
}

// row returns the figures as a row of a markdown table, with those of each campaign or
// their means.
func (f *replayFigures) row(name string, each bool) string {
	slices.Sort(f.widths)
	forecasts, losses, gains := "", "", ""
	for i := range f.forecasts {
		forecasts += fmt.Sprintf(", %.2f", f.forecasts[i])
		losses += fmt.Sprintf(", %+.1f %%", 100*f.losses[i])
		gains += fmt.Sprintf(", %v", f.gains[i])
	}
	if !each {
		forecasts, losses, gains = ", ", fmt.Sprintf(", %+.1f %%", 100*stat.Mean(f.losses, nil)), ", "
	}
	return fmt.Sprintf("| %s | %d of %d | %d | %d | %.2f | %s | %d of %d | %d | %s | %s |", name, f.rmse,
		f.rounds, f.mae, f.q95,
		f.widths[len(f.widths)/2], forecasts[2:], f.near, len(f.forecasts), f.held, losses[2:], gains[2:])
}

// TestSoakReplay replays campaigns on real data sets, where all labels are known, and
// prints the table behind docs/intervals.md.
func TestSoakReplay(t *testing.T) {
	if os.Getenv("NEXTBATCH_SOAK") == "" {
		t.Skip("takes half an hour: make soak")
	}
	dir, kept := golden.Data(t), cmp.Or(*replayDir, t.TempDir())
	found := map[int]map[string][]*replayed{replayAudit: {}, 0: {}}
	for _, audit := range []int{replayAudit, 0} {
		for seed := range uint64(*replaySeeds) {
			for set := range strings.SplitSeq(*replaySets, ",") {
				r := replay(t, kept, set, seed, audit, func() *sets.Regression {
					data, err := sets.Load(t.Context(), set, dir)
					if err != nil {
						t.Fatal(err)
					}
					return data
				})
				found[audit][set] = append(found[audit][set], r)
			}
		}
	}
	for _, heldOut := range []bool{false, true} {
		all := &replayFigures{heldOut: heldOut}
		fmt.Printf("\nwith held-out random rows: %v\n\n", heldOut)
		fmt.Println("| data set | RMSE held | MAE held | q95 held | high/low | forecast/truth | within 1.5 | held | loss " +
			"by audit rows | gain |\n|---|---|---|---|---|---|---|---|---|---|")
		for set := range strings.SplitSeq(*replaySets, ",") {
			one := &replayFigures{heldOut: heldOut}
			for i, r := range found[replayAudit][set] {
				one.add(t, r, found[0][set][i])
				all.add(t, r, found[0][set][i])
			}
			fmt.Println(one.row(set, true))
		}
		fmt.Println(all.row("all", false))
		if 10*all.rmse < 8*all.rounds {
			t.Errorf("the interval of the RMSE holds the test RMSE in %d of %d rounds", all.rmse, all.rounds)
		}
	}
}
