package plausible

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"testing"
)

// steady are labels from 50 to 100.
func steady() *Labels {
	values := make([]float64, 64)
	for i := range values {
		values[i] = 50 + float64(i)*50/63
	}
	return Learn(values)
}

func TestExamine(t *testing.T) {
	expected := &Expected{Value: 70, Low: 66, High: 74}
	tests := []struct {
		value float64
		with  *Expected
		words string // empty if the label does not wait
	}{
		{71, expected, ""},
		{80, expected, ""},
		{95, expected, ""}, // far outside, but among the labels
		{710, expected, "710; expected 66 to 74; one digit too many?"},
		{7100, expected, "7,100; expected 66 to 74; two digits too many?"},
		{7.1, expected, "7.1; expected 66 to 74; one digit too few?"},
		{0.71, expected, "0.71; expected 66 to 74; two digits too few?"},
		{-71, expected, "-71; expected 66 to 74; wrong sign?"},
		{17, expected, "17; expected 66 to 74; two digits swapped?"},
		{178, expected, "178; expected 66 to 74; 2.54 times too large: another unit?"},
		{159.8, expected, "159.8; expected 66 to 74; °F instead of °C?"},
		{71000, expected, "71,000; expected 66 to 74; 1,000 times too large: another unit?"},
		{430, expected, "430; expected 66 to 74"},
		{math.NaN(), expected, ""},

		{71, nil, ""},
		{120, nil, ""},
		{710, nil, "710; expected 52 to 98; one digit too many?"},
		{-71, nil, "-71; expected 52 to 98; wrong sign?"},

		{70.001, &Expected{70, 70, 70}, ""}, // an interval without a width
		{7, &Expected{70, 70, 70}, "7; expected 70 to 70; one digit too few?"},
	}
	for _, test := range tests {
		got := ""
		if d := steady().Examine(test.value, test.with); d != nil {
			got = d.Words(test.value, 0).String()
		}
		if got != test.words {
			t.Errorf("%v: %q, want %q", test.value, got, test.words)
		}
	}
}

// TestLabelsThatSayNothing: few labels, and labels that are all the same, raise no doubts.
func TestLabelsThatSayNothing(t *testing.T) {
	few, same := make([]float64, Fewest-1), make([]float64, 200)
	for i := range few {
		few[i] = float64(i)
	}
	same[7] = math.Inf(1)
	same[8] = 3
	for _, values := range [][]float64{nil, few, same} {
		for _, expected := range []*Expected{nil, {0, -1, 1}} {
			l := Learn(values)
			if d := l.Examine(1e9, expected); d != nil {
				t.Errorf("%d labels: %s", len(values), d.Words(1e9, 0))
			}
			if d := l.ExamineAll([]Arrived{{"a", 1e9, expected}, {"b", 0, expected}}); d[0] != nil || d[1] != nil {
				t.Errorf("%d labels: %v", len(values), d)
			}
		}
	}
}

// TestSkewedLabels: a label far above others of a long tail is not a slip, while one far below all others is.
func TestSkewedLabels(t *testing.T) {
	var values []float64
	for i := range 64 {
		values = append(values, math.Exp(float64(i)/10))
	}
	l := Learn(values)
	for value, doubtful := range map[float64]bool{2000: false, 0.5: false, 0: false, 1e7: true, 0.001: true} {
		if d := l.Examine(value, nil); (d != nil) != doubtful {
			t.Errorf("%v: %v", value, d)
		}
	}
}

// TestTinyLabels: where labels spread over magnitudes, an interval on their own scale reaches to zero and beyond. A
// label that is a hundred times smaller than all others waits nevertheless, unless it was predicted to be that small.
func TestTinyLabels(t *testing.T) {
	for _, sign := range []float64{1, -1} {
		var values []float64
		for i := range 64 {
			values = append(values, sign*math.Exp(2.5*math.Sin(float64(i))))
		}
		l := Learn(values)
		wide, small := sign*1, sign*0.0005
		expected := &Expected{wide, wide - 4, wide + 4}
		if d := l.Examine(small, expected); d == nil || d.Scale != "logarithmic" {
			t.Errorf("%v: %v", small, d)
		}
		for _, right := range []float64{wide, sign * 0.05, 8 * sign} {
			if d := l.Examine(right, expected); d != nil {
				t.Errorf("%v: %s", right, d.Words(right, 0))
			}
		}
		if d := l.Examine(small, &Expected{small, small - 1, small + 1}); d != nil {
			t.Errorf("%v as predicted: %s", small, d.Words(small, 0))
		}
	}
}

// TestAnEarlierSlipHidesNothing: a wrong label among the labels so far does not widen them.
func TestAnEarlierSlipHidesNothing(t *testing.T) {
	values := []float64{1e6}
	for i := range 63 {
		values = append(values, 50+float64(i))
	}
	if d := Learn(values).Examine(900000, &Expected{70, 66, 74}); d == nil {
		t.Error("900000 is not doubtful")
	}
}

func TestSwappedRows(t *testing.T) {
	a, b := Expected{55, 54, 56}, Expected{88, 87, 89}
	list := []Arrived{{"r1", 88, &a}, {"r2", 70, &Expected{70, 69, 71}}, {"r3", 54.6, &b}, {"r4", 54.6, nil}}
	got := steady().ExamineAll(list)
	if got[0] == nil || got[0].Slip != "swapped with row r3?" || got[2] == nil || got[2].Slip != "swapped with row r1?" {
		t.Errorf("doubts %v", got)
	}
	if got[1] != nil || got[3] != nil {
		t.Errorf("doubts of others: %v, %v", got[1], got[3])
	}
	if one := steady().Examine(88, &a); one != nil {
		t.Errorf("a label among the others is doubtful alone: %v", one)
	}
}

// TestAmong: labels that were there before are compared with each other. One beyond all others is the only one in
// doubt, since it has misled the model; the rest has its turn once it is gone.
func TestAmong(t *testing.T) {
	var list []Arrived
	for i := range 64 {
		v := 50 + float64(i)
		list = append(list, Arrived{fmt.Sprint("r", i), v, &Expected{v, v - 1, v + 1}})
	}
	list[3].Value, list[60].Value = list[60].Value, list[3].Value
	list[63].Value = 130 // outside the others, and far from 113
	doubts := func() (slips map[string]string) {
		slips = map[string]string{}
		for i, d := range Among(list) {
			if d != nil {
				slips[list[i].Row] = d.Slip
			}
		}
		return slips
	}
	if got, want := doubts(), map[string]string{"r3": "swapped with row r60?", "r60": "swapped with row r3?",
		"r63": ""}; !maps.Equal(got, want) {
		t.Errorf("doubts %v, want %v", got, want)
	}
	list[10].Value *= 100
	if got, want := doubts(), map[string]string{"r10": "two digits too many?"}; !maps.Equal(got, want) {
		t.Errorf("doubts %v, want %v", got, want)
	}
}

// TestDoubtAsJSON: campaign files hold doubts.
func TestDoubtAsJSON(t *testing.T) {
	raw, err := json.Marshal(steady().Examine(710, &Expected{70, 66, 74}))
	if err != nil || string(raw) != `{"low":66,"high":74,"prediction":70,"slip":"one digit too many?"}` {
		t.Errorf("%s, %v", raw, err)
	}
}
