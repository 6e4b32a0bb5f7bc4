package benchmark

import (
	"math"
	"slices"
	"strings"

	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/spec"
)

// What the paper's tables and figures say, as functions of the results. All
// numbers are means: of a number for each run, over the splits of each data set,
// then over data sets (appendix "Results"):
//
//	X_ij   the number of split i on data set j, such as the mean log RMSE over rounds 1 … 16
//	μ_j    the mean of X_ij over the n_j splits
//	s_j²   the sample variance, Σ_i (X_ij − μ_j)² / (n_j − 1)
//	μ      the mean of μ_j over the J data sets
//	σ      its standard error, √(Σ_j s_j²/n_j) / J
//
// The paper's text leaves out the division by n_j; its figures have it.

// Metric is one of the errors that a round measures.
type Metric int

const (
	MAE Metric = iota
	RMSE
	Q95
	Q99
	MaxE
)

// AllMetrics lists the metrics in the order of the paper's tables.
func AllMetrics() []Metric { return []Metric{MAE, RMSE, Q95, Q99, MaxE} }

func (m Metric) String() string { return []string{"MAE", "RMSE", "95%", "99%", "MAXE"}[m] }

func (m Metric) of(errors network.Metrics) float64 {
	return []float64{errors.MAE, errors.RMSE, errors.Q95, errors.Q99, errors.MaxE}[m]
}

// Number is a number of a run, whose rounds are all there.
type Number func(rounds []Round) float64

// MeanLog is the mean of the metric's logarithm over all rounds but the start.
func MeanLog(m Metric) Number {
	return meanOver(func(r Round) float64 { return math.Log(m.of(r.Test)) })
}

// MeanOf is the mean of the metric over all rounds but the start.
func MeanOf(m Metric) Number { return meanOver(func(r Round) float64 { return m.of(r.Test) }) }

func meanOver(of func(Round) float64) Number {
	return func(rounds []Round) float64 {
		sum := 0.0
		for _, r := range rounds[1:] {
			sum += of(r)
		}
		return sum / float64(len(rounds)-1)
	}
}

// LogAt is the metric's logarithm in a round.
func LogAt(m Metric, round int) Number {
	return func(rounds []Round) float64 { return math.Log(m.of(rounds[round].Test)) }
}

// Last is the metric in the last round.
func Last(m Metric) Number {
	return func(rounds []Round) float64 { return m.of(rounds[len(rounds)-1].Test) }
}

// PickSeconds is the mean time that the pick of a batch took, features included.
func PickSeconds() Number {
	return func(rounds []Round) float64 {
		sum := 0.0
		for _, r := range rounds[:len(rounds)-1] {
			sum += r.Features + r.Selection
		}
		return sum / float64(len(rounds)-1)
	}
}

// SumOf is the sum of a number over all rounds.
func SumOf(of func(Round) float64) Number {
	return func(rounds []Round) (sum float64) {
		for _, r := range rounds {
			sum += of(r)
		}
		return sum
	}
}

// EffectiveDimension is its mean over the rounds that have one; NaN where none
// has.
func EffectiveDimension() Number {
	return func(rounds []Round) float64 {
		var known []float64
		for _, r := range rounds {
			if !math.IsNaN(r.EffectiveDimension) {
				known = append(known, r.EffectiveDimension)
			}
		}
		mean, _ := meanAndDeviation(known)
		return mean
	}
}

// Setting is what runs share that can be compared with each other.
type Setting struct {
	Activation string
	BatchSize  int
	Rounds     int
}

// Study holds the runs of one setting. Runs that lack a round do not count.
type Study struct {
	Setting
	Methods  []string // canonical texts, with @compat where it applies, in the order of the paper's selection methods
	DataSets []string // with a complete run, in alphabetical order
	Splits   []int    // that any run has
	Labels   []int    // of each round
	Gaps     []Gap    // what is missing

	runs    map[cell]map[int][]Round // by split
	planned map[cell]map[int]bool
}

type cell struct{ method, set string }

// Gap says which splits a method has not finished on a data set.
type Gap struct {
	Method, DataSet string
	Splits          []int
	Planned         int // splits in all
}

// NewStudies sorts results into studies, in the order in which they come. Planned
// are the runs that there should be; without any, every method should have every
// split on every data set of its study.
func NewStudies(results Results, planned []Run) (studies []*Study) {
	index, texts := map[Setting]*Study{}, map[Run]string{}
	locate := func(r Run) (*Study, cell) {
		if _, known := texts[r]; !known {
			texts[r] = methodText(r)
		}
		setting := Setting{r.Activation, r.BatchSize, r.Rounds}
		if index[setting] == nil {
			index[setting] = &Study{Setting: setting, runs: map[cell]map[int][]Round{}, planned: map[cell]map[int]bool{}}
			studies = append(studies, index[setting])
		}
		return index[setting], cell{texts[r], r.DataSet}
	}
	for _, r := range results {
		s, at := locate(r.Run)
		s.enter(at, r.Split)
		s.runs[at][r.Split] = append(s.runs[at][r.Split], r)
	}
	for _, r := range planned {
		s, at := locate(r)
		s.enter(at, r.Split)
		s.planned[at][r.Split] = true
	}
	for _, s := range studies {
		s.finish(planned == nil)
	}
	return studies
}

// enter makes room for a run.
func (s *Study) enter(at cell, split int) {
	s.Methods = appendNew(s.Methods, at.method)
	s.DataSets = appendNew(s.DataSets, at.set)
	s.Splits = appendNew(s.Splits, split)
	if s.runs[at] == nil {
		s.runs[at], s.planned[at] = map[int][]Round{}, map[int]bool{}
	}
}

func appendNew[T comparable](list []T, v T) []T {
	if slices.Contains(list, v) {
		return list
	}
	return append(list, v)
}

// methodText is the canonical text of a run's method. A text that does not parse
// stands for itself.
func methodText(r Run) string {
	spec, err := r.Method()
	if err != nil {
		return r.Spec
	}
	return spec.String()
}

// finish puts lists in order and leaves out runs that are not complete. With all,
// every run of the grid was to be.
func (s *Study) finish(all bool) {
	slices.SortStableFunc(s.Methods, func(a, b string) int { return place(a) - place(b) })
	slices.Sort(s.DataSets)
	slices.Sort(s.Splits)
	for _, method := range s.Methods {
		for _, set := range s.DataSets {
			if gap := s.sift(cell{method, set}, all); gap.Splits != nil {
				s.Gaps = append(s.Gaps, gap)
			}
		}
	}
	s.DataSets = slices.DeleteFunc(s.DataSets, func(set string) bool {
		return !slices.ContainsFunc(s.Methods, func(m string) bool { return s.Runs(m, set) > 0 })
	})
}

// sift leaves out the runs of a method on a data set that are not complete, and
// says which are missing.
func (s *Study) sift(at cell, all bool) Gap {
	gap := Gap{Method: at.method, DataSet: at.set}
	for _, split := range s.Splits {
		rounds, wanted := s.runs[at][split], all || s.planned[at][split]
		if wanted {
			gap.Planned++
		}
		if s.complete(rounds) {
			s.labels(rounds)
			continue
		}
		delete(s.runs[at], split)
		if wanted {
			gap.Splits = append(gap.Splits, split)
		}
	}
	return gap
}

// place is where a method's text stands among the selection methods.
func place(method string) int {
	s, err := spec.Parse(method)
	if err != nil {
		return math.MaxInt32
	}
	return s.Method.Order()
}

// complete sorts the rounds of a run and reports whether all are there.
func (s *Study) complete(rounds []Round) bool {
	slices.SortFunc(rounds, func(a, b Round) int { return a.Round - b.Round })
	for i, r := range rounds {
		if r.Round != i {
			return false
		}
	}
	return len(rounds) == s.Rounds+1 && s.Rounds > 0
}

func (s *Study) labels(rounds []Round) {
	if s.Labels != nil {
		return
	}
	for _, r := range rounds {
		s.Labels = append(s.Labels, r.Labels)
	}
}

// Runs counts the complete runs of a method on data sets.
func (s *Study) Runs(method string, sets ...string) (n int) {
	for _, set := range sets {
		n += len(s.runs[cell{method, set}])
	}
	return n
}

// Common lists the data sets on which each of the methods has complete runs.
// Means over these can be compared.
func (s *Study) Common(methods ...string) (sets []string) {
	for _, set := range s.DataSets {
		if !slices.ContainsFunc(methods, func(m string) bool { return s.Runs(m, set) == 0 }) {
			sets = append(sets, set)
		}
	}
	return sets
}

// Finished lists the methods that have a complete run.
func (s *Study) Finished() (methods []string) {
	for _, m := range s.Methods {
		if s.Runs(m, s.DataSets...) > 0 {
			methods = append(methods, m)
		}
	}
	return methods
}

// Mean is a mean over splits and data sets.
type Mean struct {
	Value  float64 // NaN without runs, or where a run has NaN
	StdErr float64 // NaN where a data set has fewer than two runs
	Runs   int
	Sets   int
}

// Mean returns the mean of a number over the runs of a method on data sets. It
// is NaN if there are none on one of them.
func (s *Study) Mean(of Number, method string, sets ...string) Mean {
	return meanOfSets(sets, func(set string) (values []float64) {
		runs := s.runs[cell{method, set}]
		for _, split := range s.Splits {
			if rounds := runs[split]; rounds != nil {
				values = append(values, of(rounds))
			}
		}
		return values
	})
}

// Difference returns the mean of a number of one method less that of another,
// over the splits that both have. They start alike on a split, so that this
// tells more than two means do.
func (s *Study) Difference(of Number, method, other string, sets ...string) Mean {
	return meanOfSets(sets, func(set string) (values []float64) {
		a, b := s.runs[cell{method, set}], s.runs[cell{other, set}]
		for _, split := range s.Splits {
			if a[split] != nil && b[split] != nil {
				values = append(values, of(a[split])-of(b[split]))
			}
		}
		return values
	})
}

// meanOfSets is the mean over data sets of the mean of each one's values.
func meanOfSets(sets []string, values func(set string) []float64) Mean {
	m := Mean{Sets: len(sets)}
	variance := 0.0
	for _, set := range sets {
		x := values(set)
		mean, deviation := meanAndDeviation(x)
		m.Value += mean
		variance += deviation * deviation / float64(len(x))
		m.Runs += len(x)
	}
	m.Value /= float64(len(sets))
	m.StdErr = math.Sqrt(variance) / float64(len(sets))
	return m
}

// meanAndDeviation returns the mean and the sample deviation, NaN where there
// are too few values for it.
func meanAndDeviation(x []float64) (mean, deviation float64) {
	n := float64(len(x))
	for _, v := range x {
		mean += v / n
	}
	if len(x) == 0 {
		mean = math.NaN()
	}
	squares := 0.0
	for _, v := range x {
		squares += (v - mean) * (v - mean)
	}
	return mean, math.Sqrt(squares / (n - 1)) // 0/0 for one value
}

// Curve is the learning curve of a method: the mean log metric after each round.
func (s *Study) Curve(m Metric, method string, sets ...string) (curve []Mean) {
	for round := range s.Labels {
		curve = append(curve, s.Mean(LogAt(m, round), method, sets...))
	}
	return curve
}

// Find returns the study's method of that text, whether compat or not: compat
// comes first, as it is what the published numbers were made with.
func (s *Study) Find(spec string) (method string, ok bool) {
	for _, text := range []string{spec + compatOption, spec} {
		if slices.Contains(s.Methods, text) {
			return text, true
		}
	}
	return "", false
}

const compatOption = "@compat"

// WithoutCompat is a method's text less the option.
func WithoutCompat(method string) string { return strings.Replace(method, compatOption, "", 1) }
