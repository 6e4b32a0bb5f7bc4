package tables

import (
	"context"
	"fmt"
	"strings"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/internal/words"
)

// Missing determines how missing inputs are handled.
type Missing uint8

const (
	// ImputeMissing replaces them: a number or a date by the median of its column,
	// with a further input that marks where; a category by a level of its own. A row
	// without any input is dropped.
	ImputeMissing Missing = iota
	DropMissing           // drops rows that lack an input, with a warning
	RefuseMissing         // makes them an error
)

var missingNames = []string{"impute", "drop", "refuse"}

func (m Missing) String() string {
	if int(m) < len(missingNames) {
		return missingNames[m]
	}
	return fmt.Sprintf("Missing(%d)", uint8(m))
}

// ParseMissing reads what String writes.
func ParseMissing(text string) (Missing, error) {
	for i, name := range missingNames {
		if name == text {
			return Missing(i), nil
		}
	}
	return 0, fmt.Errorf("must be impute, drop or refuse, not %q", text)
}

// MissingError reports rows that lack an input.
type MissingError struct {
	Set    string   // name of the table, or "labelled rows", "pool", "targets"
	Rows   []int    // of their table, from 0
	Places []string // what messages call the first of them (dataset.Table.Place)
	Column string   // one that is missing in the first of them
	Advice string   // what to do; may be empty
}

func (e *MissingError) Error() string {
	text := fmt.Sprintf("%s: %s an input: %s, the first in column %q", e.Set,
		words.Count(len(e.Rows), "row lacks", "rows lack"), strings.Join(e.Places, ", "), e.Column)
	if e.Advice != "" {
		text += "; " + e.Advice
	}
	return text
}

// complete drops or rejects rows that lack an input, or every input if missing ones
// are imputed. The context is checked once per block of values.
func (t Tables) complete(ctx context.Context, parts []part, offsets []int, all *dataset.Table, r *Rows) error {
	var columns []dataset.Column
	for _, name := range r.Encoder.Columns() {
		c, err := all.Column(name)
		if err != nil {
			return err
		}
		columns = append(columns, c)
	}
	impute := t.imputes()
	lacking := newLacking(columns)
	atOnce := 1 + valuesAtOnce/(1+len(columns)) // rows
	for i := range parts {
		p := &parts[i]
		missing := &MissingError{Set: p.name}
		var kept []int
		for k, row := range p.rows {
			if k%atOnce == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			first, count := countMissing(columns, offsets[i]+row)
			if count == 0 || impute && count < len(columns) {
				kept = append(kept, row)
				if count > 0 {
					lacking.add(p.table, row, offsets[i]+row)
				}
				continue
			}
			if missing.Column == "" {
				missing.Column = first
			}
			missing.Rows = append(missing.Rows, row)
		}
		if len(missing.Rows) == 0 {
			continue
		}
		missing.Places = p.table.Places(missing.Rows, t.IDColumn)
		if t.Missing == RefuseMissing {
			missing.Advice = fmt.Sprintf("fill it in, or use %s or %s", t.Named("Missing", "impute"),
				t.Named("Missing", "drop"))
			return missing
		}
		p.rows = kept
		if impute {
			//warning:no-inputs
			r.Warnings = append(r.Warnings, fmt.Sprintf("%s: %s no inputs at all and %s dropped: %s", p.name,
				words.Count(len(missing.Rows), "row has", "rows have"), map[bool]string{true: "is",
					false: "are"}[len(missing.Rows) == 1], strings.Join(missing.Places, ", ")))
		} else {
			//warning:lacks-input …: … rows lack an input: …; dropped
			r.Warnings = append(r.Warnings, missing.Error()+"; dropped")
		}
	}
	for _, s := range sources(parts) {
		if names := lacking.nowhere(s, parts, r.Encoder); t.Encoder != nil && len(names) > 0 {
			//warning:input-without-values
			r.Warnings = append(r.Warnings,
				fmt.Sprintf("%s: no row has a value of %s, which every row had that the model learnt from; "+
					"its errors and intervals do not hold here: fit it without what is only known where the label is",
					t.tableName(s, parts), words.Some(words.Quoted(names))))
		}
		if text := lacking.text(s, t.IDColumn); text != "" {
			//warning:imputed
			r.Warnings = append(r.Warnings, fmt.Sprintf("%s: missing inputs are imputed: %s; %s leaves such rows out",
				t.tableName(s, parts), text, t.Named("Missing", "drop")))
		}
	}
	return nil
}

// valuesAtOnce is the number of values that are examined between two checks of the context.
const valuesAtOnce = 1 << 20

// imputes reports whether missing inputs are replaced. A network that was saved
// before there were medians has none.
func (t Tables) imputes() bool {
	return t.Missing == ImputeMissing && (t.Encoder == nil || t.Encoder.Impute)
}

// countMissing returns how many columns lack a value in a row, and the first of them.
func countMissing(columns []dataset.Column, row int) (first string, count int) {
	for _, c := range columns {
		if c.Missing(row) {
			if count == 0 {
				first = c.Name()
			}
			count++
		}
	}
	return first, count
}

// lacking counts the missing values of each column in each table.
type lacking struct {
	columns []dataset.Column
	count   map[*dataset.Table][]int
	first   map[*dataset.Table][]int // row of the first
}

func newLacking(columns []dataset.Column) lacking {
	return lacking{columns, map[*dataset.Table][]int{}, map[*dataset.Table][]int{}}
}

// add counts a row of a table, which is row at of all tables.
func (l lacking) add(table *dataset.Table, row, at int) {
	if l.count[table] == nil {
		l.count[table], l.first[table] = make([]int, len(l.columns)), make([]int, len(l.columns))
	}
	for i, c := range l.columns {
		if !c.Missing(at) {
			continue
		}
		if l.count[table][i]++; l.count[table][i] == 1 || row < l.first[table][i] {
			l.first[table][i] = row
		}
	}
}

// nowhere lists the columns without a value in a table of which no value was missing when the encoder was fitted.
func (l lacking) nowhere(table *dataset.Table, parts []part, e encode.Encoder) (names []string) {
	rows, marked := 0, setOfNames(e.Indicators)
	for _, p := range parts {
		if p.table == table {
			rows += len(p.rows)
		}
	}
	for _, k := range e.Categories {
		marked[k.Column] = marked[k.Column] || k.Missing
	}
	for i, n := range l.count[table] {
		if name := l.columns[i].Name(); n == rows && !marked[name] {
			names = append(names, name)
		}
	}
	return names
}

// bracketless is for places within brackets.
var bracketless = strings.NewReplacer(" (", ", ", ")", "")

func (l lacking) text(table *dataset.Table, id string) string {
	var list []string
	total := 0
	for i, n := range l.count[table] {
		if n > 0 {
			total += n
			list = append(list, fmt.Sprintf("%d in column %q (first in %s)", n, l.columns[i].Name(),
				bracketless.Replace(table.Place(l.first[table][i], id))))
		}
	}
	const most = 5
	if len(list) > most {
		return fmt.Sprintf("%d in %d columns: %s, …", total, len(list), strings.Join(list[:most], ", "))
	}
	return strings.Join(list, ", ")
}

// fitMissing learns centres and medians from labelled rows and candidates, the latter also if
// no value is missing, because rows that are predicted later may lack one.
func (t Tables) fitMissing(ctx context.Context, parts []part, offsets []int, all *dataset.Table, r *Rows) error {
	if t.Encoder != nil && !t.Centre {
		return nil
	}
	var rows []int
	for i, p := range parts[:2] {
		for _, row := range p.rows {
			rows = append(rows, offsets[i]+row)
		}
	}
	if len(rows) == 0 {
		return nil
	}
	if t.Encoder != nil {
		return r.Encoder.FitCentres(ctx, all, rows)
	}
	return r.Encoder.FitMissing(ctx, all, rows, t.Missing == ImputeMissing)
}
