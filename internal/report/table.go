package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/nextbatch/nextbatch/internal/words"
)

// Table is a table with a title, and a note that says what the numbers are based
// on.
type Table struct {
	Name        string // of its files, without the extension
	Title, Note string
	Columns     []Heading
	Rows        []Row
	Facts       bool // names and values: two columns that a page shows without headings
	Fit         bool // a page makes it as narrow as the window, and a small card of each row on a telephone
}

// Heading is the heading of a column.
type Heading struct {
	Head  string
	LaTeX string // the heading in LaTeX; empty means Head
}

// Row is a row of cells, one per column; Rule draws a line above it.
type Row struct {
	Cells []Cell
	Rule  bool

	key string // on a page, lights up the marks with this key
}

// Cell is a text, or a number shown with a fixed number of digits.
type Cell struct {
	text   string
	latex  string // empty means text
	number bool
	value  float64
	bold   bool

	more string // on a page, shown when the cell is clicked
	rest []Fact // likewise
}

// missing is shown where there is no number.
const missing = "–"

// Text is a cell of text.
func Text(s string) Cell { return Cell{text: s} }

// Number is a cell with a number, shown with this many digits after the point; NaN
// means that there is none.
func Number(v float64, digits int) Cell {
	c := Cell{number: true, value: v, text: strconv.FormatFloat(v, 'f', digits, 64)}
	if math.IsNaN(v) {
		c.text, c.latex = missing, "---"
	} else if strings.Trim(c.text, "-0.") == "" {
		c.text = strings.TrimPrefix(c.text, "-") // no minus zero
	}
	return c
}

// Count is a cell with a whole number.
func Count(n int) Cell {
	return Cell{number: true, value: float64(n), text: words.Grouped(float64(n))}
}

// Measured is a cell with a number in the units of the user, with as many digits as
// people would write.
func Measured(v float64) Cell { return significant(v) }

// Marked returns the cell of a number with this decimal mark; 0 means a point.
func (c Cell) Marked(decimal byte) Cell {
	c.text = words.Marked(c.text, decimal)
	return c
}

// Bold returns the cell in bold type.
func (c Cell) Bold() Cell {
	c.bold = true
	return c
}

// Map returns the table with f applied to every text that WriteText writes.
func (t *Table) Map(f func(string) string) *Table {
	out := &Table{Name: t.Name, Title: f(t.Title), Note: f(t.Note), Facts: t.Facts, Fit: t.Fit}
	for _, c := range t.Columns {
		out.Columns = append(out.Columns, Heading{Head: f(c.Head), LaTeX: c.LaTeX})
	}
	for _, r := range t.Rows {
		row := Row{Rule: r.Rule}
		for _, c := range r.Cells {
			c.text = f(c.text)
			row.Cells = append(row.Cells, c)
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

// typeset returns a cell with a separate text for LaTeX.
func typeset(s, latex string) Cell { return Cell{text: s, latex: latex} }

// boldBest makes the smallest number bold, and all that show the same digits.
func boldBest(cells []*Cell) {
	best := math.Inf(1)
	for _, c := range cells {
		if c.number && c.value < best {
			best = c.value
		}
	}
	for _, c := range cells {
		if shown, err := strconv.ParseFloat(c.text, 64); c.number && err == nil && shown == roundAs(best, c.text) {
			*c = c.Bold()
		}
	}
}

// roundAs rounds a number to as many digits after the point as the text has.
func roundAs(v float64, like string) float64 {
	_, digits, _ := strings.Cut(like, ".")
	r, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'f', len(digits), 64), 64)
	return r
}

// WriteText writes the table as plain text, with a star for bold type.
func (t *Table) WriteText(w io.Writer) error { return t.WriteWrapped(w, math.MaxInt) }

// WriteWrapped is WriteText for a terminal of the given width: the widest columns of
// words, and the note, take several lines where they have to.
func (t *Table) WriteWrapped(w io.Writer, width int) error {
	grid := t.textGrid()
	grid.narrow(width)
	var b strings.Builder
	if t.Title != "" {
		b.WriteString(t.Title + "\n\n")
	}
	grid.line(&b, head(t.Columns))
	for i, r := range t.Rows {
		if i == 0 || r.Rule {
			b.WriteString(strings.Repeat("-", grid.width()) + "\n")
		}
		grid.line(&b, r.Cells)
	}
	if t.Note != "" {
		b.WriteString("\n" + strings.Join(wrapLines(t.Note, width), "\n") + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// textGrid holds the widths of the columns, and which of them are numeric and
// therefore right-aligned.
type textGrid struct {
	widths  []int
	numeric []bool
}

func (t *Table) textGrid() textGrid {
	g := textGrid{make([]int, len(t.Columns)), make([]bool, len(t.Columns))}
	for _, r := range append([]Row{{Cells: head(t.Columns)}}, t.Rows...) {
		for i, c := range r.Cells {
			g.widths[i] = max(g.widths[i], utf8.RuneCountInString(c.text))
			g.numeric[i] = g.numeric[i] || c.number
		}
	}
	return g
}

func (g textGrid) width() int {
	total := 2*len(g.widths) - 1
	for _, n := range g.widths {
		total += n
	}
	return total
}

// narrowest is the least width that a column of words is made narrower to.
const narrowest = 24

// narrow makes the widest columns of words narrower until the grid has the width, as far
// as that goes.
func (g textGrid) narrow(width int) {
	for g.width() > width {
		widest := -1
		for i, n := range g.widths {
			if !g.numeric[i] && n > narrowest && (widest < 0 || n > g.widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return
		}
		g.widths[widest]--
	}
}

// wrapLines wraps each line of a text.
func wrapLines(text string, width int) (lines []string) {
	for line := range strings.SplitSeq(text, "\n") {
		if utf8.RuneCountInString(line) <= width {
			lines = append(lines, line)
			continue
		}
		lines = append(lines, words.Wrap(line, width)...)
	}
	return lines
}

// line writes the cells, in as many lines as the longest needs.
func (g textGrid) line(b *strings.Builder, cells []Cell) {
	texts, lines := make([][]string, len(cells)), 1
	for i, c := range cells {
		texts[i] = []string{c.text}
		if utf8.RuneCountInString(c.text) > g.widths[i] {
			texts[i] = words.Wrap(c.text, g.widths[i])
		}
		lines = max(lines, len(texts[i]))
	}
	for at := range lines {
		row := slices.Clone(cells)
		for i := range row {
			row[i].text, row[i].bold = "", row[i].bold && at < len(texts[i])
			if at < len(texts[i]) {
				row[i].text = texts[i][at]
			}
		}
		g.single(b, row)
	}
}

func (g textGrid) single(b *strings.Builder, cells []Cell) {
	var l strings.Builder
	for i, c := range cells {
		pad := strings.Repeat(" ", max(0, g.widths[i]-utf8.RuneCountInString(c.text)))
		star := " "
		if c.bold {
			star = "*"
		}
		if g.numeric[i] {
			l.WriteString(pad + c.text + star + " ")
		} else {
			l.WriteString(c.text + star + pad + " ")
		}
	}
	b.WriteString(strings.TrimRight(l.String(), " ") + "\n")
}

// head is the row of headings.
func head(columns []Heading) (cells []Cell) {
	for _, c := range columns {
		cells = append(cells, typeset(c.Head, c.LaTeX))
	}
	return cells
}

// WriteCSV writes headings and rows, with all digits; a missing number is empty.
func (t *Table) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	for _, r := range append([]Row{{Cells: head(t.Columns)}}, t.Rows...) {
		record := make([]string, len(r.Cells))
		for i, c := range r.Cells {
			record[i] = c.full()
		}
		if err := out.Write(record); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// full is the cell's text, with all digits of a number.
func (c Cell) full() string {
	switch {
	case !c.number:
		return c.text
	case math.IsNaN(c.value):
		return ""
	}
	return strconv.FormatFloat(c.value, 'g', -1, 64)
}

// WriteLaTeX writes a tabular environment, with title and note as a comment.
func (t *Table) WriteLaTeX(w io.Writer) error {
	var b strings.Builder
	for _, s := range []string{t.Title, t.Note} {
		for _, line := range strings.Split(s, "\n") {
			if line != "" {
				b.WriteString("% " + line + "\n")
			}
		}
	}
	fmt.Fprintf(&b, "\\begin{tabular}{%s}\n", strings.Repeat("c", len(t.Columns)))
	writeTypeset(&b, head(t.Columns))
	for i, r := range t.Rows {
		if i == 0 || r.Rule {
			b.WriteString("\\hline\n")
		}
		writeTypeset(&b, r.Cells)
	}
	b.WriteString("\\end{tabular}\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func writeTypeset(b *strings.Builder, cells []Cell) {
	for i, c := range cells {
		if i > 0 {
			b.WriteString(" & ")
		}
		b.WriteString(c.typeset())
	}
	b.WriteString(" \\\\\n")
}

func (c Cell) typeset() string {
	s := c.latex
	if s == "" {
		s = escapeLaTeX(c.text)
	}
	if c.bold {
		return `\textbf{` + s + `}`
	}
	return s
}

var latexEscapes = strings.NewReplacer(
	`\`, `\textbackslash{}`, `{`, `\{`, `}`, `\}`, `$`, `\$`, `&`, `\&`, `%`, `\%`, `#`, `\#`, `_`, `\_`,
	`~`, `\textasciitilde{}`, `^`, `\textasciicircum{}`, `<`, `\textless{}`, `>`, `\textgreater{}`,
	`|`, `\textbar{}`, `"`, `\textquotedbl{}`, "–", "--", "×", `$\times$`, "±", `$\pm$`, "\n", " ",
)

// escapeLaTeX makes plain text safe for LaTeX.
func escapeLaTeX(s string) string { return latexEscapes.Replace(s) }
