package audit

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/internal/stats"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
)

// TestTail finds the distribution again that scores were drawn from, also where a
// twentieth of them is far off.
func TestTail(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for _, nu := range []float64{2, 3, 5} {
		for _, wrong := range []float64{0, 0.05} {
			scores := make([]float64, 20000)
			for i := range scores {
				scores[i] = 2 * math.Abs(student(r, nu))
				if r.Float64() < wrong {
					scores[i] += 30
				}
			}
			slices.Sort(scores)
			got := fitTail(scores)
			if wrong == 0 && (math.Abs(got.Sigma/2-1) > 0.05 || math.Abs(1/got.Nu-1/nu) > 0.05) {
				t.Errorf("ν = %v: found %.3g and scale %.3g", nu, got.Nu, got.Sigma)
			}
			if got.Sigma < 1.8 || got.Sigma > 2.3 {
				t.Errorf("ν = %v, %v wrong: scale %.3g", nu, wrong, got.Sigma)
			}
		}
	}
}

func student(r *rand.Rand, nu float64) float64 {
	chi := 0.0
	for range int(nu) {
		chi += math.Pow(r.NormFloat64(), 2)
	}
	return r.NormFloat64() / math.Sqrt(chi/nu)
}

// TestPValues: over many tables of right labels whose errors have any tail from normal
// to that of ν = 3, the smallest p-value is at most 0.05 about one time in twenty, or
// less often.
func TestPValues(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	for _, nu := range []float64{3, 5, 100} {
		const tables, rows = 400, 300
		alarms, far := 0, 0
		for range tables {
			report := &Report{Labels: rows}
			scores, growth := make([]float64, rows), make([]float64, rows)
			for i := range scores {
				scores[i], growth[i] = math.Abs(student(r, nu)), 1
			}
			slices.Sort(scores)
			for i := range scores {
				report.Findings = append(report.Findings, Finding{Row: i, Score: scores[rows-1-i]})
			}
			report.judgeEach(fitTail(scores), growth, quantile(scores, 0.5))
			if len(report.Suspects(0.05)) > 0 {
				alarms++
			}
			if report.Findings[0].Far {
				far++
			}
			if !slices.IsSortedFunc(report.Findings, func(a, b Finding) int { return int(math.Copysign(1, a.P-b.P)) }) {
				t.Fatal("p-values fall with the rank")
			}
		}
		t.Logf("ν = %v: alarms in %d of %d tables, and labels far outside in %d", nu, alarms, tables, far)
		if alarms > tables/10 {
			t.Errorf("ν = %v: alarms in %d of %d tables of right labels", nu, alarms, tables)
		}
	}
}

// smooth is a table of two targets with a label of the second that is far off, and one
// that is missing.
func smooth(rows int) network.Sample {
	s := network.Sample{X: matrix.New[float32](rows, 2), Targets: 2}
	rng.FillNormal(rng.New(7, "audit test"), s.X.Data)
	for i := range rows {
		x := s.X.Row(i)
		s.Y = append(s.Y, float64(x[0]+x[1]), float64(x[0]-x[1]))
	}
	s.Y[2*5+1] += 40
	s.Y[2*6+1] = math.NaN()
	return s
}

func TestSeveralTargets(t *testing.T) {
	t.Parallel()
	o := Options{Folds: 4, Repeats: 1, Network: network.Options{Config: network.Config{
		Architecture: network.Architecture{Hidden: []int{32}}, Training: network.Training{Epochs: 60, Batch: 32}}}}
	networks := 0
	o.Progress = func(done, of int) { networks = max(networks, done*100/of) }
	reports, err := Labels(t.Context(), smooth(120), o)
	if err != nil {
		t.Fatal(err)
	}
	if networks != 100 || len(reports) != 2 || reports[0].Labels != 120 || reports[1].Labels != 119 {
		t.Fatalf("progress %d %%, %d reports", networks, len(reports))
	}
	worst := reports[1].Findings[0]
	if worst.Row != 5 || worst.Target != 1 || worst.P > 1e-3 || worst.Label < worst.High || reports[1].LeftOut < 1 {
		t.Errorf("the label that is far off is not found: %+v, %d left out", worst, reports[1].LeftOut)
	}
	if n := len(reports[0].Suspects(0.01)); n > 0 {
		t.Errorf("%d labels of the first target are suspect", n)
	}
}

// TestDivergence: networks that diverge are reported beside the findings.
func TestDivergence(t *testing.T) {
	o := Options{Folds: 4, Repeats: 1, Network: network.Options{Config: network.Config{
		Architecture: network.Architecture{Hidden: []int{8}}, Training: network.Training{Epochs: 3, Batch: 32, Rate: 1e30}}}}
	reports, err := Labels(t.Context(), smooth(60), o)
	if diverged := (*network.DivergedError)(nil); len(reports) != 2 || !errors.As(err, &diverged) ||
		!strings.Contains(err.Error(), "8 of 8 networks diverged") {
		t.Errorf("%d reports, error %v", len(reports), err)
	}
}

func TestLabelsRefuses(t *testing.T) {
	t.Parallel()
	few := smooth(12)
	valid := smooth(40)
	valid.ValidX, valid.ValidY = valid.X, valid.Y
	short := smooth(40)
	short.Y = short.Y[1:]
	for word, s := range map[string]network.Sample{"12 labelled rows are too few": few, "validation rows": valid,
		"40 rows and 79 labels": short} {
		if _, err := Labels(t.Context(), s, Options{}); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("error %v, want one with %q", err, word)
		}
	}
	if _, err := Labels(t.Context(), smooth(40), Options{Folds: 1}); err == nil {
		t.Error("one fold is accepted")
	}
}

// TestAnswerFollowsTheList: labels far outside of their intervals are in the sentence, also where the errors of so few
// labels might have a tail that explains them, and so is a swapped pair.
func TestAnswerFollowsTheList(t *testing.T) {
	t.Parallel()
	name := func(row int) string { return fmt.Sprint("s", row) }
	typical := stats.StudentsT{Sigma: 1, Nu: 2}
	for want, far := range map[string]map[int]float64{
		"No label of 64 looks wrong": {},
		"2 labels of 64 lie far outside; too few labels to be sure. The labels of s3 and s9 look swapped.": {3: 10, 9: -10},
		"2 labels of 64 lie far outside; too few labels to be sure.":                                       {3: 10, 9: 11},
		"1 label of 64 lies far outside; too few labels to be sure.":                                       {3: 10},
		"1 label of 64 looks wrong, with a p-value of at most 0.05.":                                       {3: 3000},
		"1 label of 64 looks wrong, with a p-value of at most 0.05. 1 more lies far outside; too few " +
			"labels to be sure.": {3: 3000, 9: 10},
	} {
		a := &auditor{sample: network.Sample{Targets: 1}}
		means, deviations := make([]float64, 64), make([]float64, 64)
		for row := range means {
			means[row] = 5
			if row == 3 {
				means[row] = -5
			}
			deviations[row] = 1
			off, planted := far[row]
			if !planted {
				off = typical.Quantile(0.04 + 0.92*float64(row)/63)
			}
			a.sample.Y = append(a.sample.Y, means[row]+off)
		}

		if got := a.report(0, means, deviations).Answer(0.05, name).String(); !strings.HasPrefix(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
