package wire

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/fitted"
)

func TestPredictionsThatAreNotFiniteAreLeftOut(t *testing.T) {
	low := fitted.Float(1)
	list := []fitted.Prediction{{Value: 2, Low: &low}, {Value: fitted.Float(math.NaN())},
		{Value: fitted.Float(math.Inf(1))}}
	raw, err := json.Marshal(Predictions([]string{"a", "b", "c"}, list))
	if want := `{"a":{"value":2,"low":1}}`; err != nil || string(raw) != want {
		t.Errorf("%s, %v; want %s", raw, err, want)
	}
}

func TestInputsAreNumbersTextsAndNull(t *testing.T) {
	numbers, texts, ids := dataset.NewNumeric("x"), dataset.NewText("note"), dataset.NewText("name")
	for _, v := range []float64{0.25, math.NaN(), math.Inf(1)} {
		numbers.Append(v)
		texts.Append([]byte("as is"))
		ids.Append([]byte("a"))
	}
	table, err := dataset.NewTable(ids, numbers, texts)
	if err != nil {
		t.Fatal(err)
	}
	for row, want := range []string{`{"note":"as is","x":0.25}`, `{"note":"as is","x":null}`,
		`{"note":"as is","x":null}`} {
		if raw, err := json.Marshal(Inputs(table, row, "name")); err != nil || string(raw) != want {
			t.Errorf("row %d is %s, %v; want %s", row, raw, err, want)
		}
	}
}

func TestMeasurementsComeInTheOrderOfTheTargets(t *testing.T) {
	tell := TellRequest{Rows: []Measured{{ID: "a", Values: map[string]float64{"z": 2, "y": 1}, Replicate: 2},
		{ID: "b", Values: map[string]float64{"z": 3}}, {ID: "c", Values: map[string]float64{"q": 4}}}}.Tell([]string{"y",
		"z"})
	first, second, third := tell.Entries[0], tell.Entries[1], tell.Entries[2]
	if first.Values[0] != 1 || first.Values[1] != 2 || !math.IsNaN(second.Values[0]) || second.Values[1] != 3 ||
		second.Line != 1 || first.Replicate != 2 || second.Replicate != 0 {
		t.Errorf("told %+v", tell.Entries)
	}
	if first.Fault != "" || !strings.Contains(third.Fault, `"q" is not a target of the campaign; its targets are y, z`) {
		t.Errorf("faults %q and %q", first.Fault, third.Fault)
	}
}

// TestReasonAlone: what steers a person is left out of a reason; without a model, there is nothing to leave out.
func TestReasonAlone(t *testing.T) {
	t.Parallel()
	r := &nextbatch.Result{IDs: []string{"a", "b"}, Indices: []int{0, 1}, Reasons: []string{"far from s1", "audit row"}}
	if got := ReasonsAlone(r); !slices.Equal(got, r.Reasons) {
		t.Errorf("without predictions: %q", got)
	}
	r.Predictions, r.ReasonsAlone = make([]fitted.Prediction, 2), r.Reasons
	r.Reasons = []string{"far from s1; predicted 3, between 2 and 4", "audit row"}
	if got := ReasonsAlone(r); !slices.Equal(got, r.ReasonsAlone) {
		t.Errorf("with predictions: %q", got)
	}
}
