package report

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// curvePlotter draws a curve with its band.
type curvePlotter struct {
	Curve
	x, y  Scale
	style style
}

// pieces cuts the curve at its gaps: ranges of points that can be drawn.
func (c *curvePlotter) pieces() (list []span) {
	open := false
	for i := range c.Y {
		shown := c.x.shows(c.X[i]) && c.y.shows(c.Y[i])
		switch {
		case shown && open:
			list[len(list)-1].to = i + 1
		case shown:
			list = append(list, span{i, i + 1})
		}
		open = shown
	}
	return list
}

type span struct{ from, to int }

// band returns the ends of the band at point i, which are the curve itself where
// the band has a gap.
func (c *curvePlotter) band(i int) (low, high float64) {
	low, high = c.Y[i], c.Y[i]
	if c.Low != nil && c.y.shows(c.Low[i]) && c.y.shows(c.High[i]) {
		low, high = c.Low[i], c.High[i]
	}
	return low, high
}

func (c *curvePlotter) Plot(canvas draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&canvas)
	for _, piece := range c.pieces() {
		var points, upper []vg.Point
		var area []vg.Point
		for i := piece.from; i < piece.to; i++ {
			low, high := c.band(i)
			points = append(points, vg.Point{X: x(c.X[i]), Y: y(c.Y[i])})
			area = append(area, vg.Point{X: x(c.X[i]), Y: y(low)})
			upper = append(upper, vg.Point{X: x(c.X[i]), Y: y(high)})
		}
		for i := len(upper) - 1; i >= 0; i-- {
			area = append(area, upper[i])
		}
		if len(points) == 1 { // no line: a dot, and the band as a stroke
			canvas.StrokeLines(draw.LineStyle{Color: shade(c.style.colour), Width: 4}, area)
			canvas.DrawGlyph(draw.GlyphStyle{Color: c.style.colour, Radius: 2, Shape: draw.CircleGlyph{}}, points[0])
			continue
		}
		if c.Low != nil {
			canvas.FillPolygon(shade(c.style.colour), area)
		}
		canvas.StrokeLines(c.style.line(), points)
	}
}

func (c *curvePlotter) DataRange() (xmin, xmax, ymin, ymax float64) {
	xmin, ymin, xmax, ymax = math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)
	for _, piece := range c.pieces() {
		for i := piece.from; i < piece.to; i++ {
			low, high := c.band(i)
			xmin, xmax = min(xmin, c.X[i]), max(xmax, c.X[i])
			ymin, ymax = min(ymin, low), max(ymax, high)
		}
	}
	return xmin, xmax, ymin, ymax
}

// shade is the colour of a band: a quarter of the ink.
func shade(c color.RGBA) color.Color { return color.NRGBA{c.R, c.G, c.B, 64} }

// markPlotter draws a mark.
type markPlotter struct {
	Mark
	x, y  Scale
	style style
}

func (m *markPlotter) shown() bool { return m.x.shows(m.X) && m.y.shows(m.Y) }

func (m *markPlotter) Plot(canvas draw.Canvas, p *plot.Plot) {
	if !m.shown() {
		return
	}
	x, y := p.Transforms(&canvas)
	at := vg.Point{X: x(m.X), Y: y(m.Y)}
	glyph := draw.GlyphStyle{Color: m.style.colour, Radius: 2.5, Shape: m.style.shape}
	if !m.Labelled {
		canvas.DrawGlyph(glyph, at)
		return
	}
	glyph = draw.GlyphStyle{Color: blue, Radius: 2.5, Shape: draw.CircleGlyph{}}
	canvas.DrawGlyph(glyph, at)
	style := textStyle(tickSize, black)
	style.YAlign = text.YCenter
	const gap = 4
	if width := style.Width(m.Name); at.X+gap+width > canvas.Max.X { // no room on the right
		style.XAlign = text.XRight
		at.X -= 2 * gap
	}
	canvas.FillText(style, vg.Point{X: at.X + gap, Y: at.Y}, m.Name)
}

func (m *markPlotter) DataRange() (xmin, xmax, ymin, ymax float64) {
	if !m.shown() {
		return math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	}
	return m.X, m.X, m.Y, m.Y
}

// rule is a straight line across the whole panel: y = at + slope·x, or x = at.
type rule struct {
	at, slope float64
	vertical  bool
	dash      int
}

func (r rule) Plot(canvas draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&canvas)
	line := []vg.Point{{X: x(p.X.Min), Y: y(r.at + r.slope*p.X.Min)}, {X: x(p.X.Max), Y: y(r.at + r.slope*p.X.Max)}}
	if r.vertical {
		line = []vg.Point{{X: x(r.at), Y: y(p.Y.Min)}, {X: x(r.at), Y: y(p.Y.Max)}}
	}
	style := draw.LineStyle{Color: black, Width: 0.8, Dashes: dashes[r.dash]}
	canvas.StrokeLines(style, canvas.ClipLinesXY(line)...)
}

// emptyPlotter says that a panel has nothing to show.
type emptyPlotter struct{}

func (emptyPlotter) Plot(canvas draw.Canvas, _ *plot.Plot) {
	style := textStyle(labelSize, ink)
	style.XAlign, style.YAlign = text.XCenter, text.YCenter
	canvas.FillText(style, canvas.Center(), "no results")
}
