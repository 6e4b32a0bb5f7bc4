//go:build linux && (amd64 || arm64)

package cuda_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/internal/device"
	"github.com/nextbatch/nextbatch/internal/kernels"
	"github.com/nextbatch/nextbatch/internal/place"
	"github.com/nextbatch/nextbatch/internal/transform"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/spec"
)

// TestWholeSelections compares batches whose features a card computes and keeps with those
// of the CPU.
func TestWholeSelections(t *testing.T) {
	card := open(t, 0)
	p := wholeProblem(t, 2000, 100, 3, 48)
	p.Batch, p.Pending = 16, []int{7, 1500}
	for _, text := range []string{
		"lcmd-tp:grad>sketch(64)", "lcmd-tp:ll", "maxdist-p:ll>ens(3)", "kmeanspp-p:grad>ens(3)>sketch(64)",
		"maxdiag:grad>sketch(64)>scale",
		"kmeanspp-tp:linear>sketch(3)", "lcmd-p:grad>sketch(64)>train", "maxdet-p:grad>sketch(64)>train", "bait-f-p:ll>train",
		"bait-fb-p:grad>sketch(48)>train",
		"frankwolfe-p:grad>sketch(64)>acs-rf(64)", "frankwolfe-p:ll>acs-rf-hyper(64)",
		"frankwolfe-p:grad>sketch(64)>acs-grad>sketch(64)", "maxdist-p:ll>acs-grad>sketch(32)@compat",
	} {
		t.Run(text, func(t *testing.T) {
			want, err := nextbatch.Select(t.Context(), spec.MustParse(text), p)
			if err != nil {
				t.Fatal(err)
			}
			got, err := nextbatch.Select(device.With(t.Context(), card), spec.MustParse(text), p)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got.Rows(), want.Rows()) {
				t.Errorf("%v, on the CPU %v", got.Rows(), want.Rows())
			}
			for i, pick := range got.Picks {
				if w := want.Picks[i].Score; math.Abs(pick.Score-w) > 1e-2*math.Abs(w) {
					t.Errorf("pick %d has the score %v, on the CPU %v", i, pick.Score, w)
				}
			}
			if got.Device == "" || !slices.Equal(got.Warnings, want.Warnings) {
				t.Errorf("device %q, warnings %q", got.Device, got.Warnings)
			}
		})
	}
}

// TestWordsAboutTheCPU runs what the card does not offer, and reads what the result says.
func TestWordsAboutTheCPU(t *testing.T) {
	ctx := device.With(t.Context(), open(t, 0))
	p := wholeProblem(t, 200, 50, 1, 8)
	p.Batch = 4
	for text, word := range map[string]string{
		"lcmd-tp:nngp": "the selection ran on the CPU", "maxdist-p:grad": "the selection ran on the CPU", "random": "",
	} {
		batch, err := nextbatch.Select(ctx, spec.MustParse(text), p)
		if err != nil {
			t.Fatal(err)
		}
		if all := strings.Join(batch.Warnings, "\n"); !strings.Contains(all, word) || word == "" && all != "" {
			t.Errorf("%s: %s", text, all)
		}
	}
	p.Models = []nextbatch.Model{foreign{p.Models[0]}}
	batch, err := nextbatch.Select(ctx, spec.MustParse("lcmd-tp:ll"), p)
	if err != nil {
		t.Fatal(err)
	}
	if all := strings.Join(batch.Warnings, "\n"); !strings.Contains(all,
		"the features were computed on the CPU") || batch.Device == "" {
		t.Errorf("device %q, warnings %s", batch.Device, all)
	}
}

// wholeProblem has networks that were not trained, with two hidden layers of the given width.
func wholeProblem(t testing.TB, pool, train, networks, hidden int) nextbatch.Problem {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	draw := func(rows int) matrix.Dense[float32] {
		m := matrix.New[float32](rows, 10)
		for i := range m.Data {
			m.Data[i] = float32(r.NormFloat64())
		}
		return m
	}
	p := nextbatch.Problem{Train: draw(train), Pool: draw(pool), Batch: 256, Seed: 1}
	p.Labels = matrix.New[float64](train, 1)
	for i := range train {
		p.Labels.Set(i, 0, r.NormFloat64())
	}
	var nets network.Ensemble
	for member := range networks {
		net, err := network.NewMLP(10, network.Architecture{Hidden: []int{hidden, hidden}}, 1, member)
		if err != nil {
			t.Fatal(err)
		}
		nets = append(nets, net)
	}
	p.Models = nextbatch.Models(nets)
	return p
}

// BenchmarkWhole times features and selection together, with the features left on the card.
func BenchmarkWhole(b *testing.B) {
	card := open(b, 0)
	for _, c := range []struct {
		spec        string
		pool, train int
	}{
		{"lcmd-tp:grad>sketch(512)", 200_000, 4096}, {"lcmd-tp:grad>sketch(512)", 100_000, 2048},
		{"maxdist-tp:grad>sketch(512)", 100_000, 2048}, {"kmeanspp-tp:grad>sketch(512)", 100_000, 2048},
		{"maxdiag:grad>sketch(512)", 100_000, 2048}, {"maxdet-p:grad>sketch(512)>train", 100_000, 2048},
		{"bait-f-p:grad>sketch(512)>train", 100_000, 2048},
		{"bait-fb-p:grad>sketch(512)>train", 100_000, 2048},
		{"frankwolfe-p:grad>sketch(512)>acs-rf-hyper(512)", 100_000, 2048},
	} {
		p := wholeProblem(b, c.pool, c.train, 1, 512)
		b.Run(c.spec, func(b *testing.B) {
			least := map[string]time.Duration{}
			for b.Loop() {
				batch, err := nextbatch.Select(device.With(b.Context(), card), spec.MustParse(c.spec), p)
				if err != nil {
					b.Fatal(err)
				}
				for unit, took := range map[string]time.Duration{"kernel-ms": batch.Kernel, "selection-ms": batch.Timing.Total,
					"init-ms":  batch.Timing.Init,
					"train-ms": batch.Timing.Train, "forward-ms": batch.Timing.Forward, "report-ms": batch.Timing.Report} {
					if before, ok := least[unit]; !ok || took < before {
						least[unit] = took
					}
				}
			}
			for unit, took := range least {
				b.ReportMetric(float64(took.Microseconds())/1000, unit)
			}
		})
	}
}

// BenchmarkFeatures times the features alone, once the kernel has been made.
func BenchmarkFeatures(b *testing.B) {
	card := open(b, 0)
	p := wholeProblem(b, 100_000, 2048, 1, 512)
	taps := p.Models[0].Taps()
	last, err := kernels.NewLastLayers(taps, 1)
	if err != nil {
		b.Fatal(err)
	}
	sketch, err := transform.Sketch(kernels.NewGrad(taps), 512, transform.Seeded(1, "benchmark"), transform.Paper)
	if err != nil {
		b.Fatal(err)
	}
	after, _, err := transform.TrainFeatures(b.Context(), kernels.ToFloat64(sketch),
		matrix.Converted[float64](p.Train), 1e-6)
	if err != nil {
		b.Fatal(err)
	}
	ctx := device.With(b.Context(), card)
	embed(b, ctx, "ll", last, p.Pool)
	embed(b, ctx, "grad>sketch(512)", sketch, p.Pool)
	embed(b, ctx, "grad>sketch(512)>train", after, matrix.Converted[float64](p.Pool))
}

func embed[T matrix.Float](b *testing.B, ctx context.Context, name string, k kernel.Kernel[T], rows matrix.Dense[T]) {
	b.Run(name, func(b *testing.B) {
		for b.Loop() {
			f, note, err := place.Embed(ctx, k, rows)
			if err != nil || note != "" {
				b.Fatal(note, err)
			}
			f.Close()
		}
	})
}

// foreign is a model of another kind: it cannot describe itself.
type foreign struct{ nextbatch.Model }

func (m foreign) Taps() kernel.Taps[float32] { return foreignTaps{m.Model.Taps()} }

type foreignTaps struct{ kernel.Taps[float32] }
