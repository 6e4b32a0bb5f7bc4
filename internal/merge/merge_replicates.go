package merge

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/encode"
)

// Room is what the replicates of a batch need in a table: a row for each measurement that has a label. Further rows are
// copies of the row with the same id.
type Room struct {
	At     []int // the row of the table for each row of the batch
	Copies []int // rows of the table to append, without their labels
}

// MakeRoom finds the rows of a table for the rows of a batch in which an id may have several lines: its measurements,
// which the column replicate numbers from 1. A line belongs to the row with the same id that has its labels already,
// otherwise to one that has none, otherwise to a copy. Rows that were measured before the batch, by its numbers, are
// left alone. An error joins a *ColumnError for each row that is wrong, as with Fill.
func MakeRoom(table, filled *dataset.Table, id, replicate string, targets ...string) (Room, error) {
	m := roomMaker{table: table, filled: filled, id: id, targets: targets, room: Room{At: make([]int, filled.Rows())}}
	numbers, err := filled.Numeric(replicate)
	if err != nil {
		return Room{}, err
	}
	ids, err := filled.Column(id)
	if err != nil {
		return Room{}, err
	}
	there, err := table.Column(id)
	if err != nil {
		return Room{}, err
	}
	lines, rows, again := map[string][]int{}, map[string][]int{}, repeats(filled, id)
	for row := range filled.Rows() {
		if again[row] {
			continue
		}
		lines[ids.Format(row)] = append(lines[ids.Format(row)], row)
	}
	for row := range table.Rows() {
		if name := there.Format(row); lines[name] != nil {
			rows[name] = append(rows[name], row)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(lines)) {
		m.assign(name, lines[name], rows[name], numbers)
	}
	return m.room, errors.Join(m.wrong...)
}

// roomMaker is one call of MakeRoom.
type roomMaker struct {
	table, filled *dataset.Table
	id            string
	targets       []string
	room          Room
	wrong         []error
}

func (m *roomMaker) refuse(column string, row int, format string, args ...any) {
	m.wrong = append(m.wrong, &dataset.ColumnError{Column: column, Row: row, Problem: fmt.Sprintf(format, args...)})
}

// assign finds the rows for the lines of one id.
func (m *roomMaker) assign(name string, lines, rows []int, numbers *dataset.Numeric) {
	seen, first := map[float64]int{}, math.Inf(1)
	for _, line := range lines {
		number := numbers.Float(line)
		before, twice := seen[number]
		switch {
		case name == "":
			m.refuse(m.id, line, "the id is missing; fill it in, or delete the row")
		case len(rows) == 0:
			m.refuse(m.id, line, "the table has no row with the id %q; correct the id, or delete the row", name)
		case !(number >= 1) || number != math.Trunc(number):
			m.refuse(numbers.Name(), line, "the number of a replicate must be 1, 2 and so on")
		case twice:
			m.refuse(numbers.Name(), line, "%s has the same id, %q, and the same number; delete one of the two rows",
				m.filled.Place(before, ""), name)
		}
		seen[number], first = line, min(first, number)
	}
	if len(m.wrong) > 0 {
		return
	}
	labelled, free := m.split(rows)
	labelled = labelled[min(len(labelled), int(first)-1):] // the others were there before the batch
	measured := len(labelled)
	lines = m.known(lines, &labelled, rows[0])
	if len(lines) > 0 && measured+len(lines) > len(seen) {
		line := lines[0]
		m.refuse(m.targets[0], line,
			"the label is %s, but the table has %s in %s; write the right one in both files or, if this is a further "+
				"measurement, a higher number into %s",
			m.labels(m.filled, line), m.labels(m.table, labelled[0]), m.table.Place(labelled[0], ""), numbers.Name())
		return
	}
	for _, line := range lines {
		if len(free) > 0 {
			m.room.At[line], free = free[0], free[1:]
			continue
		}
		m.room.At[line] = m.table.Rows() + len(m.room.Copies)
		m.room.Copies = append(m.room.Copies, rows[0])
	}
}

// split divides the rows of an id into those with a label and those without.
func (m *roomMaker) split(rows []int) (labelled, free []int) {
	for _, row := range rows {
		if m.hasLabel(m.table, row) {
			labelled = append(labelled, row)
		} else {
			free = append(free, row)
		}
	}
	return labelled, free
}

// known finds the lines whose labels the table has, whose rows it takes out of labelled, and returns the others that
// have labels. A line without one belongs to any row of the id.
func (m *roomMaker) known(lines []int, labelled *[]int, row int) (others []int) {
	for _, line := range lines {
		if !m.hasLabel(m.filled, line) {
			m.room.At[line] = row
			continue
		}
		at := slices.IndexFunc(*labelled, func(row int) bool { return m.agree(line, row) })
		if at < 0 {
			others = append(others, line)
			continue
		}
		m.room.At[line] = (*labelled)[at]
		*labelled = slices.Delete(*labelled, at, at+1)
	}
	return others
}

// agree reports whether a line and a row have a label in common and none that differs.
func (m *roomMaker) agree(line, row int) (some bool) {
	for _, target := range m.targets {
		a, b := label(m.filled, target, line), label(m.table, target, row)
		if math.IsNaN(a) || math.IsNaN(b) {
			continue
		}
		if !encode.SameNumber(a, b) || m.filled.Side(target, line) != m.table.Side(target, row) {
			return false
		}
		some = true
	}
	return some
}

func (m *roomMaker) hasLabel(t *dataset.Table, row int) bool {
	return slices.ContainsFunc(m.targets, func(target string) bool { return !math.IsNaN(label(t, target, row)) })
}

// labels spells the labels of a row.
func (m *roomMaker) labels(t *dataset.Table, row int) (text string) {
	for _, target := range m.targets {
		if v := label(t, target, row); !math.IsNaN(v) {
			if text != "" {
				text += ", "
			}
			text += dataset.Spell(v, t.Side(target, row))
		}
	}
	return text
}

// label returns a label, NaN where there is none.
func label(t *dataset.Table, target string, row int) float64 {
	labels, err := t.Numeric(target)
	if err != nil {
		return math.NaN()
	}
	return labels.Float(row)
}

// With returns a table with the copies, which have no values in the given columns.
func (r Room) With(t *dataset.Table, targets ...string) *dataset.Table {
	if len(r.Copies) == 0 {
		return t
	}
	rows := make([]int, t.Rows(), t.Rows()+len(r.Copies))
	for row := range rows {
		rows[row] = row
	}
	rows = append(rows, r.Copies...)
	columns := make([]dataset.Column, len(t.Columns()))
	for i, c := range t.Columns() {
		columns[i] = c.Select(rows)
		if f := (filling{others: targets}); f.isLabel(c.Name()) {
			columns[i] = cleared(columns[i], t.Rows())
		}
	}
	return t.With(columns, len(rows))
}

// cleared returns a column without the values from a row on.
func cleared(c dataset.Column, from int) dataset.Column {
	numbers, isNumeric := c.(*dataset.Numeric)
	text, changed := dataset.NewText(c.Name()), dataset.NewNumeric(c.Name())
	if isNumeric {
		changed = like(numbers)
	}
	for row := range c.Len() {
		switch {
		case isNumeric && row < from:
			changed.Append(numbers.Float(row))
		case isNumeric:
			changed.Append(math.NaN())
		case row < from:
			text.Append([]byte(c.Format(row)))
		default:
			text.Append(nil)
		}
	}
	if isNumeric {
		return changed
	}
	return text
}

// Kept returns the rows of a table with copies that are worth keeping: of the rows that got copies and of the copies,
// those with a label in one of the columns, or the first if none has one.
func (r Room) Kept(t *dataset.Table, targets ...string) (rows []int) {
	m := roomMaker{targets: targets}
	before := t.Rows() - len(r.Copies)
	has := map[int]bool{} // by the row that was copied
	for i, row := range r.Copies {
		has[row] = has[row] || m.hasLabel(t, row) || m.hasLabel(t, before+i)
	}
	for row := range t.Rows() {
		original, copied := row, row >= before
		if copied {
			original = r.Copies[row-before]
		}
		some, repeated := has[original]
		switch {
		case !copied && !repeated, m.hasLabel(t, row), !some && !copied:
			rows = append(rows, row)
		}
	}
	return rows
}
