package sheets

// A data frame of another program has columns whose kinds are known, and columns of text that it has not read: words,
// or numbers as people type them into cells. This file reads the latter as the columns of a file are read.

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/source/cells"
)

// Column is a column of a table in memory: one whose kind is known, or one of cells.
type Column struct {
	Known dataset.Column // nil for cells
	Cells Cells
}

// Cells is a column of text whose kind its cells suggest.
type Cells struct {
	Name   string
	Levels []string // the different cells
	Rows   []int32  // by row: the index of the cell; negative where it is empty
	Stored bool     // some numbers among the cells were stored as numbers, not typed
}

// ReadColumns makes a table of columns, and reads those of cells as ReadFile reads those of a file: with the same
// guesses, of each column and of the table, and the same messages, which count rows from 0.
func ReadColumns(ctx context.Context, columns []Column, opts Options) (*dataset.Table, error) {
	t, err := readColumns(ctx, columns, opts, nil)
	if late := LateColumns(err); late != nil {
		t, err = readColumns(ctx, columns, opts, late)
	}
	return t, Worded(err, opts)
}

// readColumns takes the indices of columns that turned out not to be numeric.
func readColumns(ctx context.Context, columns []Column, opts Options, notNumeric []int) (*dataset.Table, error) {
	r := &columnReader{columns: columns, cells: make([][][]byte, len(columns))}
	var err error
	if r.Guesser, err = NewGuesser(opts); err != nil {
		return nil, err
	}
	r.header = true
	if err := r.prepare(); err != nil {
		return nil, err
	}
	if err := r.guess(notNumeric); err != nil {
		return nil, err
	}
	if err := r.readRows(ctx); err != nil {
		return nil, err
	}
	assumed := slices.Clone(r.Notes)
	t, err := r.Finish()
	if err != nil {
		return nil, err
	}
	o := t.Origin()
	o.Warnings, o.Notes = append(assumed, o.Warnings...), o.Notes[len(assumed):]
	t.SetOrigin(o)
	return t, nil
}

type columnReader struct {
	Guesser
	columns []Column
	cells   [][][]byte // by column: the levels without blanks around them; nil where the kind is known
	length  int
}

// prepare checks that the columns belong together.
func (r *columnReader) prepare() error {
	for j, c := range r.columns {
		name, length := c.Cells.Name, len(c.Cells.Rows)
		if c.Known != nil {
			name, length = c.Known.Name(), c.Known.Len()
		} else {
			r.Stored = r.Stored || c.Cells.Stored
			r.cells[j] = make([][]byte, len(c.Cells.Levels))
			for i, level := range c.Cells.Levels {
				r.cells[j][i] = cells.Trim([]byte(level))
			}
		}
		if j > 0 && length != r.length {
			return &Error{Kind: ErrShape, Column: j + 1, Name: name, Detail: fmt.Sprintf("%d rows where others have %d", length,
				r.length), Advice: "give all columns the same rows"}
		}
		r.length = length
		r.Names = append(r.Names, name)
	}
	return CheckNames(r.Opts, r.Names)
}

// field returns a cell; nil where it is empty.
func (r *columnReader) field(j, row int) []byte {
	if code := r.columns[j].Cells.Rows[row]; code >= 0 {
		return r.cells[j][code]
	}
	return nil
}

// sample returns the first rows as a file would have them.
func (r *columnReader) sample() []Sampled {
	var sample []Sampled
	for size := 0; len(sample) < min(SampleRows, r.length) && size < SampleBytes; {
		row := len(sample)
		s := Sampled{Record: cells.Record{Row: row + 1}, Fields: make([][]byte, len(r.columns))}
		for j, c := range r.columns {
			switch numbers, ok := c.Known.(*dataset.Numeric); {
			case c.Known == nil:
				s.Fields[j] = r.field(j, row)
			case ok && !math.IsNaN(numbers.Float(row)):
				s.Fields[j] = strconv.AppendFloat(nil, numbers.Float(row), 'g', -1, 64)
			}
			size += 1 + len(s.Fields[j])
		}
		sample = append(sample, s)
	}
	return sample
}

// guess decides on the kinds of the columns of cells.
func (r *columnReader) guess(notNumeric []int) error {
	sample := r.sample()
	r.spellNumbers(sample, len(r.columns))
	if err := r.asBefore(); err != nil {
		return err
	}
	r.makeSinks(sample, notNumeric)
	for j, c := range r.columns {
		if c.Known != nil {
			r.Sinks[j] = knownSink{c.Known}
		}
	}
	return nil
}

// readRows reads the cells.
func (r *columnReader) readRows(ctx context.Context) error {
	const atOnce = 1 << 12 // rows between two checks of the context
	for row := range r.length {
		if row%atOnce == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		for j, c := range r.columns {
			if c.Known != nil {
				continue
			}
			if err := r.Add(cells.Record{Row: row + 1}, j, r.field(j, row)); err != nil {
				return err
			}
		}
	}
	return nil
}

// knownSink holds a column that needs no reading.
type knownSink struct{ dataset.Column }

func (s knownSink) Add([]byte) error       { return nil }
func (s knownSink) SoFar() dataset.Column  { return s.Column }
func (s knownSink) column() dataset.Column { return s.Column }
