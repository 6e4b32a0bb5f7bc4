package report

import (
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// scaledGlyph draws a glyph at factor times its usual size.
type scaledGlyph struct {
	draw.GlyphDrawer
	factor float64
}

func (s scaledGlyph) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	style.Radius *= vg.Length(s.factor)
	s.GlyphDrawer.DrawGlyph(c, style, at)
}

// hollow draws the outline of a circle or, with corners, of a polygon.
type hollow struct {
	corners int
	width   vg.Length // of the line
	factor  float64   // of the usual size
}

func (h hollow) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	c.SetLineStyle(draw.LineStyle{Color: style.Color, Width: h.width})
	radius := style.Radius * vg.Length(h.factor)
	var p vg.Path
	if h.corners == 0 {
		p.Move(vg.Point{X: at.X + radius, Y: at.Y})
		p.Arc(at, radius, 0, 2*math.Pi)
	}
	for i := range h.corners {
		sin, cos := math.Sincos(2*math.Pi*float64(i)/float64(h.corners) + math.Pi/2)
		corner := at.Add(vg.Point{X: radius * vg.Length(cos), Y: radius * vg.Length(sin)})
		if i == 0 {
			p.Move(corner)
		} else {
			p.Line(corner)
		}
	}
	p.Close()
	c.Stroke(p)
}

// noGlyph is the mark of a curve that was not measured point by point.
type noGlyph struct{}

func (noGlyph) DrawGlyph(*draw.Canvas, draw.GlyphStyle, vg.Point) {}
