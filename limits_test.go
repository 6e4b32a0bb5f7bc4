package nextbatch_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/internal/plate"
	"github.com/nextbatch/nextbatch/limits"
	"github.com/nextbatch/nextbatch/spec"
	"github.com/nextbatch/nextbatch/tables"
)

// furnace is a request for a batch of samples at temperatures, of three materials.
func furnace(t *testing.T, batch int, l limits.Limits) nextbatch.Request {
	t.Helper()
	var b strings.Builder
	b.WriteString("id,temperature,x,material,hours,y\n")
	for i := range 60 {
		temperature := fmt.Sprint(300 + 50*(i/7%4))
		if i == 59 {
			temperature = ""
		}
		fmt.Fprintf(&b, "r%d,%s,%v,m%d,%d,", i, temperature, math.Sin(float64(i*i)), i%3, 1+i%2)
		if i%6 == 0 {
			fmt.Fprintf(&b, "%d", i%7)
		}
		b.WriteString("\n")
		if i == 6 {
			fmt.Fprintf(&b, "r6,300,%v,m0,1,3\n", math.Sin(36)) // measured twice
		}
	}
	table, err := source.ReadCSV(t.Context(), strings.NewReader(b.String()), source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return nextbatch.Request{Input: tables.Input{Table: table, TargetColumns: []string{"y"}, IDColumn: "id"},
		Ask: limits.Ask{Batch: batch, Limits: l}, Spec: spec.MustParse("lcmd-tp:linear")}
}

func carriedOut(t *testing.T, r nextbatch.Request) (*nextbatch.Plan, *nextbatch.Result) {
	t.Helper()
	plan, err := r.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	result, err := plan.Select(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return plan, result
}

func TestRunsOfARequest(t *testing.T) {
	t.Parallel()
	request := furnace(t, 12, limits.Limits{Same: []string{"temperature"}, Runs: 3})
	plan, result := carriedOut(t, request)
	if !slices.Equal(plan.Limits, []string{`3 runs, whose rows share one value of "temperature" each`,
		"1 row is excluded"}) ||
		!slices.ContainsFunc(plan.Warnings, func(w string) bool {
			return strings.Contains(w, `1 candidate has no value of "temperature" and cannot be picked`)
		}) {
		t.Errorf("limits %q, warnings %q", plan.Limits, plan.Warnings)
	}
	if len(result.Runs) != 3 || len(result.Run) != 12 {
		t.Fatalf("%+v", result)
	}
	column, err := request.Table.Column("temperature")
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range result.Indices {
		run := result.Runs[result.Run[i]-1]
		if column.Format(row) != run.Values[0] || run.Rows != 4 ||
			!strings.HasPrefix(result.Reasons[i], fmt.Sprintf("run %d of 3, temperature %s: ", result.Run[i], run.Values[0])) {
			t.Errorf("pick %d, of temperature %s, is in run %d, %+v: %s", i, column.Format(row), result.Run[i],
				run, result.Reasons[i])
		}
	}
}

// TestMeasurements: the size of the batch and the budget count measurements.
func TestMeasurements(t *testing.T) {
	t.Parallel()
	plan,
		result := carriedOut(t, furnace(t, 16, limits.Limits{Replicates: 2, ReplicateShare: 0.125,
		CostColumn: "hours", Budget: new(22.0)}))
	if plan.Batch != 7 || plan.Lines != 16 || !slices.Contains(plan.Limits, "each row is measured 2 times") ||
		!slices.Contains(plan.Limits, "2 labelled rows are measured once more") {
		t.Errorf("%d rows, %d lines, %q", plan.Batch, plan.Lines, plan.Limits)
	}
	cost, lines := 0.0, result.Lines()
	for i, line := range lines {
		var row int
		if _, err := fmt.Sscanf(line.ID, "r%d", &row); err != nil {
			t.Fatal(err)
		}
		cost += float64(1 + row%2)
		repeat := i >= 2*len(result.IDs)
		if line.Repeat != repeat || repeat && (row%6 != 0 || row == 6 || line.Pick != -1 || line.Replicate != 1) ||
			!repeat && (line.Pick != i/2 || line.Replicate != 1+i%2 || line.ID != result.IDs[i/2] ||
				line.Index != result.Indices[i/2]) {
			t.Errorf("line %d: %+v", i, line)
		}
	}
	if len(lines) != 2*len(result.IDs)+2 || cost > 22 || result.Metrics.Cost == nil ||
		float64(*result.Metrics.Cost) != cost {
		t.Errorf("%d lines, of which %d are picks twice, cost %v, not %v", len(lines), len(result.IDs),
			result.Metrics.Cost, cost)
	}
	raw, err := json.Marshal(result)
	if err != nil || !strings.Contains(string(raw), `"pick":-1,"replicate":1,"repeat":true`) {
		t.Errorf("%s, %v", raw, err)
	}
	_, once := carriedOut(t, furnace(t, 3, limits.Limits{}))
	if lines := once.Lines(); once.Measurements != nil || len(lines) != 3 || lines[2].ID != once.IDs[2] ||
		lines[2].Pick != 2 || lines[2].Replicate != 1 {
		t.Errorf("%+v", lines)
	}
}

// TestConflictsAreNamed: the smallest set of constraints that cannot hold together, with their numbers.
func TestConflictsAreNamed(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		batch  int
		limits limits.Limits
		want   string
	}{
		{12, limits.Limits{GroupColumn: "material", PerGroup: 3, MinPerGroup: 4},
			"MinPerGroup 4 and PerGroup 3 cannot both hold"},
		{10, limits.Limits{GroupColumn: "material", MinPerGroup: 4},
			"MinPerGroup 4 and Batch 10 cannot both hold: 3 groups of 4 rows are 12 rows"},
		{4, limits.Limits{GroupColumn: "material", MinPerGroup: 5, MaxGroups: 2},
			"MinPerGroup 5 and Batch 4 cannot both hold"},
		{80, limits.Limits{GroupColumn: "material", MinPerGroup: 25, MaxGroups: 2},
			"MinPerGroup 25 cannot be met: no group has 25 candidates"},
		{8, limits.Limits{GroupColumn: "material", MinPerGroup: 4, MaxGroups: 2, CostColumn: "hours", Budget: new(3.0)},
			"MinPerGroup 4 and Budget 3 cannot both hold"},
		{80, limits.Limits{GroupColumn: "material", MinPerGroup: 25},
			`MinPerGroup 25 cannot be met: group "m0" has only 10 candidates`},
		{48, limits.Limits{Same: []string{"temperature"}, Runs: 4},
			`Same temperature, Runs 4 and Batch 48 cannot hold together: only 3 values of "temperature" have 12 candidates`},
		{60, limits.Limits{Same: []string{"temperature"}},
			`Same temperature and Batch 60 cannot both hold: no value of "temperature" has 60 candidates`},
		{8, limits.Limits{Same: []string{"temperature"}, CostColumn: "hours", Budget: new(7.0)},
			"Same temperature, Budget 7 and Batch 8 cannot hold together"},
		{10, limits.Limits{Replicates: 4}, "Batch 10 is not a whole number of rows with Replicates 4: use 8 or 12"},
		{3, limits.Limits{Replicates: 4}, "Batch 3 is not a whole number of rows with Replicates 4: use 4"},
		{0, limits.Limits{Same: []string{"temperature"}, CostColumn: "hours", Budget: new(7.0)},
			"Same needs Batch: a run has a number of rows"},
		{8, limits.Limits{Runs: 2}, "Runs needs Same: say what the rows of a run share"},
		{8, limits.Limits{MinPerGroup: 2}, "GroupColumn and MinPerGroup go together"},
		{8, limits.Limits{Same: []string{"temperature"}, ReplicateShare: 0.5},
			"Same temperature and ReplicateShare 1/2 exclude each other: labelled rows have values of their own"},
		{2, limits.Limits{Same: []string{"temperature"}, Runs: 3}, "Runs is 3, but the batch has 2 rows"},
		{6, limits.Limits{Same: []string{"temperature"}, Runs: 3, Replicates: 3},
			"Runs is 3, but the batch has 2 rows (Batch 6 with Replicates 3)"},
		{10, limits.Limits{Replicates: 2, ReplicateShare: 0.3},
			"Batch 10 is not a whole number of rows with Replicates 2 and ReplicateShare 0.3 (3 labelled rows once more): " +
				"use 9 or 11"},
		{16, limits.Limits{ReplicateShare: 0.25, CostColumn: "hours", Budget: new(3.0)},
			"Budget is 3, and the labelled rows that ReplicateShare 1/4 measures again cost 4"},
		{16, limits.Limits{GroupColumn: "material", MinPerGroup: 4, MaxGroups: 2, ReplicateShare: 0.25,
			CostColumn: "hours", Budget: new(5.0)},
			"MinPerGroup 4 and Budget 5 with ReplicateShare 1/4 cannot both hold"},
		{16, limits.Limits{GroupColumn: "material", MinPerGroup: 4, Replicates: 2, ReplicateShare: 0.125},
			"MinPerGroup 4 and Batch 16 with Replicates 2 and ReplicateShare 1/8 cannot both hold: 3 groups of 4 rows " +
				"are 12 rows"},
		{8, limits.Limits{Same: []string{"temperature", "temperature"}}, `Same names column "temperature" twice`},
		{8, limits.Limits{Same: []string{"y"}},
			`Same names column "y", whose values are the labels, which candidates do not have`},
		{8, limits.Limits{GroupColumn: "material"},
			"GroupColumn alone changes nothing: limit the groups with PerGroup, MinPerGroup or MaxGroups, or keep them apart " +
				"on plates with Plate"},
	} {
		_, err := furnace(t, test.batch, test.limits).Plan(t.Context())
		var refused *nextbatch.RequestError
		if !errors.As(err, &refused) || err.Error() != test.want {
			t.Errorf("%v, want %s", err, test.want)
		}
	}
	many := furnace(t, 96, limits.Limits{ReplicateShare: 0.125})
	if _, err := many.Plan(t.Context()); err == nil ||
		err.Error() != "ReplicateShare 1/8 of Batch 96 measures 12 labelled rows once more, but 10 can be" {
		t.Error(err)
	}
	apart := furnace(t, 8, limits.Limits{GroupColumn: "material"})
	apart.Layout = plate.Layout{Plate: "4x6"}
	if _, result := carriedOut(t, apart); len(result.IDs) != 8 || result.Lines()[7].Well == "" {
		t.Errorf("groups of plates alone: %+v", result.Lines())
	}
	several := furnace(t, 8, limits.Limits{Same: []string{"temperature"}})
	several.Must = []string{"r1", "r8"}
	if _, err := several.Plan(t.Context()); err == nil ||
		err.Error() != "Same temperature, Must and Batch 8 cannot hold together: the rows of Must have different values" {
		t.Error(err)
	}
}
