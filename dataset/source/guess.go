package source

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/nextbatch/nextbatch/dataset"
)

// guesser determines the kinds of the columns of a table whose format declares
// nothing: their names and kinds, from the first rows.
type guesser struct {
	rows
	opts     Options
	missing  map[string]bool
	ignored  map[string]bool
	numerals *numerals
}

// newGuesser checks the options.
func newGuesser(opts Options) (guesser, error) {
	n, err := opts.numerals()
	return guesser{rows: rows{choice: opts.Choice.restart()}, opts: opts, missing: opts.missingSet(DefaultMissing()), ignored: opts.ignored(), numerals: n}, err
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
	body := sample
	if g.opts.Header == HeaderPresent || g.opts.Header == HeaderGuess && g.looksLikeHeader(sample) {
		body = sample[1:]
	}
	if err := g.nameColumns(sample[0], len(body) < len(sample)); err != nil {
		return err
	}
	if err := g.opts.check(g.names); err != nil {
		return err
	}
	g.sinks = make([]sink, len(g.names))
	words := make([]bool, len(g.names))
	for _, j := range notNumeric {
		if j < len(words) {
			words[j] = true
		}
	}
	for j, name := range g.names {
		numeric := !words[j] && g.numericIn(body, j)
		if g.sinks[j] = g.sinkFor(name, numeric); !numeric {
			if err := g.checkSpelling(body, j); err != nil {
				return err
			}
		}
	}
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

func (g *guesser) nameColumns(first sampled, header bool) error {
	at := make(map[string]int, len(first.fields))
	for j, field := range first.fields {
		name := "column" + strconv.Itoa(j)
		if header && len(field) > 0 {
			name = string(field)
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

func (g *guesser) sinkFor(name string, numeric bool) sink {
	kind, declared := g.opts.kind(name)
	switch {
	case g.ignored[name]:
		return nil
	case kind == dataset.KindText:
		return newSink(kind, name, nil) // NA may be an id
	case kind == dataset.KindNumeric || numeric && !declared:
		return &numberSink{into: dataset.NewNumeric(name), missing: g.missing, numerals: g.numerals, guessed: !declared}
	case declared:
		return newSink(kind, name, g.missing)
	}
	return newWordSink(name, g.missing)
}

// checkSpelling rejects a column whose words would all be numbers with other
// marks: as words they would teach the network nothing.
func (g *guesser) checkSpelling(sample []sampled, column int) error {
	if _, words := g.sinks[column].(*wordSink); !words || g.numerals != nil {
		return nil
	}
	var values [][]byte
	first := record{}
	for _, s := range sample {
		if column >= len(s.fields) || g.missing[string(s.fields[column])] {
			continue
		}
		if !g.isNumber(s.fields[column]) && first.line == 0 {
			first = s.record
			values = slices.Insert(values, 0, s.fields[column])
			continue
		}
		values = append(values, s.fields[column])
	}
	flags := flagsFor(values)
	if first.line == 0 || len(flags) == 0 {
		return nil
	}
	e := g.fieldError(first, column, ErrNumber, values[0])
	e.Advice = fmt.Sprintf("if it is one, give %s; if it is a word, --categorical %s", strings.Join(flags, " or "), g.names[column])
	return e
}

// numericIn reports whether all values of the column are numbers or missing.
func (g *guesser) numericIn(sample []sampled, column int) bool {
	for _, s := range sample {
		if column < len(s.fields) && !g.isNumber(s.fields[column]) && !g.missing[string(s.fields[column])] {
			return false
		}
	}
	return true
}

func (g *guesser) isNumber(field []byte) bool {
	_, ok := g.numerals.number(field)
	return ok
}

func (g *guesser) looksLikeHeader(sample []sampled) bool {
	first, rest := sample[0].fields, sample[1:]
	anyNumber := false
	for j, field := range first {
		if g.isNumber(field) {
			anyNumber = true
		} else if len(rest) > 0 && !g.missing[string(field)] && g.numericIn(rest, j) {
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
