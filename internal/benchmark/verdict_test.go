package benchmark

import (
	"math"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/internal/stats"
)

func TestJudge(t *testing.T) {
	t.Parallel()
	ahead, alsoAhead, behind := Interval{0.2, 0.1, 0.3}, Interval{0.3, 0.05, 0.55}, Interval{-0.2, -0.3, -0.1}
	even, open := Interval{0.01, -0.06, 0.08}, Interval{0.06, -0.05, 0.17}
	for _, c := range []struct {
		reductions []Interval
		want       Verdict
		answer     string
	}{
		{[]Interval{even, ahead, alsoAhead}, Beats, "it beats random selection"},
		{[]Interval{behind, ahead}, Beats, "it beats random selection"},
		{[]Interval{even, behind}, NoGain, "no method is shown to beat that"},
		{[]Interval{even, even}, NoGain, "no method is shown to beat that"},
		{[]Interval{behind, behind}, RandomBetter, "that beats every method that was tried"},
		{[]Interval{behind, open}, Unclear,
			"there are not enough labels to tell whether it beats random selection; about 11,000 more would tell"},
		{[]Interval{{0, -3, 3}}, Unclear,
			"there are not enough labels to tell whether it beats random selection, and 10 times as many might not be enough"},
	} {
		comparison := &Comparison{Confidence: 0.9, Labels: []int{100, 200, 300}, Splits: 10, Sizes: fifth,
			Fall: Interval{1, 0.5, 1.5}}
		for i, r := range c.reductions {
			nan := math.NaN()
			comparison.Methods = append(comparison.Methods, Gain{"method " + string(rune('0'+i)), r, Interval{nan, nan, nan}})
		}
		j := comparison.Judge(2000)
		if j.Verdict != c.want || j.because().String() != c.answer || !strings.Contains(j.Because.String(),
			"the mean over 2 rounds, with 200 to 300 labels") {
			t.Errorf("%v: %s: %s (%s)", c.reductions, j.because(), j.Because, j.Verdict)
		}
		if (j.Verdict == Beats) != (j.Spec != "") {
			t.Errorf("%s names %q", j.Verdict, j.Spec)
		}
	}
}

// TestMoreLabels: half a width of 0.1 at t = 2 is a reach of 0.1·(1 + 0.8416/2) = 0.14208.
// To leave zero at 0.08 takes 3.154 times the rows, to leave 0.10536 at 0.02 takes 2.7725.
func TestMoreLabels(t *testing.T) {
	t.Parallel()
	wide := func(value float64) Interval { return Interval{value, value - 0.1, value + 0.1} }
	for _, c := range []struct {
		reductions []Interval
		want       int
	}{
		{[]Interval{wide(0.08)}, 2200}, {[]Interval{wide(0.02)}, 1800}, {[]Interval{wide(0.02), wide(0.08)}, 2200},
		{[]Interval{wide(0.02), wide(-0.5)}, 1800}, {[]Interval{wide(0.14)}, 30}, {[]Interval{wide(0.08), wide(0.14)}, 30},
		{[]Interval{{0.05, -0.95, 1.05}}, 0}, {[]Interval{{0, math.Inf(-1), math.Inf(1)}}, 0},
	} {
		if got := moreLabels(c.reductions, 1000, 2); got != c.want {
			t.Errorf("%v: %d, want %d", c.reductions, got, c.want)
		}
	}
}

// TestMoreRepeats: with three splits, t(0.95) = 2.91999 and √(1/3 + 1/4) make a half of
// 0.2; with ten, t(0.95) = 1.83311 and √(1/10 + 1/4) make 0.09725, and 0.1419 with four in
// five: enough for 0.142, and nine are not.
func TestMoreRepeats(t *testing.T) {
	t.Parallel()
	c := &Comparison{Confidence: 0.9, Splits: 3, Sizes: fifth}
	for value, want := range map[float64]int{0.142: 10, 0.06: 0} {
		if got := c.moreRepeats([]Interval{{value, value - 0.2, value + 0.2}}, 0.9); got != want {
			t.Errorf("%v: %d repeats, want %d", value, got, want)
		}
	}
	c.Splits = mostRepeats
	if got := c.moreRepeats([]Interval{{0.142, -0.058, 0.342}}, 0.9); got != 0 {
		t.Errorf("%d repeats after %d", got, c.Splits)
	}
}

// simulated makes the results of a replay without networks. All methods have the
// difficulty of a split in common; each row has an effect of its own on each method, and
// so has each training, with a deviation that falls with the root of the rows.
func simulated(stream *rng.Stream, rows int, reductions ...float64) Results {
	const splits, rounds, deviation = 10, 3, 4.0
	test := rows / 5
	effects := make([][]float64, len(reductions))
	for m := range effects {
		effects[m] = make([]float64, rows)
		for i := range effects[m] {
			effects[m][i] = deviation * stream.NormFloat64() / 2
		}
	}
	var results Results
	for split := range splits {
		difficulty, order := 0.3*stream.NormFloat64(), stream.Perm(rows)[:test]
		for m := -1; m < len(reductions); m++ {
			spec, shift := randomSpec, 0.0
			if m >= 0 {
				spec = string(rune('a' + m))
				for _, row := range order {
					shift += effects[m][row] / float64(test)
				}
				shift -= reductions[m]
			}
			for round := range rounds + 1 {
				log := difficulty - 0.2*float64(round)
				if round > 0 {
					log += shift + deviation/math.Sqrt(float64(rows))*stream.NormFloat64()/2
				}
				results = append(results, Round{Run: Run{Spec: spec, Split: split, Rounds: rounds}, Round: round,
					Labels: 50 * (round + 1), Test: stats.Metrics{RMSE: math.Exp(log), MAE: 1}})
			}
		}
	}
	return results
}

// verdicts counts the verdicts on simulated tables.
func verdicts(t *testing.T, tables, rows int, reductions ...float64) map[Verdict]int {
	t.Helper()
	stream := rng.New(2, "verdicts", uint64(rows))
	counts := map[Verdict]int{}
	for range tables {
		c, err := Compare(simulated(stream, rows, reductions...), SplitSizes{Test: rows / 5, Learn: rows - rows/5}, 0.9)
		if err != nil {
			t.Fatal(err)
		}
		counts[c.Judge(rows).Verdict]++
	}
	return counts
}

// TestVerdictsOnSimulatedErrors: without a gain, a gain is claimed in at most 5 % of the
// tables (up to the chance of the simulation), however many methods there are; a clear gain is found, and so is a clear
// loss.
func TestVerdictsOnSimulatedErrors(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates many tables")
	}
	t.Parallel()
	const tables = 1000
	for _, none := range [][]float64{{0, 0}, {0, 0, 0, 0, 0}, {0, -0.2}} {
		if n := verdicts(t, tables, 150, none...)[Beats]; float64(n) > 0.065*tables {
			t.Errorf("%d methods without a gain: a gain in %d of %d tables", len(none), n, tables)
		}
	}
	if n := verdicts(t, tables, 150, 0, 0.9)[Beats]; float64(n) < 0.9*tables {
		t.Errorf("a gain was found in %d of %d tables", n, tables)
	}
	if n := verdicts(t, tables, 150, -0.9, -1.2)[RandomBetter]; float64(n) < 0.9*tables {
		t.Errorf("a loss was found in %d of %d tables", n, tables)
	}
	if n := verdicts(t, tables/20, 10_000, 0, 0)[NoGain]; float64(n) < 0.9*tables/20 {
		t.Errorf("the absence of a gain was found in %d of %d large tables", n, tables/20)
	}
}

// TestMoreLabelsDecide: where half of the tables leave the question open, as many more
// labels as the typical interval suggests decide four in five.
func TestMoreLabelsDecide(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates many tables")
	}
	t.Parallel()
	const tables, rows, gain = 500, 200, 0.35
	before := verdicts(t, tables, rows, gain)
	if n := before[Unclear]; n < tables/4 {
		t.Fatalf("only %d of %d tables leave the question open", n, tables)
	}
	stream := rng.New(3, "typical")
	half, quantile := 0.0, student(0.9, 10)
	for range tables {
		c, err := Compare(simulated(stream, rows, gain), SplitSizes{Test: rows / 5, Learn: rows - rows/5}, 0.9)
		if err != nil {
			t.Fatal(err)
		}
		half += c.Methods[0].Reduction.half() / tables
	}
	more := moreLabels([]Interval{{gain, gain - half, gain + half}}, rows, quantile)
	after := verdicts(t, tables, rows+more, gain)
	if share := 1 - float64(after[Unclear])/tables; share < 0.75 || share > 0.92 {
		t.Errorf("with %d more labels %.2f of the tables decide: %v, before %v", more, share, after, before)
	}
}
