package campaign

import (
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

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/dataset/sets"
	"github.com/nextbatch/nextbatch/internal/golden"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/spec"
)

// The replay trains several hundred networks, so their errors are kept in files and the
// estimates are computed from those: change an estimator, run it again, and it takes
// seconds. Delete the files, or change the epochs, to train again.
var (
	replaySets   = flag.String("replay-sets", "fried,protein,diamonds,sgemm", "data sets to replay")
	replaySeeds  = flag.Int("replay-seeds", 3, "campaigns per data set")
	replayEpochs = flag.Int("replay-epochs", 256, "epochs of training")
	replayDir    = flag.String("replay-dir", filepath.Join(os.TempDir(), "nextbatch-replay"), "folder of the errors that the replayed networks made")
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
	data     *dataset.Regression
	seed     uint64
	labelled []int // rows of the data set; the first replayStart are random
	random   map[int]bool
	pool     []int
	test     []int
}

func newReplayer(data *dataset.Regression, seed uint64) *replayer {
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
func (r *replayer) fit(ctx context.Context, rows []int, round int) (*network.Model[float32], error) {
	s := network.Sample[float32]{X: r.data.X.SelectRows(rows), Y: r.labels(rows), Unlabelled: r.data.X.SelectRows(r.pool)}
	config := network.Config{Training: network.Training{Epochs: *replayEpochs}, Seed: 1000*r.seed + uint64(round)}
	m, err := network.Fit(ctx, s, network.Options[float32]{Config: config})
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
func (r *replayer) errors(ctx context.Context, m *network.Model[float32], rows []int) ([]rowError, error) {
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
func (r *replayer) heldOut(m *network.Model[float32]) (found []rowError) {
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

func (r *replayer) measure(ctx context.Context, m *network.Model[float32]) (testError, error) {
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
func (r *replayer) pick(ctx context.Context, m *network.Model[float32], pending []int, round int) ([]int, error) {
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
func replay(t *testing.T, set string, seed uint64, audit int, load func() *dataset.Regression) *replayed {
	t.Helper()
	name := filepath.Join(*replayDir, fmt.Sprintf("%s-%d-%d-epochs-%d.json", set, seed, audit, *replayEpochs))
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
		err = errors.Join(os.MkdirAll(*replayDir, 0o755), os.WriteFile(name, text, 0o644))
	}
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestSoakReplay replays campaigns on real data sets, where all labels are known.
func TestSoakReplay(t *testing.T) {
	if os.Getenv("NEXTBATCH_SOAK") == "" {
		t.Skip("takes an hour: make soak")
	}
	dir := golden.Data(t)
	for _, audit := range []int{replayAudit, 0} {
		for seed := range uint64(*replaySeeds) {
			for set := range strings.SplitSeq(*replaySets, ",") {
				load := func() *dataset.Regression {
					data, err := sets.Load(t.Context(), set, dir)
					if err != nil {
						t.Fatal(err)
					}
					return data
				}
				replay(t, set, seed, audit, load)
			}
		}
	}
}
