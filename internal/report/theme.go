package report

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// The theme of all figures. Sizes suit a print at the figure's own size. Colours
// are those of Okabe and Ito, which colour-blind readers can distinguish, with a
// grey in place of their yellow, too pale for a line on white. Lines also differ
// in their dashes and marks in their shape, so that a black-and-white copy stays
// readable.

var (
	black      = color.RGBA{0, 0, 0, 255}
	orange     = color.RGBA{230, 159, 0, 255}
	skyBlue    = color.RGBA{86, 180, 233, 255}
	green      = color.RGBA{0, 158, 115, 255}
	blue       = color.RGBA{0, 114, 178, 255}
	vermillion = color.RGBA{213, 94, 0, 255}
	purple     = color.RGBA{204, 121, 167, 255}
	white      = color.RGBA{255, 255, 255, 255}
	grey       = color.RGBA{128, 128, 128, 255}

	faint = color.RGBA{225, 225, 225, 255} // grid lines
	pale  = color.RGBA{190, 190, 190, 255} // lines that lead to points
	ink   = color.RGBA{90, 90, 90, 255}    // notes
)

// onDark holds the colours that take the place of ours on a dark page.
var onDark = []struct {
	light color.RGBA
	dark  string
}{
	{black, "#e4e7eb"}, {orange, "#f2b134"}, {skyBlue, "#a5dcff"}, {green, "#35c79a"}, {blue, "#4f9df0"},
	{vermillion, "#ff8b50"},
	{purple, "#eaa3cb"}, {grey, "#98a1ab"}, {faint, "#2a313a"}, {pale, "#66717d"}, {ink, "#a9b2bc"}, {white, "#14181d"},
}

// dashes holds the lengths of strokes and gaps.
var dashes = [][]vg.Length{solid: nil, dashed: {5, 2}, dotted: {1.5, 1.5}, dashDot: {6, 2, 1.5, 2}, long: {9, 3}}

const (
	solid = iota
	dashed
	dotted
	dashDot
	long
)

// style distinguishes a curve or mark from the others.
type style struct {
	colour color.RGBA
	dash   int
	shape  draw.GlyphDrawer
}

// styles holds those of the first eight curves of a figure. The first and the
// last stand out: in the benchmark's figures they are random selection and LCMD.
var styles = []style{
	{black, solid, draw.CircleGlyph{}},
	{grey, dashDot, draw.SquareGlyph{}},
	{skyBlue, dashed, draw.TriangleGlyph{}},
	{blue, solid, draw.PyramidGlyph{}},
	{green, dashed, draw.CrossGlyph{}},
	{purple, dotted, draw.PlusGlyph{}},
	{orange, dashDot, draw.RingGlyph{}},
	{vermillion, solid, draw.BoxGlyph{}},
}

// styleOf returns style number i. After the eighth, colours repeat with other
// dashes and shapes.
func styleOf(i int) style {
	s, lap := styles[i%len(styles)], i/len(styles)
	s.dash = (s.dash + lap) % len(dashes)
	s.shape = styles[(i+3*lap)%len(styles)].shape
	return s
}

// line is how a curve of the style is drawn.
func (s style) line() draw.LineStyle {
	return draw.LineStyle{Color: s.colour, Width: lineWidth, Dashes: dashes[s.dash]}
}

// mark is how a single point of the style is drawn.
func (s style) mark() draw.GlyphStyle {
	return draw.GlyphStyle{Color: s.colour, Radius: 3, Shape: s.shape}
}

// point is how a measured point of a curve is drawn: smaller where there are many.
func (s style) point(points int) draw.GlyphStyle {
	g := draw.GlyphStyle{Color: s.colour, Radius: 2.3, Shape: s.shape}
	if g.Shape == nil {
		g.Shape = draw.CircleGlyph{}
	}
	switch {
	case points > manyPoints:
		g.Radius = 1.1
	case points > fewPoints:
		g.Radius = 1.7
	}
	return g
}

// Up to fewPoints, the points of a curve are drawn in full size; beyond manyPoints, as
// dots.
const (
	fewPoints  = 9
	manyPoints = 24
)

const (
	titleSize = vg.Length(11)
	labelSize = vg.Length(8.5)
	tickSize  = vg.Length(7.5)
	lineWidth = vg.Length(1.3)
	thin      = vg.Length(0.5)
)

// face is the font of figures. Liberation Sans has the metrics of Arial and
// Helvetica, one of which any SVG viewer has.
func face(size vg.Length) font.Font {
	return font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
}

func textStyle(size vg.Length, c color.Color) text.Style {
	return text.Style{Color: c, Font: face(size), Handler: plot.DefaultTextHandler}
}

// themed returns an empty plot in our style.
func themed() *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Label.TextStyle.Font = face(labelSize)
		axis.Label.Padding = 2
		axis.Tick.Label.Font = face(tickSize)
		axis.Tick.Length = 3
		axis.Tick.LineStyle.Width = thin
		axis.LineStyle.Width = thin
		axis.Padding = 0
		axis.Tick.Marker = linearTicks{}
	}
	return p
}
