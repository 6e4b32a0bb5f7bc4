package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// Page is a self-contained HTML file: figures are inline SVG, a click on a column
// heading sorts a table, and nothing is loaded from elsewhere. It follows the
// reader's choice of a light or a dark theme, fits telephones and prints.
type Page struct {
	Title    string
	Intro    []string // paragraphs
	Warnings []string // what the reader should know before anything else
	Sections []Section
}

// Section is a part of a page: paragraphs, then steps, figures, plates and tables.
type Section struct {
	Title   string
	Text    []string
	Steps   []Step
	Tables  []*Table
	Figures []*Figure
	Plates  []*BatchPlate
	Beside  bool // in a wide window, the tables are beside the figures
}

// Step is one of several things to do, and the command that does it, if there is one.
type Step struct{ Text, Command string }

var (
	//go:embed page.html
	pageHTML string
	//go:embed page.css
	pageCSS string
	//go:embed page.js
	pageJS string

	pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
		"css":    func() template.CSS { return template.CSS(strings.Replace(pageCSS, "{{dark}}", darkColours(), 1)) },
		"js":     func() template.JS { return template.JS(pageJS) },
		"anchor": func(i int) string { return fmt.Sprintf("section-%d", i+1) },
	}).Parse(pageHTML))
)

// pageSection is a section in the form that the template expects.
type pageSection struct {
	Title   string
	Text    []string
	Steps   []Step
	Tables  []pageTable
	Figures []pageFigure
	Beside  bool
}

// pageFigure is a figure whose title and note are text of the page.
type pageFigure struct {
	Title, Note  string
	Wide, Narrow template.HTML
}

type pageTable struct {
	Title, Note string
	Facts, Tall bool
	Cards       bool // on a narrow screen, each row is a list of its cells
	Fit         bool
	Heads       []pageHead
	Rows        []pageRow
}

type pageHead struct {
	Text    string
	Numeric bool
	Breaks  bool // a word of it is so long that it may break anywhere
}

type pageRow struct {
	Rule  bool
	Key   string
	Cells []pageCell
}

type pageCell struct {
	Text          string
	Numeric, Bold bool
	Value         float64 // of a number, whatever its text
	Long, Prose   bool    // may wrap; is as wide as a paragraph
	Short         bool    // stays on one line
	More          string
	Rest          []Fact
}

const (
	// characters up to which a cell of a table as narrow as the window, or a word of its heading, stays on one line
	shortText = 16
	longText  = 40  // characters beyond which a cell may wrap
	prose     = 120 // characters beyond which it is as wide as a paragraph
	tallRows  = 18  // rows beyond which a table scrolls
)

// Write writes the page.
func (p *Page) Write(w io.Writer) error {
	data := struct {
		Title    string
		Intro    []string
		Warnings []string
		Sections []pageSection
	}{p.Title, p.Intro, p.Warnings, nil}
	for _, s := range p.Sections {
		section := pageSection{Title: s.Title, Text: s.Text, Steps: s.Steps, Beside: s.Beside}
		for _, t := range s.Tables {
			section.Tables = append(section.Tables, t.page())
		}
		for _, f := range s.Figures {
			figure, err := f.page()
			if err != nil {
				return err
			}
			section.Figures = append(section.Figures, figure)
		}
		for _, plate := range s.Plates {
			section.Figures = append(section.Figures, plate.page())
		}
		data.Sections = append(data.Sections, section)
	}
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, data); err != nil {
		return err
	}
	_, err := io.WriteString(w, strings.TrimLeft(b.String(), "\n"))
	return err
}

func (t *Table) page() pageTable {
	out := pageTable{Title: t.Title, Note: t.Note, Facts: t.Facts, Fit: t.Fit, Tall: len(t.Rows) > tallRows && !t.Fit}
	numeric := make([]bool, len(t.Columns))
	for _, r := range t.Rows {
		row := pageRow{Rule: r.Rule, Key: r.key}
		for i, c := range r.Cells {
			numeric[i] = numeric[i] || c.number
			length := utf8.RuneCountInString(c.text)
			out.Cards = out.Cards || !t.Fit && i > 0 && length > longText
			row.Cells = append(row.Cells, pageCell{c.text, c.number, c.bold, c.value, length > longText, length > prose, t.Fit &&
				length <= shortText, c.more, c.rest})
		}
		out.Rows = append(out.Rows, row)
	}
	for i, c := range t.Columns {
		long := func(word string) bool { return utf8.RuneCountInString(word) > shortText }
		out.Heads = append(out.Heads, pageHead{c.Head, numeric[i], slices.ContainsFunc(strings.Fields(c.Head), long)})
	}
	return out
}
