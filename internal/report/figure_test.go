package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image/color"
	"image/png"
	"io"
	"math"
	"strings"
	"testing"
)

// sample returns a figure with bands, gaps, a single point and names that need
// escaping.
func sample() *Figure {
	nan := math.NaN()
	f := Curves("a < b & \"c\"", "labelled rows", "RMSE × 2 – ü", []Curve{
		{Name: "<script>", X: []float64{256, 512, 1024, 2048}, Y: []float64{1, 0.5, 0.4, 0.3},
			Low: []float64{0.9, 0.4, nan, 0.2}, High: []float64{1.1, 0.6, 0.5, 0.4}},
		{Name: "gap & dot", X: []float64{256, 512, 1024, 2048}, Y: []float64{0.8, nan, 0.3, nan}},
		{Name: "not positive", X: []float64{256, 512, 1024}, Y: []float64{0.8, 0, -1}},
		{Name: "empty"},
	})
	f.Panels[0].X, f.Panels[0].Y = Log2, Log10
	f.Panels = append(f.Panels, Panel{Title: "marks", Marks: []Mark{
		{Name: "one", X: 1, Y: 2}, {Name: "beside", X: 3, Y: 4, Labelled: true}, {Name: "none", X: nan, Y: 1}}})
	f.Panels = append(f.Panels, Panel{Title: "nothing", X: Log10, Y: Log10})
	f.Columns, f.Note = 2, strings.Repeat("three runs & more; ", 20)
	return f
}

// mustParseXML fails the test unless the whole document parses.
func mustParseXML(t *testing.T, document []byte) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(document))
	d.Entity = xml.HTMLEntity
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestFigureFormats(t *testing.T) {
	t.Parallel()
	f := sample()
	pixels, err := f.PNG()
	if err != nil {
		t.Fatal(err)
	}
	picture, err := png.Decode(bytes.NewReader(pixels))
	if err != nil || picture.Bounds().Dx() < 500 {
		t.Fatalf("%v, %v", picture.Bounds(), err)
	}
	vector, err := f.SVG()
	if err != nil {
		t.Fatal(err)
	}
	mustParseXML(t, vector)
	for _, want := range []string{"&lt;script&gt;", "gap &amp; dot", "no results", "beside", "<title>a &lt; b &amp; "} {
		if !bytes.Contains(vector, []byte(want)) {
			t.Errorf("the SVG has no %q", want)
		}
	}
	page, err := f.PDF()
	if err != nil || !bytes.HasPrefix(page, []byte("%PDF-")) || !bytes.HasSuffix(bytes.TrimSpace(page), []byte("%%EOF")) {
		t.Fatalf("%q…, %v", page[:10], err)
	}
	if err := f.Write(io.Discard, "gif"); err == nil {
		t.Error("a gif was written")
	}
}

func TestFiguresAreDeterministic(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"png", "svg", "pdf"} {
		var first []byte
		for range 2 {
			var b bytes.Buffer
			if err := sample().Write(&b, format); err != nil {
				t.Fatal(err)
			}
			if first != nil && !bytes.Equal(b.Bytes(), first) {
				t.Errorf("%s differs", format)
			}
			first = b.Bytes()
		}
	}
}

func TestFigureWithoutPanels(t *testing.T) {
	t.Parallel()
	for _, f := range []*Figure{{}, Curves("", "", "", nil), {Title: "t",
		Panels: []Panel{{Curves: []Curve{{Name: strings.Repeat("long ", 100)}}}}}} {
		for _, format := range []string{"png", "svg", "pdf"} {
			if err := f.Write(io.Discard, format); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestStylesKeepTheirOrder(t *testing.T) {
	t.Parallel()
	f := Figure{Order: []string{"a", "b", "c"}, Panels: []Panel{{Curves: []Curve{{Name: "c"}, {Name: "x"}, {Name: "a"}}}}}
	legend, styles, _ := f.names()
	if strings.Join(legend, "") != "acx" || styles["c"].colour != styleOf(2).colour ||
		styles["x"].colour != styleOf(3).colour {
		t.Errorf("%v, %v", legend, styles)
	}
}

func TestStylesDiffer(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for i := range 24 {
		s := styleOf(i)
		key := fmt.Sprint(s.colour, s.dash)
		if seen[key] {
			t.Errorf("style %d repeats an earlier one", i)
		}
		seen[key] = true
	}
}

func TestPDFColoursKeepTheirHue(t *testing.T) {
	t.Parallel()
	r, g, b, a := straight(shade(vermillion).(color.NRGBA)).RGBA()
	if r>>8 != uint32(vermillion.R) || g>>8 != uint32(vermillion.G) || b>>8 != uint32(vermillion.B) || a>>8 != 64 {
		t.Errorf("%d %d %d %d", r>>8, g>>8, b>>8, a>>8)
	}
}

func TestFigureOfNearlyEqualNumbers(t *testing.T) {
	t.Parallel()
	for _, v := range []float64{0.3, 1e300, 1e-300, 1e16} {
		next := math.Nextafter(v, math.Inf(1))
		for _, scale := range []Scale{Linear, Log10} {
			f := Curves("", "x", "y", []Curve{{Name: "a", X: []float64{v, next}, Y: []float64{next, v}}})
			f.Panels[0].X, f.Panels[0].Y = scale, scale
			if _, err := f.SVG(); err != nil {
				t.Errorf("%v: %v", v, err)
			}
		}
	}
}

// Megabyte-long names neither widen a figure nor fill it.
func TestLongNamesAreCut(t *testing.T) {
	t.Parallel()
	long := func(letter string) string { return strings.Repeat(letter, 1<<20) }
	f := Curves(long("a"), long("b"), long("c"), []Curve{
		{Name: long("x"), X: []float64{1, 2}, Y: []float64{1, 2}},
		{Name: long("x") + "2", X: []float64{1, 2}, Y: []float64{2, 1}}})
	f.Note, f.Panels[0].Title = strings.Repeat("x ", 1<<19), long("ä")
	f.Panels[0].Marks = []Mark{{Name: long("m"), X: 1, Y: 1, Labelled: true}}
	l := f.layout()
	if l.width > 1000 || l.height > 2000 {
		t.Errorf("the figure is %v x %v points", l.width, l.height)
	}
	svg, err := f.SVG()
	if err != nil || len(svg) > 100<<10 {
		t.Errorf("%d bytes, %v", len(svg), err)
	}
}

// TestReferenceLines have no marks, which stand for what was measured.
func TestReferenceLines(t *testing.T) {
	f := Curves("", "x", "y", []Curve{{Name: "measured", X: []float64{1}, Y: []float64{1}},
		{Name: "equal", X: []float64{0, 1}, Y: []float64{0, 1}, Reference: true}})
	_, styles, _ := f.names()
	if _, bare := styles["equal"].shape.(noGlyph); !bare {
		t.Errorf("a reference line has the marks %T", styles["equal"].shape)
	}
	if _, bare := styles["measured"].shape.(noGlyph); bare {
		t.Error("a measured curve has no marks")
	}
}
