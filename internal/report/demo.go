package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/spec"
)

// DemoResult is what demo prints as JSON.
type DemoResult struct {
	Seed    uint64               `json:"seed"`
	Labels  []int                `json:"labels"`    // labelled rows after each round, the start first
	RMSE    map[string][]float64 `json:"rmse"`      // by spec, in units of the labels: the mean over repeats
	Low     map[string][]float64 `json:"rmse_low"`  // the lowest
	High    map[string][]float64 `json:"rmse_high"` // the highest
	Repeats int                  `json:"repeats"`
	Files   []string             `json:"files"` // written files
	Seconds float64              `json:"seconds"`
}

// demoNames are the names of the curves in the picture.
var demoNames = map[string]string{spec.Default: "picked rows", "random": "random rows"}

// DemoSpecs are the methods to compare.
func DemoSpecs() []string { return []string{spec.Default, "random"} }

// NewDemoResult returns a result without errors yet, of rounds that begin with start labels and add a batch each.
func NewDemoResult(seed uint64, repeats, start, batch, rounds int) DemoResult {
	r := DemoResult{Seed: seed, Repeats: repeats, Files: []string{},
		RMSE: map[string][]float64{}, Low: map[string][]float64{}, High: map[string][]float64{}}
	for round := range rounds + 1 {
		r.Labels = append(r.Labels, start+round*batch)
	}
	for _, spec := range DemoSpecs() {
		r.RMSE[spec], r.High[spec] = make([]float64, rounds+1), make([]float64, rounds+1)
		r.Low[spec] = slices.Repeat([]float64{math.MaxFloat64}, rounds+1)
	}
	return r
}

// Add adds an error to the means.
func (r *DemoResult) Add(spec string, round int, rmse float64) {
	r.RMSE[spec][round] += rmse / float64(r.Repeats)
	r.Low[spec][round] = min(r.Low[spec][round], rmse)
	r.High[spec][round] = max(r.High[spec][round], rmse)
}

// Headline describes the gain of the method over random selection after the last round.
func (r DemoResult) Headline() string {
	last := len(r.Labels) - 1
	method, random := r.RMSE[spec.Default][last], r.RMSE["random"][last]
	change := 100 * (method/random - 1)
	text := fmt.Sprintf("With %d labels, the error is %.0f %% lower than with random rows.", r.Labels[last], -change)
	if change > 0 {
		text = fmt.Sprintf("With %d labels, the error is %.0f %% higher than with random rows.", r.Labels[last], change)
	}
	for i, rmse := range r.RMSE[spec.Default] {
		if rmse <= random && i < last {
			return text + fmt.Sprintf(" The error that random rows reach with %d labels takes %d.", r.Labels[last], r.Labels[i])
		}
	}
	return text
}

// Table lists the errors on so many rows for testing.
func (r DemoResult) Table(test int) *Table {
	t := &Table{
		Title:   fmt.Sprintf("RMSE on %s", words.Count(test, "held-out row", "held-out rows")),
		Columns: []Heading{{Head: "labels"}},
		Note: fmt.Sprintf("%s Mean of %s, seed %d.", r.Headline(),
			words.Count(r.Repeats, "repetition", "repetitions"), r.Seed),
	}
	if r.Seconds > 0 {
		t.Note += fmt.Sprintf(" It took %.0f seconds.", r.Seconds)
	}
	for _, spec := range DemoSpecs() {
		t.Columns = append(t.Columns, Heading{Head: spec})
	}
	for i, n := range r.Labels {
		row := Row{Cells: []Cell{Count(n)}}
		for _, spec := range DemoSpecs() {
			row.Cells = append(row.Cells, Number(r.RMSE[spec][i], 3))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func (r DemoResult) figure() *Figure {
	labels := make([]float64, len(r.Labels))
	for i, n := range r.Labels {
		labels[i] = float64(n)
	}
	var curves []Curve
	for _, spec := range DemoSpecs() {
		curves = append(curves, Curve{Name: demoNames[spec], X: labels, Y: r.RMSE[spec],
			Low: r.Low[spec], High: r.High[spec]})
	}
	f := LearningCurves("What the same number of labels buys", "RMSE on held-out rows", curves)
	f.Note = fmt.Sprintf("Seed %d, one run.", r.Seed)
	if r.Repeats > 1 {
		f.Note = fmt.Sprintf("Means of %d repetitions on other splits, and the range that they span; seed %d.", r.Repeats,
			r.Seed)
	}
	return f
}

// Page is the page about the first batch and the learning curves, and a picture of both.
func (r DemoResult) Page(batch *BatchPage, test int, next Step) (page *Page, picture *Figure) {
	curves := r.figure()
	batch.Title, batch.First, batch.Next = "nextbatch demo", []*Figure{curves}, []Step{next}
	batch.Intro = []string{r.Headline(),
		"The table is generated: the flow of water through a borehole, by simulation, with eight inputs."}
	page = batch.Page()
	// after the batch
	page.Sections = slices.Insert(page.Sections, 3, Section{Title: "What labels buy, in numbers",
		Tables: []*Table{r.Table(test)}})
	return page, Beside("", batch.Map.Figure(batch), curves)
}
