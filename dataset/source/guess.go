package source

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/nextbatch/nextbatch/dataset"
)

// guesser determines the columns of a table whose format declares nothing: their names, their
// kinds and how their numbers are written, from the first rows.
type guesser struct {
	rows
	opts    Options
	missing map[string]bool
	ignored map[string]bool
	stored  bool          // numbers are stored as programs write them, besides those in text
	spelled []*numerals   // by column: how its numbers are written
	signs   []signs       // by column: what that follows from
	style   dataset.Style // of the file
	header  bool
	notes   []string

	warnings []string // how labels are read
}

// newGuesser checks the options.
func newGuesser(opts Options) (guesser, error) {
	return guesser{rows: rows{choice: opts.Choice.restart()}, opts: opts, missing: opts.missingSet(DefaultMissing()),
		ignored: opts.ignored()}, opts.checkNumerals()
}

// sampled is a copy of a record and of its fields.
type sampled struct {
	record
	fields [][]byte
}

const (
	sampleRows  = 1000
	sampleBytes = 8 << 20
)

// open decides on header and kinds, and adds the rows of the sample.
func (g *guesser) open(sample []sampled, notNumeric []int) error {
	g.spellNumbers(sample[min(1, len(sample)-1):], len(sample[0].fields))
	body := sample
	if g.opts.Header == HeaderPresent || g.opts.Header == HeaderGuess && g.looksLikeHeader(sample) {
		body, g.header = sample[1:], true
	}
	if err := g.nameColumns(sample[0]); err != nil {
		return err
	}
	if err := g.checkTitle(sample); err != nil {
		return err
	}
	if err := g.opts.check(g.names); err != nil {
		return err
	}
	if err := g.asBefore(); err != nil {
		return err
	}
	if g.header && len(body) > 1 && g.areUnits(body) {
		for _, field := range body[0].fields {
			g.style.Units = append(g.style.Units, string(field))
		}
		g.notes = append(g.notes, fmt.Sprintf("line %d has the units of the columns and is not a row", body[0].line))
		body = body[1:]
	}
	g.makeSinks(body, notNumeric)
	for _, s := range body {
		if err := g.checkBlank(s.record); err != nil {
			return err
		}
		if err := g.addFields(s.record, s.fields); err != nil {
			return err
		}
	}
	return nil
}

// checkBlank rejects a blank line before a record of a single column: it could
// be a line to skip or a missing value.
func (g *guesser) checkBlank(rec record) error {
	if len(g.names) > 1 || rec.blank == 0 {
		return nil
	}
	return &Error{Line: rec.blank, Column: 1, Name: g.names[0], Kind: ErrBlank,
		Advice: `remove it, or write "" for a missing value`}
}

func (g *guesser) nameColumns(first sampled) error {
	at := make(map[string]int, len(first.fields))
	for j, field := range first.fields {
		name := "column" + strconv.Itoa(j)
		switch {
		case g.header && len(field) > 0:
			name = string(field)
		case g.header:
			g.style.Unnamed = append(g.style.Unnamed, j)
		}
		e := Error{Line: first.line, Column: j + 1, Name: name}
		if !utf8.ValidString(name) {
			e.Kind, e.Detail, e.Advice = ErrEncoding, quoteShort([]byte(name))+notUTF8, advice[ErrEncoding]
			return &e
		}
		if other, taken := at[name]; taken {
			e.Kind, e.Detail = ErrHeader, fmt.Sprintf("column %d has the same name", other+1)
			e.Advice = "rename one"
			return &e
		}
		at[name] = j
		g.names = append(g.names, name)
	}
	return nil
}

// makeSinks decides on the kinds of the columns. Those that turned out not to be numeric are words.
func (g *guesser) makeSinks(sample []sampled, notNumeric []int) {
	g.sinks = make([]sink, len(g.names))
	for j := range g.names {
		g.sinks[j] = g.sinkFor(j, !slices.Contains(notNumeric, j) && g.numericIn(sample, j))
	}
}

func (g *guesser) sinkFor(j int, numeric bool) sink {
	name := g.names[j]
	kind, declared := g.opts.kind(name)
	switch {
	case g.ignored[name]:
		return nil
	case kind == dataset.KindText:
		return newSink(kind, name, nil) // NA may be an id
	case kind == dataset.KindNumeric || numeric && !declared:
		s := g.numbers(j)
		s.guessed = !declared
		return s
	case declared:
		return newSink(kind, name, g.missing)
	}
	return newWordSink(name, g.missing)
}

// numbers returns the sink of a column of numbers.
func (g *guesser) numbers(j int) *numberSink {
	name := ""
	if j < len(g.names) {
		name = g.names[j]
	}
	return &numberSink{
		into: dataset.NewNumeric(name), missing: g.missing, numerals: g.spelled[j], cells: g.tallyOf(j, name),
		label: g.opts.Label != nil && g.opts.Label(name),
	}
}

// tallyOf returns the tally of a column, with its unit if something else than the cells says it.
func (g *guesser) tallyOf(j int, name string) *tally {
	t := newTally(name, g.opts)
	if !t.known && j < len(g.style.Units) {
		if unit := strings.Trim(strings.TrimSpace(g.style.Units[j]), "[]()"); dataset.KnownUnit(unit, false) {
			t.unit, t.known = unit, true
		}
	}
	return t
}

// numericIn reports whether a column is one of numbers: all its values in the sample are numbers or missing, or all
// but a few, and they are not codes with zeros in front.
func (g *guesser) numericIn(sample []sampled, column int) bool {
	strict := true
	for _, s := range sample {
		if column < len(s.fields) && !g.isNumber(column, s.fields[column]) && !g.missing[string(s.fields[column])] {
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
func (g *guesser) nearlyNumeric(sample []sampled, column int) bool {
	s, any := g.numbers(column), false
	for _, row := range sample {
		if column >= len(row.fields) {
			continue
		}
		if s.add(row.fields[column]) == errOdd {
			s.addOdd(row.record, row.fields[column])
		}
		any = any || !s.into.Missing(s.into.Len()-1)
		if s.cells.words.total*fewWords > len(sample) {
			return false
		}
	}
	return any && s.cells.isNumeric(s.into)
}

// zeroPadded reports whether the values of a column are digits, equally many in all of them, and some
// start with a zero: then they are ids or codes, of which a number would lose the zeros.
func (g *guesser) zeroPadded(sample []sampled, column int) bool {
	const fewest = 3
	length, zero := 0, false
	for _, s := range sample {
		if column >= len(s.fields) || g.missing[string(s.fields[column])] {
			continue
		}
		field := s.fields[column]
		if !isDigits(field) || len(field) < fewest || length != 0 && len(field) != length {
			return false
		}
		length, zero = len(field), zero || field[0] == '0'
	}
	return zero
}

func (g *guesser) isNumber(column int, field []byte) bool {
	_, ok := g.spelled[column].number(field)
	return ok
}

func (g *guesser) looksLikeHeader(sample []sampled) bool {
	first, rest := sample[0].fields, sample[1:]
	anyNumber := false
	for j, field := range first {
		cell := g.spelled[j].loose(field)
		switch {
		case cell.kind != otherCell && cell.kind != missingCell:
			anyNumber = true
		case cell.kind == otherCell && len(rest) > 0 && len(field) > 0 && !g.missing[string(field)] && g.numericIn(rest, j):
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
func (g *guesser) areUnits(body []sampled) bool {
	found := false
	if len(body) == 0 || len(body[0].fields) != len(g.names) {
		return false
	}
	for j, field := range body[0].fields {
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

// finish returns the table, with what is known about its origin.
func (g *guesser) finish() (*dataset.Table, error) {
	if err := g.settle(); err != nil {
		return nil, err
	}
	g.dropEmpty()
	t, err := g.table()
	if err != nil {
		return nil, err
	}
	o := dataset.Origin{Style: g.style, Headless: !g.header, Stored: g.stored, Notes: g.notes, Lines: g.lines,
		Warnings: slices.Concat(g.warnings, g.totals())}
	var marks []dataset.Column
	ids := g.ids() // which looks at all columns
	for _, s := range g.sinks {
		numbers, ok := s.(*numberSink)
		if !ok || numbers == nil || numbers.cells == nil {
			continue
		}
		numbers.cells.setUnit(numbers.into)
		warnings, notes := numbers.cells.remarks(numbers.into, ids, g.opts.setting)
		o.Warnings, o.Notes = append(o.Warnings, warnings...), append(o.Notes, notes...)
		if c := g.marksOf(numbers, t); c != nil {
			marks = append(marks, c)
		}
		if numbers.label && len(numbers.cells.sides) > 0 {
			o.MarkCensored(numbers.into.Name(), numbers.cells.sides)
		}
	}
	if marks != nil {
		if t, err = dataset.NewTable(slices.Concat(t.Columns(), marks)...); err != nil {
			return nil, err
		}
	}
	t.SetOrigin(o)
	return g.opts.withIDs(t, nil)
}

// marksOf returns the column that marks censored values of another one, if it has such values or the options declare
// the column; nil otherwise.
func (g *guesser) marksOf(s *numberSink, t *dataset.Table) dataset.Column {
	name := dataset.CensoredColumn(s.into.Name())
	_, declared := g.opts.Kinds[name]
	if s.label || t.Has(name) || g.ignored[name] || len(s.cells.sides) == 0 && !declared {
		return nil
	}
	marks := dataset.NewCensored(s.into.Name(), t.Rows(), s.cells.sides)
	if g.file != nil {
		_ = marks.MoveTo(g.file) // what finds no space stays
	}
	return marks
}

// ids returns the column that names the rows; nil if there is none.
func (g *guesser) ids() dataset.Column {
	name := cmp.Or(g.opts.ID, g.opts.RowNames)
	for j, s := range g.sinks {
		if s != nil && name != "" && g.names[j] == name {
			return s.soFar()
		}
	}
	return nil
}

// settle decides about columns of numbers that have words. All words of columns that must be numbers are one error.
func (g *guesser) settle() error {
	var wrong []*Error
	ids := g.ids()
	for j, s := range g.sinks {
		numbers, ok := s.(*numberSink)
		if !ok || numbers == nil || numbers.cells == nil {
			continue
		}
		if err := g.checkUnits(j, numbers); err != nil {
			return err
		}
		if numbers.cells.words.total == 0 {
			continue
		}
		found := &numbers.cells.words
		e := g.fieldError(numbers.cells.first, j, ErrNumber, []byte(found.list[0]))
		switch {
		case !numbers.guessed:
			if found.total == 1 && ids != nil {
				e.Detail += fmt.Sprintf(" (id %s)", ids.Format(found.by[found.list[0]].rows[0]))
			} else if found.total > 1 {
				e.Detail = found.with(ids)
				e.Advice = "correct them, or leave them empty if they are missing"
				if marks := g.opts.setting("MissingMarks"); marks != "" {
					e.Advice += "; name words that mean that with " + marks
				}
			}
			wrong = append(wrong, e)
		case !numbers.cells.isNumeric(numbers.into):
			if g.late == nil {
				g.late = e
			}
			g.late.late = append(g.late.late, j)
		}
	}
	for j, s := range g.sinks {
		if numbers, ok := s.(*numberSink); ok && numbers != nil && numbers.cells != nil &&
			numbers.cells.limitsUnknown(numbers.into) {
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
	if g.late != nil {
		return g.late
	}
	return nil
}

// checkUnits rejects a column of numbers whose units do not fit.
func (g *guesser) checkUnits(j int, s *numberSink) error {
	if s.guessed && !s.cells.isNumeric(s.into) {
		return nil
	}
	detail, advice := s.cells.unitFault(s.into)
	if detail == "" {
		return nil
	}
	e := &Error{Line: s.cells.beside.line, Row: s.cells.beside.row, Column: j + 1, Name: g.names[j], Kind: ErrUnit,
		Detail: detail, Advice: advice}
	if words := g.opts.setting("Kinds", g.names[j]); words != "" && !s.label && !s.cells.history {
		e.Advice += "; " + words + " makes it a column of categories"
	}
	return e
}

// unknownLimit is the error of labels beyond limits that are not known.
func (g *guesser) unknownLimit(j int, cells *tally) *Error {
	e := g.fieldError(cells.firstBeyond, j, ErrLimit, nil)
	e.Detail, e.Advice = cells.beyond.with(g.ids()), "write the limit into the cells, as in <0.5"
	if cells.unclear.total > 0 {
		e.Detail = strings.TrimPrefix(e.Detail+", "+cells.unclear.with(g.ids()), ", ")
	}
	if lod := g.opts.setting("Lod", "0.5"); lod != "" {
		e.Advice += ", or give it: " + lod
	}
	missing := g.opts.setting("Censored", "drop")
	if marks := g.opts.setting("MissingMarks", strings.Join(cells.unclear.list, ",")); cells.beyond.total == 0 && marks != "" {
		missing = marks
	}
	e.Advice += "; " + missing + " makes such labels missing, so that their rows may be picked again"
	return e
}

// dropEmpty drops columns at the end that have neither a name nor a value, as spreadsheets write them.
func (g *guesser) dropEmpty() {
	for j := len(g.sinks) - 1; j > 0 && slices.Contains(g.style.Unnamed, j); j-- {
		if g.sinks[j] == nil {
			continue
		}
		c := g.sinks[j].soFar()
		for row := range c.Len() {
			if !c.Missing(row) {
				return
			}
		}
		g.sinks[j] = nil
		g.style.Unnamed = slices.DeleteFunc(g.style.Unnamed, func(i int) bool { return i == j })
	}
}
