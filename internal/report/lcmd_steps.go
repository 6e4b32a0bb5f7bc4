package report

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// LCMD in pictures (the paper's figure of two steps): points in the plane, with
// their inner product as the kernel. Every point belongs to the cluster of its
// nearest selected point. LCMD takes the cluster with the largest sum of squared
// distances and picks its point farthest from the centre.

// lcmdStep is one pick.
type lcmdStep struct {
	points   [][2]float64
	selected []int // the centres
	centre   []int // of each point: an index into selected
	cluster  int   // the one to pick from
	pick     int
}

func newLCMDStep(points [][2]float64, selected []int) lcmdStep {
	s := lcmdStep{points: points, selected: selected, centre: make([]int, len(points))}
	sums := make([]float64, len(selected))
	distances := make([]float64, len(points))
	for i, p := range points {
		distances[i] = math.Inf(1)
		for c, row := range selected {
			dx, dy := p[0]-points[row][0], p[1]-points[row][1]
			if d := dx*dx + dy*dy; d < distances[i] {
				distances[i], s.centre[i] = d, c
			}
		}
		sums[s.centre[i]] += distances[i]
	}
	for c := range sums {
		if sums[c] > sums[s.cluster] {
			s.cluster = c
		}
	}
	s.pick = selected[s.cluster]
	for i := range points {
		if s.centre[i] == s.cluster && distances[i] > distances[s.pick] {
			s.pick = i
		}
	}
	return s
}

// lcmdSteps draws two steps of LCMD on made-up points: a dense crowd on the left,
// a few scattered points on the right.
func lcmdSteps() *Figure {
	points, selected := lcmdPoints()
	first := newLCMDStep(points, selected)
	second := newLCMDStep(points, append(append([]int{}, selected...), first.pick))
	f := &Figure{Name: "lcmd-steps", Title: "Two picks of LCMD", Width: 230, Height: 230,
		Note: "Made-up points in the plane; no runs. Black: selected points. Each line joins a point to the nearest " +
			"selected one. " +
			"Orange: the cluster with the largest sum of squared distances. Red square: the next pick, the point of this " +
			"cluster farthest from its centre."}
	for i, s := range []lcmdStep{first, second} {
		f.Panels = append(f.Panels, Panel{Title: []string{"one pick", "the next"}[i], bare: true, more: []plot.Plotter{s}})
	}
	return f
}

// lcmdPoints returns points on three sunflower spirals, of which one each is
// selected.
func lcmdPoints() (points [][2]float64, selected []int) {
	seeds := func(n int, x, y, radius float64) {
		for i := range n {
			r, angle := radius*math.Sqrt((float64(i)+0.5)/float64(n)), 2.39996*float64(i)
			points = append(points, [2]float64{x + r*math.Cos(angle), y + r*math.Sin(angle)})
		}
	}
	seeds(30, -1.1, 0, 0.7)
	seeds(12, 0.9, 0.9, 1)
	seeds(8, 1.1, -1.1, 0.8)
	return points, []int{0, 30, 42}
}

func (s lcmdStep) Plot(canvas draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&canvas)
	at := func(i int) vg.Point { return vg.Point{X: x(s.points[i][0]), Y: y(s.points[i][1])} }
	for i, c := range s.centre {
		line := draw.LineStyle{Color: color.Color(pale), Width: 0.8}
		if c == s.cluster {
			line.Color = orange
		}
		canvas.StrokeLines(line, []vg.Point{at(s.selected[c]), at(i)})
	}
	for i := range s.points {
		canvas.DrawGlyph(draw.GlyphStyle{Color: grey, Radius: 1.8, Shape: draw.CircleGlyph{}}, at(i))
	}
	for _, i := range s.selected {
		canvas.DrawGlyph(draw.GlyphStyle{Color: black, Radius: 3.2, Shape: draw.CircleGlyph{}}, at(i))
	}
	canvas.DrawGlyph(draw.GlyphStyle{Color: vermillion, Radius: 3.2, Shape: draw.BoxGlyph{}}, at(s.pick))
}

// DataRange is the same in both directions, so that distances look right.
func (lcmdStep) DataRange() (xmin, xmax, ymin, ymax float64) { return -2.1, 2.1, -2.1, 2.1 }
