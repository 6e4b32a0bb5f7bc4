package report

import (
	"bytes"
	"math"
	"strings"
	"testing"
)

func sampleTable() *Table {
	t := &Table{Title: "Errors & more", Note: "2 runs", Columns: []Heading{{Head: "data_set"},
		{Head: "RMSE", LaTeX: `\textsc{rmse}`}}}
	t.Rows = []Row{
		{Cells: []Cell{Text("fried"), Number(0.22812, 3).Bold()}},
		{Cells: []Cell{Text(`50% of <b>"x"</b>_#1`), Number(math.NaN(), 3)}, Rule: true},
		{Cells: []Cell{Text("z"), Number(-0.0001, 3)}},
	}
	return t
}

func TestTableText(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	if err := sampleTable().WriteText(&b); err != nil {
		t.Fatal(err)
	}
	want := `Errors & more

data_set               RMSE
----------------------------
fried                 0.228*
----------------------------
50% of <b>"x"</b>_#1      –
z                     0.000

2 runs
`
	if b.String() != want {
		t.Errorf("%s\nwant\n%s", b.String(), want)
	}
}

func TestTableCSV(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	if err := sampleTable().WriteCSV(&b); err != nil {
		t.Fatal(err)
	}
	if want := "data_set,RMSE\nfried,0.22812\n\"50% of <b>\"\"x\"\"</b>_#1\",\nz,-0.0001\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}

func TestTableLaTeX(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	if err := sampleTable().WriteLaTeX(&b); err != nil {
		t.Fatal(err)
	}
	want := `% Errors & more
% 2 runs
\begin{tabular}{cc}
data\_set & \textsc{rmse} \\
\hline
fried & \textbf{0.228} \\
\hline
50\% of \textless{}b\textgreater{}\textquotedbl{}x\textquotedbl{}\textless{}/b\textgreater{}\_\#1 & --- \\
z & 0.000 \\
\end{tabular}
`
	if b.String() != want {
		t.Errorf("%s\nwant\n%s", b.String(), want)
	}
}

func TestBoldBest(t *testing.T) {
	t.Parallel()
	cells := []Cell{Number(0.1612, 3), Number(0.1608, 3), Number(0.1601, 3), Number(math.NaN(), 3), Text("0.160")}
	boldBest([]*Cell{&cells[0], &cells[1], &cells[2], &cells[3], &cells[4]})
	for i, want := range []bool{false, false, true, false, false} {
		if cells[i].bold != want {
			t.Errorf("cell %d is bold: %v", i, cells[i].bold)
		}
	}
	tie := []Cell{Number(0.1612, 3), Number(0.1614, 3)}
	boldBest([]*Cell{&tie[0], &tie[1]})
	if !tie[0].bold || !tie[1].bold {
		t.Error("numbers that show the same digits are not both bold")
	}
}

func TestPage(t *testing.T) {
	t.Parallel()
	p := Page{Title: "Report <1>", Intro: []string{"a & b"}, Sections: []Section{
		{Title: "Tables </section>", Tables: []*Table{sampleTable()}},
		{Title: "Figures", Figures: []*Figure{sample(), sample()}}}}
	var first []byte
	for range 2 {
		var b bytes.Buffer
		if err := p.Write(&b); err != nil {
			t.Fatal(err)
		}
		if first != nil && !bytes.Equal(first, b.Bytes()) {
			t.Error("the page differs between two runs")
		}
		first = b.Bytes()
	}
	mustParseXML(t, first)
	for _, bad := range []string{"<b>\"x\"", "<script>&", "</section></h2>",
		"http://www.w3.org/1999/xlink\" href", "src="} {
		if bytes.Contains(first, []byte(bad)) {
			t.Errorf("the page has %q", bad)
		}
	}
	if n := bytes.Count(first, []byte("<script>")); n != 1 {
		t.Errorf("%d scripts", n)
	}
	for _, want := range []string{"a &amp; b", "<b>0.228</b>", "Report &lt;1&gt;", "<svg ", "a href=\"#section-2\""} {
		if !bytes.Contains(first, []byte(want)) {
			t.Errorf("the page has no %q", want)
		}
	}
}
