package dataset

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/nextbatch/nextbatch/matrix"
)

// defaultMaxLevels is the paper's limit on new columns.
const defaultMaxLevels = 300

// OneHot configures how categorical columns become numbers.
type OneHot struct {
	// MaxLevels limits the total number of levels of all encoded columns; 0
	// means 300. Columns are taken in order of their number of levels, smallest
	// first, until the next does not fit.
	MaxLevels int
	// MissingColumns adds to each encoded column a feature that is 1 where the
	// value is missing. The published feature counts include it, although it is
	// always zero once incomplete rows are dropped. It does not count towards
	// MaxLevels.
	MissingColumns bool
}

// Encoder turns the columns of a table into features. FitEncoder returns one;
// its fields are plain so that it can be saved with a model.
type Encoder struct {
	Numeric        []string       // columns used as they are; their features come first
	Categories     []Category     // one-hot encoded columns; theirs follow
	MissingColumns bool           // see OneHot
	Dropped        []DroppedInput // columns without features
}

// Category is a one-hot encoded column: one feature per level, or for two
// levels a single feature, which is 1 for the second.
type Category struct {
	Column string
	Levels []string
}

// DroppedInput is a column without features, and the reason.
type DroppedInput struct{ Column, Reason string }

func (c Category) features() []string {
	if len(c.Levels) == 2 {
		return c.Levels[1:]
	}
	return c.Levels
}

// FitEncoder decides which columns of the table become features. It drops columns
// with a single value, text, and categorical columns beyond the limit.
func FitEncoder(t *Table, rule OneHot) Encoder {
	e := Encoder{MissingColumns: rule.MissingColumns}
	var categories []Category
	for _, column := range t.Columns() {
		switch c := column.(type) {
		case *Text:
			e.drop(c, "text is not encoded")
		case *Numeric:
			if c.constant() {
				e.drop(c, "has a single value")
			} else {
				e.Numeric = append(e.Numeric, c.Name())
			}
		case *Categorical:
			if c.constant() {
				e.drop(c, "has a single value")
			} else {
				categories = append(categories, categoryOf(c))
			}
		}
	}
	e.encodeSmall(categories, cmp.Or(rule.MaxLevels, defaultMaxLevels))
	return e
}

// categoryOf keeps the levels that occur: a declared level that no row has
// would be a feature of zeros.
func categoryOf(c *Categorical) Category {
	k := Category{Column: c.Name()}
	for _, code := range c.used() {
		k.Levels = append(k.Levels, c.Levels()[code])
	}
	return k
}

func (e *Encoder) encodeSmall(categories []Category, limit int) {
	slices.SortStableFunc(categories, func(a, b Category) int { return cmp.Compare(len(a.Levels), len(b.Levels)) })
	total := 0
	for _, k := range categories {
		total += len(k.Levels)
		if total > limit {
			e.Dropped = append(e.Dropped, DroppedInput{k.Column,
				fmt.Sprintf("its %d levels would exceed the limit of %d in total", len(k.Levels), limit)})
			continue
		}
		e.Categories = append(e.Categories, k)
	}
}

func (e *Encoder) drop(c Column, reason string) {
	e.Dropped = append(e.Dropped, DroppedInput{c.Name(), reason})
}

// Features returns the names of the features, in order.
func (e Encoder) Features() []string {
	names := slices.Clone(e.Numeric)
	for _, k := range e.Categories {
		for _, level := range k.features() {
			names = append(names, k.Column+"="+level)
		}
		if e.MissingColumns {
			names = append(names, k.Column+" missing")
		}
	}
	return names
}

// Encode writes the features of the table's rows to dst, which has one row per
// row and len(e.Features()) columns. It finds columns by name, so the table may
// have others, in any order. It is an error if a column is absent or of another
// kind, a level was unknown when e was fitted, or a value is missing or
// infinite; a missing level is allowed if e has MissingColumns.
func Encode[T matrix.Float](dst matrix.Dense[T], e Encoder, t *Table) error {
	matrix.MustMatch("dataset.Encode", dst.Shape(), matrix.Shape{Rows: t.Rows(), Cols: len(e.Features())})
	at := 0
	for _, name := range e.Numeric {
		if err := encodeNumeric(dst, at, t, name); err != nil {
			return err
		}
		at++
	}
	for _, k := range e.Categories {
		if err := encodeCategory(dst, at, t, k, e.MissingColumns); err != nil {
			return err
		}
		at += len(k.features())
		if e.MissingColumns {
			at++
		}
	}
	return nil
}

func encodeNumeric[T matrix.Float](dst matrix.Dense[T], at int, t *Table, name string) error {
	c, err := t.Numeric(name)
	if err != nil {
		return err
	}
	for row := range t.Rows() {
		v := T(c.Float(row))
		if v-v != 0 { // NaN or infinite, possibly only after rounding to T
			return &ColumnError{Column: name, Row: row, Problem: fmt.Sprintf("%v cannot be used as an input", c.Float(row))}
		}
		dst.Set(row, at, v)
	}
	return nil
}

func encodeCategory[T matrix.Float](dst matrix.Dense[T], at int, t *Table, k Category, withMissing bool) error {
	column, err := t.Column(k.Column)
	if err != nil {
		return err
	}
	c, ok := column.(*Categorical)
	if !ok {
		return &ColumnError{Column: k.Column, Row: -1, Problem: fmt.Sprintf("is %v, not categorical", column.Kind())}
	}
	places := k.places(c)
	width := len(k.features())
	for row := range t.Rows() {
		place := width // of the feature that marks missing values
		if code := c.Code(row); code != missingCode {
			place = places[code]
		} else if !withMissing {
			return &ColumnError{Column: k.Column, Row: row, Problem: "the value is missing"}
		}
		if place == unknownLevel {
			return &ColumnError{Column: k.Column, Row: row,
				Problem: fmt.Sprintf("the level %q is not one of %s", c.Format(row), list(k.Levels))}
		}
		clearRow(dst.Row(row)[at:], width, withMissing)
		if place != noFeature {
			dst.Set(row, at+place, 1)
		}
	}
	return nil
}

func clearRow[T matrix.Float](features []T, width int, withMissing bool) {
	if withMissing {
		width++
	}
	clear(features[:width])
}

const (
	noFeature    = -1 // the first of two levels
	unknownLevel = -2
)

// places returns, for each code of the column, the feature that it sets.
func (k Category) places(c *Categorical) []int {
	shift := len(k.features()) - len(k.Levels)
	places := make([]int, len(c.Levels()))
	for code, level := range c.Levels() {
		places[code] = unknownLevel
		if i := slices.Index(k.Levels, level); i >= 0 {
			places[code] = i + shift // 0 + shift is noFeature for two levels
		}
	}
	return places
}
