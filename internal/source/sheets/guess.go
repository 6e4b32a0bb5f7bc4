package sheets

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/source/cells"
)

// Guesser determines the columns of a table whose format declares nothing: their names, their
// kinds and how their numbers are written, from the first rows.
type Guesser struct {
	Rows
	Opts    Options
	missing map[string]bool
	ignored map[string]bool
	Stored  bool              // numbers are stored as programs write them, besides those in text
	spelled []*cells.Numerals // by column: how its numbers are written
	signs   []cells.Signs     // by column: what that follows from
	Style   dataset.Style     // of the file
	header  bool
	Notes   []string

	warnings []string // how labels are read
}

// NewGuesser checks the options.
func NewGuesser(opts Options) (Guesser, error) {
	return Guesser{Rows: Rows{Choice: Restarted(opts.Choice)}, Opts: opts, missing: MissingSet(opts, DefaultMissing()),
		ignored: IgnoredSet(opts)}, opts.checkNumerals()
}

// Sampled is a copy of a record and of its fields.
type Sampled struct {
	cells.Record
	Fields [][]byte
}

const (
	SampleRows  = 1000
	SampleBytes = 8 << 20
)

// Open decides on header and kinds, and adds the rows of the sample.
func (g *Guesser) Open(sample []Sampled, notNumeric []int) error {
	g.spellNumbers(sample[min(1, len(sample)-1):], len(sample[0].Fields))
	body := sample
	if g.Opts.Header == HeaderPresent || g.Opts.Header == HeaderGuess && g.looksLikeHeader(sample) {
		body, g.header = sample[1:], true
	}
	if err := g.nameColumns(sample[0]); err != nil {
		return err
	}
	if err := g.checkTitle(sample); err != nil {
		return err
	}
	if err := CheckNames(g.Opts, g.Names); err != nil {
		return err
	}
	if err := g.asBefore(); err != nil {
		return err
	}
	if g.header && len(body) > 1 && g.areUnits(body) {
		for _, field := range body[0].Fields {
			g.Style.Units = append(g.Style.Units, string(field))
		}
		g.Notes = append(g.Notes, fmt.Sprintf("line %d has the units of the columns and is not a row", body[0].Line))
		body = body[1:]
	}
	g.makeSinks(body, notNumeric)
	for _, s := range body {
		if err := g.CheckBlank(s.Record); err != nil {
			return err
		}
		if err := g.AddFields(s.Record, s.Fields); err != nil {
			return err
		}
	}
	return nil
}

// CheckBlank rejects a blank line before a record of a single column: it could be a line to skip or a missing value.
func (g *Guesser) CheckBlank(rec cells.Record) error {
	if len(g.Names) > 1 || rec.Blank == 0 {
		return nil
	}
	return &Error{Line: rec.Blank, Column: 1, Name: g.Names[0], Kind: ErrBlank,
		Advice: `remove it, or write "" for a missing value`}
}

func (g *Guesser) nameColumns(first Sampled) error {
	at := make(map[string]int, len(first.Fields))
	for j, field := range first.Fields {
		name := "column" + strconv.Itoa(j)
		switch {
		case g.header && len(field) > 0:
			name = string(field)
		case g.header:
			g.Style.Unnamed = append(g.Style.Unnamed, j)
		}
		e := Error{Line: first.Line, Column: j + 1, Name: name}
		if !utf8.ValidString(name) {
			e.Kind, e.Detail, e.Advice = ErrEncoding, cells.QuoteShort([]byte(name))+cells.NotUTF8, Advice[ErrEncoding]
			return &e
		}
		if other, taken := at[name]; taken {
			e.Kind, e.Detail = ErrHeader, fmt.Sprintf("column %d has the same name", other+1)
			e.Advice = "rename one"
			return &e
		}
		at[name] = j
		g.Names = append(g.Names, name)
	}
	return nil
}

// makeSinks decides on the kinds of the columns. Those that turned out not to be numeric are words.
func (g *Guesser) makeSinks(sample []Sampled, notNumeric []int) {
	g.Sinks = make([]Sink, len(g.Names))
	for j := range g.Names {
		g.Sinks[j] = g.sinkFor(j, !slices.Contains(notNumeric, j) && g.numericIn(sample, j))
	}
}

func (g *Guesser) sinkFor(j int, numeric bool) Sink {
	name := g.Names[j]
	kind, declared := DeclaredKind(g.Opts, name)
	switch {
	case g.ignored[name]:
		return nil
	case kind == dataset.KindText:
		return NewSink(kind, name, nil) // NA may be an id
	case kind == dataset.KindNumeric || numeric && !declared:
		s := g.numbers(j)
		s.Guessed = !declared
		return s
	case declared:
		return NewSink(kind, name, g.missing)
	}
	return NewWordSink(name, g.missing)
}

// numbers returns the sink of a column of numbers.
func (g *Guesser) numbers(j int) *NumberSink {
	name := ""
	if j < len(g.Names) {
		name = g.Names[j]
	}
	return &NumberSink{
		Into: dataset.NewNumeric(name), Missing: g.missing, numerals: g.spelled[j], cells: g.tallyOf(j, name),
		label: g.Opts.Label != nil && g.Opts.Label(name),
	}
}

// tallyOf returns the tally of a column, with its unit if something else than the cells says it.
func (g *Guesser) tallyOf(j int, name string) *cells.Tally {
	t := newTally(name, g.Opts)
	if !t.Known && j < len(g.Style.Units) {
		if unit := strings.Trim(strings.TrimSpace(g.Style.Units[j]), "[]()"); dataset.KnownUnit(unit, false) {
			t.Unit, t.Known = unit, true
		}
	}
	return t
}

// numericIn reports whether a column is one of numbers: all its values in the sample are numbers or missing, or all
// but a few, and they are not codes with zeros in front.
func (g *Guesser) numericIn(sample []Sampled, column int) bool {
	strict := true
	for _, s := range sample {
		if column < len(s.Fields) && !g.isNumber(column, s.Fields[column]) && !g.missing[string(s.Fields[column])] {
			strict = false
			break
		}
	}
	if strict {
		return !g.zeroPadded(sample, column)
	}
	return g.nearlyNumeric(sample, column)
}

// nearlyNumeric is numericIn for a column that has other cells than numbers.
func (g *Guesser) nearlyNumeric(sample []Sampled, column int) bool {
	s, any := g.numbers(column), false
	for _, row := range sample {
		if column >= len(row.Fields) {
			continue
		}
		if s.Add(row.Fields[column]) == errOdd {
			s.addOdd(row.Record, row.Fields[column])
		}
		any = any || !s.Into.Missing(s.Into.Len()-1)
		if s.cells.Words.Total*cells.FewWords > len(sample) {
			return false
		}
	}
	return any && s.cells.IsNumeric(s.Into)
}

// zeroPadded reports whether the values of a column are digits, equally many in all of them, and some
// start with a zero: then they are ids or codes, of which a number would lose the zeros.
func (g *Guesser) zeroPadded(sample []Sampled, column int) bool {
	const fewest = 3
	length, zero := 0, false
	for _, s := range sample {
		if column >= len(s.Fields) || g.missing[string(s.Fields[column])] {
			continue
		}
		field := s.Fields[column]
		if !cells.IsDigits(field) || len(field) < fewest || length != 0 && len(field) != length {
			return false
		}
		length, zero = len(field), zero || field[0] == '0'
	}
	return zero
}

func (g *Guesser) isNumber(column int, field []byte) bool {
	_, ok := g.spelled[column].Number(field)
	return ok
}

func (g *Guesser) looksLikeHeader(sample []Sampled) bool {
	first, rest := sample[0].Fields, sample[1:]
	anyNumber := false
	for j, field := range first {
		cell := g.spelled[j].Loose(field)
		switch {
		case cell.Kind != cells.OtherCell && cell.Kind != cells.MissingCell:
			anyNumber = true
		case cell.Kind == cells.OtherCell && len(rest) > 0 && len(field) > 0 && !g.missing[string(field)] && g.numericIn(rest,
			j):
			return true
		}
	}
	return !anyNumber || countsUp(first)
}

// countsUp recognises the header that pandas gives to unnamed columns: 0, 1, 2,
// … after an empty name if the index is included.
func countsUp(fields [][]byte) bool {
	if len(fields[0]) == 0 {
		fields = fields[1:]
	}
	for j, field := range fields {
		if string(field) != strconv.Itoa(j) {
			return false
		}
	}
	return len(fields) > 2 // 0,1 may well be a row of data
}

// areUnits reports whether the first row of a body has the units of the columns: a known unit or one in brackets in a
// column that is numbers otherwise, and in all others one as well, a dash, or nothing.
func (g *Guesser) areUnits(body []Sampled) bool {
	found := false
	if len(body) == 0 || len(body[0].Fields) != len(g.Names) {
		return false
	}
	for j, field := range body[0].Fields {
		text := strings.TrimSpace(string(field))
		bracketed := len(text) > 2 && strings.ContainsAny(text[:1], "[(") && strings.ContainsAny(text[len(text)-1:], "])")
		unit := bracketed || dataset.KnownUnit(text, false)
		if !unit && text != "" && text != "-" && text != "–" {
			return false
		}
		found = found || unit && g.numericIn(body[1:], j)
	}
	return found
}

// Finish returns the table, with what is known about its origin.
func (g *Guesser) Finish() (*dataset.Table, error) {
	if err := g.settle(); err != nil {
		return nil, err
	}
	g.dropEmpty()
	t, err := g.Table()
	if err != nil {
		return nil, err
	}
	o := dataset.Origin{Style: g.Style, Headless: !g.header, Stored: g.Stored, Notes: g.Notes, Lines: g.Lines,
		Warnings: slices.Concat(g.warnings, g.totals())}
	var marks []dataset.Column
	ids := g.ids() // which reads all columns
	for _, s := range g.Sinks {
		numbers, ok := s.(*NumberSink)
		if !ok || numbers == nil || numbers.cells == nil {
			continue
		}
		numbers.cells.SetUnit(numbers.Into)
		warnings, notes := numbers.cells.Remarks(numbers.Into, ids, g.Opts.setting)
		o.Warnings, o.Notes = append(o.Warnings, warnings...), append(o.Notes, notes...)
		if c := g.marksOf(numbers, t); c != nil {
			marks = append(marks, c)
		}
		if numbers.label && len(numbers.cells.Sides) > 0 {
			o.MarkCensored(numbers.Into.Name(), numbers.cells.Sides)
		}
	}
	if marks != nil {
		if t, err = dataset.NewTable(slices.Concat(t.Columns(), marks)...); err != nil {
			return nil, err
		}
	}
	t.SetOrigin(o)
	return WithIDs(g.Opts, t)
}

// marksOf returns the column that marks censored values of another one, if it has such values or the options declare
// the column; nil otherwise.
func (g *Guesser) marksOf(s *NumberSink, t *dataset.Table) dataset.Column {
	name := dataset.CensoredColumn(s.Into.Name())
	_, declared := g.Opts.Kinds[name]
	if s.label || t.Has(name) || g.ignored[name] || len(s.cells.Sides) == 0 && !declared {
		return nil
	}
	marks := dataset.NewCensored(s.Into.Name(), t.Rows(), s.cells.Sides)
	if g.file != nil {
		_ = marks.MoveTo(g.file) // what finds no space stays
	}
	return marks
}

// ids returns the column that names the rows; nil if there is none.
func (g *Guesser) ids() dataset.Column {
	name := cmp.Or(g.Opts.ID, g.Opts.RowNames)
	for j, s := range g.Sinks {
		if s != nil && name != "" && g.Names[j] == name {
			return s.SoFar()
		}
	}
	return nil
}

// settle decides about columns of numbers that have words. All words of columns that must be numbers are one error.
func (g *Guesser) settle() error {
	var wrong []*Error
	ids := g.ids()
	for j, s := range g.Sinks {
		numbers, ok := s.(*NumberSink)
		if !ok || numbers == nil || numbers.cells == nil {
			continue
		}
		if err := g.checkUnits(j, numbers); err != nil {
			return err
		}
		if numbers.cells.Words.Total == 0 {
			continue
		}
		found := &numbers.cells.Words
		e := g.fieldError(numbers.cells.First, j, ErrNumber, []byte(found.List[0]))
		switch {
		case !numbers.Guessed:
			if found.Total == 1 && ids != nil {
				e.Detail += fmt.Sprintf(" (id %s)", ids.Format(found.By[found.List[0]].Rows[0]))
			} else if found.Total > 1 {
				e.Detail = found.With(ids)
				e.Advice = "correct them, or leave them empty if they are missing"
				if marks := g.Opts.setting("MissingMarks"); marks != "" {
					e.Advice += "; name words that mean that with " + marks
				}
			}
			wrong = append(wrong, e)
		case !numbers.cells.IsNumeric(numbers.Into):
			if g.Late == nil {
				g.Late = e
			}
			g.Late.late = append(g.Late.late, j)
		}
	}
	for j, s := range g.Sinks {
		if numbers, ok := s.(*NumberSink); ok && numbers != nil && numbers.cells != nil &&
			numbers.cells.LimitsUnknown(numbers.Into) {
			wrong = append(wrong, g.unknownLimit(j, numbers.cells))
		}
	}
	if len(wrong) > 0 {
		details := []string{wrong[0].Detail}
		for _, e := range wrong[1:] {
			details = append(details, fmt.Sprintf("in column %d (%s): %s", e.Column, e.Name, e.Detail))
		}
		wrong[0].Detail = strings.Join(details, "; ")
		return wrong[0]
	}
	if g.Late != nil {
		return g.Late
	}
	return nil
}

// checkUnits rejects a column of numbers whose units do not fit.
func (g *Guesser) checkUnits(j int, s *NumberSink) error {
	if s.Guessed && !s.cells.IsNumeric(s.Into) {
		return nil
	}
	detail, advice := s.cells.UnitFault(s.Into)
	if detail == "" {
		return nil
	}
	e := &Error{Line: s.cells.Beside.Line, Row: s.cells.Beside.Row, Column: j + 1, Name: g.Names[j], Kind: ErrUnit,
		Detail: detail, Advice: advice}
	if words := g.Opts.setting("Kinds", g.Names[j]); words != "" && !s.label && !s.cells.History {
		e.Advice += "; " + words + " makes it a column of categories"
	}
	return e
}

// unknownLimit is the error of labels beyond limits that are not known.
func (g *Guesser) unknownLimit(j int, t *cells.Tally) *Error {
	e := g.fieldError(t.FirstBeyond, j, ErrLimit, nil)
	e.Detail, e.Advice = t.Beyond.With(g.ids()), "write the limit into the cells, as in <0.5"
	if t.Unclear.Total > 0 {
		e.Detail = strings.TrimPrefix(e.Detail+", "+t.Unclear.With(g.ids()), ", ")
	}
	if lod := g.Opts.setting("Lod", "0.5"); lod != "" {
		e.Advice += ", or give it: " + lod
	}
	missing := g.Opts.setting("Censored", "drop")
	if marks := g.Opts.setting("MissingMarks", strings.Join(t.Unclear.List, ",")); t.Beyond.Total == 0 && marks != "" {
		missing = marks
	}
	e.Advice += "; " + missing + " makes such labels missing, so that their rows may be picked again"
	return e
}

// dropEmpty drops columns at the end that have neither a name nor a value, as spreadsheets write them.
func (g *Guesser) dropEmpty() {
	for j := len(g.Sinks) - 1; j > 0 && slices.Contains(g.Style.Unnamed, j); j-- {
		if g.Sinks[j] == nil {
			continue
		}
		c := g.Sinks[j].SoFar()
		for row := range c.Len() {
			if !c.Missing(row) {
				return
			}
		}
		g.Sinks[j] = nil
		g.Style.Unnamed = slices.DeleteFunc(g.Style.Unnamed, func(i int) bool { return i == j })
	}
}
