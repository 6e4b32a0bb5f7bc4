package selectiontest

import (
	"context"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection"
)

// Suite is what every selection method passes.
type Suite[T matrix.Float] struct {
	Method selection.Method
	// Oracle returns the method as the paper defines it; nil for methods that draw.
	Oracle func() Oracle
	// NoKernel leaves out kernels without features.
	NoKernel bool
	// Quadratic means that the time grows with the square of the pool: no large
	// pools then.
	Quadratic bool
	// NoScore means that the method has no score to divide by costs.
	NoScore bool
	// On returns the context under which to select, such as one with a device; nil
	// means that of the test.
	On func(context.Context) context.Context
	// Compared is the share of picks that must be comparable with the oracle,
	// over all cases: where the order hangs on rounding it is not.
	Compared float64
}

// Run runs all checks.
func (s Suite[T]) Run(t *testing.T) {
	t.Run("valid", s.valid)
	t.Run("threads", s.threads)
	t.Run("nothing to tell apart", s.nothing)
	t.Run("pending", s.pending)
	if s.Oracle != nil {
		t.Run("oracle", func(t *testing.T) { s.oracle(t, func(*selection.Problem[float64]) bool { return true }) })
		t.Run("oracle with pending rows", func(t *testing.T) { s.oracle(t, withPending) })
		if !s.NoScore {
			t.Run("oracle per cost", func(t *testing.T) { s.oracle(t, perCost) })
		}
	}
}

var modes = []selection.Mode{selection.P, selection.TP}

// problems calls f for every case, mode and kind of kernel.
func (s Suite[T]) problems(cases []Case, f func(name string, p selection.Problem[float64],
	k func(x, y []float64) float64)) {
	for _, c := range cases {
		for _, mode := range modes {
			p := c.Problem
			p.Mode = mode
			f(c.Name+" "+mode.String(), p, nil)
			if !s.NoKernel {
				p.Kernel = Laplace[float64]{p.Pool.Cols}
				f(c.Name+" laplace "+mode.String(), p, LaplaceOf)
			}
		}
	}
}

// valid checks that a batch is a batch: full, distinct, in range, the same if
// selected again.
func (s Suite[T]) valid(t *testing.T) {
	s.problems(Cases(), func(name string, p selection.Problem[float64], _ func(x, y []float64) float64) {
		r := s.mustSelect(t, name, p)
		want := min(p.Batch, p.Pool.Rows)
		if len(r.Picks) != want || r.Missing != 0 {
			t.Errorf("%s: %d picks, %d missing (%s), want %d", name, len(r.Picks), r.Missing, r.Short, want)
		}
		seen := map[int]bool{}
		for _, pick := range r.Picks {
			if pick.Row < 0 || pick.Row >= p.Pool.Rows || seen[pick.Row] {
				t.Errorf("%s: row %d is out of range or picked twice", name, pick.Row)
			}
			seen[pick.Row] = true
			if math.IsNaN(pick.Score) {
				t.Errorf("%s: the score of row %d is NaN", name, pick.Row)
			}
		}
		if again := s.mustSelect(t, name, p); !slices.Equal(again.Rows(), r.Rows()) {
			t.Errorf("%s: %v, then %v", name, r.Rows(), again.Rows())
		}
	})
}

// threads checks that their number does not matter, to the last bit.
func (s Suite[T]) threads(t *testing.T) {
	for _, mode := range modes {
		p := LargeCase().Problem
		if s.Quadratic {
			p.Pool = p.Pool.Slice(0, 1000)
		}
		p.Mode = mode
		var first *selection.Result
		for _, threads := range []int{1, 2, 3} {
			r := s.mustSelectOn(linalg.WithThreads(t.Context(), threads), t, "large", p)
			if first == nil {
				first = r
			} else if !reflect.DeepEqual(r.Picks, first.Picks) {
				t.Errorf("%s: %d threads pick %+v, 1 picks %+v", mode, threads, r.Picks, first.Picks)
			}
		}
	}
}

// nothing checks that rows which are all zero still make a batch, and that the
// result says so if it is not the method that picked.
func (s Suite[T]) nothing(t *testing.T) {
	for _, mode := range modes {
		p := ZeroCase().Problem
		p.Mode = mode
		r := s.mustSelect(t, "all zero", p)
		filled := 0
		for _, pick := range r.Picks {
			if pick.Why == selection.Filled {
				filled++
			}
		}
		if len(r.Picks) != p.Batch || (filled > 0) != (len(r.Fallbacks) > 0) {
			t.Errorf("%s: %d picks, %d of them filled, %d fallbacks", mode, len(r.Picks), filled, len(r.Fallbacks))
		}
	}
}

// withPending has some rows of a problem pending, unless it has too few. Of duplicates
// and zero rows, some are among them.
func withPending(p *selection.Problem[float64]) bool {
	n := p.Pool.Rows
	if n < 2 {
		return false
	}
	p.Pending = []int{n - 1}
	for _, row := range []int{n / 2, 0, n / 3} {
		if !slices.Contains(p.Pending, row) && len(p.Pending) < n/4 {
			p.Pending = append(p.Pending, row)
		}
	}
	return true
}

// perCost has scores divided by costs, from a tenth to ten, with a budget that pays for
// every row.
func perCost(p *selection.Problem[float64]) bool {
	c := &p.Constraints
	c.PerCost = true
	for row := range p.Pool.Rows {
		c.Cost = append(c.Cost, math.Pow(10, float64(row*7%11)/5-1))
		c.Budget += c.Cost[row]
	}
	return withPending(p)
}

// pending checks that rows which are pending are not picked, take no place in the
// batch, and otherwise count as required rows do, to the last bit.
func (s Suite[T]) pending(t *testing.T) {
	s.problems(Cases(), func(name string, p selection.Problem[float64], _ func(x, y []float64) float64) {
		if !withPending(&p) {
			return
		}
		k := len(p.Pending)
		r := s.mustSelect(t, name, p)
		if want := min(p.Batch, p.Pool.Rows-k); len(r.Picks) != want || r.Missing != p.Batch-want {
			t.Errorf("%s: %d picks, %d missing, want %d", name, len(r.Picks), r.Missing, want)
		}
		if slices.ContainsFunc(r.Rows(), func(row int) bool { return slices.Contains(p.Pending, row) }) {
			t.Errorf("%s: %v are pending, %v were picked", name, p.Pending, r.Rows())
		}
		if len(r.Removed) > 0 || strings.HasPrefix(s.Method.Name(), "greedy") {
			return // a batch of another size takes more draws, or more rows to remove
		}
		q := p
		q.Pending, q.Constraints.Require, q.Batch = nil, p.Pending, p.Batch+k
		if want := s.mustSelect(t, name, q).Rows()[k:]; !slices.Equal(r.Rows(), want) {
			t.Errorf("%s: %v pending gives %v, required %v", name, p.Pending, r.Rows(), want)
		}
	})
}

// oracle compares the picks with those of the paper's pseudocode, as far as
// these do not hang on rounding. It leaves out problems that change does not apply to.
func (s Suite[T]) oracle(t *testing.T, change func(p *selection.Problem[float64]) bool) {
	compared, all := 0, 0
	s.problems(Cases(), func(name string, p selection.Problem[float64], k func(x, y []float64) float64) {
		if !change(&p) {
			return
		}
		want, prefix := Robust(s.Oracle, NewInput(p, k), s.rounding())
		got := s.mustSelect(t, name, p).Rows()
		for i := range prefix {
			if got[i] != want[i] {
				t.Errorf("%s: pick %d is row %d, the oracle's %d (comparable up to %d of %d)",
					name, i, got[i], want[i], prefix, len(want))
				break
			}
		}
		compared += prefix
		all += min(p.Batch, p.Pool.Rows-len(p.Pending))
	})
	if share := float64(compared) / float64(all); share < s.Compared {
		t.Errorf("only %.2f of the picks could be compared, want %.2f", share, s.Compared)
	} else {
		t.Logf("%.3f of %d picks compared", share, all)
	}
}

// rounding is how much the numbers may be off, relatively.
func (s Suite[T]) rounding() float64 {
	if _, ok := any(s).(Suite[float32]); ok {
		return 3e-6
	}
	return 1e-11
}

func (s Suite[T]) mustSelect(t *testing.T, name string, p selection.Problem[float64]) *selection.Result {
	t.Helper()
	return s.mustSelectOn(t.Context(), t, name, p)
}

func (s Suite[T]) mustSelectOn(ctx context.Context, t *testing.T, name string,
	p selection.Problem[float64]) *selection.Result {
	t.Helper()
	if s.On != nil {
		ctx = s.On(ctx)
	}
	r, err := selection.Select(ctx, s.Method, convert[T](p))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return r
}

// convert rounds a problem to T.
func convert[T matrix.Float](p selection.Problem[float64]) selection.Problem[T] {
	if same, ok := any(p).(selection.Problem[T]); ok {
		return same
	}
	q := selection.Problem[T]{Mode: p.Mode, Batch: p.Batch, Seed: p.Seed, Pending: p.Pending, Constraints: p.Constraints,
		Pool: matrix.Converted[T](p.Pool), Train: matrix.Converted[T](p.Train),
		Aims: selection.Aims[T]{Rows: matrix.Converted[T](p.Aims.Rows), Weights: p.Aims.Weights}}
	if p.Kernel != nil {
		q.Kernel = Laplace[T]{p.Pool.Cols}
	}
	return q
}

// NewInput returns a problem for oracles.
func NewInput(p selection.Problem[float64], k func(x, y []float64) float64) *Input {
	in := &Input{Pool: p.Pool.Rows, Mode: p.Mode, Batch: p.Batch, Weight: p.Aims.Weights, Pending: p.Pending, Kernel: k}
	if p.Constraints.PerCost {
		in.Price = p.Constraints.Cost
	}
	in.Rows = append(rowsOf(p.Pool), rowsOf(p.Train)...)
	if p.Aims.Rows.Rows > 0 {
		in.Target = rowsOf(p.Aims.Rows)
	}
	return in
}

func rowsOf(m matrix.Dense[float64]) (rows [][]float64) {
	for i := range m.Rows {
		rows = append(rows, m.Row(i))
	}
	return rows
}

// Robust returns the oracle's picks, and how many of them stay the same if all
// numbers change by the share of them that rounding may: rows, values of the
// kernel, scores. Rows that are equal stay equal.
func Robust(o func() Oracle, in *Input, rounding float64) (picks []int, prefix int) {
	picks = Select(o(), in)
	prefix = len(picks)
	for trial := range 8 {
		for i, x := range Select(o(), in.perturbed(rounding, uint64(trial))) {
			if i < prefix && x != picks[i] {
				prefix = i
			}
		}
	}
	return picks, prefix
}

// perturbed changes all numbers a little, in a way that depends on the rows and
// the trial.
func (in *Input) perturbed(rounding float64, trial uint64) *Input {
	other := *in
	noise := func(rows ...[]float64) float64 {
		sum := trial
		for _, row := range rows { // in either order
			sum += hash(row, trial)
		}
		return rounding * unit(sum)
	}
	other.Rows = perturbedRows(in.Rows, rounding, trial)
	if in.Target != nil {
		other.Target = perturbedRows(in.Target, rounding, trial)
	}
	other.Noise = func(x int) float64 { return noise(in.Rows[x]) }
	if in.Kernel != nil {
		other.Kernel = func(x, y []float64) float64 {
			if slices.Equal(x, y) {
				return in.Kernel(x, y)
			}
			return in.Kernel(x, y) + noise(x, y)*math.Sqrt(in.Kernel(x, x)*in.Kernel(y, y))
		}
	}
	return &other
}

//go:norace
func perturbedRows(rows [][]float64, rounding float64, trial uint64) [][]float64 {
	changed := clone(rows)
	for i, row := range rows {
		state := hash(row, trial)
		for j := range row {
			state = state*6364136223846793005 + 1442695040888963407
			changed[i][j] *= 1 + rounding*unit(state)
		}
	}
	return changed
}

// unit turns random bits into a number from -1 to 1.
func unit(bits uint64) float64 {
	bits = bits*6364136223846793005 + 1442695040888963407
	return float64(bits>>11)/(1<<52) - 1
}

//go:norace
func hash(row []float64, trial uint64) uint64 {
	h := trial
	for _, v := range row {
		h = (h ^ math.Float64bits(v)) * 0x9e3779b97f4a7c15
		h ^= h >> 29
	}
	return h
}
