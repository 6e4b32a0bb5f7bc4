package report

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/nextbatch/nextbatch/internal/words"
)

// curvePlotter draws a curve.
type curvePlotter struct {
	Curve
	panel Panel
	style style
	spots *[]spot
}

// pieces splits the curve at its gaps into ranges of points that can be drawn.
func (c *curvePlotter) pieces() (list []span) {
	open := false
	for i := range c.Y {
		shown := c.panel.X.shows(c.X[i]) && c.panel.Y.shows(c.Y[i])
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

// band returns the ends of the band at point i; where the band has a gap, both are
// the curve itself.
func (c *curvePlotter) band(i int) (low, high float64) {
	low, high = c.Y[i], c.Y[i]
	if c.Low != nil && c.panel.Y.shows(c.Low[i]) && c.panel.Y.shows(c.High[i]) {
		low, high = c.Low[i], c.High[i]
	}
	return low, high
}

// Plot draws the line, and a mark at each point that was measured.
func (c *curvePlotter) Plot(canvas draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&canvas)
	for _, piece := range c.pieces() {
		var points []vg.Point
		for i := piece.from; i < piece.to; i++ {
			points = append(points, vg.Point{X: x(c.X[i]), Y: y(c.Y[i])})
			*c.spots = append(*c.spots, spot{at: points[len(points)-1], tip: c.tip(i)})
		}
		canvas.StrokeLines(c.style.line(), points)
		for _, at := range points {
			canvas.DrawGlyphNoClip(c.style.point(len(c.X)), at)
		}
	}
}

// tip returns the numbers at point i.
func (c *curvePlotter) tip(i int) string {
	text := fmt.Sprintf("%s\n%s: %s\n%s: %s", c.Name, c.panel.XLabel, words.Number(c.X[i]),
		c.panel.YLabel, words.Number(c.Y[i]))
	if low, high := c.band(i); low < high {
		text += fmt.Sprintf(" (%s to %s)", words.Number(low), words.Number(high))
	}
	return text
}

// bandPlotter draws the band of a curve, below the lines of all curves.
type bandPlotter struct{ *curvePlotter }

func (b bandPlotter) Plot(canvas draw.Canvas, p *plot.Plot) {
	if b.Low == nil {
		return
	}
	x, y := p.Transforms(&canvas)
	for _, piece := range b.pieces() {
		var lower, upper []vg.Point
		for i := piece.from; i < piece.to; i++ {
			low, high := b.band(i)
			lower = append(lower, vg.Point{X: x(b.X[i]), Y: y(low)})
			upper = append(upper, vg.Point{X: x(b.X[i]), Y: y(high)})
		}
		if len(lower) == 1 {
			canvas.StrokeLines(draw.LineStyle{Color: shade(b.style.colour), Width: 4}, []vg.Point{lower[0], upper[0]})
			continue
		}
		slices.Reverse(upper)
		canvas.FillPolygon(shade(b.style.colour), append(lower, upper...))
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

// shade is the colour of a band: that of its curve at a quarter of the opacity.
func shade(c color.RGBA) color.Color { return color.NRGBA{c.R, c.G, c.B, 64} }

// marksPlotter draws the marks of a panel.
type marksPlotter struct {
	marks  []Mark
	x, y   Scale
	styles map[string]style
	spots  *[]spot
}

// shown lists the marks that can be drawn.
func (m *marksPlotter) shown() (list []Mark) {
	for _, mark := range m.marks {
		if m.x.shows(mark.X) && m.y.shows(mark.Y) {
			list = append(list, mark)
		}
	}
	return list
}

func (m *marksPlotter) Plot(canvas draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&canvas)
	var taken []vg.Rectangle
	for _, mark := range m.shown() {
		at, s := vg.Point{X: x(mark.X), Y: y(mark.Y)}, m.styles[mark.Name]
		if mark.Labelled {
			s.colour, s.shape = blue, draw.CircleGlyph{}
		}
		glyph := s.mark()
		canvas.DrawGlyphNoClip(glyph, at)
		if mark.Tip != "" {
			*m.spots = append(*m.spots, spot{at, mark.Tip, mark.key})
		}
		taken = append(taken, glyph.Rectangle().Add(at))
	}
	for i, mark := range m.shown() {
		if mark.Labelled {
			taken = append(taken, writeBeside(canvas, taken[i], clip(mark.Name, longestLabel), taken))
		}
	}
}

// writeBeside writes a name beside a mark, in the first place around it where it
// covers nothing, or else on the right. It returns the place.
func writeBeside(canvas draw.Canvas, mark vg.Rectangle, name string, taken []vg.Rectangle) vg.Rectangle {
	style := textStyle(tickSize, black)
	size := vg.Point{X: style.Width(name), Y: style.Height(name)}
	const off = 2
	middle := vg.Point{X: (mark.Min.X + mark.Max.X - size.X) / 2, Y: (mark.Min.Y + mark.Max.Y - size.Y) / 2}
	right, left := mark.Max.X+off, mark.Min.X-off-size.X
	above, below := mark.Max.Y+off, mark.Min.Y-off-size.Y
	for _, corner := range []vg.Point{
		{X: right, Y: middle.Y}, {X: left, Y: middle.Y}, {X: middle.X, Y: above}, {X: middle.X, Y: below},
		{X: right, Y: above}, {X: left, Y: above}, {X: right, Y: below}, {X: left, Y: below},
	} {
		place := vg.Rectangle{Min: corner, Max: corner.Add(size)}
		inside := canvas.Contains(place.Min) && canvas.Contains(place.Max)
		if inside && !slices.ContainsFunc(taken, func(r vg.Rectangle) bool { return overlap(r, place) }) {
			// A white background keeps lines from crossing the letters.
			canvas.FillPolygon(white, []vg.Point{place.Min, {X: place.Max.X, Y: place.Min.Y}, place.Max,
				{X: place.Min.X, Y: place.Max.Y}})
			canvas.FillText(style, corner, name)
			return place
		}
	}
	corner := vg.Point{X: min(right, canvas.Max.X-size.X), Y: middle.Y}
	canvas.FillText(style, corner, name)
	return vg.Rectangle{Min: corner, Max: corner.Add(size)}
}

func overlap(a, b vg.Rectangle) bool {
	return a.Min.X < b.Max.X && b.Min.X < a.Max.X && a.Min.Y < b.Max.Y && b.Min.Y < a.Max.Y
}

func (m *marksPlotter) DataRange() (xmin, xmax, ymin, ymax float64) {
	xmin, ymin, xmax, ymax = math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)
	for _, mark := range m.shown() {
		xmin, xmax = min(xmin, mark.X), max(xmax, mark.X)
		ymin, ymax = min(ymin, mark.Y), max(ymax, mark.Y)
	}
	return xmin, xmax, ymin, ymax
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

// squareRange makes a panel show the same range in both directions.
type squareRange struct{ low, high float64 }

func (squareRange) Plot(draw.Canvas, *plot.Plot) {}

func (r squareRange) DataRange() (xmin, xmax, ymin, ymax float64) {
	return r.low, r.high, r.low, r.high
}

// emptyPlotter marks a panel that has nothing to show.
type emptyPlotter struct{}

func (emptyPlotter) Plot(canvas draw.Canvas, _ *plot.Plot) {
	style := textStyle(labelSize, ink)
	style.XAlign, style.YAlign = text.XCenter, text.YCenter
	canvas.FillText(style, canvas.Center(), "no results")
}
