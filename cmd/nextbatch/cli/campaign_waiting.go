package cli

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/nextbatch/nextbatch/campaign"
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

// mostWaiting is how many labels are listed that wait or look wrong.
const mostWaiting = 10

// warnWaiting warns of labels that wait for a second look.
func (f *campaignFlags) warnWaiting(address string, list []campaign.Waiting) {
	if len(list) == 0 {
		return
	}
	for _, w := range list[:min(mostWaiting, len(list))] {
		f.progress.warn(fmt.Sprintf("the label of row %q waits for a second look: %s", w.ID, waitingText(w)))
	}
	if more := len(list) - mostWaiting; more > 0 {
		f.progress.warn(fmt.Sprintf("%s for a second look", words.Count(more, "more label waits", "more labels wait")))
	}
	f.progress.say("%s", whatToDo(address, list))
}

// warnUnlikely warns of labels that a table came with and that are far from the others.
func (f *campaignFlags) warnUnlikely(address string, list []campaign.Waiting) {
	if len(list) == 0 {
		return
	}
	for _, w := range list[:min(mostWaiting, len(list))] {
		f.progress.warn(fmt.Sprintf("the label of row %q looks like a slip: %s", w.ID, waitingText(w)))
	}
	if more := len(list) - mostWaiting; more > 0 {
		f.progress.warn(fmt.Sprintf("%s like a slip", words.Count(more, "more label looks", "more labels look")))
	}
	f.progress.say("such labels count, and do not wait for a second look; if one is wrong, 'nextbatch campaign tell %s FILE --correct' with a file that has the right one replaces it", words.Argument(addressText(address)))
}

// waitingText is why a label waits, after the name of its target.
func waitingText(w campaign.Waiting) string { return w.Target + " " + w.Why }

// whatToDo explains how to confirm and how to correct labels that wait.
func whatToDo(address string, list []campaign.Waiting) string {
	store, id := words.Argument(addressText(address)), words.Argument(list[0].ID)
	return fmt.Sprintf("nothing learns from such a label before it is confirmed or corrected: 'nextbatch campaign confirm %s %s' if it is right, 'nextbatch campaign tell %s FILE --correct' with a file that has the right one otherwise", store, id, store)
}

// waitingFacts are the lines of a status about labels that wait, with this decimal mark; 0 means a point.
func waitingFacts(list []campaign.Waiting, now time.Time, decimal byte) (lines []string) {
	if len(list) == 0 {
		return nil
	}
	text := "1 label has waited for a second look for %s; nothing learns from it before it is confirmed or corrected"
	if n := len(list); n > 1 {
		text = strconv.Itoa(n) +
			" labels wait for a second look, the oldest for %s; nothing learns from them before they are confirmed or corrected"
	}
	lines = append(lines, fmt.Sprintf(text, ageText(now.Sub(list[0].Since))))
	for _, w := range list[:min(mostWaiting, len(list))] {
		lines = append(lines, fmt.Sprintf("%s, told %s ago%s: %s", w.ID, ageText(now.Sub(w.Since)), byText(w.Person),
			words.MarkedIn(waitingText(w), decimal, w.Target)))
	}
	if more := len(list) - mostWaiting; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more; --json lists all", more))
	}
	return lines
}

// unlikelyFacts are the lines of a status about labels that count although they are far from the others, with this
// decimal mark; 0 means a point.
func unlikelyFacts(list []campaign.Waiting, decimal byte) (lines []string) {
	if len(list) == 0 {
		return nil
	}
	lines = append(lines, words.Count(len(list), "label counts although it is", "labels count although they are")+
		" far from all others, and one such label can decide the error; if it is wrong, tell the right one with --correct")
	for _, w := range list[:min(mostWaiting, len(list))] {
		lines = append(lines, w.ID+": "+words.MarkedIn(waitingText(w), decimal, w.Target))
	}
	if more := len(list) - mostWaiting; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return lines
}

func byText(person string) string {
	if person == "" {
		return ""
	}
	return " by " + person
}

// ageText is a time that has passed, in its largest unit.
func ageText(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return words.Count(int(d.Hours()/24), "day", "days")
	case d >= 2*time.Hour:
		return words.Count(int(d.Hours()), "hour", "hours")
	case d >= 2*time.Minute:
		return words.Count(int(d.Minutes()), "minute", "minutes")
	}
	return "a minute"
}

// countsText is how many rows have each status; rows that wait are named where there are any.
func countsText(c campaign.Counts) string {
	waiting := ""
	if c.Waiting > 0 {
		waiting = fmt.Sprintf("%d waiting, ", c.Waiting)
	}
	repeats := ""
	if c.Repeats > 0 {
		repeats = fmt.Sprintf("; %s out", words.Count(int(c.Repeats), "further measurement of a labelled row is",
			"further measurements of labelled rows are"))
	}
	return fmt.Sprintf("%s open, %s asked, %s labelled, %s%s failed, %s retired", words.Whole(int(c.Open)),
		words.Whole(int(c.Asked)), words.Whole(int(c.Labelled)), waiting, words.Whole(int(c.Failed)),
		words.Whole(int(c.Retired))) + repeats
}
