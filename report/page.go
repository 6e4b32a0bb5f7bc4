package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"
	"unicode/utf8"
)

// Page is a self-contained HTML file: figures are inline SVG, a click on a column
// heading sorts a table, and nothing is loaded from elsewhere.
type Page struct {
	Title    string
	Intro    []string // paragraphs
	Sections []Section
}

// Section is a part of a page: paragraphs, then tables, then figures.
type Section struct {
	Title   string
	Text    []string
	Tables  []*Table
	Figures []*Figure
}

var (
	//go:embed page.html
	pageHTML string
	//go:embed page.css
	pageCSS string
	//go:embed page.js
	pageJS string

	pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
		"css":    func() template.CSS { return template.CSS(pageCSS) },
		"js":     func() template.JS { return template.JS(pageJS) },
		"anchor": func(i int) string { return fmt.Sprintf("section-%d", i+1) },
	}).Parse(pageHTML))
)

// pageSection is a section in the form that the template expects.
type pageSection struct {
	Title   string
	Text    []string
	Tables  []pageTable
	Figures []template.HTML
}

type pageTable struct {
	Title, Note string
	Heads       []pageHead
	Rows        []pageRow
}

type pageHead struct {
	Text    string
	Numeric bool
}

type pageRow struct {
	Rule  bool
	Cells []pageCell
}

type pageCell struct {
	Text          string
	Numeric, Bold bool
	Long          bool // may wrap
}

// longText is the number of characters beyond which a cell may wrap.
const longText = 40

// Write writes the page.
func (p *Page) Write(w io.Writer) error {
	data := struct {
		Title    string
		Intro    []string
		Sections []pageSection
	}{p.Title, p.Intro, nil}
	for _, s := range p.Sections {
		section := pageSection{Title: s.Title, Text: s.Text}
		for _, t := range s.Tables {
			section.Tables = append(section.Tables, t.page())
		}
		for _, f := range s.Figures {
			svg, err := f.inline()
			if err != nil {
				return err
			}
			section.Figures = append(section.Figures, template.HTML(svg)) // its text is already escaped
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
	out := pageTable{Title: t.Title, Note: t.Note}
	numeric := make([]bool, len(t.Columns))
	for _, r := range t.Rows {
		row := pageRow{Rule: r.Rule}
		for i, c := range r.Cells {
			numeric[i] = numeric[i] || c.number
			row.Cells = append(row.Cells, pageCell{c.text, c.number, c.bold, utf8.RuneCountInString(c.text) > longText})
		}
		out.Rows = append(out.Rows, row)
	}
	for i, c := range t.Columns {
		out.Heads = append(out.Heads, pageHead{c.Head, numeric[i]})
	}
	return out
}
