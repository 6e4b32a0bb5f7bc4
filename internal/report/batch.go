package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot/vg/draw"

	"github.com/nextbatch/nextbatch/internal/words"
)

// BatchPage holds the contents of a page about one selected batch. The caller
// supplies everything in the reader's terms: row names, units of the labels.
type BatchPage struct {
	Title    string
	Intro    []string  // paragraphs
	Next     []Step    // what the reader does with the batch
	First    []*Figure // shown above the batch, with the map beside them
	Facts    []Fact    // what was run, on which rows, with which settings
	Errors   []Fact    // expected prediction errors
	Warnings []string
	Inputs   []string    // names of the input columns
	Matters  []float64   // how much the predictions depend on each of Inputs; nil if unknown
	Targets  []string    // names of the targets, if there are several
	Picks    []BatchPick // in pick order
	Map      *BatchMap   // nil for no map
	Runs     []string    // a line for each run, in order
	Plates   []*BatchPlate
	Repeats  []BatchWell // labelled rows that are measured once more; without a well if there are no plates

	// Typical is the uncertainty of a typical candidate, drawn as a reference line
	// for the picks; NaN if unknown.
	Typical float64
	Blend   bool // the predictions are those of a blend, not of networks alone
	Decimal byte // the decimal mark of the picks' numbers; 0 means a point
}

// Fact is a name and a value: a row of a two-column table.
type Fact struct{ Name, Value string }

// BatchPick is one row of the batch. An unknown number is NaN.
type BatchPick struct {
	ID          string
	Row         int      // in the input
	Inputs      []string // values, as in the table, one for each of BatchPage.Inputs
	Apart       []string // names of the inputs in which it differs from other rows
	Score       float64
	Predictions []Predicted // of the label; one for each of several targets
	Uncertainty float64     // of the prediction; that of a typical held-out row is 1
	Run         int         // from 1; 0 without runs
	Times       int         // how often it is measured, if that is more than once
	Wells       []string    // one for each measurement; empty without plates
	Short       string      // the reason in a few words
	Reason      string
}

// Predicted is a prediction and its interval, whose ends are NaN if there is none.
type Predicted struct{ Value, Low, High float64 }

// cell shows the prediction with its interval.
func (p Predicted) cell() Cell {
	if math.IsNaN(p.Value) || math.IsNaN(p.Low) {
		return significant(p.Value)
	}
	return Cell{number: true, value: p.Value, text: words.Estimate(p.Value, p.Low, p.High).String()}
}

// BatchMap holds the positions of rows along the first two principal directions
// of the kernel.
type BatchMap struct {
	Candidates, Labelled, Picks [][2]float64
	Share                       [2]float64 // of the variance
	Note                        string     // what the map shows, and how many rows it is based on
}

// Page lays out the batch as a page.
func (b *BatchPage) Page() *Page {
	p := &Page{Title: b.Title, Intro: b.Intro, Warnings: b.Warnings}
	figures := b.figures()
	if len(b.First) > 0 {
		first := Section{Title: "What labels buy, and where the picks lie", Figures: b.First}
		if b.Map != nil {
			first.Figures, figures = append(first.Figures, figures[0]), figures[1:]
		}
		p.Sections = append(p.Sections, first)
	}
	if len(b.Next) > 0 {
		p.Sections = append(p.Sections, Section{Title: "What to do next", Steps: b.Next})
	}
	p.Sections = append(p.Sections, Section{Title: "The batch", Text: b.Runs, Tables: b.tables()})
	if len(b.Plates) > 0 {
		p.Sections = append(p.Sections, Section{Title: map[bool]string{true: "The plate",
			false: "The plates"}[len(b.Plates) == 1], Plates: b.Plates})
	}
	if len(figures) > 0 {
		p.Sections = append(p.Sections, Section{Title: b.figuresTitle(), Figures: figures})
	}
	if len(b.Errors) > 0 {
		p.Sections = append(p.Sections, Section{Title: "Predicted errors", Tables: []*Table{factTable(b.Errors)}})
	}
	p.Sections = append(p.Sections, Section{Title: "The run", Tables: []*Table{factTable(b.Facts)}})
	return p
}

// figuresTitle is that of the figures below the batch.
func (b *BatchPage) figuresTitle() string {
	if b.Map != nil && len(b.First) == 0 {
		return "Where the picks lie"
	}
	return "Pick by pick"
}

func factTable(facts []Fact) *Table {
	t := &Table{Columns: []Heading{{Head: "what"}, {Head: "value"}}, Facts: true}
	for _, f := range facts {
		t.Rows = append(t.Rows, Row{Cells: []Cell{Text(f.Name), Text(f.Value)}})
	}
	return t
}

const (
	mostInputs  = 3  // input columns of the table of the batch; a click shows the others
	mostTargets = 2  // columns of predictions
	tipInputs   = 12 // inputs that a tip shows
	longNumber  = 9  // characters of a number of the table beyond which it is rounded
)

// tables are the batch and, if there are any, the labelled rows that are measured once more.
func (b *BatchPage) tables() []*Table {
	if len(b.Repeats) == 0 {
		return []*Table{b.table()}
	}
	t := &Table{Title: "Labelled rows that are measured once more", Columns: []Heading{{Head: "id"}},
		Note: "Rows that were measured before, which show how much measurements of the same row differ."}
	if len(b.Plates) > 0 {
		t.Columns = append(t.Columns, Heading{Head: "well"})
	}
	for _, r := range b.Repeats {
		cells := []Cell{Text(r.ID)}
		if len(b.Plates) > 0 {
			cells = append(cells, Text(r.Well))
		}
		t.Rows = append(t.Rows, Row{Cells: cells})
	}
	return []*Table{b.table(), t}
}

// table has one row per pick, and only the columns for which there are numbers.
func (b *BatchPage) table() *Table {
	shown, targets := b.shownInputs(), min(b.predicted(), mostTargets)
	t := &Table{Columns: []Heading{{Head: "pick"}, {Head: "id"}}, Fit: true,
		Note: "In pick order. Click a reason for all that is known about a pick, and a heading to sort; point at a row to " +
			"find it in the figures."}
	if len(shown) < len(b.Inputs) {
		t.Note += fmt.Sprintf(" Shown are %d of %d inputs: %s.", len(shown), len(b.Inputs), b.whyShown())
	}
	lab := b.labColumns()
	for _, c := range lab {
		t.Columns = append(t.Columns, Heading{Head: c.head})
	}
	for _, column := range shown {
		t.Columns = append(t.Columns, Heading{Head: b.Inputs[column]})
	}
	for k := range targets {
		t.Columns = append(t.Columns, Heading{Head: b.predictionHead(k)})
	}
	t.Columns = append(t.Columns, Heading{Head: "reason"})
	for i, p := range b.Picks {
		cells := []Cell{Count(i + 1), Text(p.ID)}
		for _, c := range lab {
			cells = append(cells, c.cell(p))
		}
		for _, column := range shown {
			cells = append(cells, b.inputCell(i, column))
		}
		for k := range targets {
			cells = append(cells, p.Predictions[k].cell().Marked(b.Decimal))
		}
		t.Rows = append(t.Rows, Row{Cells: append(cells, b.reasonCell(i, shown, targets)), key: pickKey(i)})
	}
	return t
}

// labColumn is a column about runs, replicates and wells.
type labColumn struct {
	head string
	cell func(BatchPick) Cell
}

// labColumns are those that the picks have values for.
func (b *BatchPage) labColumns() (list []labColumn) {
	has := func(of func(BatchPick) bool) bool { return slices.ContainsFunc(b.Picks, of) }
	if has(func(p BatchPick) bool { return p.Run > 0 }) {
		list = append(list, labColumn{"run", func(p BatchPick) Cell { return Count(p.Run) }})
	}
	switch {
	case has(func(p BatchPick) bool { return len(p.Wells) > 0 }):
		list = append(list, labColumn{"well", func(p BatchPick) Cell { return Text(strings.Join(p.Wells, ", ")) }})
	case has(func(p BatchPick) bool { return p.Times > 1 }):
		list = append(list, labColumn{"measurements", func(p BatchPick) Cell { return Count(p.Times) }})
	}
	return list
}

// predicted is the number of targets that all picks have predictions of.
func (b *BatchPage) predicted() int {
	if len(b.Picks) == 0 {
		return 0
	}
	return len(b.Picks[0].Predictions)
}

// predictionHead is the heading of the predictions of a target.
func (b *BatchPage) predictionHead(target int) string {
	if len(b.Targets) < 2 {
		return "prediction"
	}
	return "prediction of " + b.Targets[target]
}

// shownInputs returns the inputs that matter most, in the order of the table.
func (b *BatchPage) shownInputs() []int {
	matters := b.Matters
	if matters == nil {
		matters = b.timesApart()
	}
	list := make([]int, len(b.Inputs))
	for i := range list {
		list[i] = i
	}
	slices.SortStableFunc(list, func(i, k int) int { return cmp.Compare(matters[k], matters[i]) })
	list = list[:min(len(list), mostInputs)]
	slices.Sort(list)
	return list
}

// whyShown says which inputs the table shows.
func (b *BatchPage) whyShown() string {
	if b.Matters == nil {
		return "those that set the picks apart from other rows most often"
	}
	return "those that matter most to the model, whose predictions move most when their values are swapped between " +
		"candidates"
}

// timesApart counts for each input the picks that differ in it from other rows.
func (b *BatchPage) timesApart() []float64 {
	times := make([]float64, len(b.Inputs))
	for _, p := range b.Picks {
		for _, name := range p.Apart {
			if i := slices.Index(b.Inputs, name); i >= 0 {
				times[i]++
			}
		}
	}
	return times
}

// reasonCell is the short reason, and on click what the other columns do not show.
func (b *BatchPage) reasonCell(pick int, shown []int, targets int) Cell {
	p := b.Picks[pick]
	c := Text(p.Short)
	if p.Reason != p.Short {
		c.more = p.Reason
	}
	if c.text == "" {
		c.text, c.more = p.Reason, ""
	}
	add := func(name, value string) { c.rest = append(c.rest, Fact{name, value}) }
	for column, name := range b.Inputs {
		if !slices.Contains(shown, column) {
			add(name, b.inputCell(pick, column).text)
		}
	}
	for k := targets; k < len(p.Predictions); k++ {
		add(b.predictionHead(k), p.Predictions[k].cell().Marked(b.Decimal).text)
	}
	for _, f := range []struct {
		name  string
		value float64
	}{{"uncertainty", p.Uncertainty}, {"score", p.Score}} {
		if !math.IsNaN(f.value) {
			add(f.name, significant(f.value).Marked(b.Decimal).text)
		}
	}
	add("row (from 0)", strconv.Itoa(p.Row))
	return c
}

// inputCell shows the value of an input as the table has it; a column of numbers
// sorts as numbers.
func (b *BatchPage) inputCell(pick, column int) Cell {
	c := Text(b.Picks[pick].Inputs[column])
	for _, p := range b.Picks {
		if _, err := strconv.ParseFloat(p.Inputs[column], 64); err != nil && p.Inputs[column] != "" {
			return c
		}
	}
	c.number = true
	if v, err := strconv.ParseFloat(c.text, 64); err == nil {
		c.value = v
		if len(c.text) > longNumber {
			c.text = words.Plain(v)
		}
	} else {
		c.value, c.text = math.NaN(), missing
	}
	return c.Marked(b.Decimal)
}

// pickKey links what the page shows about pick i.
func pickKey(i int) string { return "pick-" + strconv.Itoa(i+1) }

// pickTip describes pick i: its name, inputs and prediction.
func (b *BatchPage) pickTip(i int) string {
	p := b.Picks[i]
	lines := []string{fmt.Sprintf("pick %d: %s", i+1, p.ID)}
	for column, name := range b.Inputs[:min(len(b.Inputs), tipInputs)] {
		lines = append(lines, clip(name, longestLabel)+" "+clip(b.inputCell(i, column).text, longestLabel))
	}
	for k, one := range p.Predictions {
		lines = append(lines, b.predictionHead(k)+" "+one.cell().Marked(b.Decimal).text)
	}
	return strings.Join(lines, "\n")
}

// significant shows a number with four significant digits.
func significant(v float64) Cell {
	if math.IsNaN(v) {
		return Number(v, 0)
	}
	return Cell{number: true, value: v, text: words.Number(v)}
}

// hasFinite reports whether this number is finite for at least one pick.
func (b *BatchPage) hasFinite(of func(BatchPick) float64) bool {
	for _, p := range b.Picks {
		if v := of(p); !math.IsNaN(v) && !math.IsInf(v, 0) {
			return true
		}
	}
	return false
}

// figures returns the map, and scores and uncertainties by pick.
func (b *BatchPage) figures() (list []*Figure) {
	if b.Map != nil {
		list = append(list, b.Map.Figure(b))
	}
	x, scores, uncertainties := make([]float64, len(b.Picks)), make([]float64, len(b.Picks)), make([]float64, len(b.Picks))
	for i, p := range b.Picks {
		x[i], scores[i], uncertainties[i] = float64(i+1), p.Score, p.Uncertainty
	}
	if b.hasFinite(func(p BatchPick) float64 { return p.Score }) {
		f := Curves("Score by pick", "pick", "score", nil)
		f.Panels[0].Marks, f.Panels[0].Y = b.marks("", x, scores), scaleFor(scores)
		f.fixed = map[string]style{"": pickPoint}
		f.Note = "The score that the method gave each row when it picked it. A steep fall means that the first picks " +
			"matter most."
		list = append(list, f)
	}
	if b.hasFinite(func(p BatchPick) float64 { return p.Uncertainty }) && !same(uncertainties) {
		list = append(list, b.uncertainties(x, uncertainties))
	}
	for _, f := range list {
		f.Decimal = b.Decimal
	}
	return list
}

// same reports whether several numbers are all equal.
func same(numbers []float64) bool {
	return len(numbers) > 1 && !slices.ContainsFunc(numbers, func(v float64) bool { return v != numbers[0] })
}

func (b *BatchPage) uncertainties(x, uncertainties []float64) *Figure {
	f := Curves("Uncertainty by pick", "pick", "uncertainty", nil)
	f.Panels[0].Marks = b.marks("pick", x, uncertainties)
	if !math.IsNaN(b.Typical) {
		f.Panels[0].Curves = []Curve{{Name: "median of the candidates", X: []float64{x[0], x[len(x)-1]},
			Y: []float64{b.Typical, b.Typical}, Reference: true}}
	}
	f.fixed = map[string]style{"pick": pickPoint}
	uncertain := "the networks are"
	if b.Blend {
		uncertain = "the model is"
	}
	f.Note = "How uncertain " + uncertain +
		" about each pick: 1 is a typical held-out row, 2 twice as much. It compares rows; how far off a prediction may " +
		"be, the interval says."
	return f
}

// marks has one mark per pick.
func (b *BatchPage) marks(name string, x, y []float64) (list []Mark) {
	for i := range x {
		list = append(list, Mark{Name: name, X: x[i], Y: y[i], Tip: b.pickTip(i), key: pickKey(i)})
	}
	return list
}

// scaleFor chooses a logarithmic scale for positive numbers that differ by orders
// of magnitude, and a linear one otherwise.
func scaleFor(numbers []float64) Scale {
	low, high := math.Inf(1), 0.0
	for _, v := range numbers {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			low, high = min(low, v), max(high, v)
		}
	}
	if low > 0 && high > 30*low {
		return Log10
	}
	return Linear
}

// Figure draws the map of a batch, in layers from the most rows to the fewest. Labelled rows and picks
// are hollow, so they hide nothing.
func (m *BatchMap) Figure(b *BatchPage) *Figure {
	p := Panel{
		XLabel: fmt.Sprintf("first principal direction (%.0f %% of the variance)", 100*m.Share[0]),
		YLabel: fmt.Sprintf("second principal direction (%.0f %%)", 100*m.Share[1]),
	}
	for _, at := range m.Candidates {
		p.Marks = append(p.Marks, Mark{Name: "candidate", X: at[0], Y: at[1]})
	}
	for _, at := range m.Labelled {
		p.Marks = append(p.Marks, Mark{Name: "labelled", X: at[0], Y: at[1]})
	}
	for i, at := range m.Picks {
		mark := Mark{Name: "pick", X: at[0], Y: at[1]}
		if i < len(b.Picks) {
			mark.Tip, mark.key = b.pickTip(i), pickKey(i)
		}
		p.Marks = append(p.Marks, mark)
	}
	return &Figure{
		Title: "The picks among the other rows: rows that the model finds alike lie close together", Note: m.Note, Width: 400,
		Height: 330, Panels: []Panel{p},
		fixed: map[string]style{
			"candidate": {pale, solid, scaledGlyph{draw.CircleGlyph{}, 0.5}},
			"labelled":  {blue, solid, hollow{corners: 4, width: 0.9, factor: 0.85}},
			"pick":      {vermillion, solid, hollow{width: 1.4, factor: 1.15}},
		},
	}
}

// pickPoint is how a pick is drawn where nothing can lie below it.
var pickPoint = style{vermillion, solid, scaledGlyph{draw.CircleGlyph{}, 0.7}}
