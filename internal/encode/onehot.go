package encode

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/words"
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
	// Text names categorical columns that are not encoded, as those of text are not.
	Text []string
	// Ordered are categorical columns whose levels have an order, with all levels, the lowest first.
	Ordered map[string][]string
}

// Encoder turns the columns of a table into features. FitEncoder returns one;
// its fields are plain so that it can be saved with a model.
type Encoder struct {
	Numeric        []string       // columns of numbers; their features come first
	Categories     []Category     // one-hot encoded columns; theirs follow
	MissingColumns bool           // see OneHot
	Dropped        []DroppedInput // columns without features

	// Centres are subtracted from the numeric columns, in their order, in float64, before the
	// features are rounded: float32 loses the digits of numbers far from zero. Nil subtracts
	// nothing, as encoders of earlier versions do, and those of networks from elsewhere.
	Centres []float64 `json:",omitempty"`

	// Units are those of numeric columns whose cells say them. HeaderUnit has those of names.
	Units map[string]string `json:",omitempty"`

	// Times are columns of dates and times, whose features follow those of the
	// categories.
	Times []Time `json:",omitempty"`

	// Impute replaces missing values, which are an error otherwise: numbers by the
	// median, times by the median day in the middle of every cycle, and categories
	// by their level for missing values. A category without one gets no level, or
	// the value half-way between two. A level that was unknown when the encoder was
	// fitted counts as missing.
	Impute  bool      `json:",omitempty"`
	Medians []float64 `json:",omitempty"` // of the numeric columns, in their order
	// Indicators are numeric columns and times with a feature that is 1 where the
	// value is missing. These features come last.
	Indicators []string `json:",omitempty"`
}

// Category is a one-hot encoded column: one feature per level, or for two
// levels a single feature, which is 1 for the second.
type Category struct {
	Column string
	Levels []string
	// Order lists three levels or more, the lowest first, if they have an order. Then a feature after those of the levels
	// is the place of the value in it, from 0 to 1, and 0.5 where the value is missing, or has no place.
	Order   []string `json:",omitempty"`
	Missing bool     `json:",omitempty"` // a feature, the last, is 1 where the value is missing
}

// DroppedInput is a column without features, and the reason.
type DroppedInput struct{ Column, Reason string }

// NumbersRows is the reason for columns that look as if they counted the rows. They are inputs if somebody says so.
const NumbersRows = "numbers the rows"

// NumbersRows reports whether that is the reason.
func (d DroppedInput) NumbersRows() bool { return d.Reason == NumbersRows }

func (c Category) features() []string {
	if len(c.Levels) == 2 {
		return c.Levels[1:]
	}
	return c.Levels
}

// width is the number of features, of which the last may mark missing values.
func (c Category) width() int {
	width := len(c.features())
	if c.Order != nil {
		width++
	}
	if c.Missing {
		width++
	}
	return width
}

//warning:constant-column column … is not used: has a single value
const hasSingleValue = "has a single value"
const missingCode = -1 // the code of a missing value
//warning:text-column column … is not used: text is not encoded
const notEncoded = "text is not encoded"

// FitEncoder decides which columns of the table become features. It drops columns
// with a single value, text, and categorical columns beyond the limit.
func FitEncoder(t *dataset.Table, rule OneHot) Encoder {
	e := Encoder{MissingColumns: rule.MissingColumns}
	text := make(map[string]bool, len(rule.Text))
	for _, name := range rule.Text {
		text[name] = true
	}
	var categories []Category
	for _, column := range t.Columns() {
		switch c := column.(type) {
		case *dataset.Text:
			e.drop(c, notEncoded)
		case *dataset.Numeric:
			if constant(c.Len(), c.Float) {
				e.drop(c, singleValue(c))
			} else {
				e.Numeric = append(e.Numeric, c.Name())
				e.keepUnit(c)
			}
		case *dataset.Categorical:
			switch {
			case text[c.Name()]:
				e.drop(c, notEncoded)
			case constant(c.Len(), func(row int) float64 { return float64(c.Code(row)) }):
				e.drop(c, hasSingleValue)
			default:
				categories = append(categories, categoryOf(c, rule.Ordered[c.Name()]))
			}
		}
	}
	e.encodeSmall(categories, cmp.Or(rule.MaxLevels, defaultMaxLevels))
	return e
}

// singleValue words the warning that all numbers of a column are the same, and where they may have differed.
func singleValue(c *dataset.Numeric) string {
	if lost, found := c.Coarse(false, 0); found {
		kind := "float64"
		if lost.Single {
			kind = "float32"
		}
		//warning:nearly-constant
		return fmt.Sprintf("%s in %s, where numbers so large differ by at least %.2g; if they did differ, subtract an "+
			"offset before the column is saved", hasSingleValue, kind, lost.Step)
	}
	return hasSingleValue
}

// constant reports whether all numbers are the same, or all are missing.
func constant(n int, at func(row int) float64) bool {
	for row := 1; row < n; row++ {
		if first, v := at(0), at(row); v != first && !(math.IsNaN(v) && math.IsNaN(first)) {
			return false
		}
	}
	return true
}

// keepUnit remembers the unit of a column that is not in its name.
func (e *Encoder) keepUnit(c *dataset.Numeric) {
	if c.OwnUnit.Name == "" {
		return
	}
	if e.Units == nil {
		e.Units = map[string]string{}
	}
	e.Units[c.Name()] = c.OwnUnit.Name
}

// Unit returns the unit of a numeric column; empty if it has none.
func (e *Encoder) Unit(column string) string {
	return cmp.Or(e.Units[column], dataset.HeaderUnit(column))
}

// used returns the codes of the levels that occur, in order.
func used(c *dataset.Categorical) (codes []int32) {
	seen := make([]bool, len(c.Levels()))
	for row := range c.Len() {
		if code := c.Code(row); code != missingCode {
			seen[code] = true
		}
	}
	for code, yes := range seen {
		if yes {
			codes = append(codes, int32(code))
		}
	}
	return codes
}

// categoryOf keeps the levels that occur: a declared level that no row has
// would be a feature of zeros. Two levels have one feature, which tells their order, too.
func categoryOf(c *dataset.Categorical, order []string) Category {
	k := Category{Column: c.Name()}
	for _, code := range used(c) {
		k.Levels = append(k.Levels, c.Levels()[code])
	}
	if len(k.Levels) > 2 {
		k.Order = order
	}
	return k
}

func (e *Encoder) encodeSmall(categories []Category, limit int) {
	slices.SortStableFunc(categories, func(a, b Category) int { return cmp.Compare(len(a.Levels), len(b.Levels)) })
	total := 0
	for _, k := range categories {
		total += len(k.Levels)
		if total > limit {
			//warning:too-many-levels column … is not used: one-hot encoding it would exceed the limit of … levels in total
			e.Dropped = append(e.Dropped, DroppedInput{k.Column,
				fmt.Sprintf("one-hot encoding it would exceed the limit of %d levels in total", limit)})
			continue
		}
		e.Categories = append(e.Categories, k)
	}
}

func (e *Encoder) drop(c dataset.Column, reason string) {
	e.Dropped = append(e.Dropped, DroppedInput{c.Name(), reason})
}

// Features returns the names of the features, in order.
func (e Encoder) Features() []string {
	names := slices.Clone(e.Numeric)
	for _, k := range e.Categories {
		for _, level := range k.features() {
			names = append(names, k.Column+"="+level)
		}
		if k.Order != nil {
			names = append(names, k.Column+" (order)")
		}
		if e.MissingColumns || k.Missing {
			names = append(names, k.Column+" missing")
		}
	}
	for _, f := range e.Times {
		names = append(names, f.features()...)
	}
	for _, column := range e.Indicators {
		names = append(names, column+" missing")
	}
	return names
}

// Columns returns the columns that the encoder reads.
func (e Encoder) Columns() []string {
	names := slices.Clone(e.Numeric)
	for _, k := range e.Categories {
		names = append(names, k.Column)
	}
	for _, f := range e.Times {
		names = append(names, f.Column)
	}
	return names
}

// Check reports an encoder that cannot encode, such as one from a damaged file.
func (e Encoder) Check() error {
	if e.Impute && len(e.Medians) != len(e.Numeric) {
		return fmt.Errorf("there are %d medians for %d numeric columns", len(e.Medians), len(e.Numeric))
	}
	for i, v := range e.Medians {
		if v-v != 0 {
			return fmt.Errorf("median %d is %v", i, v)
		}
	}
	if e.Centres != nil && len(e.Centres) != len(e.Numeric) {
		return fmt.Errorf("there are %d centres for %d numeric columns", len(e.Centres), len(e.Numeric))
	}
	for i, v := range e.Centres {
		if v-v != 0 {
			return fmt.Errorf("centre %d is %v", i, v)
		}
	}
	for _, f := range e.Times {
		if err := f.check(); err != nil {
			return err
		}
	}
	return nil
}

// FeatureCentres returns what the encoder subtracts from each feature, and nil if it subtracts
// nothing.
func (e Encoder) FeatureCentres() []float64 {
	if e.Centres == nil {
		return nil
	}
	return append(slices.Clone(e.Centres), make([]float64, len(e.Features())-len(e.Numeric))...)
}

// Encode writes the features of the table's rows to dst, which has one row per
// row and len(e.Features()) columns. It finds columns by name, so the table may
// have others, in any order. It is an error if a column is absent or of another
// kind, or a value is infinite. So is a level that was unknown when e was fitted,
// and a missing value, unless e imputes or, for missing levels, has MissingColumns.
func Encode[T matrix.Float](dst matrix.Dense[T], e Encoder, t *dataset.Table) error {
	matrix.MustMatch("dataset.Encode", dst.Shape(), matrix.Shape{Rows: t.Rows(), Cols: len(e.Features())})
	at := 0
	for i, name := range e.Numeric {
		fill, centre := math.NaN(), 0.0
		if e.Impute {
			fill = e.Medians[i]
		}
		if e.Centres != nil {
			centre = e.Centres[i]
		}
		if err := encodeNumeric(dst, at, t, name, fill, centre); err != nil {
			return err
		}
		at++
	}
	for _, k := range e.Categories {
		k.Missing = k.Missing || e.MissingColumns
		if err := encodeCategory(dst, at, t, k, e.Impute); err != nil {
			return err
		}
		at += k.width()
	}
	for _, f := range e.Times {
		if err := encodeTime(dst, at, t, f, e.Impute); err != nil {
			return err
		}
		at += len(f.features())
	}
	for _, name := range e.Indicators {
		if err := encodeIndicator(dst, at, t, name); err != nil {
			return err
		}
		at++
	}
	return nil
}

// encodeNumeric takes the value for missing ones, NaN if they are not allowed, and what is
// subtracted from all.
func encodeNumeric[T matrix.Float](dst matrix.Dense[T], at int, t *dataset.Table, name string, fill,
	centre float64) error {
	c, err := t.Numeric(name)
	if err != nil {
		return err
	}
	for row := range t.Rows() {
		number := c.Float(row)
		if math.IsNaN(number) {
			number = fill
		}
		v := T(number - centre)
		if v-v != 0 { // NaN or infinite, possibly only after rounding to T
			return &dataset.ColumnError{Column: name, Row: row,
				Problem: fmt.Sprintf("%v cannot be used as an input; correct it, or leave it empty if it is missing", number)}
		}
		dst.Set(row, at, v)
	}
	return nil
}

func encodeCategory[T matrix.Float](dst matrix.Dense[T], at int, t *dataset.Table, k Category, impute bool) error {
	column, err := t.Column(k.Column)
	if err != nil {
		return err
	}
	c, ok := column.(*dataset.Categorical)
	if !ok {
		return &dataset.ColumnError{Column: k.Column, Row: -1, Problem: fmt.Sprintf("is %v, not categorical", column.Kind())}
	}
	places, ranks := k.places(c), k.ranks(c)
	for row := range t.Rows() {
		features := dst.Row(row)[at : at+k.width()]
		clear(features)
		code := c.Code(row)
		if k.Order != nil {
			rank := 0.5
			if code != missingCode {
				rank = ranks[code]
			}
			features[len(k.features())] = T(rank)
		}
		if impute && code != missingCode && places[code] == unknownLevel {
			code = missingCode
		}
		switch {
		case code != missingCode && places[code] == unknownLevel:
			return &dataset.ColumnError{Column: k.Column, Row: row,
				Problem: fmt.Sprintf("the level %q is not one of %s", c.Format(row),
					words.FirstQuoted(len(k.Levels), func(i int) string { return k.Levels[i] }))}
		case code != missingCode && places[code] != noFeature:
			features[places[code]] = 1
		case code != missingCode:
		case k.Missing:
			features[len(features)-1] = 1
		case !impute:
			return &dataset.ColumnError{Column: k.Column, Row: row, Problem: "the value is missing"}
		case len(k.Levels) == 2:
			features[0] = 0.5
		}
	}
	return nil
}

func encodeTime[T matrix.Float](dst matrix.Dense[T], at int, t *dataset.Table, f Time, impute bool) error {
	c, err := t.Column(f.Column)
	if err != nil {
		return err
	}
	read, features := f.reader(c), make([]float64, len(f.features()))
	for row := range t.Rows() {
		if c.Missing(row) && !impute {
			return &dataset.ColumnError{Column: f.Column, Row: row, Problem: "the value is missing"}
		}
		if err := read(features, row); err != nil {
			return err
		}
		for i, v := range features {
			dst.Set(row, at+i, T(v))
		}
	}
	return nil
}

func encodeIndicator[T matrix.Float](dst matrix.Dense[T], at int, t *dataset.Table, name string) error {
	c, err := t.Column(name)
	if err != nil {
		return err
	}
	for row := range t.Rows() {
		v := T(0)
		if c.Missing(row) {
			v = 1
		}
		dst.Set(row, at, v)
	}
	return nil
}

// levelCount is how many rows have a level.
type levelCount struct {
	Column, Level string
	Rows          int
}

// OnlyIn returns the levels that some encoded rows have and none of the others, with the number of rows that have them.
func (e Encoder) OnlyIn(rows, others matrix.Dense[float32]) (list []levelCount) {
	at := len(e.Numeric)
	for _, k := range e.Categories {
		k.Missing = k.Missing || e.MissingColumns
		seen := k.count(others, at)
		for i, n := range k.count(rows, at) {
			if n > 0 && seen[i] == 0 {
				list = append(list, levelCount{k.Column, k.Levels[i], n})
			}
		}
		at += k.width()
	}
	return list
}

// count returns how many encoded rows have each level, given where its features begin.
func (k Category) count(rows matrix.Dense[float32], at int) []int {
	counts := make([]int, len(k.Levels))
	for row := range rows.Rows {
		features := rows.Row(row)[at : at+k.width()]
		if k.Missing && features[len(features)-1] == 1 {
			continue
		}
		if len(k.Levels) == 2 {
			if v := features[0]; v == 0 || v == 1 { // a missing one may lie between
				counts[int(v)]++
			}
			continue
		}
		if i := slices.Index(features[:len(k.Levels)], 1); i >= 0 {
			counts[i]++
		}
	}
	return counts
}

const (
	noFeature    = -1 // the first of two levels
	unknownLevel = -2
)

// ranks returns, for each code of the column, its place in the order, from 0 to 1.
func (k Category) ranks(c *dataset.Categorical) []float64 {
	ranks := make([]float64, len(c.Levels()))
	for code, level := range c.Levels() {
		ranks[code] = 0.5
		if i := slices.Index(k.Order, level); i >= 0 {
			ranks[code] = float64(i) / float64(max(len(k.Order)-1, 1))
		}
	}
	return ranks
}

// places returns, for each code of the column, the feature that it sets.
func (k Category) places(c *dataset.Categorical) []int {
	shift := len(k.features()) - len(k.Levels)
	at := make(map[string]int, len(k.Levels))
	for i, level := range k.Levels {
		at[level] = i
	}
	places := make([]int, len(c.Levels()))
	for code, level := range c.Levels() {
		places[code] = unknownLevel
		if i, known := at[level]; known {
			places[code] = i + shift // 0 + shift is noFeature for two levels
		}
	}
	return places
}
