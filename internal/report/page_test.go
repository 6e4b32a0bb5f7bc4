package report

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
)

func pageText(t *testing.T, p *Page) string {
	t.Helper()
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	mustParseXML(t, b.Bytes())
	return b.String()
}

// TestPageThemes: every colour of a figure has a counterpart on a dark page, and the
// letters of names are not taken for colours.
func TestPageThemes(t *testing.T) {
	t.Parallel()
	f := sample()
	f.Panels[0].Curves[1].Name = "#a1b2c3"
	page := pageText(t, &Page{Title: "t", Warnings: []string{hostile},
		Sections: []Section{{Title: "s", Figures: []*Figure{f, lcmdSteps()}}}})
	style, body, _ := strings.Cut(page, "</style>")
	if !strings.Contains(style, "prefers-color-scheme: dark") || strings.Contains(style, "{{") {
		t.Error("the page has no dark theme")
	}
	names := regexp.MustCompile(`var\((--f[0-9a-f]{6})`).FindAllStringSubmatch(body, -1)
	if len(names) < 20 {
		t.Fatalf("%d colours", len(names))
	}
	for _, name := range names {
		if !strings.Contains(style, name[1]+":") {
			t.Errorf("%s has no counterpart on a dark page", name[1])
		}
	}
	if !strings.Contains(style, "fill: var(--f000000") {
		t.Error("what is black by default stays black on a dark page")
	}
	if !strings.Contains(body, "#a1b2c3") || strings.Contains(body, "--fa1b2c3") {
		t.Error("a name has become a colour")
	}
}

// TestPageFigures: a figure comes wide and narrow, with a tip at every measured point.
func TestPageFigures(t *testing.T) {
	t.Parallel()
	f := LearningCurves("title & more", "RMSE", []Curve{
		{Name: "random", X: []float64{64, 128, 256}, Y: []float64{3, 2, 1.5}, Low: []float64{3, 1.9, 1.4},
			High: []float64{3, 2.1, 1.6}},
		{Name: "<b>", X: []float64{64, 128, 256}, Y: []float64{3, 1.5, 1}},
	})
	page := pageText(t, &Page{Title: "t", Sections: []Section{{Title: "s", Figures: []*Figure{f}}}})
	for _, want := range []string{`class="wide fits"`, `class="narrow"`, "<figcaption>title &amp; more</figcaption>",
		"data-tip=\"random\nlabelled rows: 128\nRMSE: 2 (1.9 to 2.1)\"", "data-tip=\"&lt;b&gt;\n", ">64</text>",
		">128</text>", ">256</text>"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if n := strings.Count(page, "data-tip="); n != 2*6 {
		t.Errorf("%d tips", n)
	}
	grid := &Figure{Columns: 2, Panels: []Panel{{}, {blank: true}, {}, {}}}
	if page := pageText(t,
		&Page{Title: "t", Sections: []Section{{Title: "s", Figures: []*Figure{grid}}}}); strings.Contains(page,
		`class="narrow"`) {
		t.Error("a grid of panels has been taken apart")
	}
}

// TestPageTables: facts have no headings, and only long tables scroll.
func TestPageTables(t *testing.T) {
	t.Parallel()
	long := &Table{Columns: []Heading{{Head: "n"}}}
	for i := range tallRows + 1 {
		long.Rows = append(long.Rows, Row{Cells: []Cell{Count(i)}})
	}
	facts := factTable([]Fact{{"seed", "1"}})
	page := pageText(t, &Page{Title: "t", Sections: []Section{{Title: "s", Tables: []*Table{long, facts}}}})
	if strings.Count(page, "<thead>") != 1 || !strings.Contains(page, `class="box tall"`) ||
		!strings.Contains(page, `<th scope="row">seed</th>`) {
		t.Error(page[strings.Index(page, "<body>"):])
	}
}
