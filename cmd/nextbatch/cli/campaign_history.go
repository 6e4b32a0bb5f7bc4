package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/internal/wire"
	"github.com/nextbatch/nextbatch/internal/words"
)

func newCampaignHistory() *cobra.Command {
	f, asJSON, row := &campaignFlags{}, false, ""
	c := &cobra.Command{
		Use:        "history STORE",
		SuggestFor: []string{"log", "events"},
		Short:      "List the events of a campaign, the oldest first",
		Example: `  nextbatch campaign history c.db
  nextbatch campaign history c.db --row s017 --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.with(cmd.Context(), args[0], func(c *campaign.Campaign) error {
				return printHistory(cmd.Context(), c, row, asJSON, cmd.OutOrStdout())
			})
		},
		Long: `Prints the number, the time and the person of each event, and what happened. An event
in brackets has no effect: it was undone, or it undoes another one. With --json, each line is an event.`,
	}
	c.Flags().StringVar(&row, "row", "", "only the events that name the row with this id")
	c.Flags().BoolVar(&asJSON, "json", false, "print each event as a line of JSON")
	f.registerName(c)
	return c
}

func printHistory(ctx context.Context, c *campaign.Campaign, row string, asJSON bool, out io.Writer) error {
	log, err := c.History(ctx)
	if err != nil {
		return err
	}
	s, err := c.State(ctx)
	if err != nil {
		return err
	}
	changes := s.SettingsChanges(log)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if !asJSON {
		fmt.Fprintln(w, "event\ttime\tperson\twhat")
	}
	for _, e := range log {
		if row != "" && !slices.ContainsFunc(e.Rows(), func(r campaign.RowRef) bool { return r.ID == row }) {
			continue
		}
		if asJSON {
			line, err := campaign.EncodeEvent(e)
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(out, "%s\n", line); err != nil {
				return err
			}
			continue
		}
		what := eventWords(e) + changesText(changes[e.Seq])
		if s.Undone(e.Seq) {
			what = "[" + what + "]"
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\n", e.Seq, timeText(e.Time), shown(e.Person), shown(what))
	}
	return w.Flush()
}

func eventName(seq int64) string { return "event " + strconv.FormatInt(seq, 10) }

// eventWords describes an event in a line.
func eventWords(e campaign.Event) string {
	switch {
	case e.Created != nil:
		return "campaign created, target " + strings.Join(e.Created.Targets, ", ")
	case e.Added != nil:
		return rowsWords(int(e.Added.Rows())) + " added"
	case e.Asked != nil:
		return fmt.Sprintf("ask %d: %s by %s; %s", e.Asked.Ask, askedText(e.Asked.Rows), e.Asked.Spec,
			leaseText(e.Asked.LeaseEnd))
	case e.Told != nil:
		return words.Count(len(e.Told.Labels), "label", "labels") + " told: " + idsOf(e) + doubtsText(e.Told)
	case e.Corrected != nil:
		return words.Count(len(e.Corrected.Labels), "label", "labels") + " corrected: " + idsOf(e) + doubtsText(e.Corrected)
	case e.Failed != nil && e.Failed.Again:
		return rowsWords(len(e.Failed.Rows)) + " failed, to be tried again: " + idsOf(e) + because(e.Failed.Reason)
	case e.Failed != nil:
		return rowsWords(len(e.Failed.Rows)) + " failed: " + idsOf(e) + because(e.Failed.Reason)
	case e.Returned != nil:
		return rowsWords(len(e.Returned.Rows)) + " returned: " + idsOf(e) + because(e.Returned.Reason)
	case e.Retired != nil:
		return rowsWords(len(e.Retired.Rows)) + " retired: " + idsOf(e) + because(e.Retired.Reason)
	case e.Confirmed != nil:
		return "labels of " + rowsWords(len(e.Confirmed.Rows)) + " confirmed: " + idsOf(e) + because(e.Confirmed.Reason)
	case e.Settings != nil:
		return "settings changed"
	case e.Undone != nil:
		return eventName(e.Undone.Seq) + " undone" + because(e.Undone.Reason)
	}
	return string(e.Kind())
}

// eventNames lists what people named or wrote in the words about an event.
func eventNames(e campaign.Event) (names []string) {
	for _, row := range e.Rows() {
		names = append(names, row.ID)
	}
	switch {
	case e.Asked != nil:
		return append(names, e.Asked.Spec)
	case e.Failed != nil:
		return append(names, e.Failed.Reason)
	case e.Returned != nil:
		return append(names, e.Returned.Reason)
	case e.Retired != nil:
		return append(names, e.Retired.Reason)
	case e.Confirmed != nil:
		return append(names, e.Confirmed.Reason)
	case e.Undone != nil:
		return append(names, e.Undone.Reason)
	}
	return names
}

// changesText lists what an event changed in the settings.
func changesText(changes []campaign.SettingChange) string {
	var list []string
	for _, c := range changes {
		list = append(list, fmt.Sprintf("%s %s → %s", c.Setting, settingText(c.From), settingText(c.To)))
	}
	if len(list) == 0 {
		return ""
	}
	return ": " + strings.Join(list, ", ")
}

// settingText returns a setting as JSON has it.
func settingText(v any) string {
	if v == nil {
		return "default"
	}
	text, _ := json.Marshal(v) // it comes from JSON
	return string(text)
}

// doubtsText names the rows of labels that had to wait for a second look.
func doubtsText(t *campaign.Told) string {
	var ids []string
	for _, l := range t.Labels {
		if l.Doubts != nil {
			ids = append(ids, l.ID)
		}
	}
	if len(ids) == 0 {
		return ""
	}
	return fmt.Sprintf("; %s for a second look: %s", words.Count(len(ids), "waits", "wait"), words.Some(ids))
}

func rowsWords(n int) string { return words.Count(n, "row", "rows") }

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return " (" + reason + ")"
}

// idsOf lists the first rows of an event.
func idsOf(e campaign.Event) string {
	const most = 4
	var ids []string
	for _, r := range e.Rows() {
		if len(ids) == most {
			return strings.Join(ids, ", ") + ", …"
		}
		ids = append(ids, r.ID)
	}
	return strings.Join(ids, ", ")
}

func newCampaignUndo() *cobra.Command {
	f, reason := &campaignFlags{}, ""
	c := &cobra.Command{
		Use:     "undo STORE EVENT",
		Short:   "Undo an event, by another event",
		Example: "  nextbatch campaign undo c.db 12 --reason 'wrong file'",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.progress = newProgress(cmd.ErrOrStderr(), f.quiet)
			seq, err := strconv.ParseInt(args[1], 10, 64)
			if err != nil {
				return usagef("%q is not the number of an event; 'nextbatch campaign history %s' lists them", args[1], args[0])
			}
			return f.with(cmd.Context(), args[0], func(c *campaign.Campaign) error {
				changed, err := c.Undo(cmd.Context(), f.by(), seq, reason)
				if err != nil {
					return err
				}
				f.progress.say("event %d undone%s%s", seq, eventText(changed.Seq), again(changed.Repeated))
				return nil
			})
		},
		Long: `The event stays in the history but no longer has an effect. To undo that, undo the
event that undid it. An event on which later ones depend cannot be undone before
these are: the message names them.`,
	}
	c.Flags().StringVar(&reason, "reason", "", "why, for the history")
	f.registerChange(c)
	return c
}

func newCampaignList() *cobra.Command {
	asJSON := false
	c := &cobra.Command{
		Use:     "list STORE",
		Short:   "List the campaigns in a store",
		Example: "  nextbatch campaign list c.db",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			entries, err := campaignEntries(cmd.Context(), args[0])
			if err != nil {
				return campaignError(err)
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), entries)
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "campaign\trows\topen\tasked\tlabelled\tfailed\tretired")
			for _, e := range entries {
				fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\n", shown(e.Name), e.Rows, e.Open, e.Asked,
					e.Labelled, e.Failed, e.Retired)
			}
			return w.Flush()
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON list")
	return c
}

func campaignEntries(ctx context.Context, address string) (list []wire.Entry, err error) {
	store, err := openStore(ctx, address, false)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	names, err := campaign.List(ctx, store)
	if err != nil {
		return nil, err
	}
	list = []wire.Entry{}
	for _, name := range names {
		c, err := campaign.Open(ctx, store, name)
		if err != nil {
			return nil, err
		}
		s, err := c.State(ctx)
		if err != nil {
			return nil, err
		}
		list = append(list, wire.Entry{Name: name, Counts: s.Counts()})
	}
	return list, nil
}
