package report

import (
	"strings"

	"gonum.org/v1/plot/vg/draw"
)

// LearningCurves plots errors over the number of labelled rows, with marks and ticks
// where an error was measured. Random selection
// is a black dashed line; the other methods get colours in their order.
func LearningCurves(title, ylabel string, curves []Curve) *Figure {
	f := Curves(title, "labelled rows", ylabel, curves)
	f.Panels[0].Y, f.Panels[0].measured = Log10, true
	f.fixed = map[string]style{}
	colours := []style{
		{vermillion, solid, draw.CircleGlyph{}}, {blue, solid, draw.PyramidGlyph{}}, {green, dashed, draw.BoxGlyph{}},
		{purple, dotted, draw.CrossGlyph{}}, {orange, dashDot, draw.PlusGlyph{}}, {skyBlue, long, draw.TriangleGlyph{}},
	}
	for _, c := range curves {
		if strings.HasPrefix(c.Name, "random") {
			f.fixed[c.Name] = style{black, dashed, draw.SquareGlyph{}}
		} else if len(colours) > 0 {
			f.fixed[c.Name], colours = colours[0], colours[1:]
		}
	}
	return f
}
