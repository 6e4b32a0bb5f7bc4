package campaign_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/tables"
)

// within returns settings with a range of the labels.
func within(low, high float64) campaign.Settings {
	return campaign.Settings{Choices: fitted.Choices{Learner: learner.GaussianOnly},
		Columns: tables.Columns{Ranges: dataset.Ranges{{Low: low, High: high}}}}
}

// TestLabelsOutsideTheRange: no label outside the declared range gets into a campaign, and no range leaves out a label
// of it.
func TestLabelsOutsideTheRange(t *testing.T) {
	t.Parallel()
	c, _ := begin(t, 60, within(0, 100))
	for i := range 30 {
		tell(t, c, fmt.Sprintf("r%03d", i), float64(i))
	}
	refused := func(what string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), "is outside the declared range") {
			t.Errorf("%s: %v", what, err)
		}
	}
	entry := []campaign.Entry{{ID: "r040", Values: []float64{103}}}
	for _, accept := range []bool{false, true} {
		_, err := c.Tell(t.Context(), ada, campaign.Tell{Entries: entry, Accept: accept})
		refused("told", err)
		if wrong := (*campaign.TellError)(nil); !errors.As(err, &wrong) {
			t.Errorf("%T", err)
		}
	}
	_, err := c.Correct(t.Context(), ada, campaign.Tell{Entries: []campaign.Entry{{ID: "r001", Values: []float64{-1}}}})
	refused("corrected", err)
	change := func(s campaign.Settings) (int64, error) {
		changed, err := c.ChangeSettings(t.Context(), ada, s)
		return changed.Seq, err
	}
	_, err = change(within(0, 20))
	refused("a range that leaves out a label", err)
	wide, err := change(within(0, 1000))
	if err != nil {
		t.Fatal(err)
	}
	tell(t, c, "r041", 900.0) // which waits for a second look
	if len(state(t, c).Waiting()) != 1 {
		t.Fatal("the label does not wait; the test needs one that does")
	}
	_, err = change(within(0, 100))
	refused("a range that leaves out a label that waits", err)
	_, err = c.Undo(t.Context(), ada, wide, "")
	refused("undone", err)
	if _, err := change(within(0, 900)); err != nil {
		t.Error(err)
	}
}

// TestRangeOfPredictions: a range changes predictions at once, and back.
func TestRangeOfPredictions(t *testing.T) {
	t.Parallel()
	open := within(math.Inf(-1), math.Inf(1))
	c, _ := begin(t, 60, open)
	for i := range 30 {
		tell(t, c, fmt.Sprintf("r%03d", i), 29*float64(i%2))
	}
	beyond := func() (count int) {
		p, err := c.Predict(t.Context(), campaign.Ask{})
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range p.Predictions {
			if row[0].Value > 29 || row[0].Low != nil && (*row[0].Low < 0 || *row[0].High > 29) {
				count++
			}
		}
		return count
	}
	if beyond() == 0 {
		t.Fatal("no prediction is outside without a range; the test needs some")
	}
	for _, ranges := range []campaign.Settings{within(0, 29), open} {
		if _, err := c.ChangeSettings(t.Context(), ada, ranges); err != nil {
			t.Fatal(err)
		}
		if got := beyond(); got > 0 != math.IsInf(ranges.Ranges[0].High, 1) {
			t.Errorf("%v: %d predictions are outside", ranges.Ranges, got)
		}
	}
}
