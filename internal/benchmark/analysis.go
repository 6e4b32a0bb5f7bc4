package benchmark

import (
	"math"
	"slices"
	"strings"

	"github.com/nextbatch/nextbatch/internal/stats"
	"github.com/nextbatch/nextbatch/learner"
)

// The numbers of the paper's tables and figures, computed from results. Each is a
// mean of one number per run, over the splits of each data set and then over data
// sets (appendix "Results"):
//
//	X_ij   the number of split i on data set j, such as the mean log RMSE over rounds 1 … 16
//	μ_j    the mean of X_ij over the n_j splits
//	s_j²   the sample variance, Σ_i (X_ij − μ_j)² / (n_j − 1)
//	μ      the mean of μ_j over the J data sets
//	σ      its standard error, √(Σ_j s_j²/n_j) / J
//
// The paper's text omits the division by n_j; its figures include it.

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

func (m Metric) of(errors stats.Metrics) float64 {
	return []float64{errors.MAE, errors.RMSE, errors.Q95, errors.Q99, errors.MaxE}[m]
}

// Statistic computes a number from all rounds of a complete run.
type Statistic func(rounds []Round) float64

// MeanLog is the mean of the metric's logarithm over all rounds but the start.
func MeanLog(m Metric) Statistic {
	return meanOver(func(r Round) float64 { return math.Log(m.of(r.Test)) })
}

// MeanOf is the mean of the metric over all rounds but the start.
func MeanOf(m Metric) Statistic { return meanOver(func(r Round) float64 { return m.of(r.Test) }) }

func meanOver(of func(Round) float64) Statistic {
	return func(rounds []Round) float64 {
		sum := 0.0
		for _, r := range rounds[1:] {
			sum += of(r)
		}
		return sum / float64(len(rounds)-1)
	}
}

// LogAt is the logarithm of the metric in a round.
func LogAt(m Metric, round int) Statistic {
	return func(rounds []Round) float64 { return math.Log(m.of(rounds[round].Test)) }
}

// Last is the metric in the last round.
func Last(m Metric) Statistic {
	return func(rounds []Round) float64 { return m.of(rounds[len(rounds)-1].Test) }
}

// OfTarget is a statistic of the errors of one of several targets, counted from 0, in place of
// those of all together. It is NaN if a round lacks them.
func OfTarget(target int, of Statistic) Statistic {
	return func(rounds []Round) float64 {
		if slices.ContainsFunc(rounds, func(r Round) bool { return target >= len(r.Targets) }) {
			return math.NaN()
		}
		its := slices.Clone(rounds)
		for i := range its {
			its[i].Test = its[i].Targets[target].Metrics
		}
		return of(its)
	}
}

// PickSeconds is the mean time to select a batch, including features.
func PickSeconds() Statistic {
	return func(rounds []Round) float64 {
		sum := 0.0
		for _, r := range rounds[:len(rounds)-1] {
			sum += r.Features + r.Selection
		}
		return sum / float64(len(rounds)-1)
	}
}

// SumOf is the sum of a number over all rounds.
func SumOf(of func(Round) float64) Statistic {
	return func(rounds []Round) (sum float64) {
		for _, r := range rounds {
			sum += of(r)
		}
		return sum
	}
}

// EffectiveDimension is the mean effective dimension over the rounds that have
// one; NaN if none has.
func EffectiveDimension() Statistic {
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

// Setting is what runs must share to be comparable.
type Setting struct {
	Activation string
	BatchSize  int
	Rounds     int
}

// Study holds the runs of one setting. Incomplete runs are ignored.
type Study struct {
	Setting
	// canonical texts, with @compat if it applies, after their learners (JoinSpec), in the order of the paper's selection
	// methods
	Methods  []string
	DataSets []string // with a complete run, in alphabetical order
	Splits   []int    // of any run
	Labels   []int    // of each round
	Gaps     []Gap    // missing runs

	runs map[methodOnSet]map[int][]Round // by split
}

type methodOnSet struct{ method, set string }

// Gap lists the splits that a method has not finished on a data set.
type Gap struct {
	Method, DataSet string
	Splits          []int
	Planned         int // splits in total
}

// NewStudies groups results into studies, in the order in which they occur. If
// planned is nil, every method is expected to have every split on every data set
// of its study.
func NewStudies(results Results, planned []Run) (studies []*Study) {
	groups, texts := map[Setting]*studyBuilder{}, map[Run]string{}
	var order []*studyBuilder
	locate := func(r Run) (*studyBuilder, methodOnSet) {
		if _, known := texts[r]; !known {
			texts[r] = methodText(r)
		}
		setting := Setting{r.Activation, r.BatchSize, r.Rounds}
		if groups[setting] == nil {
			groups[setting] = newStudyBuilder(setting)
			order = append(order, groups[setting])
		}
		return groups[setting], methodOnSet{texts[r], r.DataSet}
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
	for _, s := range order {
		studies = append(studies, s.finish(planned == nil))
	}
	return studies
}

// methodText is the canonical text of a run's learner and method, or the text itself if it
// does not parse.
func methodText(r Run) string {
	spec, err := r.Method()
	if err != nil {
		return r.Spec
	}
	return JoinSpec(r.Learner(), spec.String())
}

// Runs counts the complete runs of a method on data sets.
func (s *Study) Runs(method string, sets ...string) (n int) {
	for _, set := range sets {
		n += len(s.runs[methodOnSet{method, set}])
	}
	return n
}

// Targets returns the names of the targets of a data set; nil if it has one.
func (s *Study) Targets(set string) (names []string) {
	for _, method := range s.Methods {
		for _, split := range s.Splits {
			for _, r := range s.runs[methodOnSet{method, set}][split] {
				for _, t := range r.Targets {
					names = append(names, t.Target)
				}
				if names != nil {
					return names
				}
			}
		}
	}
	return nil
}

// Common lists the data sets on which every one of the methods has complete runs,
// so that means over them can be compared.
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
	Value  float64 // NaN without runs, or if a run has NaN
	StdErr float64 // NaN if a data set has fewer than two runs
	Runs   int
	Sets   int
}

// Mean returns the mean of a statistic over the runs of a method on data sets. It
// is NaN if one of them has no runs.
func (s *Study) Mean(of Statistic, method string, sets ...string) Mean {
	return meanOfSets(sets, func(set string) (values []float64) {
		runs := s.runs[methodOnSet{method, set}]
		for _, split := range s.Splits {
			if rounds := runs[split]; rounds != nil {
				values = append(values, of(rounds))
			}
		}
		return values
	})
}

// Difference returns the mean of a statistic of one method minus that of another,
// over the splits that both have. Methods start alike on a split, so the paired
// difference is more informative than two means.
func (s *Study) Difference(of Statistic, method, other string, sets ...string) Mean {
	return meanOfSets(sets, func(set string) (values []float64) {
		a, b := s.runs[methodOnSet{method, set}], s.runs[methodOnSet{other, set}]
		for _, split := range s.Splits {
			if a[split] != nil && b[split] != nil {
				values = append(values, of(a[split])-of(b[split]))
			}
		}
		return values
	})
}

// meanOfSets averages over data sets the mean of each one's values.
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

// meanAndDeviation returns the mean and the sample deviation, each NaN if there are
// too few values for it.
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

// Find returns the study's method with this text, whether compat or not. It
// prefers compat, which the published numbers were made with.
func (s *Study) Find(spec string) (method string, ok bool) {
	for _, text := range []string{spec + compatOption, spec} {
		if slices.Contains(s.Methods, text) {
			return text, true
		}
	}
	return "", false
}

// WithLearner returns the study's method of another learner that has the same spec.
func (s *Study) WithLearner(kind learner.Kind, method string) (other string, ok bool) {
	_, text := SplitSpec(method)
	return s.Find(JoinSpec(kind, WithoutCompat(text)))
}

// Random returns random selection with the learner of a method, which the method is compared with.
func (s *Study) Random(method string) (random string, ok bool) {
	kind, _ := SplitSpec(method)
	return s.Find(JoinSpec(kind, randomSpec))
}

const compatOption = "@compat"

// WithoutCompat removes the option from a method's text.
func WithoutCompat(method string) string { return strings.Replace(method, compatOption, "", 1) }
