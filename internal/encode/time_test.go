package encode

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/matrix"
)

func TestFitTimeForms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		form   string // "" if they are not times
		cycles string
		values []string
	}{
		{"ISO 8601", "", []string{"2021-03-04", "2021-03-05"}},
		{"ISO 8601", "hour", []string{"2021-03-04T23:30", "2021-03-06 04:00:01.25"}},
		{"ISO 8601", "weekday", []string{"2021-03-04", "2021-03-12"}},
		{"ISO 8601", "weekday,day of year", []string{"2021-03-04", "2022-03-06"}},
		{"ISO 8601", "", []string{"2021-03-04 08:00", "2021-03-04 17:00"}},
		{"ISO 8601 with time zone", "hour", []string{"2021-03-04T01:00:00Z", "2021-03-06T01:00:00+02:00",
			"2021-03-06 05:00:00+0200"}},
		{"year-month", "weekday", []string{"2021-03", "2021-04"}},
		{"year/month/day", "", []string{"2021/3/4", "2021/03/05"}},
		{"day.month.year", "", []string{"04.03.2021", "5.3.2021"}},
		{"day month year", "", []string{"4 Mar 2021", "05-Mar-2021", "6 March 2021"}},
		{"month day, year", "hour", []string{"Mar 4, 2021", "March 5, 2021 3:04 PM"}},
		{"day/month/year", "weekday", []string{"04/03/2021", "13/03/2021"}},
		{"month/day/year", "hour,weekday", []string{"03/04/2021", "03/13/2021 4:05 PM"}},
		{"day-month-year", "weekday", []string{"04-03-2021", "13-03-2021"}},
		{"time of day", "hour", []string{"9:30", "17:00:30"}},
		{"", "", []string{"2021-03-04", "later"}},
		{"", "", []string{"2021-03-04", "04.03.2021"}},
		{"", "", []string{"13/03/2021", "03/13/2021"}},
		{"", "", []string{"2021-03-04", "2021-03-04"}},
		{"", "", []string{"9999-07", "9998-07"}},
		{"", "", []string{"2021-13-04", "2021-02-30"}},
		{"", "", []string{"", ""}},
	} {
		for _, column := range []dataset.Column{categorical("when", append(c.values, "")...),
			dataset.NewText("when", append(c.values, "")...)} {
			f, ok, err := FitTime(column)
			if err != nil || ok != (c.form != "") || ok && (f.Form != c.form || strings.Join(f.Cycles, ",") != c.cycles) {
				t.Errorf("%q: %+v, %v, %v", c.values, f, ok, err)
			}
		}
	}
	_, _, err := FitTime(dataset.NewText("when", "", "01/02/2021", "03/04/2021"))
	if unclear := (*AmbiguousDateError)(nil); !errors.As(err, &unclear) || unclear.Row != 1 ||
		unclear.Value != "01/02/2021" {
		t.Errorf("%v", err)
	}
	if _, ok, err := FitTime(dataset.NewNumeric("x", 1, 2)); ok || err != nil {
		t.Error("numbers are times")
	}
}

// TestEncodeTimes: days since the first, and points on circles; a saved encoder does
// the same.
func TestEncodeTimes(t *testing.T) {
	t.Parallel()
	when := categorical("when", "2021-01-01 00:00", "2021-01-03 06:00", "2022-01-02 12:00", "")
	f, ok, err := FitTime(when)
	if !ok || err != nil {
		t.Fatal(err)
	}
	e := Encoder{Times: []Time{f}}
	full := table(t, when)
	if err := e.FitMissing(t.Context(), full, []int{0, 1, 2, 3}, true); err != nil {
		t.Fatal(err)
	}
	names := []string{"when", "when hour sin", "when hour cos", "when weekday sin", "when weekday cos",
		"when day of year sin", "when day of year cos", "when missing"}
	if !slices.Equal(e.Features(), names) || !slices.Equal(e.Columns(), []string{"when"}) {
		t.Fatalf("features %q", e.Features())
	}
	text, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	var saved Encoder
	if err := json.Unmarshal(text, &saved); err != nil || !reflect.DeepEqual(saved.Times,
		e.Times) || saved.Check() != nil {
		t.Errorf("%v: %+v, not %+v", err, saved, e)
	}
	x := matrix.New[float64](4, len(names))
	if err := Encode(x, saved, full); err != nil {
		t.Fatal(err)
	}
	angle := func(turn float64) []float64 {
		return []float64{math.Sin(2 * math.Pi * turn), math.Cos(2 * math.Pi * turn)}
	}
	for row, want := range [][]float64{
		slices.Concat([]float64{0}, angle(0), angle(5./7), angle(0), []float64{0}),
		slices.Concat([]float64{2.25}, angle(0.25), angle(0), angle(2.25/365), []float64{0}),
		slices.Concat([]float64{366.5}, angle(0.5), angle(0), angle(1.5/365), []float64{0}),
		{2.25, 0, 0, 0, 0, 0, 0, 1},
	} {
		for j := range want {
			if math.Abs(x.At(row, j)-want[j]) > 1e-12 {
				t.Errorf("row %d, %s: %v, want %v", row, names[j], x.At(row, j), want[j])
			}
		}
	}
	err = Encode(matrix.New[float64](1, len(names)), saved, table(t, dataset.NewText("when", "03.01.2021")))
	if at := (*dataset.ColumnError)(nil); !errors.As(err, &at) || !strings.Contains(err.Error(),
		`row 0 (from 0): "03.01.2021" is not a time written as the others (ISO 8601)`) {
		t.Errorf("%v", err)
	}
}

func TestEncoderCheck(t *testing.T) {
	t.Parallel()
	for _, e := range []Encoder{
		{Numeric: []string{"a"}, Impute: true},
		{Numeric: []string{"a"}, Impute: true, Medians: []float64{math.Inf(1)}},
		{Times: []Time{{Column: "t", Form: "stardate"}}},
		{Times: []Time{{Column: "t", Form: "ISO 8601", Cycles: []string{"moon"}}}},
		{Times: []Time{{Column: "t", Form: "ISO 8601", Median: math.NaN()}}},
	} {
		if e.Check() == nil {
			t.Errorf("%+v passes", e)
		}
	}
	if err := (Encoder{Numeric: []string{"a"}}).Check(); err != nil {
		t.Error(err)
	}
}
