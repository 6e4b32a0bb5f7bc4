package report

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// Figure is one or more panels under a title. Below them, where they cover no
// curve, are a shared legend and a note that says what the numbers are based on.
// The same figure always gives the same bytes.
type Figure struct {
	Name  string // of its files, without the extension
	Title string
	Note  string
	// Order assigns styles to the names of curves and marks, in this order. Other
	// names follow as they occur. Figures with the same Order draw a name in the
	// same style.
	Order   []string
	Columns int       // of panels; 0 puts them all in one row
	Width   vg.Length // of a panel; 0 means 396 points for one panel, 170 for several
	Height  vg.Length // of a panel; 0 means two thirds of its width for one panel, 145 for several
	Decimal byte      // the decimal mark of the numbers at the axes; 0 means a point
	Panels  []Panel

	fixed map[string]style // of names that do not take the next free style
}

// Panel is one pair of axes.
type Panel struct {
	Title, XLabel, YLabel string
	X, Y                  Scale
	Curves                []Curve
	Marks                 []Mark

	more     []plot.Plotter
	measured bool // ticks of the x axis are where the curves have points
	bare     bool // no axes
	blank    bool // leaves its place empty
	square   bool // both axes have the same ticks
}

// Scale is the scale of an axis.
type Scale int

const (
	Linear Scale = iota
	Log10        // logarithmic, labelled at powers of ten and digits between them
	Log2         // logarithmic, labelled at powers of two
)

// Curve is a line through points, with a shaded band from Low to High; either
// both are nil or both have a number per point. A NaN leaves a gap, and so does a
// non-positive number on a logarithmic axis.
type Curve struct {
	Name      string // for the legend
	X, Y      []float64
	Low, High []float64
	Reference bool // a line to compare with, not measured: dashed, in grey, without marks
}

// Mark is a single point.
type Mark struct {
	Name     string // for the legend, or beside the mark; empty for neither
	X, Y     float64
	Labelled bool   // the name is written beside the mark, not in the legend
	Tip      string // shown on a page while the pointer is on the mark; empty for none

	key string // on a page, lights up together with the table row of this key
}

// Curves returns a figure with one panel of curves, such as learning curves. To make
// an axis logarithmic, set Panels[0].X or .Y.
func Curves(title, xlabel, ylabel string, curves []Curve) *Figure {
	return &Figure{Title: title, Panels: []Panel{{XLabel: xlabel, YLabel: ylabel, Curves: curves}}}
}

// Beside returns one figure with the panels of several, each panel under the title of
// its figure. What the figures have in common must have the same name in each.
func Beside(title string, figures ...*Figure) *Figure {
	out := &Figure{Title: title, Width: besideWidth, Height: besideWidth * 3 / 4, fixed: map[string]style{}}
	for _, f := range figures {
		out.Order, out.Decimal = append(out.Order, f.Order...), cmp.Or(out.Decimal, f.Decimal)
		maps.Copy(out.fixed, f.fixed)
		for _, p := range f.Panels {
			p.Title = f.Title
			out.Panels = append(out.Panels, p)
		}
	}
	return out
}

// besideWidth is the width of a panel beside others, in points.
const besideWidth = vg.Length(290)

// plot builds the panel's plot, which adds its spots when it is drawn.
func (p Panel) plot(styles map[string]style, width vg.Length, spots *[]spot) *plot.Plot {
	out := themed()
	out.X.Tick.Marker = linearTicks{Steps: min(6, max(3, int(width/45)))} // labels need space
	// drawPanels writes the title above the axes
	out.X.Label.Text, out.Y.Label.Text = clip(p.XLabel, longestLabel), clip(p.YLabel, longestLabel)
	if p.square {
		out.Y.Tick.Marker = out.X.Tick.Marker
	}
	p.X.apply(&out.X)
	p.Y.apply(&out.Y)
	if at := p.measuredAt(); p.measured && len(at) > 0 {
		out.X.Tick.Marker = measuredTicks{at, width - axisSpace, p.X != Linear}
	}
	if p.bare {
		out.HideAxes()
	} else {
		out.Add(grid())
	}
	out.Add(p.more...)
	var bands, lines []plot.Plotter
	for _, c := range p.Curves {
		line := &curvePlotter{c, p, styles[c.Name], spots}
		bands, lines = append(bands, bandPlotter{line}), append(lines, line)
	}
	out.Add(bands...)
	out.Add(lines...)
	out.Add(&marksPlotter{p.Marks, p.X, p.Y, styles, spots})
	if out.X.Min > out.X.Max && !p.bare {
		out.Add(emptyPlotter{})
	}
	p.X.frame(&out.X)
	p.Y.frame(&out.Y)
	return out
}

// axisSpace is about what the labels of the y axis take of a panel's width.
const axisSpace = vg.Length(40)

// measuredAt returns the places on the x axis where a curve has a point, in order.
func (p Panel) measuredAt() (at []float64) {
	for _, c := range p.Curves {
		for _, x := range c.X {
			if p.X.shows(x) {
				at = append(at, x)
			}
		}
	}
	slices.Sort(at)
	return slices.Compact(at)
}

func (s Scale) apply(axis *plot.Axis) {
	switch s {
	case Log10:
		axis.Scale, axis.Tick.Marker = plot.LogScale{}, logTicks{}
	case Log2:
		axis.Scale, axis.Tick.Marker = plot.LogScale{}, logTicks{Base: 2}
	}
}

// shows reports whether a number can be drawn on this scale.
func (s Scale) shows(v float64) bool {
	return !math.IsNaN(v) && !math.IsInf(v, 0) && (s == Linear || v > 0)
}

// frame pads the range of the numbers, or makes up a range if there are none.
func (s Scale) frame(axis *plot.Axis) {
	const padding = 0.03
	low, high := axis.Min, axis.Max
	switch {
	case low > high: // nothing was drawn
		axis.Min, axis.Max = 1, 10
	case s == Linear:
		margin := (high - low) * padding
		if !hasRoomForTicks(low, high) {
			margin = math.Max(math.Abs(low), 1) * padding
		}
		axis.Min, axis.Max = low-margin, high+margin
	default:
		factor := math.Pow(high/low, padding)
		if !hasRoomForTicks(low, high) {
			factor = 1 + padding
		}
		axis.Min, axis.Max = low/factor, high*factor
	}
}

func grid() *plotter.Grid {
	g := plotter.NewGrid()
	g.Horizontal.Color, g.Vertical.Color = faint, faint
	g.Horizontal.Width, g.Vertical.Width = thin, thin
	return g
}

// names lists the names in the legend once each, in the order of their styles;
// styleMap holds the style of every name, and lines has those of curves.
func (f *Figure) names() (legend []string, styleMap map[string]style, lines map[string]bool) {
	styleMap, lines = map[string]style{}, map[string]bool{}
	used, references := map[string]bool{}, map[string]bool{}
	order := append([]string{}, f.Order...)
	for _, p := range f.Panels {
		for _, c := range p.Curves {
			used[c.Name], lines[c.Name] = true, true
			references[c.Name] = references[c.Name] || c.Reference
			order = append(order, c.Name)
		}
		for _, m := range p.Marks {
			used[m.Name] = used[m.Name] || !m.Labelled
			order = append(order, m.Name)
		}
	}
	for _, name := range order {
		if _, ok := styleMap[name]; ok {
			continue
		}
		s, fixed := f.fixed[name]
		if references[name] {
			s = style{grey, dashed, noGlyph{}}
		} else if !fixed {
			s = styleOf(len(styleMap))
		}
		styleMap[name] = s
		if used[name] && name != "" {
			legend = append(legend, name)
		}
	}
	return legend, styleMap, lines
}
