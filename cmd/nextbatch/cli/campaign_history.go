package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/internal/report"
	"github.com/nextbatch/nextbatch/internal/wire"
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
			return f.perform(cmd, args[0], steps{}, func(ctx context.Context, c *campaign.Campaign) (*answer, error) {
				return nil, printHistory(ctx, c, row, asJSON, cmd.OutOrStdout())
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
		what := report.EventWords(e).String() + report.ChangesText(changes[e.Seq])
		if s.Undone(e.Seq) {
			what = "[" + what + "]"
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\n", e.Seq, report.TimeText(e.Time), shown(e.Person), shown(what))
	}
	return w.Flush()
}

func newCampaignUndo() *cobra.Command {
	f, reason := &campaignFlags{}, ""
	c := &cobra.Command{
		Use:     "undo STORE EVENT",
		Short:   "Undo an event, by another event",
		Example: "  nextbatch campaign undo c.db 12 --reason 'wrong file'",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			seq, err := strconv.ParseInt(args[1], 10, 64)
			if err != nil {
				return usagef("%q is not the number of an event; 'nextbatch campaign history %s' lists them", args[1], args[0])
			}
			return f.perform(cmd, args[0], steps{}, func(ctx context.Context, c *campaign.Campaign) (*answer, error) {
				changed, err := c.Undo(ctx, f.by(), seq, reason)
				if err != nil {
					return nil, err
				}
				f.progress.say("event %d undone%s%s", seq, eventText(changed.Seq), again(changed.Repeated))
				return nil, nil
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
		RunE: performs(func(ctx context.Context, args []string) (*answer, error) {
			entries, err := campaignEntries(ctx, args[0])
			if err != nil {
				return nil, campaignError(err)
			}
			return printed(asJSON, entries, func(out io.Writer) error {
				w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
				fmt.Fprintln(w, "campaign\trows\topen\tasked\tlabelled\tfailed\tretired")
				for _, e := range entries {
					fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\n", shown(e.Name), e.Rows, e.Open, e.Asked,
						e.Labelled, e.Failed, e.Retired)
				}
				return w.Flush()
			}), nil
		}),
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
