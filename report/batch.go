package report

import (
	"fmt"
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Batch is what a page about a picked batch shows. The caller says everything in
// the words of the reader: names of rows, units of labels.
type Batch struct {
	Title    string
	Intro    []string // paragraphs
	Facts    []Fact   // what was done, with which rows and numbers
	Errors   []Fact   // how far predictions are expected to be off
	Warnings []string
	Picks    []BatchPick // in pick order
	Map      *BatchMap   // nil where there is no picture

	// Typical is the predicted deviation of a label among the candidates, as a
	// line to compare those of the picks with; NaN where there is none.
	Typical float64
}

// Fact is a line of a table.
type Fact struct{ Name, Value string }

// BatchPick is one row of the batch. Numbers that there are not are NaN.
type BatchPick struct {
	ID                    string
	Row                   int // of the input
	Score                 float64
	Prediction, Deviation float64 // of the label
	Reason                string
}

// BatchMap is where rows lie in the first two principal directions of the
// kernel.
type BatchMap struct {
	Candidates, Labelled, Picks [][2]float64
	Share                       [2]float64 // of the variance
	Note                        string     // what is shown, and on how many rows it rests
}

// Page arranges the batch.
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

// table has a line for each pick, and columns for what there is.
func (b *Batch) table() *Table {
	predicted := b.any(func(p BatchPick) float64 { return p.Prediction })
	t := &Table{Columns: []Column{{Head: "pick"}, {Head: "id"}, {Head: "row"}, {Head: "score"}},
		Note: "In pick order; rows count from 0 in the input. A click on a head sorts."}
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

// significant shows a number with four digits that matter.
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

// any tells whether a number is there for some pick.
func (b *Batch) any(of func(BatchPick) float64) bool {
	for _, p := range b.Picks {
		if v := of(p); !math.IsNaN(v) && !math.IsInf(v, 0) {
			return true
		}
	}
	return false
}

// figures are scores and predicted deviations by pick.
func (b *Batch) figures() (list []*Figure) {
	x, scores, deviations := make([]float64, len(b.Picks)), make([]float64, len(b.Picks)), make([]float64, len(b.Picks))
	for i, p := range b.Picks {
		x[i], scores[i], deviations[i] = float64(i+1), p.Score, p.Deviation
	}
	if b.any(func(p BatchPick) float64 { return p.Score }) {
		f := Curves("Score by pick", "pick", "score", []Curve{{Name: "score of the pick", X: x, Y: scores}})
		f.Panels[0].Y = spread(scores)
		f.Note = "What the method saw in each row when it picked it; a steep fall says that the first picks matter most."
		list = append(list, f)
	}
	if b.any(func(p BatchPick) float64 { return p.Deviation }) {
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
	f.fixed = map[string]style{"pick": {vermillion, solid, sized{draw.CircleGlyph{}, 0.7}}}
	f.Note = "The standard deviation that the networks predict for the label of each pick, in units of the label."
	return f
}

// spread is a logarithmic scale for positive numbers of very different sizes.
func spread(numbers []float64) Scale {
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
			"candidate": {grey, solid, sized{draw.CircleGlyph{}, 0.45}},
			"labelled":  {blue, solid, sized{draw.PlusGlyph{}, 0.9}},
			"pick":      {vermillion, solid, sized{draw.CircleGlyph{}, 0.9}},
		},
	}
}

// sized is a glyph that is larger or smaller than others.
type sized struct {
	draw.GlyphDrawer
	times float64
}

func (s sized) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	style.Radius *= vg.Length(s.times)
	s.GlyphDrawer.DrawGlyph(c, style, at)
}
