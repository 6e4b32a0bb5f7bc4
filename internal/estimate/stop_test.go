package estimate

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/internal/words"
)

func TestParseStopRule(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want StopRule
		says string // by String
	}{
		{"rmse<0.5", StopRule{Metric: RMSE, Below: 0.5}, "rmse<0.5"},
		{" RMSE < 5e-1 ", StopRule{Metric: RMSE, Below: 0.5}, "rmse<0.5"},
		{"mae<2", StopRule{Metric: MAE, Below: 2}, "mae<2"},
		{"q95(melting point)<12.5", StopRule{Target: "melting point", Metric: Q95, Below: 12.5}, "q95(melting point)<12.5"},
		{"gain<1%", StopRule{Below: 0.01}, "gain<1%"},
		{"gain(y)<0.7 %", StopRule{Target: "y", Below: 0.007}, "gain(y)<0.7%"},
		{"gain<0.02", StopRule{Below: 0.02}, "gain<2%"},
	} {
		r, err := ParseStopRule(c.text)
		if err != nil || r.Target != c.want.Target || r.Metric != c.want.Metric ||
			math.Abs(r.Below-c.want.Below) > 1e-12 || r.String() != c.says {
			t.Errorf("%q: %+v %q, %v", c.text, r, r, err)
		}
		if again, err := ParseStopRule(r.String()); err != nil || again.String() != r.String() {
			t.Errorf("%q: %+v, %v", r, again, err)
		}
	}
	for _, text := range []string{"", "rmse", "rmse>0.5", "rmse<", "rmse<x", "rmse<0", "rmse<-1", "rmse<NaN", "rmse<Inf",
		"rmse<5%", "loss<1", "gain<100%", "gain<0%", "rmse<0.5 mae<1"} {
		wrong := (*StopRuleError)(nil)
		if r, err := ParseStopRule(text); !errors.As(err, &wrong) || !strings.Contains(err.Error(), "rmse<0.5") {
			t.Errorf("%q: %+v, %v", text, r, err)
		}
	}
}

// flat returns the curve of a campaign whose networks err by about 1 on 200 random rows.
func flat(t *testing.T) *Curve {
	t.Helper()
	audited, labels := simulate(rng.New(3, "stop"), populations[0], 0, 8, 80)
	c, err := FitCurve(audited, labels)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// falling returns the curve of a campaign whose error halves with four times the labels.
func falling(t *testing.T) *Curve {
	t.Helper()
	audited, labels := simulate(rng.New(4, "stop"), populations[0], -0.5, 8, 200)
	c, err := FitCurve(audited, labels)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestStopRuleJudges(t *testing.T) {
	t.Parallel()
	c := flat(t)
	for _, one := range []struct {
		rule string
		c    *Curve
		want Verdict
		says string
	}{
		{"rmse<2", c, Stop, "below 2"},
		{"mae<2", c, Stop, "mean absolute error"},
		{"rmse<0.5", c, GoOn, "more labels than the table has rows, 5,000"},
		{"rmse<1.1", c, TooEarly, "more audit rows would tell"},
		{"rmse<1.0001", c, TooEarly, "the open rows are too few to tell"},
		{"rmse<0.99", c, TooEarly, "not certainly"},
		{"q95<1", c, GoOn, "95 % quantile"},
		{"gain<50%", c, Stop, "less than 50 %"},
		{"gain<0.1%", falling(t), GoOn, "10 % more labels would lower the RMSE"},
		{"gain<1%", c, TooEarly, "more audit rows would tell"},
		{"rmse<2", nil, TooEarly, "drawn at random"},
	} {
		r, err := ParseStopRule(one.rule)
		if err != nil {
			t.Fatal(err)
		}
		if a := r.Judge(one.c, 5000); a.Verdict != one.want || !strings.Contains(a.Because.String(), one.says) {
			t.Errorf("%s: %v", one.rule, a)
		}
	}
	if a := (StopRule{}).Judge(c, 5000); a.Verdict != GoOn {
		t.Errorf("no rule: %v", a)
	}
}

// TestStopIsEarned: a rule about the gain does not stop a campaign whose error is hardly known, or whose curve is
// short.
func TestStopIsEarned(t *testing.T) {
	t.Parallel()
	r := StopRule{Below: 0.5}
	one := func(c *Curve) Advice { return r.Judge(c, 5000) }
	if a := one(flat(t)); a.Verdict != Stop {
		t.Fatal(a)
	}
	short := flat(t)
	short.first = short.Labels
	if a := one(short); a.Verdict != TooEarly || !strings.Contains(a.Because.String(), "begin flat") {
		t.Error(a)
	}
	vague := flat(t)
	vague.RMSE.High = 50 * vague.RMSE.Low
	if a := one(vague); a.Verdict != TooEarly || !strings.Contains(a.Because.String(), "hardly known") ||
		a.Audits < vague.Rows {
		t.Error(a)
	}
	vague.RMSE.High = math.Inf(1)
	if a := one(vague); a.Verdict != TooEarly || a.Audits != 0 {
		t.Error(a)
	}
}

func TestStopRuleOfSeveralTargets(t *testing.T) {
	t.Parallel()
	that := func(v Verdict, because string) Advice { return Advice{Verdict: v, Because: words.Textf("%s", because)} }
	stop, goOn, early := that(Stop, "s"), that(GoOn, "g"), that(TooEarly, "e")
	names := []string{"a", "b", "c"}
	for _, c := range []struct {
		advice []Advice
		want   string
	}{
		{[]Advice{stop, stop, stop}, "stop: a: s; b: s; c: s"},
		{[]Advice{stop, early, stop}, "too early to tell: b: e"},
		{[]Advice{stop, early, goOn}, "go on: c: g"},
		{nil, "go on: the stop rule concerns no target"},
	} {
		if got := Together(names, c.advice); got.String() != c.want {
			t.Errorf("%v: %v", c.advice, got)
		}
	}
	r := StopRule{Target: "a", Metric: RMSE, Below: 1}
	if !r.Concerns("a") || r.Concerns("b") || !(StopRule{}).Concerns("b") {
		t.Error("a rule about a concerns others")
	}
}

func TestForecast(t *testing.T) {
	t.Parallel()
	c := flat(t)
	reached := c.Forecast(RMSE, 10, 3, 1e5)
	if reached.More != (Interval{}) || *reached.Cost != (Interval{}) || reached.String() != "it is below 10" {
		t.Errorf("%+v: %v", reached, reached)
	}
	far := c.Forecast(RMSE, 1e-6, 3, 1e5)
	if !math.IsInf(far.Labels.Low, 1) || !strings.Contains(far.String(), "more labels than") {
		t.Errorf("%+v: %v", far, far)
	}
	c = falling(t)
	labels := c.Labels
	f := c.Forecast(RMSE, c.RMSE.Value*0.95, 3, 1e5)
	if !(f.Labels.Low < f.Labels.Value && f.Labels.Value < f.Labels.High) ||
		f.More.Value != f.Labels.Value-float64(labels) || f.Cost.Value != 3*f.More.Value {
		t.Errorf("%+v", f)
	}
	if wide := c.Forecast(RMSE, c.RMSE.Value*0.75, 0, 1e5); !math.IsInf(wide.Labels.Value, 1) ||
		!(wide.Labels.High <= 1e5) || strings.Contains(wide.String(), "about") {
		t.Errorf("a number for a wide interval: %+v: %v", wide, wide)
	}
	if short := c.Forecast(RMSE, c.RMSE.Value*0.5, 0, 2*labels); short.Rows != 2*labels || short.Labels.bounded() ||
		!strings.Contains(short.String(), "more than the table has rows, ") {
		t.Errorf("beyond the table: %+v: %v", short, short)
	}
	if less := c.ForecastLess(0, 1e5); less.Wanted != c.RMSE.Value*0.9 || !(less.Labels.Low > float64(labels)) ||
		!(less.Labels.High < 3*float64(labels)) {
		t.Errorf("a tenth less: %+v", less)
	}
	if f := c.Forecast(RMSE, -1, 0, 1e5); !math.IsInf(f.Labels.Low, 1) {
		t.Errorf("an error below 0: %+v", f)
	}
	if c.Forecast(RMSE, 1, 0, 1e5).Cost != nil {
		t.Error("a cost without costs")
	}
	if e := c.ErrorAt(RMSE, 4*labels); !(e.High < c.RMSE.Value) {
		t.Errorf("four times the labels: %v after %v", e, c.RMSE)
	}
	for i := 1; i < len(c.Points); i++ {
		if c.Points[i].Labels <= c.Points[i-1].Labels {
			t.Errorf("%+v", c.Points)
		}
	}
	if len(c.Points) != 9 || c.Points[8].Rows != 200 || c.Rows != 8*16+200 {
		t.Errorf("%d rows: %+v", c.Rows, c.Points)
	}
}

func TestIntervalAsJSON(t *testing.T) {
	t.Parallel()
	for _, i := range []Interval{{1, 0.5, 2}, {1, 0.5, math.Inf(1)}, {math.Inf(1), 0.5, math.Inf(1)}} {
		text, err := json.Marshal(i)
		if err != nil {
			t.Fatal(err)
		}
		var again Interval
		if err := json.Unmarshal(text, &again); err != nil || again != i {
			t.Errorf("%s: %v, %v", text, again, err)
		}
	}
	if _, err := json.Marshal(flat(t)); err != nil {
		t.Error(err)
	}
}

// TestPerfectPredictions: a network without errors has none, and no forecast divides by
// them.
func TestPerfectPredictions(t *testing.T) {
	t.Parallel()
	audited, labels := simulate(rng.New(5, "stop"), populations[0], 0, 2, 10)
	for i := range audited {
		audited[i].Prediction = audited[i].Label
	}
	c, err := FitCurve(audited, labels)
	if err != nil || c.RMSE != (Interval{}) || c.MAE != (Interval{}) || c.Q95.Value != 0 {
		t.Fatalf("%+v, %v", c, err)
	}
	if a := (StopRule{Metric: RMSE, Below: 1}).Judge(c, 10); a.Verdict != Stop {
		t.Error(a)
	}
	if f := c.Forecast(RMSE, 1, 0, 1e5); f.More != (Interval{}) {
		t.Errorf("%+v", f)
	}
}
