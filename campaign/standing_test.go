package campaign_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/internal/estimate"
	"github.com/nextbatch/nextbatch/limits"
)

// labelled asks for a batch and tells labels that are off the predictions by ±off.
func labelled(t *testing.T, c *campaign.Campaign, rows int, audit, off float64) {
	t.Helper()
	batch := ask(t, c, campaign.Ask{Rows: rows, Audit: &audit})
	for i, row := range batch.Rows {
		value := float64(i % 3)
		if row.Predictions != nil {
			value = float64(row.Predictions[0].Value) + off*float64(1-2*(i%2))
		}
		tell(t, c, row.ID, value)
	}
}

func standing(t *testing.T, c *campaign.Campaign, stop string) *campaign.Standing {
	t.Helper()
	s, err := c.Standing(t.Context(), stop)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStanding(t *testing.T) {
	t.Parallel()
	c, _ := begin(t, 200, campaign.Settings{})
	early := standing(t, c, "")
	if early.Targets[0].Curve != nil || early.Advice.Verdict != estimate.TooEarly || early.Open != 200 {
		t.Errorf("before any label: %+v", early)
	}
	labelled(t, c, 16, 0, 0)
	labelled(t, c, 32, 0.5, 2)
	found := standing(t, c, "rmse<4")
	y := found.Targets[0]
	if y.Labels != 48 || y.Audited != 16 || y.Curve == nil {
		t.Fatalf("%+v", y)
	}
	// The errors of the audit rows are all 2, made with 16 labels; with 48 it is somewhat less.
	if e := y.Curve.RMSE; !(e.Low < e.Value && e.Value < 2 && e.Value > 1 && e.High < 4) {
		t.Errorf("the error is %v", e)
	}
	if found.Advice.Verdict != estimate.Stop || y.Forecast.Wanted != 4 || y.Forecast.More.Value != 0 {
		t.Errorf("%+v, %+v", found.Advice, y.Forecast)
	}
	if a := standing(t, c, "rmse<0.01").Advice; a.Verdict != estimate.GoOn {
		t.Errorf("%+v", a)
	}
	less := standing(t, c, "")
	if want := y.Curve.RMSE.Value * 0.9; less.Targets[0].Forecast.Wanted != want || less.Rule.String() != "gain<2%" {
		t.Errorf("%+v", less.Targets[0].Forecast)
	}
	wrong := (*estimate.StopRuleError)(nil)
	if _, err := c.Standing(t.Context(), "rmse(z)<1"); !errors.As(err, &wrong) ||
		!strings.Contains(err.Error(), `"z"`) {
		t.Errorf("%v", err)
	}
}

// TestStandingCounts: rows that no network predicted, and rows that were picked, do not count.
func TestStandingCounts(t *testing.T) {
	t.Parallel()
	c, _ := begin(t, 200, campaign.Settings{})
	labelled(t, c, 16, 1, 0)
	labelled(t, c, 32, 0, 2)
	if y := standing(t, c, "").Targets[0]; y.Audited != 0 || y.Curve != nil || y.Labels != 48 {
		t.Errorf("%+v", y)
	}
}

// TestStandingDespiteWaiting: labels that wait for a second look do not change the advice; where they would if they
// counted, it is too early to tell.
func TestStandingDespiteWaiting(t *testing.T) {
	t.Parallel()
	c, _ := begin(t, 200, campaign.Settings{})
	labelled(t, c, 32, 0, 0)
	batch := ask(t, c, campaign.Ask{Rows: 32, Audit: new(0.5)})
	var wrong string
	for i, row := range batch.Rows {
		off := 0.1 * float64(1-2*(i%2))
		if row.Audit && wrong == "" {
			wrong, off = row.ID, 1e6
		}
		tell(t, c, row.ID, float64(row.Predictions[0].Value)+off)
	}
	if n := state(t, c).Counts().Waiting; n != 1 {
		t.Fatalf("%d rows wait", n)
	}
	if a := standing(t, c, "rmse<1e-9").Advice; a.Verdict != estimate.GoOn {
		t.Errorf("the label that waits changes nothing: %v", a)
	}
	if a := standing(t, c, "rmse<4").Advice; a.Verdict != estimate.TooEarly ||
		!strings.Contains(a.Because.String(), "the label of "+wrong) || !strings.Contains(a.Because.String(),
		`without it the advice would be "stop"`) {
		t.Errorf("the label that waits decides: %v", a)
	}
	if _, err := c.Retire(t.Context(), ada, []string{wrong}, ""); err != nil {
		t.Fatal(err)
	}
	if a := standing(t, c, "rmse<4").Advice; a.Verdict != estimate.Stop {
		t.Errorf("nothing waits any more: %v", a)
	}
}

func TestStandingCost(t *testing.T) {
	t.Parallel()
	c, _ := begin(t, 200, campaign.Settings{Limits: limits.Limits{CostColumn: "z", Budget: new(1e6)}})
	labelled(t, c, 16, 0, 0)
	labelled(t, c, 32, 0.5, 2)
	f := standing(t, c, "").Targets[0].Forecast
	if f.Cost == nil || !(f.More.Low > 0) || !(math.Abs(f.Cost.Low-2*f.More.Low) < 0.2*f.Cost.Low) { // z is 0 to 4
		t.Errorf("%+v", f)
	}
}

func TestMeasureGain(t *testing.T) {
	t.Parallel()
	c, _ := begin(t, 200, campaign.Settings{})
	labelled(t, c, 16, 0, 0)
	labelled(t, c, 16, 1, 1)
	few := (*estimate.TooFewError)(nil)
	if err := c.MeasureGain(t.Context(), campaign.Ask{}); !errors.As(err, &few) || few.Rows != 16 {
		t.Errorf("%v", err)
	}
	if g := standing(t, c, "").Targets[0].Gain; g != nil {
		t.Errorf("%+v", g)
	}
	labelled(t, c, 40, 1, 1)
	if err := c.MeasureGain(t.Context(), campaign.Ask{}); err != nil {
		t.Fatal(err)
	}
	if g := standing(t, c, "").Targets[0].Gain; g == nil || g.Labels != 72 || g.Rows != 56 {
		t.Errorf("%+v", g)
	}
}

// TestHeldOutRows: each network's predictions for random rows that it held out are written down
// once, and count with the labels that the rows have now.
func TestHeldOutRows(t *testing.T) {
	t.Parallel()
	begun := func(settings campaign.Settings) *campaign.Campaign {
		c, _ := begin(t, 200, settings)
		for i := range 60 {
			tell(t, c, fmt.Sprintf("r%03d", i), float64(i%7))
		}
		return c
	}
	c := begun(campaign.Settings{RandomStart: true, Audit: new(1.0)})
	if _, err := c.Predict(t.Context(), campaign.Ask{}); err != nil { // trains the network
		t.Fatal(err)
	}
	first := ask(t, c, campaign.Ask{Rows: 60})
	if !first.Kept || len(first.HeldOut) != 12 { // a fifth
		t.Fatalf("kept: %v, held out: %v", first.Kept, first.HeldOut)
	}
	for _, held := range first.HeldOut {
		if held.Row >= 60 || len(held.Values) != 1 || !(math.Abs(float64(held.Values[0])) < 20) {
			t.Errorf("held out: %+v", held)
		}
	}
	if second := ask(t, c, campaign.Ask{Rows: 2}); second.HeldOut != nil {
		t.Errorf("held-out rows of the same network were recorded again: %v", second.HeldOut)
	}
	y := standing(t, c, "").Targets[0]
	if y.HeldOut != 12 || y.Audited != 0 || y.Curve == nil || y.Curve.Rows != 12 {
		t.Fatalf("%+v", y)
	}
	// A label that is corrected is the label of the prediction from before.
	if _,
		err := c.Correct(t.Context(), ada, campaign.Tell{Entries: entries(fmt.Sprintf("r%03d", first.HeldOut[0].Row), 1e4),
		Accept: true}); err != nil {
		t.Fatal(err)
	}
	if now := standing(t, c, "").Targets[0]; !(now.Curve.RMSE.Value > 100*y.Curve.RMSE.Value) {
		t.Errorf("after a label of 10,000, the error is %v", now.Curve.RMSE)
	}
	// Audit rows are held out by later networks; rows that were picked do not count.
	for _, r := range first.Rows {
		tell(t, c, r.ID, 3.0)
	}
	last := ask(t, c, campaign.Ask{Rows: 1, Audit: new(0.0)})
	audited := false
	for _, held := range last.HeldOut {
		audited = audited || held.Row >= 60
	}
	if last.Kept || len(last.HeldOut) != 24 || !audited {
		t.Errorf("kept: %v, held out: %v", last.Kept, last.HeldOut)
	}
	settings := state(t, c).Settings
	settings.RandomStart = false
	if _, err := c.ChangeSettings(t.Context(), ada, settings); err != nil {
		t.Fatal(err)
	}
	if n := standing(t, c, "").Targets[0].HeldOut; n == 0 || n >= 24 {
		t.Errorf("%d held-out rows count although the first labels were not random", n)
	}
}

// TestRandomStartAtOnce: saying that the first labels were drawn at random has an effect before another model is
// fitted, and so has taking that back. Of a large start, a part is recorded.
func TestRandomStartAtOnce(t *testing.T) {
	t.Parallel()
	c, _ := begin(t, 200, campaign.Settings{})
	for i := range 60 {
		tell(t, c, fmt.Sprintf("r%03d", i), float64(i%7))
	}
	ask(t, c, campaign.Ask{Rows: 4})
	for _, random := range []bool{false, true, false} {
		settings := state(t, c).Settings
		settings.RandomStart = random
		if _, err := c.ChangeSettings(t.Context(), ada, settings); err != nil {
			t.Fatal(err)
		}
		y := standing(t, c, "").Targets[0]
		if want := map[bool]int{true: 12}[random]; y.HeldOut != want || (y.Curve != nil) != random {
			t.Errorf("random start %v: %d held-out rows count, the curve is %v", random, y.HeldOut, y.Curve)
		}
	}
}

func TestHeldOutRowsOfALargeStart(t *testing.T) {
	t.Parallel()
	c, _ := begin(t, 5300, campaign.Settings{RandomStart: true})
	var told []any
	for i := range 5250 {
		told = append(told, fmt.Sprintf("r%03d", i), float64(i%7))
	}
	tell(t, c, told...)
	batch := ask(t, c, campaign.Ask{Rows: 2})
	high := 0 // rows of the second half
	for _, held := range batch.HeldOut {
		if held.Row >= 5250/2 {
			high++
		}
	}
	if len(batch.HeldOut) != 1000 || high < 400 || high > 600 {
		t.Errorf("%d rows were recorded, %d of them of the second half", len(batch.HeldOut), high)
	}
}
