package report

import (
	"fmt"
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Batch holds the contents of a page about one selected batch. The caller
// supplies everything in the reader's terms: row names, units of the labels.
type Batch struct {
	Title    string
	Intro    []string // paragraphs
	Facts    []Fact   // what was run, on which rows, with which settings
	Errors   []Fact   // expected prediction errors
	Warnings []string
	Picks    []BatchPick // in pick order
	Map      *BatchMap   // nil for no map

	// Typical is the predicted deviation of a typical candidate's label, drawn
	// as a reference line for the picks; NaN if unknown.
	Typical float64
}

// Fact is a row of a two-column table.
type Fact struct{ Name, Value string }

// BatchPick is one row of the batch. An unknown number is NaN.
type BatchPick struct {
	ID                    string
	Row                   int // in the input
	Score                 float64
	Prediction, Deviation float64 // of the label
	Reason                string
}

// BatchMap holds the positions of rows along the first two principal directions
// of the kernel.
type BatchMap struct {
	Candidates, Labelled, Picks [][2]float64
	Share                       [2]float64 // of the variance
	Note                        string     // what the map shows, and how many rows it is based on
}

// Page lays out the batch as a page.
func (b *Batch) Page() *Page {
	p := &Page{Title: b.Title, Intro: b.Intro}
	run := Section{Title: "The run", Tables: []*Table{factTable("", b.Facts)}}
	if len(b.Errors) > 0 {
		run.Tables = append(run.Tables, factTable("Predicted errors", b.Errors))
	}
	p.Sections = append(p.Sections, run)
	if len(b.Warnings) > 0 {
		p.Sections = append(p.Sections, Section{Title: "Warnings", Text: b.Warnings})
	}
	if b.Map != nil {
		p.Sections = append(p.Sections, Section{Title: "Where the picks lie", Figures: []*Figure{b.Map.figure()}})
	}
	if figures := b.figures(); len(figures) > 0 {
		p.Sections = append(p.Sections, Section{Title: "Pick by pick", Figures: figures})
	}
	p.Sections = append(p.Sections, Section{Title: "The batch", Tables: []*Table{b.table()}})
	return p
}

func factTable(title string, facts []Fact) *Table {
	t := &Table{Title: title, Columns: []Column{{Head: "what"}, {Head: "value"}}}
	for _, f := range facts {
		t.Rows = append(t.Rows, Row{Cells: []Cell{Text(f.Name), Text(f.Value)}})
	}
	return t
}

// table has one row per pick, and only the columns for which there are numbers.
func (b *Batch) table() *Table {
	predicted := b.hasFinite(func(p BatchPick) float64 { return p.Prediction })
	t := &Table{Columns: []Column{{Head: "pick"}, {Head: "id"}, {Head: "row"}, {Head: "score"}},
		Note: "In pick order; rows of the input are numbered from 0. Click a column heading to sort."}
	if predicted {
		t.Columns = append(t.Columns, Column{Head: "prediction"}, Column{Head: "deviation"})
	}
	t.Columns = append(t.Columns, Column{Head: "reason"})
	for i, p := range b.Picks {
		cells := []Cell{Count(i + 1), Text(p.ID), Count(p.Row), significant(p.Score)}
		if predicted {
			cells = append(cells, significant(p.Prediction), significant(p.Deviation))
		}
		t.Rows = append(t.Rows, Row{Cells: append(cells, Text(p.Reason))})
	}
	return t
}

// significant shows a number with four significant digits.
func significant(v float64) Cell {
	size := math.Abs(v)
	switch {
	case v == 0 || math.IsNaN(v) || math.IsInf(v, 0):
		return Number(v, 0)
	case size < 1e-4 || size >= 1e9:
		c := Number(v, 0)
		c.text = fmt.Sprintf("%.3e", v)
		return c
	}
	return Number(v, max(0, 3-int(math.Floor(math.Log10(size)))))
}

// hasFinite reports whether this number is finite for at least one pick.
func (b *Batch) hasFinite(of func(BatchPick) float64) bool {
	for _, p := range b.Picks {
		if v := of(p); !math.IsNaN(v) && !math.IsInf(v, 0) {
			return true
		}
	}
	return false
}

// figures plots scores and predicted deviations by pick.
func (b *Batch) figures() (list []*Figure) {
	x, scores, deviations := make([]float64, len(b.Picks)), make([]float64, len(b.Picks)), make([]float64, len(b.Picks))
	for i, p := range b.Picks {
		x[i], scores[i], deviations[i] = float64(i+1), p.Score, p.Deviation
	}
	if b.hasFinite(func(p BatchPick) float64 { return p.Score }) {
		f := Curves("Score by pick", "pick", "score", []Curve{{Name: "score of the pick", X: x, Y: scores}})
		f.Panels[0].Y = scaleFor(scores)
		f.Note = "The score that the method gave each row when it picked it. A steep fall means that the first picks matter most."
		list = append(list, f)
	}
	if b.hasFinite(func(p BatchPick) float64 { return p.Deviation }) {
		list = append(list, b.deviations(x, deviations))
	}
	return list
}

func (b *Batch) deviations(x, deviations []float64) *Figure {
	f := Curves("Predicted error by pick", "pick", "deviation of the label", nil)
	for i := range x {
		f.Panels[0].Marks = append(f.Panels[0].Marks, Mark{Name: "pick", X: x[i], Y: deviations[i]})
	}
	if !math.IsNaN(b.Typical) {
		f.Panels[0].Curves = []Curve{{Name: "median of the candidates", X: []float64{x[0], x[len(x)-1]}, Y: []float64{b.Typical, b.Typical}}}
	}
	f.fixed = map[string]style{"pick": {vermillion, solid, scaledGlyph{draw.CircleGlyph{}, 0.7}}}
	f.Note = "The standard deviation that the networks predict for the label of each pick, in the label's units."
	return f
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

func (m *BatchMap) figure() *Figure {
	p := Panel{
		XLabel: fmt.Sprintf("first principal direction (%.0f %% of the variance)", 100*m.Share[0]),
		YLabel: fmt.Sprintf("second principal direction (%.0f %%)", 100*m.Share[1]),
	}
	for _, set := range []struct {
		name string
		at   [][2]float64
	}{{"candidate", m.Candidates}, {"labelled", m.Labelled}, {"pick", m.Picks}} {
		for _, at := range set.at {
			p.Marks = append(p.Marks, Mark{Name: set.name, X: at[0], Y: at[1]})
		}
	}
	return &Figure{
		Title: "Candidates, labelled rows and picks as the kernel sees them", Note: m.Note, Width: 470, Height: 380, Panels: []Panel{p},
		fixed: map[string]style{
			"candidate": {grey, solid, scaledGlyph{draw.CircleGlyph{}, 0.45}},
			"labelled":  {blue, solid, scaledGlyph{draw.PlusGlyph{}, 0.9}},
			"pick":      {vermillion, solid, scaledGlyph{draw.CircleGlyph{}, 0.9}},
		},
	}
}

// scaledGlyph draws a glyph at factor times its usual size.
type scaledGlyph struct {
	draw.GlyphDrawer
	factor float64
}

func (s scaledGlyph) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	style.Radius *= vg.Length(s.factor)
	s.GlyphDrawer.DrawGlyph(c, style, at)
}
