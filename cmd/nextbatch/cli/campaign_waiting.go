package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/internal/report"
	"github.com/nextbatch/nextbatch/internal/words"
)

func newCampaignConfirm() *cobra.Command {
	r := &changingRows{}
	return r.command(&cobra.Command{
		Use:        "confirm STORE ID…",
		SuggestFor: []string{"accept", "approve"},
		Short:      "Confirm labels that wait for a second look: they count from now on",
		Example: `  nextbatch campaign confirm c.db s017 --reason 'measured twice'
  nextbatch campaign confirm c.db @checked.txt`,
		Long: `A label that was far from what was expected when it was told waits: it is in the
history, but nothing learns from it and no estimate uses it. Look at it again. If it is
right, confirm it; if it is wrong, tell the right one with 'nextbatch campaign tell
--correct', or undo or retire it. 'nextbatch campaign status' lists what waits.

All that waits of the rows is confirmed; a row of which nothing waits stays as it is.
Rows are named by their ids, @FILE with one id per line, or a batch file: @batch.csv.`,
	}, "confirmed", func(c *campaign.Campaign, ctx context.Context, ids []string) (campaign.Changed, error) {
		return c.Confirm(ctx, r.by(), ids, r.reason)
	})
}

// warnWaiting warns of labels that wait for a second look.
func (f *campaignFlags) warnWaiting(address string, list []campaign.Waiting) {
	if len(list) == 0 {
		return
	}
	for _, w := range list[:min(report.MostWaiting, len(list))] {
		//warning:waiting-in-campaign
		f.progress.warn(fmt.Sprintf("the label of row %q waits for a second look: %s", w.ID, report.WaitingText(w)))
	}
	if more := len(list) - report.MostWaiting; more > 0 {
		//warning:waiting-in-campaign
		f.progress.warn(fmt.Sprintf("%s for a second look", words.Count(more, "more label waits", "more labels wait")))
	}
	f.progress.say("%s", whatToDo(address, list))
}

// warnUnlikely warns of labels that a table came with and that are far from the others.
func (f *campaignFlags) warnUnlikely(address string, list []campaign.Waiting) {
	if len(list) == 0 {
		return
	}
	for _, w := range list[:min(report.MostWaiting, len(list))] {
		//warning:unlikely-label
		f.progress.warn(fmt.Sprintf("the label of row %q looks like a slip: %s", w.ID, report.WaitingText(w)))
	}
	if more := len(list) - report.MostWaiting; more > 0 {
		//warning:unlikely-label
		f.progress.warn(fmt.Sprintf("%s like a slip", words.Count(more, "more label looks", "more labels look")))
	}
	f.progress.say("such labels count, and do not wait for a second look; if one is wrong, 'nextbatch campaign tell %s "+
		"FILE --correct' with a file that has the right one replaces it", words.Argument(addressText(address)))
}

// whatToDo explains how to confirm and how to correct labels that wait.
func whatToDo(address string, list []campaign.Waiting) string {
	store, id := words.Argument(addressText(address)), words.Argument(list[0].ID)
	return fmt.Sprintf("nothing learns from such a label before it is confirmed or corrected: 'nextbatch campaign "+
		"confirm %s %s' if it is right, 'nextbatch campaign tell %s FILE --correct' with a file that has the right one "+
		"otherwise", store, id, store)
}
