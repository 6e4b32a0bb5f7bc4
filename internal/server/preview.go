package server

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/danielgtaylor/huma/v2"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/internal/options"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/learner"
)

// Preview is what an uploaded table holds.
type Preview struct {
	Rows       int             `json:"rows"`
	Understood Understood      `json:"understood" doc:"how the table was read; the parameters of the request change it"`
	Columns    []PreviewColumn `json:"columns"`
	First      [][]string      `json:"first" doc:"the values of the first rows, at most 10"`
	Warnings   []string        `json:"warnings"`
	Suggested  Suggested       `json:"suggested" doc:"what the columns look like"`
	Forecast   *Cost           `json:"forecast,omitempty" doc:"of one ask; absent if it cannot be told"`
}

// PreviewColumn is a column of an uploaded table.
type PreviewColumn struct {
	Name     string   `json:"name"`
	Type     string   `json:"type" enum:"number,category,text,date"`
	Levels   int      `json:"levels,omitempty" doc:"of a category: how many values it has"`
	Missing  int      `json:"missing" doc:"rows without a value"`
	Examples []string `json:"examples" doc:"the first values, at most 3"`
	NoTarget string   `json:"no_target,omitempty" doc:"why the column cannot hold the labels, and what to do"`
	NoInput  string   `json:"no_input,omitempty" doc:"why the column is not an input beside these labels, unless it is kept: it is measured together with them, or numbers the rows"`
}

// Suggested names columns for a campaign.
type Suggested struct {
	Target string `json:"target,omitempty"`
	ID     string `json:"id,omitempty"`
}

// Cost is what an ask takes.
type Cost struct {
	Seconds float64 `json:"seconds"`
	Bytes   int64   `json:"bytes"`
	Text    string  `json:"text"`
}

func (s *Server) previewRoutes() {
	route(s, Owner, upload(huma.Operation{
		OperationID: "preview", Method: http.MethodPost, Path: "/v1/previews", Summary: "What a table holds; nothing is kept",
	}), s.preview)
}

func (s *Server) preview(ctx context.Context, in *struct {
	Upload
	Targets []string `query:"target" doc:"columns of the labels, separated by commas"`
	ID      string   `query:"id" maxLength:"1000" doc:"column that names the rows"`
	Keep    []string `query:"keep,explode" maxItems:"1000" doc:"columns that are inputs even if they look like row numbers, or as if they were measured together with the label"`
}) (*output[Preview], error) {
	begin := time.Now()
	t, done, err := s.read(ctx, &in.Upload, source.Options{ID: in.ID}.WithLabels(in.Targets))
	if err != nil {
		return nil, err
	}
	defer done()
	p := Preview{Rows: t.Rows(), Understood: understood(t, in.Format), Columns: []PreviewColumn{},
		First: firstRows(t), Warnings: []string{}}
	if p.Suggested, err = suggest(ctx, t); err != nil {
		return nil, err
	}
	for _, c := range t.Columns() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		p.Columns = append(p.Columns, describe(c, t.Origin()))
	}
	targets, id := in.Targets, in.ID
	if len(targets) == 0 && p.Suggested.Target != "" {
		targets = []string{p.Suggested.Target}
	}
	if id == "" {
		id = p.Suggested.ID
	}
	if len(targets) == 0 {
		p.Warnings = append(p.Warnings, t.Origin().Warnings...) // a plan has them, too
	} else {
		var r nextbatch.Request
		r.Table, r.TargetColumns, r.IDColumn = t, targets, id
		s.plan(ctx, &p, r, in.Keep, time.Since(begin))
	}
	return answer(p, ctx.Err())
}

// firstRows returns the values of the first rows, of at most so many columns as fit a page.
func firstRows(t *dataset.Table) [][]string {
	const rows, columns = 10, 200
	list := [][]string{}
	for row := range min(rows, t.Rows()) {
		cells := []string{}
		for _, c := range t.Columns()[:min(columns, len(t.Columns()))] {
			cells = append(cells, asTyped(c, row, t.Origin()))
		}
		list = append(list, cells)
	}
	return list
}

// asTyped returns a value with the decimal mark of its file.
func asTyped(c dataset.Column, row int, of dataset.Origin) string {
	if c.Kind() != dataset.KindNumeric {
		return c.Format(row)
	}
	return words.Marked(c.Format(row), of.Decimal)
}

// describe returns what a column holds.
func describe(c dataset.Column, of dataset.Origin) PreviewColumn {
	d := PreviewColumn{Name: c.Name(), Type: "text", Examples: []string{}}
	switch c := c.(type) {
	case *dataset.Numeric:
		d.Type = "number"
	case *dataset.Categorical:
		d.Type, d.Levels = "category", len(c.Levels())
	}
	for row := range c.Len() {
		if c.Missing(row) {
			d.Missing++
		} else if len(d.Examples) < 3 {
			d.Examples = append(d.Examples, asTyped(c, row, of))
		}
	}
	if d.Type != "number" && len(d.Examples) > 0 {
		d.NoTarget = fmt.Sprintf("labels must be numbers, but this column holds words, such as %q: correct them in the "+
			"file, or say which words mean a missing label", d.Examples[0])
	}
	return d
}

// suggest guesses which columns name rows and which are labels. Ids are all different. Labels
// are numbers that most rows lack, or some if the column has the name of a label; the name alone
// says little, because y may be a coordinate, and a column without gaps leaves nothing to label.
// Of several that were measured together, only a name tells which one is the label.
func suggest(ctx context.Context, t *dataset.Table) (s Suggested, err error) {
	named := func(c dataset.Column, names ...string) bool { return slices.Contains(names, strings.ToLower(c.Name())) }
	best, byName, numeric := 0, false, []string{}
	for _, c := range t.Columns() {
		if err := ctx.Err(); err != nil {
			return s, err
		}
		numbers, isNumeric := c.(*dataset.Numeric)
		if s.ID == "" && (!isNumeric || named(c, "id", "name", "sample", "key")) && distinct(c) {
			s.ID = c.Name()
			continue
		}
		if !isNumeric {
			continue
		}
		numeric = append(numeric, c.Name())
		missing := missingIn(numbers)
		likely := slices.Contains([]string{"y", "target", "label", "yield"}, firstWord(c.Name()))
		if !likely && missing <= t.Rows()/2 {
			continue
		}
		if likely && missing > 0 {
			missing += t.Rows() // before all others
		}
		if missing > best {
			s.Target, best, byName = c.Name(), missing, likely
		}
	}
	if s.Target == "" || byName {
		return s, nil
	}
	var r nextbatch.Request
	r.Table, r.TargetColumns, r.IDColumn = t, []string{s.Target}, s.ID
	leaks, _, err := r.Leaks(ctx)
	for _, leak := range leaks {
		if slices.Contains(numeric, leak.Column) {
			s.Target = ""
		}
	}
	return s, err
}

// firstWord is the first word of a name, such as that of "Yield (%)".
func firstWord(name string) string {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return !unicode.IsLetter(r) })
	return strings.Join(words[:min(1, len(words))], "")
}

func missingIn(c dataset.Column) (n int) {
	for row := range c.Len() {
		if c.Missing(row) {
			n++
		}
	}
	return n
}

// distinct reports whether each row has a value of its own.
func distinct(c dataset.Column) bool {
	seen := make(map[string]bool, c.Len())
	for row := range c.Len() {
		text := c.Format(row)
		if c.Missing(row) || seen[text] {
			return false
		}
		seen[text] = true
	}
	return true
}

// plan adds how an ask would use the table: dates among its columns, warnings, time
// and memory. A failure to plan is a warning, too. At most two tables are planned at a time, because
// that takes memory and measures time.
func (s *Server) plan(ctx context.Context, p *Preview, r nextbatch.Request, keep []string, read time.Duration) {
	const batch = 32 // of campaign.Settings
	select {
	case s.planning <- struct{}{}:
		defer func() { <-s.planning }()
	case <-ctx.Done():
		return
	}
	admit := func(bytes int64, less ...string) error { return s.jobs.memory.alone("an ask", bytes, less) }
	r.Keep, r.Batch, r.Admit, r.FieldName, r.Learner = keep, min(batch, r.Table.Rows()), admit,
		options.Parameter, learner.Auto
	p.markLeaks(ctx, r)
	plan, err := r.Plan(ctx)
	if err != nil {
		p.Warnings = append(p.Warnings, err.Error())
		return
	}
	p.Warnings = append(p.Warnings, plan.Warnings...)
	for _, note := range plan.Notes {
		if !slices.Contains(p.Understood.Notes, note) {
			p.Understood.Notes = append(p.Understood.Notes, note)
		}
	}
	for i := range p.Columns {
		c := &p.Columns[i]
		if slices.Contains(plan.Dates, c.Name) {
			c.Type, c.Levels = "date", 0
		}
		for _, dropped := range plan.Rows.Encoder.Dropped {
			if dropped.Column == c.Name && dropped.NumbersRows() {
				c.NoInput = "it " + dropped.Reason
			}
		}
	}
	limited, cancel := context.WithTimeout(ctx, s.measuring)
	defer cancel()
	if err := plan.Forecast(limited, read); err != nil {
		return
	}
	seconds := float64(plan.Seconds.Total)
	p.Forecast = &Cost{seconds, plan.Memory, fmt.Sprintf("an ask for %s takes about %s and %s of memory",
		words.Count(plan.Batch, "row", "rows"), durationText(seconds), words.Memory(plan.Memory))}
}

// markLeaks marks the columns that are not inputs because they are measured together with the label. The plan reports
// errors.
func (p *Preview) markLeaks(ctx context.Context, r nextbatch.Request) {
	leaks, _, _ := r.Leaks(ctx)
	for i := range p.Columns {
		for _, leak := range leaks {
			if leak.Column == p.Columns[i].Name {
				p.Columns[i].NoInput = "it " + leak.Why
			}
		}
	}
}

func durationText(seconds float64) string {
	switch {
	case seconds < 1.5:
		return "a second"
	case seconds < 120:
		return fmt.Sprintf("%.0f seconds", seconds)
	case seconds < 7200:
		return fmt.Sprintf("%.0f minutes", seconds/60)
	}
	return fmt.Sprintf("%.1f hours", seconds/3600)
}
