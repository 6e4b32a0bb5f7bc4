package estimate

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// lateGain is the share by which the error may still fall after a stop; beyond it the stop was too early.
const lateGain = 0.1

// fewestJudged is how many campaigns it takes to judge a rule. The goal is that it stops fewer than one in twenty too
// early; since so few campaigns cannot tell that from one in ten, the test fails from there on.
const fewestJudged = 20

// judged is how a recording is looked at.
type judged struct {
	start bool // the random rows of the start count
	every int  // asks that are left out in between are one less than this
}

// asks returns the numbers of the asks that are looked at; the last is always one of them.
func (j judged) asks(r *Recording) (list []int) {
	for k := (len(r.Asks) - 1) % j.every; k < len(r.Asks); k += j.every {
		list = append(list, k)
	}
	return list
}

// known returns the predictions for random rows that are known after an ask.
func (j judged) known(r *Recording, ask int) (list []Audited) {
	add := func(errors []RecordedError) {
		for _, e := range errors {
			if j.start || e.Row >= RecordStart {
				list = append(list, Audited(e))
			}
		}
	}
	for _, k := range j.asks(r) {
		if k < ask {
			add(r.Asks[k].Audited)
		}
		if k <= ask {
			add(r.Asks[k].HeldOut)
		}
	}
	return list
}

// curve returns the curve after an ask; nil where there are too few random rows.
func (j judged) curve(t *testing.T, r *Recording, ask int) *Curve {
	t.Helper()
	c, err := FitCurve(j.known(r, ask), r.Asks[ask].Labels)
	if few := (*TooFewError)(nil); err != nil && !errors.As(err, &few) {
		t.Fatal(err)
	}
	return c
}

// stopsJudged counts what a rule said about campaigns.
type stopsJudged struct {
	campaigns, stopped, early int
	verdicts                  map[Verdict]int // of all asks but the last
	names                     []string        // of the campaigns that were stopped too early
}

// add follows a campaign until the rule stops it.
func (f *stopsJudged) add(t *testing.T, r *Recording, j judged, rule StopRule) {
	t.Helper()
	f.campaigns++
	last := r.Asks[len(r.Asks)-1]
	asks := j.asks(r)
	for _, k := range asks[:len(asks)-1] {
		verdict := rule.Judge(j.curve(t, r, k), r.Rows).Verdict
		f.verdicts[verdict]++
		if verdict != Stop {
			continue
		}
		f.stopped++
		if later := 1 - last.RMSE/r.Asks[k].RMSE; later > lateGain {
			f.early++
			f.names = append(f.names, fmt.Sprintf("%s %s at %d of %d labels (%.0f %%)", r.Table, r.Learner, r.Asks[k].Labels,
				last.Labels, 100*later))
		}
		return
	}
}

// forecastsJudged counts how forecasts turned out.
type forecastsJudged struct {
	all, held   int
	named, near int // forecasts with a number, and those within a factor of 1.5
	beyond      int // forecasts of more than the table has
}

// truth returns how many labels an error took: the fewest from the given ask on, by a line between asks on logarithmic
// scales. It reports false, and the labels of the last ask, if the error was not reached.
func (r *Recording) truth(ask int, wanted float64) (labels float64, reached bool) {
	for k, now := range r.Asks[ask:] {
		if now.RMSE > wanted {
			continue
		}
		if k == 0 {
			return float64(now.Labels), true
		}
		before := r.Asks[ask+k-1]
		share := math.Log(before.RMSE/wanted) / math.Log(before.RMSE/now.RMSE)
		return float64(before.Labels) * math.Pow(float64(now.Labels)/float64(before.Labels), share), true
	}
	return float64(r.Asks[len(r.Asks)-1].Labels), false
}

// add judges the forecasts in the middle of a campaign: of its last error or, if relative, of an error that is a tenth
// smaller than the present one. An error that the recording does not reach took more labels than it has.
func (f *forecastsJudged) add(t *testing.T, r *Recording, j judged, relative bool) {
	t.Helper()
	last := r.Asks[len(r.Asks)-1]
	for _, k := range j.asks(r) {
		if share := float64(r.Asks[k].Labels) / float64(last.Labels); share < 0.3 || share > 0.7 {
			continue
		}
		c := j.curve(t, r, k)
		if c == nil {
			continue
		}
		wanted, got := last.RMSE, Forecast{}
		if relative {
			wanted = r.Asks[k].RMSE * (1 - lessError)
			got = c.ForecastLess(0, r.Rows)
		} else {
			got = c.Forecast(RMSE, wanted, 0, r.Rows)
		}
		truth, reached := r.truth(k, wanted)
		f.count(got, truth, reached)
	}
}

// count judges one forecast.
func (f *forecastsJudged) count(got Forecast, truth float64, reached bool) {
	f.all++
	const rounding = 1.001
	if got.Labels.High*rounding >= truth && (got.Labels.Low <= truth*rounding || !reached) {
		f.held++
	}
	if math.IsInf(got.Labels.Low, 1) {
		f.beyond++
	}
	if math.IsInf(got.Labels.Value, 1) {
		return
	}
	f.named++
	if ratio := got.Labels.Value / truth; ratio*1.5 >= 1 && (ratio <= 1.5 || !reached) {
		f.near++
	}
}

// readRecordings reads the recordings of a folder by the share of wrong labels and by whether they got a second look.
func readRecordings(t *testing.T, dir string) map[string][]*Recording {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]*Recording{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		r := &Recording{}
		if err := json.Unmarshal(text, r); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		key := fmt.Sprintf("%.0f %% wrong", 100*r.Wrong)
		if r.Look {
			key += ", second look"
		}
		found[key] = append(found[key], r)
	}
	return found
}

// TestSoakStop judges the default stop rule, and others, and forecasts by the recordings of TestSoakRecordCampaigns,
// and prints the tables behind docs/intervals.md.
//
//	NEXTBATCH_SOAK=1 go test ./campaign -count=1 -run TestSoakStop -v -record-dir recordings
func TestSoakStop(t *testing.T) {
	if os.Getenv("NEXTBATCH_SOAK") == "" || *RecordDir == "" {
		t.Skip("needs recordings: -record-dir")
	}
	found := readRecordings(t, *RecordDir)
	keys := []string{}
	for key := range found {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	ways := []struct {
		name string
		judged
	}{{"random start", judged{true, 1}}, {"random start, double batches", judged{true, 2}},
		{"audit rows alone", judged{false, 1}}}
	fmt.Println("\n| labels | random rows | rule | campaigns | stopped | too early | go on, too early to tell, stop " +
		"|\n|---|---|---|---|---|---|---|")
	for _, key := range keys {
		for _, way := range ways {
			for _, below := range []float64{0.01, 0.015, 0.02, 0.03} {
				rule := StopRule{Below: below}
				f := stopsJudged{verdicts: map[Verdict]int{}}
				for _, r := range found[key] {
					f.add(t, r, way.judged, rule)
				}
				fmt.Printf("| %s | %s | %v | %d | %d | %d | %d, %d, %d |\n", key, way.name, rule, f.campaigns, f.stopped, f.early,
					f.verdicts[GoOn], f.verdicts[TooEarly], f.verdicts[Stop])
				if goal := strings.HasPrefix(key, "0 %") || strings.HasSuffix(key, "second look"); goal && rule == DefaultRule &&
					f.campaigns >= fewestJudged && 10*f.early >= f.campaigns {
					t.Errorf("%s, %s: %d of %d campaigns were stopped too early", key, way.name, f.early, f.campaigns)
				}
				if rule == DefaultRule {
					t.Logf("%s, %s: too early: %s", key, way.name, strings.Join(f.names, "; "))
				}
			}
		}
	}
	fmt.Println("\n| labels | random rows | forecast of | forecasts | held | with a number | within 1.5 | more than the " +
		"table has |\n|---|---|---|---|---|---|---|---|")
	for _, key := range keys {
		for _, way := range ways {
			for _, relative := range []bool{false, true} {
				f := forecastsJudged{}
				for _, r := range found[key] {
					f.add(t, r, way.judged, relative)
				}
				of := map[bool]string{false: "the last error", true: "a tenth less"}[relative]
				fmt.Printf("| %s | %s | %s | %d | %d | %d | %d | %d |\n", key, way.name, of, f.all, f.held,
					f.named, f.near, f.beyond)
			}
		}
	}
}
