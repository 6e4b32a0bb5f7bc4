package worker

import (
	"fmt"
	"math"
	"strconv"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/dataset/source"
)

// labelsBody requests the numbers in columns of labels that are text, as they are read in a file with the table.
type labelsBody struct {
	Table    table    `json:"table"`
	Y        []string `json:"y"`
	ID       string   `json:"id"`
	Censored string   `json:"censored"`
	Partial  bool     `json:"partial"` // list cells that are no labels; otherwise they are an error
}

// wrongLabel is a cell that is no label.
type wrongLabel struct {
	Column string `json:"column"`
	Row    int    `json:"row"` // from 0
	Text   string `json:"text"`
}

// labels answers with an array for each column: its numbers, and NaN where there is none.
func (c *call) labels() (any, error) {
	var body labelsBody
	if err := c.read(&body); err != nil {
		return nil, err
	}
	opts, err := reading(nil, body.Y, body.Censored)
	if err != nil {
		return nil, err
	}
	opts.RowNames = body.ID
	if body.Partial {
		opts = spelled(opts, body.Y)
	}
	t, err := c.build(body.Table, opts, 0)
	if err != nil {
		return nil, err
	}
	answer := struct {
		remarks
		Wrong []wrongLabel `json:"wrong"`
	}{remarksOn(body.Table, t), []wrongLabel{}}
	for _, name := range body.Y {
		column, err := t.Column(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", body.Table.Name, err)
		}
		if column.Kind() != dataset.KindNumeric {
			plain, warnings := source.PlainNumbers(column, opts, t.Origin())
			for _, w := range warnings {
				answer.Warnings = append(answer.Warnings, body.Table.Name+": "+w)
			}
			column = plain
		}
		values, wrong := numbersIn(column)
		c.data, answer.Wrong = append(c.data, list(values)), append(answer.Wrong, wrong...)
	}
	return answer, nil
}

// spelled returns options by which labels keep their spelling, so that each that is wrong can be named.
func spelled(opts source.Options, labels []string) source.Options {
	opts.Setting, opts.Missing = settingOf, []string{}
	for _, name := range labels {
		opts.Kinds[name] = dataset.KindText
	}
	return opts
}

// numbersIn returns the numbers of a column, and the cells that are none.
func numbersIn(column dataset.Column) (values []float64, wrong []wrongLabel) {
	for row := range column.Len() {
		v := math.NaN()
		if text := column.Format(row); text != "" {
			var err error
			if v, err = strconv.ParseFloat(text, 64); err != nil || math.IsInf(v, 0) {
				v = math.NaN()
				wrong = append(wrong, wrongLabel{column.Name(), row, text})
			}
		}
		values = append(values, v)
	}
	return values, wrong
}
