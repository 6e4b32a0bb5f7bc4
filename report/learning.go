package report

// LearningCurves plots errors over the number of labelled rows. Random selection
// is a black dashed line; the other methods get colours in their order.
func LearningCurves(title, ylabel string, curves []Curve) *Figure {
	f := Curves(title, "labelled rows", ylabel, curves)
	f.Panels[0].Y = Log10
	f.fixed = map[string]style{}
	colours := []style{
		{vermillion, solid, nil}, {blue, solid, nil}, {green, dashed, nil}, {purple, dotted, nil}, {orange, dashDot, nil}, {skyBlue, long, nil},
	}
	for _, c := range curves {
		if c.Name == "random" {
			f.fixed[c.Name] = style{black, dashed, nil}
		} else if len(colours) > 0 {
			f.fixed[c.Name], colours = colours[0], colours[1:]
		}
	}
	return f
}
