package dataset

import "math"

// AsCategorical returns a column as a categorical one: a number, too, is a level. Rows in a
// file stay there; the error is that of the file.
func AsCategorical(c Column) (*Categorical, error) {
	levels := NewCategorical(c.Name())
	var code func(row int) int32
	switch c := c.(type) {
	case *Categorical:
		return c, nil
	case *Numeric:
		code = c.coder(levels)
	default:
		code = func(row int) int32 {
			if c.Missing(row) {
				return missingCode
			}
			return levels.AddLevel(c.Format(row))
		}
	}
	err := appendAll(levels, []Column{c}, func(_ Column, row int) { levels.Append(code(row)) })
	levels.SortLevels()
	return levels, err
}

// AsNumeric returns a column without values as a numeric one, and any other as it is. Rows in
// a file stay there; the error is that of the file.
func AsNumeric(c Column) (Column, error) {
	if c.Kind() == KindNumeric || !allMissing(c) {
		return c, nil
	}
	numbers := NewNumeric(c.Name())
	return numbers, appendAll(numbers, []Column{c}, func(Column, int) { numbers.Append(math.NaN()) })
}

// Lacking returns the column with missing values in place of some levels. Rows in a file stay there; the error is that
// of the file.
func (c *Categorical) Lacking(drop func(code int32) bool) (*Categorical, error) {
	without := NewCategorical(c.name, c.levels...)
	return without, appendAll(without, []Column{c}, func(_ Column, row int) {
		code := c.Code(row)
		if code != missingCode && drop(code) {
			code = missingCode
		}
		without.codes.append(code)
	})
}
