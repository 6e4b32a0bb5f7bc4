package campaign_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/campaign"
)

// TestInputsThatComeWithLabels: an entry whose inputs are not those of its row, to nine digits, is wrong.
func TestInputsThatComeWithLabels(t *testing.T) {
	c, _ := begin(t, 20, campaign.Settings{})
	refs := []campaign.RowRef{{Row: 3, ID: "r003"}, {Row: 4, ID: "r004"}}
	table, err := c.Inputs(t.Context(), refs)
	if err != nil {
		t.Fatal(err)
	}
	column, err := table.Numeric("x")
	if err != nil {
		t.Fatal(err)
	}
	right, other := map[string]string{"x": fmt.Sprintf("%.10g", column.Float(0))}, map[string]string{"x": "77"}
	list := func(inputs map[string]string) campaign.Tell {
		told := campaign.Tell{Entries: entries("r003", 1.5, "r004", 2.5)}
		told.Entries[0].Inputs = right
		told.Entries[1].Inputs = inputs
		return told
	}
	refused := func(do func(campaign.Tell) (campaign.ToldRows, error)) {
		t.Helper()
		var wrong *campaign.TellError
		if _, err := do(list(other)); !errors.As(err, &wrong) || len(wrong.Faults) != 1 ||
			!strings.Contains(wrong.Faults[0].Reason, `column "x" has "77", but the row has`) {
			t.Error(err)
		}
		if _, err := do(list(map[string]string{"q": "1"})); !errors.As(err, &wrong) || len(wrong.Faults) != 1 ||
			!strings.Contains(wrong.Faults[0].Reason, `no column "q"`) {
			t.Error(err)
		}
	}
	refused(func(l campaign.Tell) (campaign.ToldRows, error) { return c.Tell(t.Context(), ada, l) })
	told, err := c.Tell(t.Context(), ada, list(nil))
	if err != nil || !slices.Equal(told.Rows, refs) {
		t.Errorf("%+v, %v", told, err)
	}
	refused(func(l campaign.Tell) (campaign.ToldRows, error) { return c.Correct(t.Context(), ada, l) })
}
