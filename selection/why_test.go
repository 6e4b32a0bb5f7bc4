package selection_test

import (
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection"
)

// TestWhyABatchIsSmaller: the reason names what keeps the other rows out, also where groups look ahead.
func TestWhyABatchIsSmaller(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		constraints selection.Constraints
		says        string
	}{
		"budget and few groups": {
			selection.Constraints{Cost: []float64{10, 10, 10, 10}, Budget: 10, Group: []int{0, 0, 1, 1}, MaxGroups: 2},
			selection.BudgetSpent},
		"few groups": {
			selection.Constraints{Cost: []float64{1, 1, 1, 1}, Budget: 10, Group: []int{0, 0, 1, 2}, MaxGroups: 1},
			"within the constraints"},
		"groups": {
			selection.Constraints{Cost: []float64{1, 1, 1, 1}, Budget: 10, Group: []int{0, 0, 0, 0},
				PerGroup: 1}, "group limits"},
	} {
		result, err := selection.Select(t.Context(), selection.MaxDiag{}, selection.Problem[float64]{
			Pool: matrix.FromRows([][]float64{{5}, {4}, {3}, {2}}), Batch: 3, Constraints: c.constraints,
		})
		if err != nil {
			t.Fatal(err)
		}
		if result.Missing == 0 || !strings.Contains(result.Short, c.says) {
			t.Errorf("%s: %d missing: %q, want %q", name, result.Missing, result.Short, c.says)
		}
	}
}
