package report

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"
)

const hostile = `<script>alert("1")</script> & '"><img src=x onerror=y>`

func sampleBatch() *BatchPage {
	nan := math.NaN()
	return &BatchPage{
		Title: "2 rows", Intro: []string{hostile}, Facts: []Fact{{"method", "lcmd-tp:grad>sketch(512)"}, {hostile, hostile}},
		Errors: []Fact{{"RMSE", "0.1"}}, Warnings: []string{"one row " + hostile}, Typical: 0.5,
		Inputs: []string{hostile, "colour"},
		Picks: []BatchPick{
			{ID: hostile, Row: 7, Inputs: []string{"0.25", hostile}, Score: 12345.678, Apart: []string{"colour"},
				Predictions: []Predicted{{13012, 12000, 14100}}, Uncertainty: 2, Short: "far from all",
				Reason: "0.3 from " + hostile},
			{ID: "b", Row: 3, Inputs: []string{"", "red"}, Score: math.Inf(1), Predictions: []Predicted{{1e-7, nan, nan}},
				Uncertainty: nan, Reason: "required"},
		},
		Map: &BatchMap{Candidates: [][2]float64{{0, 1}, {2, 3}, {nan, 1}}, Labelled: [][2]float64{{1, 1}},
			Picks: [][2]float64{{2, 3}}, Share: [2]float64{0.6, 0.2}, Note: "All."},
	}
}

func batchPage(t *testing.T, b *BatchPage) string {
	t.Helper()
	var page bytes.Buffer
	if err := b.Page().Write(&page); err != nil {
		t.Fatal(err)
	}
	mustParseXML(t, page.Bytes())
	return page.String()
}

func TestBatchPage(t *testing.T) {
	t.Parallel()
	page := batchPage(t, sampleBatch())
	if strings.Count(page, "<script>") != 1 || strings.Contains(page, "<img") {
		t.Error("text from a table has become markup of the page")
	}
	if address := regexp.MustCompile(`(?i)(src|href|action)\s*=\s*"?[^"#]|url\(|@import`).FindString(
		regexp.MustCompile(`&[#a-z0-9]+;|src=x`).ReplaceAllString(page, "")); address != "" {
		t.Errorf("the page loads an external resource: %q", address)
	}
	for _, want := range []string{"Predicted errors", `class="warnings"`, "12,346", "13,000 (12,000 to 14,100)", "1e-07",
		"60 % of the variance", "Score by pick", "median of the candidates", "required"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	batch, figures := strings.Index(page, "The batch</h2>"), strings.Index(page, "<figure>")
	if batch < 0 || batch > figures || !strings.Contains(page, ` class="number">0.25</td>`) ||
		!strings.Contains(page, ">red</td>") {
		t.Error("the page does not begin with the batch and its inputs")
	}
	if strings.Count(page, `data-key="pick-1"`) < 4 { // its row, and a mark in three figures
		t.Error("a pick is not linked to its marks")
	}
	if again := batchPage(t, sampleBatch()); again != page {
		t.Error("the page differs between two runs")
	}
}

// TestMinimalBatchPage: sections without data are omitted.
func TestMinimalBatchPage(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	reasons := batchPage(t, &BatchPage{Title: "narrow", Typical: nan,
		Picks: []BatchPick{{ID: "a", Score: nan, Uncertainty: nan, Reason: strings.Repeat("far from all others ", 9)}}})
	if !strings.Contains(reasons, `class="sortable fit"`) || !strings.Contains(reasons, `<td data-head="reason"`) {
		t.Error("on a narrow screen a reason is beside the picture")
	}
	page := batchPage(t, &BatchPage{Title: "1 row", Typical: nan,
		Picks: []BatchPick{{ID: "a", Score: nan, Uncertainty: nan}}})
	for _, no := range []string{"<figure>", `class="warnings"`, "prediction", "Predicted"} {
		if strings.Contains(page, no) {
			t.Errorf("the page has %q", no)
		}
	}
}

func TestWideBatch(t *testing.T) {
	t.Parallel()
	b := sampleBatch()
	for i := range 40 {
		b.Inputs = append(b.Inputs, fmt.Sprint("x", i))
		for p := range b.Picks {
			b.Picks[p].Inputs = append(b.Picks[p].Inputs, "1")
		}
	}
	page := batchPage(t, b)
	if !strings.Contains(page, "Shown are 3 of 42 inputs") || strings.Contains(page, ">x39</button>") ||
		!strings.Contains(page, "<span>x39</span> 1</li>") {
		t.Error("the table of a wide batch has too many columns, or does not say what it leaves out")
	}
	if !strings.Contains(page, ">colour</button>") {
		t.Error("the table does not show the input in which a pick differs")
	}
	b.Matters = make([]float64, 42)
	b.Matters[41], b.Matters[20], b.Matters[30] = 0.5, 0.25, 1
	page = batchPage(t, b)
	if strings.Contains(page, ">colour</button>") || !strings.Contains(page, ">x18</button>") ||
		!strings.Contains(page, ">x28</button>") || !strings.Contains(page, ">x39</button>") ||
		!strings.Contains(page, "matter most to the model") {
		t.Error("the table does not show the inputs that matter to the model")
	}
}
