package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/internal/report"
	"github.com/nextbatch/nextbatch/internal/words"
)

// campaignAuditing is a run of campaign audit.
type campaignAuditing struct {
	campaignFlags
	auditing
}

func newCampaignAudit() *cobra.Command {
	a, from := &auditFlags{}, &campaignFlags{}
	c := &cobra.Command{
		Use:        "audit STORE",
		SuggestFor: []string{"check", "outliers"},
		Short:      "Find labels of a campaign that look wrong",
		Example: `  nextbatch campaign audit c.db
  nextbatch campaign audit c.db --out suspects.csv --report audit.html`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r := &campaignAuditing{*from, auditing{auditFlags: *a, run: newRun(cmd, a.quiet)}}
			return r.auditing.perform(cmd.Context(), steps{check: func() error { return r.check(args[0]) },
				threads: r.net.threads, memory: &r.columns.memory,
				read: func(ctx context.Context) error { return r.read(ctx, args[0]) }, compute: r.compute})
		},
		Long: `Does with all labels of a campaign what 'nextbatch audit' does with those of a table: it
predicts every labelled row by models of the campaign's learner that were fitted to other
rows, and lists the labels that disagree most. Labels that wait for a second look come
first; they are not examined, since nothing learns from them yet.

A label on this list may be right: the row may be unlike all others. Measure it again,
and correct it with 'nextbatch campaign tell --correct' if it is wrong.

Exit codes are those of 'nextbatch select'.`,
	}
	a.register(c)
	registerQuiet(c, &a.quiet)
	registerThreads(c, &a.net.threads)
	a.columns.memory.register(c)
	from.registerName(c)
	return c
}

func (r *campaignAuditing) check(address string) error {
	return errors.Join(r.checkNumbers(), r.columns.memory.check(), r.checkFiles(flagged{"STORE", address}))
}

// read reads the rows of the campaign that have a label.
func (r *campaignAuditing) read(ctx context.Context, address string) error {
	r.campaignFlags.run = r.auditing.run
	return r.with(ctx, address, func(c *campaign.Campaign) error {
		s, err := c.State(ctx)
		if err != nil {
			return err
		}
		found, err := c.Labelled(ctx, r.asking(&r.columns.memory))
		if err != nil {
			return err
		}
		r.path, r.waits, r.rows, r.learner, r.config = c.Name(), s.Waiting(), found.Rows, found.Learner, found.Network
		r.columns.id, r.net.seed = s.Created.IDColumn, s.Settings.Seed
		for _, ref := range found.Refs {
			r.names, r.places = append(r.names, ref.ID), append(r.places, int(ref.Row))
		}
		return nil
	})
}

// printWaiting prints labels that wait for a second look.
func printWaiting(out io.Writer, list []campaign.Waiting, decimal byte) error {
	if len(list) == 0 {
		return nil
	}
	fmt.Fprintf(out, "%s for a second look.\n\n", words.Count(len(list), "label waits", "labels wait"))
	if err := printTable(out, report.WaitingTable(list, decimal)); err != nil {
		return err
	}
	_, err := fmt.Fprintln(out)
	return err
}
