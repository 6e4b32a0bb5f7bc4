package learner

import (
	"testing"

	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/matrix"
)

// TestRelevance: inputs that decide the label are relevant, whether they are numbers or categories, and noise is not.
func TestRelevance(t *testing.T) {
	s := made(200)
	rows := matrix.New[float32](s.X.Rows, 6)
	for i := range rows.Rows {
		copy(rows.Row(i), s.X.Row(i)[:3])
		level := i * 7 % 3
		rows.Set(i, 3+level, 1)
		s.Y[i] = 2*float64(rows.At(i, 1)) + []float64{0, 4, -4}[level]
	}
	s.X, s.Unlabelled = rows, matrix.Dense[float32]{}
	o := small()
	o.Kind = TreesOnly
	if m, err := Fit(t.Context(), s, o); err != nil {
		t.Fatal(err)
	} else if list, err := m.Relevance(t.Context(), rows); list != nil || err != nil {
		t.Errorf("without a table: %v, %v", list, err)
	}
	o.Network.Columns = &encode.Encoder{Numeric: []string{"noise", "number", "more noise"},
		Categories: []encode.Category{{Column: "word", Levels: []string{"a", "b", "c"}}}}
	m, err := Fit(t.Context(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	list, err := m.Relevance(t.Context(), rows)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 4 || !(list["word"] > list["number"] && list["number"] > 0.4) ||
		!(max(list["noise"], list["more noise"]) < 0.2) {
		t.Errorf("%v", list)
	}
}
