package encode

import (
	"context"
	"math"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/median"
)

// FitMissing makes the encoder impute, with medians over the given rows, and subtract the
// centre that a numeric column has there. If indicate is set, columns that lack a value in one
// of these rows get a feature that marks missing values. Every column must have a value there.
// The context is checked once per column.
func (e *Encoder) FitMissing(ctx context.Context, t *dataset.Table, rows []int, indicate bool) error {
	e.Impute = true
	e.Medians, e.Centres = make([]float64, len(e.Numeric)), make([]float64, len(e.Numeric))
	values := make([]float64, 0, len(rows))
	for i, name := range e.Numeric {
		if err := ctx.Err(); err != nil {
			return err
		}
		c, err := t.Numeric(name)
		if err != nil {
			return err
		}
		values = present(c, values[:0], rows)
		if e.Medians[i], err = e.fitMedian(name, values, len(rows), indicate); err != nil {
			return err
		}
		e.Centres[i] = median.Upper(values)
	}
	for i := range e.Categories {
		if err := ctx.Err(); err != nil {
			return err
		}
		k := &e.Categories[i]
		c, err := t.Column(k.Column)
		if err != nil {
			return err
		}
		k.Missing = indicate && anyMissing(c, rows)
	}
	for i := range e.Times {
		if err := ctx.Err(); err != nil {
			return err
		}
		f := &e.Times[i]
		c, err := t.Column(f.Column)
		if err != nil {
			return err
		}
		read, features := f.reader(c), make([]float64, len(f.features()))
		values = values[:0]
		for _, row := range rows {
			if c.Missing(row) {
				continue
			}
			if err := read(features, row); err != nil {
				return err
			}
			values = append(values, features[0])
		}
		if f.Median, err = e.fitMedian(f.Column, values, len(rows), indicate); err != nil {
			return err
		}
	}
	return nil
}

// FitCentres makes the encoder subtract the centre that each numeric column has over the given
// rows, unless it subtracts any already. A column without a value there has none. The context is
// checked once per column.
func (e *Encoder) FitCentres(ctx context.Context, t *dataset.Table, rows []int) error {
	if e.Centres != nil {
		return nil
	}
	centres := make([]float64, len(e.Numeric))
	var values []float64
	for i, name := range e.Numeric {
		if err := ctx.Err(); err != nil {
			return err
		}
		c, err := t.Numeric(name)
		if err != nil {
			return err
		}
		if values = present(c, values[:0], rows); len(values) > 0 {
			centres[i] = median.Upper(values)
		}
	}
	e.Centres = centres
	return nil
}

// present appends the numbers of the given rows that are not missing.
func present(c *dataset.Numeric, values []float64, rows []int) []float64 {
	for _, row := range rows {
		if v := c.Float(row); !math.IsNaN(v) {
			values = append(values, v)
		}
	}
	return values
}

// fitMedian returns the median of the values of a column.
func (e *Encoder) fitMedian(name string, values []float64, rows int, indicate bool) (float64, error) {
	if len(values) == 0 {
		return 0, &dataset.ColumnError{Column: name, Row: -1, Problem: "has no values"}
	}
	if indicate && len(values) < rows {
		e.Indicators = append(e.Indicators, name)
	}
	return median.Of(values), nil
}

func anyMissing(c dataset.Column, rows []int) bool {
	for _, row := range rows {
		if c.Missing(row) {
			return true
		}
	}
	return false
}

// Unknown counts, for each level that the category does not have, the rows of the
// column with it.
func (c Category) Unknown(column *dataset.Categorical) map[string]int {
	places := c.places(column)
	counts := map[string]int{}
	for row := range column.Len() {
		if code := column.Code(row); code != missingCode && places[code] == unknownLevel {
			counts[column.Levels()[code]]++
		}
	}
	return counts
}

// Known returns the column with missing values in place of the levels that the
// category does not have. Rows in a file stay there; the error is that of the file.
func (c Category) Known(column *dataset.Categorical) (*dataset.Categorical, error) {
	places := c.places(column)
	return column.Lacking(func(code int32) bool { return places[code] == unknownLevel })
}
