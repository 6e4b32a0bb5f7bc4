package selection_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection"
)

// TestResultAsJSON: keys are in lower case with underscores, durations are named by
// their unit, and empty lists are lists.
func TestResultAsJSON(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		value any
		want  string
	}{
		{selection.Fallback{Step: 3, Reason: "all alike", Rows: []int{4, 1}, Cut: []int{}},
			`{"step":3,"reason":"all alike","rows":[4,1],"cut":[]}`},
		{selection.Removal{Row: 7, Picked: 2, Step: 9, Score: 0.5}, `{"row":7,"picked":2,"step":9,"score":0.5}`},
		{selection.Removal{Row: 7, Picked: 2, Step: 9, Score: math.Inf(1)}, `{"row":7,"picked":2,"step":9}`},
		{selection.Timing{Init: 1, Train: 2, Forward: 3, Backward: 4, Report: 5, Total: 15},
			`{"init_ns":1,"train_ns":2,"forward_ns":3,"backward_ns":4,"report_ns":5,"total_ns":15}`},
	} {
		if got, err := json.Marshal(c.value); err != nil || string(got) != c.want {
			t.Errorf("%T: %s (%v), want %s", c.value, got, err, c.want)
		}
	}
	p := selection.Problem[float64]{Pool: line(0, 5, 0), Train: line(0), Mode: selection.TP, Batch: 2}
	r := mustSelect(t, selection.KMeansPP{}, p)
	r.Timing = selection.Timing{}
	r.Picks[1].Row = 0 // drawn at random
	r.Fallbacks[0].Rows[0] = 0
	want := `{"method":"kmeanspp","mode":"tp","picks":[` +
		`{"row":1,"step":1,"why":"chosen","score":25,"tied":false,"cluster":{"set":"train","row":0,"distance":5,"rows":3},` +
		`"labelled":0,"distance":5},` +
		`{"row":0,"step":2,"why":"filled","score":0,"tied":false,"labelled":0,"distance":0}],` +
		`"fallbacks":[{"step":2,"reason":"every row that may be picked lies on a selected one, or has no weight",` +
		`"rows":[0],"cut":[]}],` +
		`"removed":[],"missing":0,"short":"","typical_distance":0,"notes":[],` +
		`"timing":{"init_ns":0,"train_ns":0,"forward_ns":0,"backward_ns":0,"report_ns":0,"total_ns":0}}`
	if got, err := json.Marshal(r); err != nil || string(got) != want {
		t.Errorf("%s (%v), want %s", got, err, want)
	}
}

// TestRemovalsAsJSON: a selection with backward steps lists what it removed.
func TestRemovalsAsJSON(t *testing.T) {
	t.Parallel()
	pool := matrix.FromRows([][]float64{{1, 0}, {0, 1}, {0.5, 0.5}, {0.2, 0.1}})
	r := mustSelect(t, selection.BAIT{Sigma2: 0.1, Backward: true}, selection.Problem[float64]{Pool: pool, Batch: 2})
	raw, err := json.Marshal(r.Removed)
	var list []struct {
		Row, Picked, Step int
		Score             float64
	}
	if err != nil || json.Unmarshal(raw, &list) != nil || len(list) != 2 {
		t.Fatalf("%s, %v", raw, err)
	}
	for i, removed := range list {
		if want := r.Removed[i]; removed.Row != want.Row || removed.Picked != want.Picked || removed.Step != want.Step ||
			removed.Score != want.Score {
			t.Errorf("%+v, want %+v", removed, want)
		}
	}
}
