// Package devicetest has the tests that every device passes, and the CPU with them: the
// same problems, the paper's pseudocode as oracle, and the plain version on the CPU.
package devicetest

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/nextbatch/nextbatch/internal/place"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection"
	"github.com/nextbatch/nextbatch/selection/selectiontest"
)

// Selection tests what a device selects. on returns a context with the device.
func Selection(t *testing.T, on func(context.Context) context.Context) {
	t.Run("float32", func(t *testing.T) { inPrecision[float32](t, on) })
	t.Run("float64", func(t *testing.T) { inPrecision[float64](t, on) })
}

// Oracles runs the suite of selection methods on a device: the paper's pseudocode, ties,
// duplicates, rows of zeros. The CPU passes it in package selection.
func Oracles(t *testing.T, on func(context.Context) context.Context) {
	for _, size := range []place.Size{place.SquaredDistance, place.Distance, place.Count} {
		oracle := func() selectiontest.Oracle { return &selectiontest.LCMD{Size: size} }
		t.Run("lcmd", selectiontest.Suite[float32]{On: on, NoKernel: true, Compared: 0.9,
			Method: selection.LCMD{Size: size}, Oracle: oracle}.Run)
		t.Run("lcmd in float64", selectiontest.Suite[float64]{On: on, NoKernel: true, Compared: 0.94,
			Method: selection.LCMD{Size: size}, Oracle: oracle}.Run)
	}
	maxDiag := func() selectiontest.Oracle { return &selectiontest.MaxDiag{} }
	t.Run("maxdiag", selectiontest.Suite[float32]{On: on, NoKernel: true, Compared: 0.9,
		Method: selection.MaxDiag{}, Oracle: maxDiag}.Run)
	t.Run("maxdiag in float64", selectiontest.Suite[float64]{On: on, NoKernel: true, Compared: 0.94,
		Method: selection.MaxDiag{}, Oracle: maxDiag}.Run)
	maxDist := func() selectiontest.Oracle { return &selectiontest.MaxDist{} }
	t.Run("maxdist", selectiontest.Suite[float32]{On: on, NoKernel: true, Compared: 0.9,
		Method: selection.MaxDist{}, Oracle: maxDist}.Run)
	t.Run("maxdist in float64", selectiontest.Suite[float64]{On: on, NoKernel: true, Compared: 0.94,
		Method: selection.MaxDist{}, Oracle: maxDist}.Run)
	t.Run("kmeanspp", selectiontest.Suite[float32]{On: on, NoKernel: true, NoScore: true,
		Method: selection.KMeansPP{}}.Run)
	t.Run("greedy-kmeanspp", selectiontest.Suite[float32]{On: on, NoKernel: true, NoScore: true,
		Method: selection.GreedyKMeansPP{}}.Run)
	const sigma2 = selection.DefaultSigma2
	t.Run("maxdet", selectiontest.Suite[float64]{On: on, NoKernel: true, Compared: 0.98, Method: selection.MaxDet{},
		Oracle: func() selectiontest.Oracle { return &selectiontest.MaxDetFeatures{Sigma2: sigma2} }}.Run)
	t.Run("frankwolfe", selectiontest.Suite[float64]{On: on, NoKernel: true, NoScore: true, Compared: 0.9,
		Method: selection.FrankWolfe{},
		Oracle: func() selectiontest.Oracle { return &selectiontest.FrankWolfeFeatures{} }}.Run)
	for _, s2 := range []float64{1e-2, sigma2} {
		t.Run("bait-f", selectiontest.Suite[float64]{On: on, NoKernel: true, Compared: 0.4,
			Method: selection.BAIT{Sigma2: s2},
			Oracle: func() selectiontest.Oracle { return &selectiontest.BAIT{Sigma2: s2} }}.Run)
		t.Run("bait-fb", selectiontest.Suite[float64]{On: on, NoKernel: true, NoScore: true, Compared: 0.2,
			Method: selection.BAIT{Sigma2: s2, Backward: true},
			Oracle: func() selectiontest.Oracle {
				return &selectiontest.BAITBackward{BAIT: selectiontest.BAIT{Sigma2: s2}}
			}}.Run)
	}
}

// inPrecision compares every method with the plain version on the CPU.
func inPrecision[T matrix.Float](t *testing.T, on func(context.Context) context.Context) {
	for _, e := range selection.Methods() {
		for _, mode := range []selection.Mode{selection.P, selection.TP} {
			for _, c := range changes[T]() {
				if c.needsTarget && !e.Aims || c.needsScore && !e.Score {
					continue
				}
				t.Run(fmt.Sprintf("%s-%s %s", e.Name, mode, c.name), func(t *testing.T) {
					p := randomProblem[T](c.rows, c.cols)
					p.Mode = mode
					c.change(&p)
					compare(t, on, e.New(selection.Settings{Sigma2: 1e-3}), p)
				})
			}
		}
	}
}

// compare requires the rows of the plain version on the CPU, and the same numbers again.
func compare[T matrix.Float](t *testing.T, on func(context.Context) context.Context, m selection.Method,
	p selection.Problem[T]) {
	t.Helper()
	plain := p
	plain.Plain = true
	want, err := selection.Select(t.Context(), m, plain)
	must(t, err)
	got, err := selection.Select(on(t.Context()), m, p)
	must(t, err)
	if !slices.Equal(got.Rows(), want.Rows()) {
		t.Fatalf("%v, on the CPU %v", got.Rows(), want.Rows())
	}
	for i, pick := range got.Picks {
		w := want.Picks[i]
		if !near(pick.Cluster.Size, w.Cluster.Size) || pick.Cluster.Centre != w.Cluster.Centre ||
			pick.Cluster.Rows != w.Cluster.Rows || !near(pick.Distance, w.Distance) || pick.Labelled != w.Labelled {
			t.Fatalf("pick %d is %+v, on the CPU %+v", i, pick, w)
		}
	}
	again, err := selection.Select(on(t.Context()), m, p)
	must(t, err)
	if !reflect.DeepEqual(again.Picks, got.Picks) || !reflect.DeepEqual(again.Removed, got.Removed) {
		t.Errorf("%+v, then %+v", got.Picks, again.Picks)
	}
}

// near reports whether two numbers agree up to rounding in float32.
func near(a, b float64) bool { return math.Abs(a-b) <= 1e-4*math.Max(math.Abs(a), math.Abs(b)) }

// change is a variant of a problem.
type change[T matrix.Float] struct {
	name                    string
	rows, cols              int
	needsTarget, needsScore bool
	change                  func(*selection.Problem[T])
}

func changes[T matrix.Float]() []change[T] {
	const n = 900
	costs := func(p *selection.Problem[T]) {
		for row := range p.Pool.Rows {
			p.Constraints.Cost = append(p.Constraints.Cost, 1+float64(row*7%11))
		}
	}
	return []change[T]{
		{name: "as it is", rows: n, cols: 24, change: func(*selection.Problem[T]) {}},
		{name: "several blocks of sums", rows: 17000, cols: 5, change: func(p *selection.Problem[T]) { p.Batch = 6 }},
		{name: "many features", rows: 150, cols: 261, change: func(*selection.Problem[T]) {}},
		{name: "tiny numbers", rows: 300, cols: 9, change: func(p *selection.Problem[T]) {
			for _, m := range []matrix.Dense[T]{p.Pool, p.Train} {
				for i := range m.Data {
					m.Data[i] *= 0x1p-20
				}
			}
		}},
		{name: "constraints", rows: n, cols: 9, change: func(p *selection.Problem[T]) {
			p.Constraints = selection.Constraints{Exclude: []int{0, 5, 77}, Require: []int{3, 800}, Group: make([]int, n),
				PerGroup: 4, Budget: 80}
			for row := range p.Constraints.Group {
				p.Constraints.Group[row] = row % 17
			}
			costs(p)
		}},
		{name: "a small budget", rows: n, cols: 9, change: func(p *selection.Problem[T]) {
			p.Constraints.Budget = 50
			costs(p)
		}},
		{name: "pending rows", rows: n, cols: 9, change: func(p *selection.Problem[T]) { p.Pending = []int{9, 1, 834} }},
		{name: "per cost", rows: n, cols: 9, needsScore: true, change: func(p *selection.Problem[T]) {
			costs(p)
			p.Constraints.Budget, p.Constraints.PerCost = 1e6, true
		}},
		{name: "target rows", rows: n, cols: 9, needsTarget: true, change: func(p *selection.Problem[T]) {
			p.Aims.Rows = normal[T](rand.New(rand.NewPCG(8, 8)), 400, 9)
		}},
		{name: "target weights", rows: n, cols: 9, needsTarget: true, change: func(p *selection.Problem[T]) {
			for row := range p.Pool.Rows {
				p.Aims.Weights = append(p.Aims.Weights, 1/float64(1+row%7))
			}
		}},
	}
}

func randomProblem[T matrix.Float](rows, cols int) selection.Problem[T] {
	r := rand.New(rand.NewPCG(uint64(rows), uint64(cols)))
	return selection.Problem[T]{Pool: normal[T](r, rows, cols), Train: normal[T](r, 60, cols), Batch: 16, Seed: 3}
}

func normal[T matrix.Float](r *rand.Rand, rows, cols int) matrix.Dense[T] {
	m := matrix.New[T](rows, cols)
	for i := range m.Data {
		m.Data[i] = T(float32(r.NormFloat64()))
	}
	return m
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
