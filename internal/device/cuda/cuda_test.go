//go:build linux && (amd64 || arm64)

package cuda_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/internal/device"
	"github.com/nextbatch/nextbatch/internal/device/cuda"
	"github.com/nextbatch/nextbatch/internal/device/cuda/internal/nvrtc"
	"github.com/nextbatch/nextbatch/internal/device/devicetest"
	"github.com/nextbatch/nextbatch/internal/options"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/selection"
)

// open opens the first card, or skips the test.
func open(t testing.TB, limit int64) *cuda.Card {
	t.Helper()
	n, err := cuda.Count()
	if err != nil || n == 0 {
		t.Skipf("there is no GPU here: %v", err)
	}
	card, err := cuda.Open(0, limit)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := card.Close(); err != nil {
			t.Error(err)
		}
	})
	return card
}

func TestSelection(t *testing.T) {
	card := open(t, 0)
	t.Log(card.Describe())
	on := func(ctx context.Context) context.Context { return device.With(ctx, card) }
	t.Run("plain", func(t *testing.T) { devicetest.Selection(t, on) })
	t.Run("oracles", func(t *testing.T) { devicetest.Oracles(t, on) })
}

// TestBoundsChangeNothing compares searches that skip rows by bounds with those that do not:
// MaxDet computes every score per cost, here of one, and without room for rough rows the
// others read every row.
func TestBoundsChangeNothing(t *testing.T) {
	const rows, batch = 20_000, 200
	roomy := device.With(t.Context(), open(t, 0))
	narrow, wide := features(rows, 1), matrix.Converted[float64](features(rows, 1))
	costs := selection.Constraints{Cost: slices.Repeat([]float64{1}, rows), Budget: batch, PerCost: true}
	agree(t, selection.MaxDet{}, selection.Problem[float32]{Pool: narrow, Batch: batch}, roomy, roomy, costs)
	agree(t, selection.MaxDet{}, selection.Problem[float64]{Pool: wide, Batch: batch}, roomy, roomy, costs)
	cuda.KeepSteps(t, 30)
	agree(t, selection.MaxDet{}, selection.Problem[float64]{Pool: wide, Batch: batch}, roomy, roomy, costs)

	small := device.With(t.Context(), open(t, 52<<20)) // 41 MB are those of the pool
	p := selection.Problem[float32]{Pool: narrow, Train: features(40, 2), Mode: selection.TP, Batch: batch, Seed: 1}
	for _, m := range []selection.Method{selection.LCMD{}, selection.MaxDist{}, selection.KMeansPP{},
		selection.FrankWolfe{}} {
		agree(t, m, p, roomy, small, selection.Constraints{})
	}
	small = device.With(t.Context(), open(t, 94<<20)) // 82 MB are those of the pool
	agree(t, selection.FrankWolfe{}, selection.Problem[float64]{Pool: wide, Batch: batch}, roomy, small,
		selection.Constraints{})
}

// agree selects on two cards, on the second under constraints, and compares the picks.
func agree[T matrix.Float](t *testing.T, m selection.Method, p selection.Problem[T], one, other context.Context,
	c selection.Constraints) {
	t.Helper()
	got, err := selection.Select(one, m, p)
	if err != nil {
		t.Fatal(err)
	}
	p.Constraints = c
	want, err := selection.Select(other, m, p)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Picks) != p.Batch || len(want.Picks) != p.Batch {
		t.Fatalf("%s: %d and %d picks", m.Name(), len(got.Picks), len(want.Picks))
	}
	for i, pick := range got.Picks {
		if w := want.Picks[i]; pick.Row != w.Row || pick.Score != w.Score {
			t.Fatalf("%s: pick %d is row %d with score %v, without bounds row %d with %v", m.Name(), i, pick.Row,
				pick.Score, w.Row, w.Score)
		}
	}
}

func TestTraining(t *testing.T) {
	card := open(t, 0)
	devicetest.Training(t, func(ctx context.Context) context.Context { return device.With(ctx, card) })
}

// TestTilesAgree requires the same bits of every tile, and of networks alone, side by side and
// in groups.
func TestTilesAgree(t *testing.T) {
	card := open(t, 0)
	ctx := device.With(t.Context(), card)
	d, config := trainingData(600, 100), network.Config{Training: network.Training{Epochs: 2},
		Architecture: network.Architecture{Hidden: []int{200, 136}}}
	var want network.Ensemble
	for _, tile := range []int{0, 32, 64, 128, 0} {
		if want != nil && tile == 0 {
			cuda.ForceGroups(t, 2)
		}
		cuda.ForceTile(t, tile)
		for _, members := range []int{3, 1} {
			got, _, err := network.OnDevice{}.Train(ctx, config, members, d, nil)
			if err != nil {
				t.Fatal(err)
			}
			if want == nil {
				want = got
			}
			for i, net := range got {
				for l := range net.Layers() {
					if !slices.Equal(net.Weights(l).Data, want[i].Weights(l).Data) || !slices.Equal(net.Bias(l), want[i].Bias(l)) {
						t.Errorf("tile %d, %d networks: layer %d of network %d differs", tile, members, l, i)
					}
				}
			}
		}
	}
}

// TestTrainingMemoryIsBounded trains networks one after the other where the card has no
// room for all at once, and refuses where it has none for one.
func TestTrainingMemoryIsBounded(t *testing.T) {
	d, config := trainingData(600, 100), network.Config{Training: network.Training{Epochs: 2}}
	var all [2]network.Ensemble
	for i, limit := range []int64{0, 16 << 20} {
		card := open(t, limit)
		got, _, err := network.OnDevice{}.Train(device.With(t.Context(), card), config, 3, d, nil)
		if err != nil {
			t.Fatal(err)
		}
		all[i] = got
	}
	for i, net := range all[1] {
		if !slices.Equal(net.Weights(1).Data, all[0][i].Weights(1).Data) {
			t.Errorf("network %d depends on the memory", i)
		}
	}
	card := open(t, 4<<20)
	_, _, err := network.OnDevice{}.Train(device.With(t.Context(), card), config, 1, d, nil)
	if m := (*cuda.MemoryError)(nil); !errors.As(err, &m) || !strings.Contains(err.Error(), "mini-batches") {
		t.Errorf("the error is %v", err)
	}
}

func TestFeatures(t *testing.T) { devicetest.Features(t, open(t, 0)) }

func TestPredictions(t *testing.T) {
	card := open(t, 0)
	devicetest.Predictions(t, func(ctx context.Context) context.Context { return device.With(ctx, card) })
}

// TestMemoryIsBounded has a card refuse a pool that is too large, and then take a small one.
func TestMemoryIsBounded(t *testing.T) {
	card := open(t, 4<<20)
	ctx := device.With(t.Context(), card)
	p := selection.Problem[float32]{Pool: matrix.New[float32](100_000, 64), Batch: 2}
	_, err := selection.Select(ctx, selection.MaxDist{}, p)
	if m := (*cuda.MemoryError)(nil); !errors.As(err, &m) ||
		!strings.Contains(options.Error(options.Flag, err), "--max-memory") {
		t.Errorf("the error is %v", err)
	}
	p.Pool = p.Pool.Slice(0, 100)
	if _, err := selection.Select(ctx, selection.MaxDist{}, p); err != nil {
		t.Error(err)
	}
}

func TestDriverIsRegistered(t *testing.T) {
	if list := device.Drivers(); len(list) != 1 || list[0].Name != "cuda" {
		t.Errorf("%v", list)
	}
	if n, err := cuda.Count(); err != nil || n == 0 {
		if _, err := device.Open("cuda:0", 0); err == nil ||
			!strings.Contains(options.Error(options.Flag, err), "--device cpu") &&
				!strings.Contains(err.Error(), "the driver shows 0") {
			t.Errorf("without a card, the error is %v", err)
		}
		if d, failed := device.Open("auto", 0); d != nil || (failed != nil) != (err != nil &&
			!errors.Is(err, device.ErrNone)) {
			t.Errorf("without a card (%v), auto opens %v, %v", err, d, failed)
		}
	}
}

// TestKernelsAreCurrent compares the checksums of sources and compiled kernels with those
// of their generator.
func TestKernelsAreCurrent(t *testing.T) {
	read := func(name string) []byte {
		content, err := cuda.Unpacked(name)
		if err != nil {
			t.Fatal(err)
		}
		return content
	}
	source, err := nvrtc.Source("kernels")
	if err != nil {
		t.Fatal(err)
	}
	recorded, err := os.ReadFile(filepath.Join("kernels", nvrtc.Sums))
	if err != nil {
		t.Fatal(err)
	}
	version := strings.TrimPrefix(strings.SplitN(string(recorded), "\n", 2)[0], "nvrtc ")
	if version != "13.0" {
		t.Errorf("the kernels were compiled by nvrtc %s; drivers for CUDA 13.0 need 13.0", version)
	}
	if !bytes.Equal(recorded, nvrtc.Checksums(version, source, read)) {
		t.Error("kernels have changed: run go generate ./device/cuda")
	}
}

// TestKernelsCompile compiles the kernels again and compares, where the compiler is
// installed in the version that made them.
func TestKernelsCompile(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	compiler, err := nvrtc.Open()
	if errors.Is(err, nvrtc.ErrAbsent) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	recorded, err := os.ReadFile(filepath.Join("kernels", nvrtc.Sums))
	if err != nil {
		t.Fatal(err)
	}
	files, err := compiler.Kernels("kernels")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(recorded), "nvrtc "+compiler.Version+"\n") {
		t.Skipf("they compile, but version %s of the compiler is not the one that made the files", compiler.Version)
	}
	if !bytes.Equal(recorded, files[nvrtc.Sums]) {
		t.Error("compiling the kernels again makes other files: run go generate ./device/cuda")
	}
}
