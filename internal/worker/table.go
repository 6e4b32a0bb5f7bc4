package worker

import (
	"context"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/internal/options"
	"github.com/nextbatch/nextbatch/internal/source/cells"
	"github.com/nextbatch/nextbatch/internal/source/sheets"
	"github.com/nextbatch/nextbatch/matrix"
)

// frameColumn is a column of a table in a request. The arrays are those of its frame.
type frameColumn struct {
	Name string `json:"name"`
	// Kind is numeric, one array of numbers with NaN where a value is missing;
	// categorical, one array of codes (int32) into Levels, negative where a value is
	// missing; cells, the same, where the levels are cells that are read as those of a file,
	// so that they may be numbers; text, an array of the ends (int64) of the rows in a second array, of
	// UTF-8 (uint8), empty where a value is missing; or matrix, one array of rows and
	// columns, which are numeric and have the Names.
	Kind   string   `json:"kind"`
	Arrays []int    `json:"arrays"`
	Levels []string `json:"levels,omitempty"`
	Stored bool     `json:"stored,omitempty"` // some numbers among the cells were numbers in the client, not text
	Names  []string `json:"names,omitempty"`
}

// table is a table in a request.
type table struct {
	Name    string        `json:"name"` // in messages
	Columns []frameColumn `json:"columns"`
}

// mostLevels is how many levels a column of words may have. With more it is text, as in
// tables that are read from files, unless the request says that it is categorical.
const mostLevels = 1000

// reading returns how cells are read, given which columns are categories, which are labels, and what to do with values
// beyond a limit.
func reading(categorical, labels []string, censored string, limits lod) (o source.Options, err error) {
	o = source.Options{Kinds: map[string]dataset.Kind{}, Lenient: true}.WithLabels(labels)
	for _, name := range categorical {
		o.Kinds[name] = dataset.KindCategorical
	}
	if o.Censored, err = cells.ParseCensored(censored); err != nil {
		return o, refuse("censored %v", err)
	}
	if o.Lod, err = sheets.ParseLod(string(limits)); err != nil {
		return o, refuse("lod %v", err)
	}
	return o, nil
}

// lod is the limit of detection of labels, as sheets.ParseLod reads it. Empty means that it is not known.
type lod string

// build makes a table of its columns, which may take maxMemory bytes; 0 means what the machine
// has available. The options are those for cells.
func (c *call) build(t table, opts source.Options, maxMemory int64) (*dataset.Table, error) {
	if err := c.admitTable(t, maxMemory); err != nil {
		return nil, err
	}
	var columns []sheets.Column
	opts.Setting = options.Argument
	for _, one := range t.Columns {
		if err := c.ctx.Err(); err != nil {
			return nil, err
		}
		more, err := c.columns(one)
		if err != nil && one.Kind == "matrix" { // which names its columns by their numbers
			return nil, fmt.Errorf("%s %w", t.Name, err)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: column %q %w", t.Name, one.Name, err)
		}
		for i, made := range more {
			words, ok := made.Known.(*dataset.Categorical)
			if ok && len(words.Levels()) > mostLevels && opts.Kinds[words.Name()] != dataset.KindCategorical {
				more[i].Known = words.Text()
			}
		}
		columns = append(columns, more...)
	}
	built, err := tableOf(c.ctx, columns, opts)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.Name, err)
	}
	return built, nil
}

// tableOf makes a table of columns, and reads those of cells, if there are any.
func tableOf(ctx context.Context, columns []sheets.Column, opts source.Options) (*dataset.Table, error) {
	known := make([]dataset.Column, len(columns))
	for j, c := range columns {
		if c.Known == nil {
			return sheets.ReadColumns(ctx, columns, opts)
		}
		known[j] = c.Known
	}
	return dataset.NewTable(known...)
}

// admitTable rejects a table of more columns than files may have, and one that would not fit into
// memory because its columns share arrays.
func (c *call) admitTable(t table, maxMemory int64) error {
	columns, need := 0, int64(0)
	for _, one := range t.Columns {
		columns += max(1, len(one.Names))
		for _, at := range one.Arrays {
			if at >= 0 && at < len(c.Data) { // the others are rejected later
				elements, _ := c.Data[at].elements()
				need += 8 * elements
			}
		}
	}
	if columns > dataset.MostColumns {
		return refuse("%s has %d columns, more than %d: transpose it, or give the numbers as features", t.Name,
			columns, dataset.MostColumns)
	}
	return c.server.admitWithin(t.Name, need, maxMemory, []string{"fewer columns", "fewer rows"})
}

// kinds make columns, each from the given number of arrays.
var kinds = map[string]struct {
	arrays int
	build  func(frameColumn, []Array) ([]sheets.Column, error)
}{
	"numeric": {1, numericColumn}, "categorical": {1, categoricalColumn}, "cells": {1, cellColumn},
	"text": {2, textColumn}, "matrix": {1, matrixColumns},
}

func (c *call) columns(one frameColumn) ([]sheets.Column, error) {
	kind, known := kinds[one.Kind]
	if !known {
		return nil, refuse("has the unknown kind %q", one.Kind)
	}
	if len(one.Arrays) != kind.arrays {
		return nil, refuse("is %s and has %d arrays instead of %d", one.Kind, len(one.Arrays), kind.arrays)
	}
	arrays := make([]Array, len(one.Arrays))
	for i, at := range one.Arrays {
		var err error
		if arrays[i], err = c.array(at); err != nil {
			return nil, err
		}
	}
	return kind.build(one, arrays)
}

func numericColumn(one frameColumn, arrays []Array) ([]sheets.Column, error) {
	values, err := arrays[0].numbers()
	if err != nil {
		return nil, err
	}
	for row, v := range values {
		if math.IsInf(v, 0) {
			return nil, fmt.Errorf("is %v in row %d (from 0)", v, row)
		}
	}
	numbers := dataset.NewNumeric(one.Name, values...)
	if arrays[0].Type == "float32" {
		numbers.FromSingle = true
	}
	return []sheets.Column{{Known: numbers}}, nil
}

func categoricalColumn(one frameColumn, arrays []Array) ([]sheets.Column, error) {
	if err := checkCodes(one, arrays[0]); err != nil {
		return nil, err
	}
	words := dataset.NewCategorical(one.Name)
	codes := make([]int32, len(one.Levels)) // of the levels, which may be there twice
	for i, level := range one.Levels {
		codes[i] = -1
		if level != "" { // as in a file, where nothing is written
			codes[i] = words.AddLevel(level)
		}
	}
	for _, code := range arrays[0].Int32 {
		if code >= 0 {
			code = codes[code]
		}
		words.Append(max(code, -1))
	}
	words.SortLevels()
	return []sheets.Column{{Known: words}}, nil
}

func cellColumn(one frameColumn, arrays []Array) ([]sheets.Column, error) {
	if err := checkCodes(one, arrays[0]); err != nil {
		return nil, err
	}
	return []sheets.Column{{Cells: sheets.Cells{Name: one.Name, Levels: one.Levels, Rows: arrays[0].Int32,
		Stored: one.Stored}}}, nil
}

// checkCodes rejects codes that have no level.
func checkCodes(one frameColumn, codes Array) error {
	if codes.Type != "int32" {
		return refuse("has codes of type %s instead of int32", codes.Type)
	}
	for _, code := range codes.Int32 {
		if int(code) >= len(one.Levels) {
			return refuse("has the code %d, but %d levels", code, len(one.Levels))
		}
	}
	return nil
}

func textColumn(one frameColumn, arrays []Array) ([]sheets.Column, error) {
	if arrays[0].Type != "int64" || arrays[1].Type != "uint8" {
		return nil, refuse("has text of types %s and %s instead of int64 and uint8", arrays[0].Type, arrays[1].Type)
	}
	text, start := dataset.NewText(one.Name), int64(0)
	for row, end := range arrays[0].Int64 {
		if end < start || end > int64(len(arrays[1].Uint8)) {
			return nil, refuse("has text in row %d that ends at %d of %d bytes", row, end, len(arrays[1].Uint8))
		}
		value := arrays[1].Uint8[start:end]
		if !utf8.Valid(value) {
			return nil, fmt.Errorf("is not UTF-8 in row %d (from 0)", row)
		}
		text.Append(value)
		start = end
	}
	return []sheets.Column{{Known: text}}, nil
}

func matrixColumns(one frameColumn, arrays []Array) ([]sheets.Column, error) {
	switch arrays[0].Type {
	case "float32":
		return columnsOf[float32](one, arrays[0])
	default:
		return columnsOf[float64](one, arrays[0])
	}
}

func columnsOf[T matrix.Float](one frameColumn, a Array) (columns []sheets.Column, err error) {
	m, err := matrixOf[T](a)
	if err != nil {
		return nil, err
	}
	if len(one.Names) != m.Cols {
		return nil, refuse("has %d columns, but %d names", m.Cols, len(one.Names))
	}
	for j, name := range one.Names {
		c := dataset.NewNumeric(name)
		if a.Type == "float32" {
			c.FromSingle = true
		}
		for i := range m.Rows {
			v := float64(m.Row(i)[j])
			if math.IsInf(v, 0) {
				return nil, fmt.Errorf("is %v in row %d, column %d (from 0)", v, i, j)
			}
			c.Append(v)
		}
		columns = append(columns, sheets.Column{Known: c})
	}
	return columns, nil
}
