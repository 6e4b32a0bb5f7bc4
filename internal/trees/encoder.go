package trees

import (
	"math"

	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/matrix"
)

// reading is what a feature takes from its column.
type reading uint8

const (
	number    reading = iota // the value itself
	indicator                // 1 for one level, 0 for the others
	statistic                // the mean label of the level
	kinds
)

// feature is what trees split on: one number per row, made from one column.
type feature struct {
	kind   reading
	column int32
	level  int32     // of an indicator
	means  []float32 // of a statistic: by level
}

// encoder turns the columns of a row into features. Trees store features by number.
type encoder struct {
	columns  []Input
	features []feature
	plain    bool // features and columns are the same
}

const (
	// fewLevels is the largest number of levels, seen in the training rows, for which
	// a column becomes indicators.
	fewLevels = 12
	// priorRows is the number of rows with an average label that are added to each
	// level, so that the mean of a rare level is not far off.
	priorRows = 1.0
)

// newEncoder chooses the features. Labels are standardised: their mean is 0.
func newEncoder(inputs matrix.Dense[float32], columns []Input, labels, weights []float64) *encoder {
	if columns == nil {
		columns = make([]Input, inputs.Cols)
	}
	e := &encoder{columns: columns}
	for j, c := range columns {
		if c.Levels == 0 {
			e.features = append(e.features, feature{kind: number, column: int32(j)})
			continue
		}
		sums := newLevelSums(c.Levels)
		for i, y := range labels {
			if v := inputs.At(i, j); v == v {
				sums.add(int(v), y, weights[i])
			}
		}
		e.features = append(e.features, sums.features(j)...)
	}
	e.plain = e.isPlain()
	return e
}

func (e *encoder) isPlain() bool {
	for j, f := range e.features {
		if f.kind != number || int(f.column) != j {
			return false
		}
	}
	return len(e.features) == len(e.columns)
}

// levelSums adds up labels and weights by level.
type levelSums struct{ labels, weights []float64 }

func newLevelSums(levels int) levelSums {
	return levelSums{make([]float64, levels), make([]float64, levels)}
}

func (s levelSums) add(level int, label, weight float64) {
	s.labels[level] += weight * label
	s.weights[level] += weight
}

func (s levelSums) mean(level int) float32 {
	return float32(s.labels[level] / (s.weights[level] + priorRows))
}

// features returns the indicators of the levels seen, or one statistic if there are
// many. An unseen level is like none of the others, or like the average row.
func (s levelSums) features(column int) []feature {
	var seen []feature
	means := make([]float32, len(s.labels))
	for level, w := range s.weights {
		means[level] = s.mean(level)
		if w > 0 {
			seen = append(seen, feature{kind: indicator, column: int32(column), level: int32(level)})
		}
	}
	switch {
	case len(seen) > fewLevels:
		return []feature{{kind: statistic, column: int32(column), means: means}}
	case len(seen) == 2:
		return seen[:1] // the second is the complement of the first
	}
	return seen
}

// value returns the feature of a row that is not a training row. A missing value stays
// missing; whatever is not the code of a level counts as an unseen level.
func (f *feature) value(row []float32) float32 {
	v := row[f.column]
	if f.kind == number || v != v {
		return v
	}
	if f.kind == indicator {
		if v == float32(f.level) {
			return 1
		}
		return 0
	}
	if code := int(v); v >= 0 && code < len(f.means) && float32(code) == v {
		return f.means[code]
	}
	return 0
}

// values returns feature j of all rows.
func (e *encoder) values(j int, inputs matrix.Dense[float32]) []float32 {
	v := make([]float32, inputs.Rows)
	for i := range v {
		v[i] = e.features[j].value(inputs.Row(i))
	}
	return v
}

// encode returns the features of all rows.
func (e *encoder) encode(inputs matrix.Dense[float32]) matrix.Dense[float32] {
	if e.plain {
		return inputs
	}
	m := matrix.New[float32](inputs.Rows, len(e.features))
	for i := range m.Rows {
		row, in := m.Row(i), inputs.Row(i)
		for j := range row {
			row[j] = e.features[j].value(in)
		}
	}
	return m
}

// hasStatistics reports whether features depend on an order of the training rows.
func (t *training) hasStatistics() bool {
	for _, f := range t.encoder.features {
		if f.kind == statistic {
			return true
		}
	}
	return false
}

// ordered returns the features of the training rows, with target statistics in an order
// that the stream draws: a row takes the mean of its level over the rows before it.
func (t *training) ordered(stream *rng.Stream) [][]float32 {
	if !t.hasStatistics() {
		return t.features
	}
	order := stream.Perm(len(t.labels))
	features := make([][]float32, len(t.features))
	for j, f := range t.encoder.features {
		if features[j] = t.features[j]; f.kind == statistic {
			features[j] = t.orderedMeans(int(f.column), len(f.means), order)
		}
	}
	return features
}

func (t *training) orderedMeans(column, levels int, order []int) []float32 {
	means, sums := make([]float32, len(order)), newLevelSums(levels)
	for _, i := range order {
		v := t.inputs.At(i, column)
		if v != v {
			means[i] = float32(math.NaN())
			continue
		}
		means[i] = sums.mean(int(v))
		sums.add(int(v), t.labels[i], t.weights[i])
	}
	return means
}
