package space

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/rng"
)

// Build says which candidates are built.
type Build struct {
	Rows     int // at most so many
	Seed     uint64
	Targets  []string // names of columns for labels, which are added empty
	Progress func(done, of int)
}

// Fits reports whether there are at most so many candidates, so that all of them can be built.
func (c *Counted) Fits(rows int) bool {
	return c.Count.N != nil && !c.Count.Estimated && c.Count.N.IsInt64() && c.Count.N.Int64() <= int64(rows)
}

// ErrFewer reports a sample that has fewer rows than asked for, because no more different ones were found.
var ErrFewer = errors.New("no more different candidates were found")

// Table builds all candidates, in the order of their columns, if there are at most b.Rows. Otherwise it builds a sample
// that fills the space, and so do its first rows, however many.
func (c *Counted) Table(ctx context.Context, b Build) (*dataset.Table, error) {
	d, err := c.Draw(ctx, b)
	if d == nil {
		return nil, err
	}
	return d.Table, err
}

// Drawn is a table of candidates, of which Near makes others.
type Drawn struct {
	*dataset.Table
	maker *maker
}

// Draw is Table, with what its rows were made from. With ErrFewer there is a table, too.
func (c *Counted) Draw(ctx context.Context, b Build) (*Drawn, error) {
	m := &maker{Counted: c, Build: b, ctx: ctx, seen: map[[2]uint64]struct{}{}, row: make([]int64, len(c.variables)),
		scratch: make([]int64, len(c.variables))}
	var err error
	if c.Fits(b.Rows) {
		if err = m.list(0, m.keep); err == nil {
			m.sort()
		}
	} else {
		err = m.sample()
	}
	if err != nil && !errors.Is(err, ErrFewer) {
		return nil, err
	}
	table, wrong := m.table()
	if wrong != nil {
		return nil, wrong
	}
	return &Drawn{table, m}, err
}

// Whole reports whether all candidates are in the table.
func (d *Drawn) Whole() bool { return d.maker.Fits(d.maker.Rows) }

// nearby is how far the coordinates of candidates that are near another one lie from its own, by standard deviation.
const nearby = 0.05

// Near makes candidates near some rows of a sample, at most so many near each, which differ from one another and from
// all that the sample has. Rows that no point of the sequence made have none.
func (d *Drawn) Near(rows []int, each int) (*dataset.Table, error) {
	m := *d.maker
	m.values, m.seen = nil, maps.Clone(m.seen)
	stream := rng.New(m.Seed, "space near")
	for _, row := range rows {
		if row >= len(m.index) {
			continue
		}
		for range each {
			fits := m.follow(func(dimension int) float64 {
				u := m.points.coordinate(m.index[row], dimension) + nearby*stream.NormFloat64()
				return min(max(u, 0), math.Nextafter(1, 0))
			})
			if fits && m.first() {
				m.values = append(m.values, m.row...)
			}
		}
	}
	return m.table()
}

// maker collects candidates.
type maker struct {
	*Counted
	Build
	ctx    context.Context
	row    []int64 // that is being made: a value for each variable
	values []int64 // of all rows
	seen   map[[2]uint64]struct{}

	scratch    []int64
	points     sobol
	dimensions [][]int  // of each variable of each diagram; -1 where it has one value
	index      []uint32 // of the points that made the rows of a sample
}

func (m *maker) made() int { return len(m.values) / len(m.row) }

// report says how many rows there are, from time to time.
func (m *maker) report() error {
	if m.made()%4096 == 0 {
		m.Progress(m.made(), m.Rows)
		return m.ctx.Err()
	}
	return nil
}

// keep adds the row.
func (m *maker) keep() error {
	m.values = append(m.values, m.row...)
	return m.report()
}

// list visits all candidates, from the given diagram on.
func (m *maker) list(from int, visit func() error) error {
	if from == len(m.diagrams) {
		return visit()
	}
	d := m.diagrams[from]
	return d.each(func(values []int64) error {
		for v, value := range values {
			m.row[d.group.at[v]] = value
		}
		return m.list(from+1, visit)
	})
}

// sort puts the rows in the order of their values.
func (m *maker) sort() {
	width := len(m.row)
	rows := make([][]int64, m.made())
	for i := range rows {
		rows[i] = m.values[i*width : (i+1)*width]
	}
	slices.SortFunc(rows, slices.Compare)
	m.values = slices.Concat(rows...)
}

// mostDraws is how many points are drawn per row of a sample, at most.
const mostDraws = 30

// sample adds different rows by the points of a sequence.
func (m *maker) sample() error {
	stream := rng.New(m.Seed, "space sample")
	for _, d := range m.diagrams {
		var dimensions []int
		for _, v := range d.group.variables {
			dimension := -1
			if len(v.runs) > 1 || v.runs[0].n > 1 {
				dimension = len(m.points.seeds)
				m.points.seeds = append(m.points.seeds, uint32(stream.Uint64()))
			}
			dimensions = append(dimensions, dimension)
		}
		m.dimensions = append(m.dimensions, dimensions)
	}
	for index := uint32(0); m.made() < m.Rows && int(index) < min(mostDraws*m.Rows+1000, math.MaxInt32); index++ {
		if !m.follow(func(dimension int) float64 { return m.points.coordinate(index, dimension) }) || !m.first() {
			continue
		}
		m.index = append(m.index, index)
		if err := m.keep(); err != nil {
			return err
		}
	}
	if m.made() < m.Rows && m.Fits(4*m.Rows) {
		return m.fill(stream)
	}
	if m.made() < m.Rows {
		return ErrFewer
	}
	return nil
}

// follow makes the row of a point, and reports whether it is a candidate.
func (m *maker) follow(coordinate func(dimension int) float64) bool {
	fits := true
	for i, d := range m.diagrams {
		some := m.scratch[:len(d.group.at)]
		d.walk(func(v int) float64 {
			if m.dimensions[i][v] < 0 {
				return 0
			}
			return coordinate(m.dimensions[i][v])
		}, some)
		fits = fits && (!m.relaxed || d.group.allows(some))
		for v, value := range some {
			m.row[d.group.at[v]] = value
		}
	}
	return fits
}

// first reports whether the row is new, and remembers it.
func (m *maker) first() bool {
	key := [2]uint64{0, 0x9e3779b97f4a7c15}
	for _, value := range m.row {
		for i, factor := range [2]uint64{0xd6e8feb86659fd93, 0xff51afd7ed558ccd} {
			high, low := bits.Mul64(key[i]^uint64(value), factor)
			key[i] = bits.RotateLeft64(high^low, 31) + factor
		}
	}
	_, seen := m.seen[key]
	m.seen[key] = struct{}{}
	return !seen
}

// fill adds random ones of the candidates that points did not find.
func (m *maker) fill(stream *rng.Stream) error {
	missing, width, start, met := m.Rows-m.made(), len(m.row), len(m.values), 0
	return m.list(0, func() error {
		if !m.first() {
			return nil
		}
		if met++; met <= missing {
			return m.keep()
		}
		if at := stream.IntN(met); at < missing {
			copy(m.values[start+at*width:], m.row)
		}
		return nil
	})
}

// column is the name of the column of a variable, with its unit as tables have it.
func (v *variable) column() string {
	if v.unit != "" {
		return v.name + " (" + v.unit + ")"
	}
	return v.name
}

// table makes the columns.
func (m *maker) table() (*dataset.Table, error) {
	var columns []dataset.Column
	for i, v := range m.variables {
		if v.levels == nil {
			c := dataset.NewNumeric(v.column())
			m.of(i, func(value int64) { c.Append(v.numberOr(value)) })
			columns = append(columns, c)
			continue
		}
		c := dataset.NewCategorical(v.name, v.levels...)
		m.of(i, func(value int64) { c.Append(int32(max(value, -1))) })
		columns = append(columns, c)
		for _, d := range v.descriptorColumns() {
			columns = append(columns, m.descriptor(i, d))
		}
	}
	if m.cost != nil {
		c, err := m.costs()
		if err != nil {
			return nil, err
		}
		columns = append(columns, c)
	}
	for _, name := range m.Targets {
		c := dataset.NewNumeric(name)
		for range m.made() {
			c.Append(math.NaN())
		}
		columns = append(columns, c)
	}
	return dataset.NewTable(columns...)
}

// of visits the values of a variable.
func (m *maker) of(variable int, visit func(value int64)) {
	for at := variable; at < len(m.values); at += len(m.row) {
		visit(m.values[at])
	}
}

// numberOr is a number, or NaN where the factor does not exist.
func (v *variable) numberOr(value int64) float64 {
	if value == absent {
		return math.NaN()
	}
	return v.number(value)
}

// descriptor makes the column of a descriptor.
func (m *maker) descriptor(variable int, from dataset.Column) dataset.Column {
	name := m.variables[variable].columnOf(from)
	if numbers, ok := from.(*dataset.Numeric); ok {
		c := dataset.NewNumeric(name)
		m.of(variable, func(value int64) {
			if value == absent {
				c.Append(math.NaN())
			} else {
				c.Append(numbers.Float(int(value)))
			}
		})
		return c
	}
	c := dataset.NewCategorical(name)
	m.of(variable, func(value int64) {
		if value == absent || from.Missing(int(value)) {
			c.Append(-1)
		} else {
			c.Append(c.AddLevel(from.Format(int(value))))
		}
	})
	return c
}

// costs makes the column of costs. A factor that does not exist counts as 0 in it.
func (m *maker) costs() (dataset.Column, error) {
	column, numbers := dataset.NewNumeric(CostColumn), map[string]func(row []int64) float64{}
	for i, v := range m.variables {
		if v.levels == nil {
			numbers[v.name] = func(row []int64) float64 { return v.numberOr(row[i]) }
		}
		for _, d := range v.descriptorColumns() {
			if from, ok := d.(*dataset.Numeric); ok {
				numbers[v.columnOf(d)] = func(row []int64) float64 {
					if row[i] == absent {
						return math.NaN()
					}
					return from.Float(int(row[i]))
				}
			}
		}
	}
	for row := range slices.Chunk(m.values, len(m.row)) {
		cost := m.cost.value(func(name string) float64 {
			if v := numbers[name](row); !math.IsNaN(v) {
				return v
			}
			return 0
		})
		if math.IsNaN(cost) || math.IsInf(cost, 0) || cost < 0 {
			return nil, fmt.Errorf("%s: the cost of a candidate is %v, where %s", m.path, cost, m.said(row))
		}
		column.Append(cost)
	}
	return column, nil
}

// said writes the values of a row.
func (m *maker) said(row []int64) (text string) {
	for i, v := range m.variables {
		if row[i] != absent {
			text += fmt.Sprintf(", %s is %s", v.name, v.text(row[i]))
		}
	}
	return strings.TrimPrefix(text, ", ")
}
