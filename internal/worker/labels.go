package worker

import (
	"fmt"
	"maps"
	"math"
	"strconv"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/internal/options"
	"github.com/nextbatch/nextbatch/internal/source/cells"
	"github.com/nextbatch/nextbatch/internal/source/sheets"
)

// labelsBody requests the numbers in columns of labels that are text, as they are read in a file with the table.
type labelsBody struct {
	Table    table    `json:"table"`
	Y        []string `json:"y"`
	ID       string   `json:"id"`
	Censored string   `json:"censored"`
	Lod      lod      `json:"lod"`
	Partial  bool     `json:"partial"` // list cells that are not labels; otherwise they are an error
	// History is what is known of the labels so far, by column.
	History map[string]*dataset.History `json:"history"`
}

// wrongLabel is a cell that is not a label.
type wrongLabel struct {
	Column string `json:"column"`
	Row    int    `json:"row"` // from 0
	Text   string `json:"text"`
	Limit  bool   `json:"limit,omitempty"` // it may lie beyond a limit that is not known
}

// labels answers with an array for each column: its numbers, and NaN where there is none.
func (c *call) labels() (any, error) {
	var body labelsBody
	if err := c.read(&body); err != nil {
		return nil, err
	}
	opts, err := reading(nil, body.Y, body.Censored, body.Lod)
	if err != nil {
		return nil, err
	}
	opts.RowNames = body.ID
	if body.History != nil {
		opts.History = func(column string) *dataset.History { return body.History[column] }
	}
	if body.Partial {
		opts = spelled(opts, body.Y)
	}
	t, err := c.build(body.Table, opts, 0)
	if err != nil {
		return nil, err
	}
	answer := struct {
		Warnings []string                `json:"warnings"`
		Wrong    []wrongLabel            `json:"wrong"`
		Units    map[string]string       `json:"units"`    // of columns whose history has none
		Censored map[string]map[int]int8 `json:"censored"` // the sides of limits by column and row
	}{remarksOn(body.Table, t), []wrongLabel{}, map[string]string{}, map[string]map[int]int8{}}
	maps.Copy(answer.Censored, t.Origin().Censored)
	for _, name := range body.Y {
		column, err := t.Column(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", body.Table.Name, err)
		}
		if column.Kind() != dataset.KindNumeric {
			read, err := sheets.PlainNumbers(column, opts, t.Origin())
			if err != nil {
				return nil, fmt.Errorf("%s: %w", body.Table.Name, err)
			}
			for _, w := range read.Warnings {
				answer.Warnings = append(answer.Warnings, body.Table.Name+": "+w)
			}
			if column = read.Plain; read.Unit != "" {
				answer.Units[name] = read.Unit
			}
		}
		values, sides, wrong := numbersIn(column)
		if len(sides) > 0 {
			answer.Censored[name] = sides
		}
		c.data, answer.Wrong = append(c.data, list(values)), append(answer.Wrong, wrong...)
	}
	return answer, nil
}

// spelled returns options by which labels keep their spelling, so that each that is wrong can be named.
func spelled(opts source.Options, labels []string) source.Options {
	opts.Setting, opts.Missing = options.Argument, []string{}
	for _, name := range labels {
		opts.Kinds[name] = dataset.KindText
	}
	return opts
}

// numbersIn returns the numbers of a column, the sides of those that are limits, and the cells that are not numbers.
func numbersIn(column dataset.Column) (values []float64, sides map[int]int8, wrong []wrongLabel) {
	sides = map[int]int8{}
	for row := range column.Len() {
		v := math.NaN()
		if text := column.Format(row); text != "" {
			number, side := cells.CutSign(text)
			var err error
			if v, err = strconv.ParseFloat(number, 64); err != nil || math.IsInf(v, 0) {
				v = math.NaN()
				wrong = append(wrong, wrongLabel{column.Name(), row, text, cells.UnknownLimit(text)})
			} else if side != 0 {
				sides[row] = side
			}
		}
		values = append(values, v)
	}
	return values, sides, wrong
}
