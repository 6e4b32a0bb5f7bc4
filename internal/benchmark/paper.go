package benchmark

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/nextbatch/nextbatch/internal/words"
)

// The paper's numbers, from the tables of its appendix "Results".

var (
	//go:embed paper/all_methods.csv
	paperMethodsCSV string
	//go:embed paper/data_sets.csv
	paperSetsCSV string
)

// PaperSplits is how many splits of each data set the paper averages over.
const PaperSplits = 20

const paperRounding = 0.001 // numbers have three digits after the point

// PaperSchedule is the schedule of the paper's tables.
func PaperSchedule() Schedule { return Schedule{Rounds: 16, Batch: 256} }

// PaperSetting is the setting of the paper's tables.
func PaperSetting(activation string) Setting {
	return Setting{activation, PaperSchedule().Batch, PaperSchedule().Rounds}
}

// DifferencesFromPaper lists the settings that differ from the paper's
// experiments.
func (s Settings) DifferencesFromPaper() (differences []string) {
	ours, paper := s.WithDefaults(), Settings{}.WithDefaults()
	for _, d := range []struct {
		what        string
		ours, paper any
	}{
		{"labelled rows to start with", ours.Start, paper.Start}, {"validation rows", max(0, ours.Valid), paper.Valid},
		{"epochs", ours.Epochs, paper.Epochs}, {"neurons in hidden layers", layers(ours.Hidden), layers(paper.Hidden)},
	} {
		if fmt.Sprint(d.ours) != fmt.Sprint(d.paper) {
			differences = append(differences, fmt.Sprintf("%v %s, not %v", d.ours, d.what, d.paper))
		}
	}
	return differences
}

// layers writes the widths of layers in words, such as 512 and 512.
func layers(widths []int) string {
	names := make([]string, len(widths))
	for i, w := range widths {
		names[i] = strconv.Itoa(w)
	}
	return words.List(names)
}

// PaperMethod is a row of the tables of all methods: mean log metrics and mean
// seconds to select a batch, over the 15 data sets.
type PaperMethod struct {
	Activation string
	Spec       string
	Log        map[Metric]float64
	Seconds    float64
}

// PaperMethods returns the tables of all methods, ReLU and SiLU.
func PaperMethods() (list []PaperMethod) {
	for _, row := range paperRows(paperMethodsCSV) {
		m := PaperMethod{Activation: row[0], Spec: row[1], Log: map[Metric]float64{}, Seconds: paperNumber(row[7])}
		for i, metric := range AllMetrics() {
			m.Log[metric] = paperNumber(row[2+i])
		}
		list = append(list, m)
	}
	return list
}

// PaperRMSE is a cell of the tables of data sets (ReLU): the mean RMSE over the
// rounds and the last one.
type PaperRMSE struct {
	DataSet, Spec string
	Mean, Last    float64
}

// PaperRMSEs returns the tables of data sets.
func PaperRMSEs() (list []PaperRMSE) {
	for _, row := range paperRows(paperSetsCSV) {
		list = append(list, PaperRMSE{row[0], row[1], paperNumber(row[2]), paperNumber(row[3])})
	}
	return list
}

// paperRows reads a table without its header. The tables are part of the program,
// so an error in them is a bug.
func paperRows(text string) [][]string {
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		panic(fmt.Sprintf("benchmark: a table of the paper: %v", err))
	}
	return rows[1:]
}

func paperNumber(s string) float64 {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		panic(fmt.Sprintf("benchmark: a table of the paper: %v", err))
	}
	return v
}

// PaperComparison sets a number of ours beside the paper's.
type PaperComparison struct {
	DataSet     string // empty for all data sets
	Method      string
	What        string
	Ours        Mean
	Paper       float64
	Difference  float64
	Relative    float64 // Difference / Paper; for logarithms, exp(Difference) − 1
	StdErr      float64 // of the difference
	Logarithmic bool
}

// CompareWithPaper compares a study with the paper's tables wherever setting,
// methods and data sets agree. The tables of all methods are means over 15 data
// sets, so only methods with runs on all of them are compared there.
//
// The paper states no standard error for a number. That of the difference assumes
// that the paper's 20 splits vary as much as ours do, √(σ² + σ²·n/20) for n splits
// of ours, and includes the rounding to three digits.
func (s *Study) CompareWithPaper() (list []PaperComparison) {
	if s.Setting != PaperSetting(s.Activation) {
		return nil
	}
	if s.Activation == "relu" {
		list = s.compareSets()
	}
	return append(list, s.compareMethods()...)
}

func (s *Study) compareSets() (list []PaperComparison) {
	numbers := []struct {
		what string
		of   Statistic
		get  func(PaperRMSE) float64
	}{
		{"mean RMSE", MeanOf(RMSE), func(p PaperRMSE) float64 { return p.Mean }},
		{"last RMSE", Last(RMSE), func(p PaperRMSE) float64 { return p.Last }},
	}
	for _, n := range numbers {
		for _, p := range PaperRMSEs() {
			method, ok := s.Find(p.Spec)
			if ok && s.Runs(method, p.DataSet) > 0 {
				list = append(list, compare(p.DataSet, method, n.what, s.Mean(n.of, method, p.DataSet), n.get(p), false))
			}
		}
	}
	return list
}

func (s *Study) compareMethods() (list []PaperComparison) {
	var sets []string
	for _, p := range PaperRMSEs() {
		if !slices.Contains(sets, p.DataSet) {
			sets = append(sets, p.DataSet)
		}
	}
	for _, p := range PaperMethods() {
		method, ok := s.Find(p.Spec)
		if !ok || p.Activation != s.Activation || slices.ContainsFunc(sets,
			func(set string) bool { return s.Runs(method, set) == 0 }) {
			continue
		}
		for _, m := range AllMetrics() {
			list = append(list, compare("", method, "mean log "+m.String(), s.Mean(MeanLog(m), method, sets...), p.Log[m], true))
		}
	}
	return list
}

func compare(set, method, what string, ours Mean, paper float64, logarithmic bool) PaperComparison {
	a := PaperComparison{DataSet: set, Method: method, What: what, Ours: ours, Paper: paper, Logarithmic: logarithmic}
	a.Difference = ours.Value - paper
	a.Relative = a.Difference / paper
	if logarithmic {
		a.Relative = math.Expm1(a.Difference)
	}
	splits := float64(ours.Runs) / float64(ours.Sets)
	a.StdErr = math.Sqrt(ours.StdErr*ours.StdErr*(1+splits/PaperSplits) + paperRounding*paperRounding/12)
	return a
}
