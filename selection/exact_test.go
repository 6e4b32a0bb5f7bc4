package selection_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection"
	"github.com/nextbatch/nextbatch/selection/selectiontest"
)

// hostile are rows of scales that differ much, and problems with them.
func hostile() map[string]selection.Problem[float64] {
	normal := func(r *rand.Rand, _, _ int) float64 { return r.NormFloat64() }
	times := func(f float64) func(*rand.Rand, int, int) float64 {
		return func(r *rand.Rand, _, _ int) float64 { return f * r.NormFloat64() }
	}
	offset := func(by, spread float64) func(*rand.Rand, int, int) float64 {
		return func(r *rand.Rand, _, _ int) float64 { return by + spread*r.NormFloat64() }
	}
	column := func(f float64) func(*rand.Rand, int, int) float64 {
		return func(r *rand.Rand, _, j int) float64 {
			return r.NormFloat64() * map[bool]float64{true: f, false: 1}[j == 2]
		}
	}
	graded := func(f float64) func(*rand.Rand, int, int) float64 {
		return func(r *rand.Rand, _, j int) float64 { return r.NormFloat64() * math.Pow(f, float64(3-j)) }
	}
	return map[string]selection.Problem[float64]{
		"normal":                    rows(normal, 48, 6, 24),
		"times 1e3":                 rows(times(1e3), 48, 6, 24),
		"times 1e4":                 rows(times(1e4), 150, 6, 24),
		"times 1e5":                 rows(times(1e5), 150, 6, 24),
		"times 1e9":                 rows(times(1e9), 48, 6, 24),
		"times 1e30":                rows(times(1e30), 48, 4, 12),
		"times 1e-9":                rows(times(1e-9), 48, 4, 12),
		"one column of scale 1e3":   rows(column(1e3), 48, 6, 24),
		"one column of scale 1e5":   rows(column(1e5), 150, 6, 24),
		"one column of scale 1e9":   rows(column(1e9), 48, 6, 24),
		"columns of scales to 1e6":  rows(graded(100), 48, 6, 24),
		"columns of scales to 1e12": rows(graded(1e4), 48, 6, 24),
		"offset 1e4":                rows(offset(1e4, 1), 200, 20, 32),
		"offset 1e5":                rows(offset(1e5, 1), 150, 10, 20),
		"offset 1e7":                rows(offset(1e7, 1), 48, 6, 20),
		"offset 1e4, spread 1e-4":   rows(offset(1e4, 1e-4), 48, 6, 20),
		"fewer picks than features": rows(offset(1e5, 1), 48, 30, 20),
		"near duplicates": rows(func(r *rand.Rand, i, j int) float64 {
			return 1e3*math.Sin(float64((i%10)*(j+1))) + 1e-7*r.NormFloat64()
		}, 48, 12, 30),
		"duplicates": rows(func(_ *rand.Rand, i, j int) float64 { return 1e4 * math.Sin(float64((i%10)*(j+1))) }, 48,
			12, 30),
		"collinear": rows(func(_ *rand.Rand, i,
			j int) float64 {
			return 1e4 * math.Sin(float64(i+1)) * math.Cos(float64(j))
		}, 48, 5, 15),
		"rows of scales": rows(func(r *rand.Rand, i, _ int) float64 {
			return r.NormFloat64() * math.Pow(10,
				float64(i%12-5))
		}, 48, 6, 30),
		"hilbert": rows(func(_ *rand.Rand, i, j int) float64 { return 1e4 / float64(i+j+1) }, 48, 10, 20),
		"polynomials": rows(func(r *rand.Rand, i, j int) float64 { return math.Pow(1+float64(i), float64(j)) }, 48, 6,
			20),
		"one outlier": rows(func(r *rand.Rand, i,
			_ int) float64 {
			return r.NormFloat64() * (1 + 1e7*float64(1/(1+i)))
		}, 48, 6, 20),
		"a large cluster": rows(func(r *rand.Rand, i, _ int) float64 { return float64(i/90)*1e6 + r.NormFloat64() }, 48, 6,
			20),
		"after a posterior": rows(func(r *rand.Rand, i, j int) float64 {
			return 1e-3 * r.NormFloat64() * math.Pow(0.3,
				float64(j))
		}, 48, 8, 30),
	}
}

func rows(f func(r *rand.Rand, i, j int) float64, n, d, batch int) selection.Problem[float64] {
	r := rand.New(rand.NewPCG(uint64(n), uint64(d)))
	make := func(n int) matrix.Dense[float64] {
		m := matrix.New[float64](n, d)
		for i := range n {
			for j := range d {
				m.Row(i)[j] = f(r, i, j)
			}
		}
		return m
	}
	return selection.Problem[float64]{Pool: make(n), Train: make(d + 12), Batch: batch}
}

// near is by what share a pick may be worse than the best row.
const near = 1e-6

// followed checks each step of a selection against exact arithmetic, some of them where it
// has many or they are dear, and fast against plain. It returns true for an error that names scaling.
func followed(t *testing.T, name string, m selection.Method, p selection.Problem[float64], sigma2 float64,
	k func(x, y []float64) float64) (refused bool) {
	t.Helper()
	result, err := selection.Select(t.Context(), m, p)
	p.Plain = true
	plain, plainErr := selection.Select(t.Context(), m, p)
	if fmt.Sprint(err) != fmt.Sprint(plainErr) {
		t.Errorf("%s: error %v, plain %v", name, err, plainErr)
		return true
	}
	var precision *selection.PrecisionError
	if errors.As(err, &precision) {
		return true
	}
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return true
	}
	if !slices.Equal(result.Picks, plain.Picks) || !slices.Equal(result.Removed, plain.Removed) {
		t.Errorf("%s: %v, plain %v", name, result.Rows(), plain.Rows())
	}
	in := selectiontest.NewInput(p, k)
	e := selectiontest.NewExact(in, sigma2)
	score := e.Variance
	if m.Name() != "maxdet" {
		score = e.Gain
	}
	if p.Mode == selection.TP {
		for x := in.Pool; x < len(in.Rows); x++ {
			e.Add(x)
		}
	}
	open := make([]int, in.Pool)
	for x := range open {
		open[x] = x
	}
	batch := forward(result)
	for i, x := range batch {
		open = slices.DeleteFunc(open, func(y int) bool { return x == y })
		long, dear := i >= 48 && i < 254, len(open)*p.Pool.Cols*p.Pool.Cols > 30_000
		if long && i%32 != 0 || dear && i%4 != 3 {
			e.Add(x)
			continue
		}
		if short := selectiontest.Short(score, x, open); short > near {
			t.Errorf("%s: pick %d, row %d, is %.2g below the best", name, i, x, short)
		}
		e.Add(x)
	}
	for i, r := range result.Removed {
		if over := selectiontest.Over(e.Loss, r.Row, batch); over > near {
			t.Errorf("%s: removal %d, row %d, is %.2g above the least", name, i, r.Row, over)
		}
		batch = slices.DeleteFunc(batch, func(y int) bool { return r.Row == y })
		e.Remove(r.Row)
	}
	return false
}

// forward returns all rows in the order in which they were picked, those that were
// removed later too.
func forward(r *selection.Result) []int {
	rows := make([]int, len(r.Picks)+len(r.Removed))
	for _, p := range r.Picks {
		rows[p.Step-1] = p.Row
	}
	for _, p := range r.Removed {
		rows[p.Picked-1] = p.Row
	}
	return rows
}

// eachHostile calls f for the hostile problems, in modes P and TP, and with more noise.
func eachHostile(t *testing.T, f func(t *testing.T, name string, p selection.Problem[float64], sigma2 float64)) {
	for name, p := range hostile() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t, "P", p, selection.DefaultSigma2)
			if testing.Short() {
				return
			}
			f(t, "P with more noise", p, 1e-2)
			p.Mode = selection.TP
			f(t, "TP", p, selection.DefaultSigma2)
		})
	}
}

// TestExactMaxDet follows MaxDet in feature space. In kernel space it must pick the
// same, up to rows that are equally good.
func TestExactMaxDet(t *testing.T) {
	t.Parallel()
	eachHostile(t, func(t *testing.T, name string, p selection.Problem[float64], sigma2 float64) {
		if followed(t, name, selection.MaxDet{Sigma2: sigma2}, p, sigma2, nil) {
			t.Errorf("%s: float64 has enough digits for these rows", name)
		}
		inFeatures := mustSelect(t, selection.MaxDet{Sigma2: sigma2}, p)
		inKernel := mustSelect(t, selection.MaxDet{Sigma2: sigma2, In: selection.InKernelSpace}, p)
		if !slices.Equal(inFeatures.Rows(), inKernel.Rows()) {
			followed(t, name+", kernel space", selection.MaxDet{Sigma2: sigma2, In: selection.InKernelSpace}, p, sigma2, nil)
		}
	})
}

// TestExactMaxDetOfKernel follows MaxDet with a kernel that has no features and is
// large compared with σ².
func TestExactMaxDetOfKernel(t *testing.T) {
	t.Parallel()
	for _, factor := range []float64{1, 1e2, 1e3, 1e5} {
		k := loud{selectiontest.Laplace[float64]{Width: 3}, factor}
		p := rows(func(_ *rand.Rand, i, _ int) float64 { return float64(i % 30) }, 70, 3, 40)
		p.Kernel = k
		for _, mode := range []selection.Mode{selection.P, selection.TP} {
			p.Mode = mode
			refused := followed(t, fmt.Sprintf("factor %v, %s", factor, mode), selection.MaxDet{}, p,
				selection.DefaultSigma2, k.of)
			if refused != (factor > 1e4) {
				t.Errorf("factor %v, %s: refused: %v", factor, mode, refused)
			}
		}
	}
}

// loud is a kernel times a factor.
type loud struct {
	selectiontest.Laplace[float64]
	factor float64
}

func (k loud) of(x, y []float64) float64 { return k.factor * selectiontest.LaplaceOf(x, y) }

func (k loud) Diag(_ context.Context, dst []float64, rows matrix.Dense[float64]) error {
	for i := range dst {
		dst[i] = k.of(rows.Row(i), rows.Row(i))
	}
	return nil
}

func (k loud) Cross(_ context.Context, dst, a, b matrix.Dense[float64]) error {
	for i := range a.Rows {
		for j := range b.Rows {
			dst.Set(i, j, k.of(a.Row(i), b.Row(j)))
		}
	}
	return nil
}

// TestExactBAIT follows BAIT-F.
func TestExactBAIT(t *testing.T) {
	t.Parallel()
	eachHostile(t, func(t *testing.T, name string, p selection.Problem[float64], sigma2 float64) {
		if followed(t, name, selection.BAIT{Sigma2: sigma2}, p, sigma2, nil) {
			t.Errorf("%s: float64 has enough digits for these rows", name)
		}
	})
}

// TestExactBAITBackward follows BAIT-FB. Its backward step may find that float64 has
// too few digits.
func TestExactBAITBackward(t *testing.T) {
	t.Parallel()
	eachHostile(t, func(t *testing.T, name string, p selection.Problem[float64], sigma2 float64) {
		p.Batch /= 2
		if followed(t, name, selection.BAIT{Sigma2: sigma2, Backward: true}, p, sigma2, nil) {
			t.Logf("%s: refused", name)
		}
	})
}

// TestExactBAITWeights follows BAIT-F with weights of pool rows, which take another
// path to the second moments.
func TestExactBAITWeights(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"offset 1e5", "times 1e5", "one column of scale 1e5"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := hostile()[name]
			for i := range p.Pool.Rows {
				p.Aims.Weights = append(p.Aims.Weights, float64(i%5))
			}
			if followed(t, name, selection.BAIT{}, p, selection.DefaultSigma2, nil) {
				t.Errorf("%s: float64 has enough digits for these rows", name)
			}
		})
	}
}

// TestExactBAITRecomputed follows BAIT-F past the steps after which it recomputes
// everything, on ordinary rows and on an ill-conditioned matrix.
func TestExactBAITRecomputed(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for name, f := range map[string]func(r *rand.Rand, i, j int) float64{
		"normal":          func(r *rand.Rand, _, _ int) float64 { return r.NormFloat64() },
		"ill-conditioned": func(r *rand.Rand, _, j int) float64 { return 1e4 + r.NormFloat64()*math.Pow(0.1, float64(j)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := rows(f, 280, 5, 265)
			if followed(t, name, selection.BAIT{}, p, selection.DefaultSigma2, nil) {
				t.Errorf("%s: float64 has enough digits for these rows", name)
			}
		})
	}
}

// TestPrecisionError asks for what float64 cannot do: the error names the remedy.
func TestPrecisionError(t *testing.T) {
	t.Parallel()
	p := rows(func(_ *rand.Rand, i, j int) float64 { return 1e20 * math.Sin(float64(i+1)) * math.Cos(float64(j)) }, 50, 5,
		20)
	for _, m := range []selection.Method{selection.MaxDet{}, selection.MaxDet{In: selection.InKernelSpace},
		selection.BAIT{}, selection.BAIT{Backward: true}} {
		_, err := selection.Select(t.Context(), m, p)
		var precision *selection.PrecisionError
		if !errors.As(err, &precision) || precision.Method != m.Name() || !strings.Contains(err.Error(), ">scale") {
			t.Errorf("%s: error %v", m.Name(), err)
		}
	}
}

// TestExactInFeaturesIsInKernel compares the two forms of the exact covariance, on rows
// whose inner products float64 holds exactly.
func TestExactInFeaturesIsInKernel(t *testing.T) {
	t.Parallel()
	p := rows(func(r *rand.Rand, _, _ int) float64 { return float64(r.IntN(17) - 8) }, 20, 4, 6)
	dot := func(x, y []float64) (sum float64) {
		for i, v := range x {
			sum += v * y[i]
		}
		return sum
	}
	for _, weights := range [][]float64{nil, {1, 0, 2, 5}} {
		p.Aims.Weights = weights
		features := selectiontest.NewExact(selectiontest.NewInput(p, nil), 0.5)
		kernel := selectiontest.NewExact(selectiontest.NewInput(p, dot), 0.5)
		steps := []func(e *selectiontest.Exact){func(e *selectiontest.Exact) { e.Add(3) },
			func(e *selectiontest.Exact) { e.Add(21) },
			func(e *selectiontest.Exact) { e.Add(7) }, func(e *selectiontest.Exact) { e.Remove(3) }}
		for i, step := range steps {
			step(features)
			step(kernel)
			for x := range 20 {
				for what, pair := range map[string][2]*big.Float{"variance": {features.Variance(x), kernel.Variance(x)},
					"gain": {features.Gain(x), kernel.Gain(x)}} {
					difference, _ := new(big.Float).Sub(pair[0], pair[1]).Float64()
					if size, _ := pair[1].Float64(); math.Abs(difference) > 1e-60*(1+math.Abs(size)) {
						t.Fatalf("step %d, row %d: the %s is %v in features, %v in the kernel", i, x, what, pair[0], pair[1])
					}
				}
			}
		}
	}
}
