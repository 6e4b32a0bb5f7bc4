//go:build !network64

package gathering_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nextbatch/nextbatch/internal/device/devicetest"
	"github.com/nextbatch/nextbatch/internal/gathering"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
)

// recorder is a device that keeps the sizes of the groups that it trains.
type recorder struct {
	devicetest.CPU
	mu     sync.Mutex
	groups []int // networks
}

func (r *recorder) TrainNetworks(ctx context.Context, t *network.DeviceTraining) error {
	r.mu.Lock()
	r.groups = append(r.groups, len(t.Networks))
	r.mu.Unlock()
	return r.CPU.TrainNetworks(ctx, t)
}

func (r *recorder) CannotTrain(t *network.DeviceTraining) string {
	if t.Networks[0].Layers() > 3 {
		return "it is too deep"
	}
	return ""
}

// gatherJob is a training of a run.
type gatherJob struct {
	config  network.Config
	members int
	data    network.Data
}

func newGatherJob(seed uint64, rows, members int) gatherJob {
	r := rand.New(rand.NewPCG(seed, 1))
	part := func(n int) (x, y matrix.Dense[float32]) {
		x, y = matrix.New[float32](n, 4), matrix.New[float32](n, 1)
		for i := range n {
			for j := range x.Row(i) {
				x.Row(i)[j] = float32(r.NormFloat64())
			}
			y.Set(i, 0, x.At(i, 0)*x.At(i, 1))
		}
		return x, y
	}
	job := gatherJob{members: members, config: network.Config{Seed: seed,
		Architecture: network.Architecture{Hidden: []int{12}}, Training: network.Training{Epochs: 4, Batch: 16}}}
	job.data.X, job.data.Y = part(rows)
	job.data.ValidX, job.data.ValidY = part(20)
	return job
}

func (j gatherJob) train(ctx context.Context,
	progress func(network.Epoch)) (network.Ensemble, []network.History, error) {
	return network.OnDevice{}.Train(ctx, j.config, j.members, j.data, progress)
}

// requireTraining compares what a gathering trained with what the CPU trains.
func requireTraining(t *testing.T, what string, j gatherJob, got network.Ensemble) {
	t.Helper()
	want, _, err := network.CPU{}.Train(t.Context(), j.config, j.members, j.data, nil)
	if err != nil || len(got) != len(want) {
		t.Fatalf("%s: %d networks, want %d, %v", what, len(got), len(want), err)
	}
	for i := range want {
		for l := range want[i].Layers() {
			if !slices.Equal(got[i].Weights(l).Data, want[i].Weights(l).Data) || !slices.Equal(got[i].Bias(l), want[i].Bias(l)) {
				t.Errorf("%s: layer %d of member %d differs", what, l, i)
			}
		}
	}
}

// TestGatheringIsInvisible trains the same networks in 1, 3 and 8 concurrent runs.
func TestGatheringIsInvisible(t *testing.T) {
	var jobs []gatherJob
	for i := range 16 {
		jobs = append(jobs, newGatherJob(uint64(i), 32+16*(i/8), 1+i%5/3))
	}
	for _, runs := range []int{1, 3, 8} {
		device := &recorder{}
		g := gathering.NewGathering(device, (runs+1)/2)
		var wait sync.WaitGroup
		for run := range runs {
			leave := g.Join()
			wait.Go(func() {
				defer leave()
				for i := run; i < len(jobs); i += runs {
					got, histories, err := jobs[i].train(network.WithDevice(t.Context(), g), nil)
					if err != nil || len(histories[0].Epochs) != 4 || histories[0].Device != device.Name() {
						t.Errorf("%d runs, training %d: %+v, error %v", runs, i, histories, err)
						return
					}
					requireTraining(t, "in company", jobs[i], got)
				}
			})
		}
		wait.Wait()
		if largest := slices.Max(device.groups); runs == 8 && largest < 4 || runs == 1 && largest > 2 {
			t.Errorf("%d runs: groups of %v networks", runs, device.groups)
		}
	}
}

// TestGatheringKeepsErrorsApart has one of four runs diverge, one bring a label that is not
// a number, and one a network that the device refuses.
func TestGatheringKeepsErrorsApart(t *testing.T) {
	good, diverging, broken, deep := newGatherJob(1, 32, 1), newGatherJob(2, 32, 2),
		newGatherJob(3, 32, 1), newGatherJob(4, 32, 1)
	for i := range diverging.data.X.Data {
		diverging.data.X.Data[i] *= 1e30
	}
	nan := float32(0)
	broken.data.Y.Set(3, 0, nan/nan)
	deep.config.Architecture.Hidden = []int{5, 5, 5}
	device := &recorder{}
	g := gathering.NewGathering(device, 2)
	jobs := []gatherJob{good, diverging, broken, deep}
	networks, errs := make([]network.Ensemble, 4), make([]error, 4)
	notes := make([]string, 4)
	leave := make([]func(), len(jobs))
	for i := range jobs { // all of them, before the first one asks
		leave[i] = g.Join()
	}
	var wait sync.WaitGroup
	for i, job := range jobs {
		wait.Go(func() {
			defer leave[i]()
			var histories []network.History
			networks[i], histories, errs[i] = job.train(network.WithDevice(t.Context(), g), nil)
			if len(histories) > 0 {
				notes[i] = histories[0].Note
			}
		})
	}
	wait.Wait()
	if errs[0] != nil || notes[0] != "" {
		t.Errorf("a sound run has the error %v, note %q", errs[0], notes[0])
	}
	requireTraining(t, "beside runs that fail", good, networks[0])
	if diverged := (*network.DivergedError)(nil); !errors.As(errs[1], &diverged) || len(networks[1]) != 2 {
		t.Errorf("%d networks, %v", len(networks[1]), errs[1])
	}
	if errs[2] == nil || networks[2] != nil {
		t.Errorf("a label that is not a number: %v", errs[2])
	}
	if errs[3] != nil || !strings.Contains(notes[3], "too deep") {
		t.Errorf("%v, note %q", errs[3], notes[3])
	}
	if !slices.Equal(device.groups, []int{3}) {
		t.Errorf("groups of %v networks", device.groups)
	}
}

// TestGatheringLetsGo ends the context of a run that waits for others, and of one that is
// trained with others.
func TestGatheringLetsGo(t *testing.T) {
	g := gathering.NewGathering(&recorder{}, 3)
	first, second := newGatherJob(1, 32, 1), newGatherJob(2, 32, 1)
	var leave [3]func()
	for i := range leave {
		leave[i] = g.Join()
	}
	cancelled, cancel := context.WithCancel(network.WithDevice(t.Context(), g))
	var wait sync.WaitGroup
	wait.Go(func() {
		defer leave[0]()
		networks, histories, err := first.train(cancelled, nil)
		stopped := (*network.StoppedError)(nil)
		if len(networks) != 1 || len(histories[0].Epochs) > 0 || !errors.As(err, &stopped) || stopped.Number != 1 {
			t.Errorf("%d networks, %v", len(networks), err)
		}
	})
	cancel()
	wait.Wait() // although others are on their way
	ctx, stop := context.WithCancel(network.WithDevice(t.Context(), g))
	wait.Go(func() {
		defer leave[1]()
		networks, _, err := first.train(ctx, func(network.Epoch) { stop() })
		if err == nil || len(networks) != 1 {
			requireTraining(t, "a run that ended in company", first, networks)
		}
	})
	wait.Go(func() {
		defer leave[2]()
		networks, _, err := second.train(network.WithDevice(t.Context(), g), nil)
		if err != nil {
			t.Error(err)
		}
		requireTraining(t, "beside a run that ended", second, networks)
	})
	wait.Wait()
	alone, stop := context.WithCancel(network.WithDevice(t.Context(), g))
	back := g.Join()
	defer back()
	_, histories, err := first.train(alone, func(network.Epoch) { stop() })
	if stopped := (*network.StoppedError)(nil); !errors.As(err, &stopped) || len(histories[0].Epochs) != 1 {
		t.Errorf("%d epochs, %v", len(histories[0].Epochs), err)
	}
}
