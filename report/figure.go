package report

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// Figure is one or more panels under a title, with one legend below them all, so
// that it covers no curve, and a note, which says what stands behind the
// numbers. The same figure always gives the same bytes.
type Figure struct {
	Name  string // of its files, without extension
	Title string
	Note  string
	// Order lists the names of curves and marks in the order in which they get
	// their styles. Names that are not in it follow as they come. Figures with
	// the same Order draw the same name alike.
	Order   []string
	Columns int       // of panels; 0 means that all stand in a row
	Width   vg.Length // of a panel; 0 means 396 points for one panel, 170 for several
	Height  vg.Length // of a panel; 0 means two thirds of its width for one panel, 145 for several
	Panels  []Panel

	fixed map[string]style // of names that do not take the next style
}

// Panel is one system of axes.
type Panel struct {
	Title, XLabel, YLabel string
	X, Y                  Scale
	Curves                []Curve
	Marks                 []Mark

	more   []plot.Plotter
	bare   bool // no axes
	blank  bool // an empty place
	square bool // both axes show the same range, with the same marks
}

// Scale says how an axis is divided.
type Scale int

const (
	Linear Scale = iota
	Log10        // logarithmic, labelled at powers of ten and parts of them
	Log2         // logarithmic, labelled at powers of two
)

// Curve is a line through points, and a shaded band around it from Low to High;
// either both are nil or each has a number for each point. A NaN leaves a gap. On
// a logarithmic axis so does a number that is not positive.
type Curve struct {
	Name      string // for the legend
	X, Y      []float64
	Low, High []float64
}

// Mark is a single point.
type Mark struct {
	Name     string // for the legend, or beside the mark
	X, Y     float64
	Labelled bool // the name stands beside the mark, not in the legend
}

// Curves is a figure with one panel of curves, such as a learning curve. To make
// an axis logarithmic, set Panels[0].X or .Y.
func Curves(title, xlabel, ylabel string, curves []Curve) *Figure {
	return &Figure{Title: title, Panels: []Panel{{XLabel: xlabel, YLabel: ylabel, Curves: curves}}}
}

// plot builds the panel.
func (p Panel) plot(styles map[string]style, width vg.Length) *plot.Plot {
	out := themed()
	out.X.Tick.Marker = LinearTicks{Steps: min(6, max(3, int(width/45)))}                           // labels need room
	out.X.Label.Text, out.Y.Label.Text = clip(p.XLabel, longestLabel), clip(p.YLabel, longestLabel) // the title stands over the axes, see drawPanels
	if p.square {
		out.Y.Tick.Marker = out.X.Tick.Marker
	}
	p.X.apply(&out.X)
	p.Y.apply(&out.Y)
	if p.bare {
		out.HideAxes()
	} else {
		out.Add(grid())
	}
	out.Add(p.more...)
	var bands, lines []plot.Plotter
	for _, c := range p.Curves {
		line := &curvePlotter{c, p.X, p.Y, styles[c.Name]}
		bands, lines = append(bands, bandPlotter{line}), append(lines, line)
	}
	out.Add(bands...)
	out.Add(lines...)
	out.Add(&marksPlotter{p.Marks, p.X, p.Y, styles})
	if out.X.Min > out.X.Max && !p.bare {
		out.Add(emptyPlotter{})
	}
	p.X.frame(&out.X)
	p.Y.frame(&out.Y)
	return out
}

func (s Scale) apply(axis *plot.Axis) {
	switch s {
	case Log10:
		axis.Scale, axis.Tick.Marker = plot.LogScale{}, LogTicks{}
	case Log2:
		axis.Scale, axis.Tick.Marker = plot.LogScale{}, LogTicks{Base: 2}
	}
}

// shows reports whether a number can be drawn.
func (s Scale) shows(v float64) bool {
	return !math.IsNaN(v) && !math.IsInf(v, 0) && (s == Linear || v > 0)
}

// frame makes room around the numbers, or makes up a range where there are none.
func (s Scale) frame(axis *plot.Axis) {
	const room = 0.03
	low, high := axis.Min, axis.Max
	switch {
	case low > high: // nothing was drawn
		axis.Min, axis.Max = 1, 10
	case s == Linear:
		margin := (high - low) * room
		if !canBeDivided(low, high) {
			margin = math.Max(math.Abs(low), 1) * room
		}
		axis.Min, axis.Max = low-margin, high+margin
	default:
		factor := math.Pow(high/low, room)
		if !canBeDivided(low, high) {
			factor = 1 + room
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

// names lists the curves and marks of the legend, each once, in the order of
// their styles; styleMap has the style of every name.
func (f *Figure) names() (legend []string, styleMap map[string]style, lines map[string]bool) {
	styleMap, lines = map[string]style{}, map[string]bool{}
	used := map[string]bool{}
	order := append([]string{}, f.Order...)
	for _, p := range f.Panels {
		for _, c := range p.Curves {
			used[c.Name], lines[c.Name] = true, true
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
		if !fixed {
			s = styleOf(len(styleMap))
		}
		styleMap[name] = s
		if used[name] {
			legend = append(legend, name)
		}
	}
	return legend, styleMap, lines
}
