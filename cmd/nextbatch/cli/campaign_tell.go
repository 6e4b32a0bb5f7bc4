package cli

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/internal/report"
	"github.com/nextbatch/nextbatch/internal/source/sheets"
	"github.com/nextbatch/nextbatch/internal/wire"
	"github.com/nextbatch/nextbatch/internal/words"
)

// telling is a run of campaign tell.
type telling struct {
	campaignFlags
	format                                formatFlags
	memory                                memory
	partial, again, correct, accept, json bool
}

func newCampaignTell() *cobra.Command {
	t := &telling{}
	c := &cobra.Command{
		Use:        "tell STORE FILE",
		SuggestFor: []string{"merge", "label"},
		Short:      "Tell the labels of rows",
		Example: `  nextbatch campaign tell c.db batch.csv
  nextbatch campaign tell c.db batch.csv --partial
  nextbatch campaign tell c.db corrected.csv --correct`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return t.perform(cmd, args[0], steps{check: t.memory.check, memory: &t.memory},
				func(ctx context.Context, c *campaign.Campaign) (*answer, error) {
					return t.tell(ctx, c, args[0], args[1])
				})
		},
		Long: `Takes the labels of a table that has the ids of rows and target columns: a batch
file that somebody has filled in, or any other one. Lines without a label are skipped,
so a file can be told repeatedly while it fills up; labels that are already known change
nothing. Late labels are accepted, and so are labels of rows that nobody asked for.

A file is accepted as a whole or not at all: if a line is wrong, every wrong line is
listed and nothing is changed. --partial accepts the lines that are right.

Several different labels of a row are several measurements of it; its label is their
mean (or the latest, see 'nextbatch campaign settings --latest'). --again accepts a
measurement even if the row has the same number already. --correct replaces all
measurements of the rows instead.

A label that is far from what was predicted for its row, or from the other labels, is
recorded and waits for a second look: nothing learns from it, and no estimate uses it,
until 'nextbatch campaign confirm' says that it is right or --correct replaces it. The
answer lists such labels. --accept is for machines that are sure: no label waits.

In a campaign of a space, a line whose numbers are not those of its row says what was
really set: its label is that of a new row, and the row is open again.

Exit codes: 0 also if labels wait; 3 lines are wrong, and nothing was changed; 4 with --partial, some lines
were skipped; the others are those of 'nextbatch select'.`,
	}
	f := c.Flags()
	f.BoolVar(&t.partial, "partial", false, "accept the lines that are right, even if others are wrong")
	f.BoolVar(&t.again, "again", false,
		"count a number that a row has already, or an identical line of the file, as one more measurement")
	f.BoolVar(&t.correct, "correct", false, "replace the measurements of the rows")
	f.BoolVar(&t.accept, "accept", false, "no label waits for a second look")
	f.BoolVar(&t.json, "json", false, "print one JSON object")
	t.registerChange(c)
	t.memory.register(c)
	t.format.register(c)
	return c
}

func (t *telling) tell(ctx context.Context, c *campaign.Campaign, address, path string) (*answer, error) {
	if t.again && t.correct {
		return nil, usagef("--again adds a measurement and --correct replaces it: use one of them")
	}
	table, units, err := t.read(ctx, c, path)
	if err != nil {
		return nil, err
	}
	entries, said, err := c.Entries(ctx, table)
	if err != nil {
		return nil, faultsError(err, path, "")
	}
	for _, text := range said {
		t.progress.warn(nameOf(path) + ": " + text)
	}
	tell, word := c.Tell, "told"
	if t.correct {
		tell, word = c.Correct, "corrected"
	}
	told, err := tell(ctx, t.by(), campaign.Tell{Entries: entries, Units: units, Partial: t.partial,
		Again: t.again, Accept: t.accept})
	if err != nil {
		return nil, faultsError(err, path, ": correct the file, or take the other lines with --partial")
	}
	found := printed(t.json, wire.ToldLinesOf(told), nil)
	t.progress.say("%s: %s %s%s, %s, %s none yet%s", nameOf(path), words.Count(len(told.Rows), "label", "labels"), word,
		eventText(told.Seq), words.Count(told.Known, "was known", "were known"),
		words.Count(table.Rows()-len(entries), "line has", "lines have"), again(told.Repeated))
	for _, ref := range told.Own {
		t.progress.say("row %s is new: something else was set than asked for", ref.ID)
	}
	t.warnWaiting(address, told.Waiting)
	if len(told.Faults) > 0 {
		found.short = leftOut(path, told.Faults, len(entries))
	}
	return found, nil
}

// leftOut reports lines that were skipped.
func leftOut(path string, faults []campaign.Fault, lines int) error {
	list := []error{errorf("%s: %d of %d lines with a label are wrong and were left out",
		nameOf(path), len(faults), lines)}
	for _, f := range faults {
		list = append(list, errorf("%s: %s: %s", nameOf(path), f.Place(), f.Reason))
	}
	return someError{len(faults), lines, errors.Join(list...)}
}

// read reads a file of labels, in which labels keep their spelling, and the units of targets that have none yet.
func (t *telling) read(ctx context.Context, c *campaign.Campaign,
	path string) (*dataset.Table, map[string]string, error) {
	s, err := c.State(ctx)
	if err != nil {
		return nil, nil, err
	}
	opts, err := t.format.options()
	if err != nil {
		return nil, nil, err
	}
	own := s.ReadOptions()
	opts.Kinds, opts.Lenient, opts.Missing, opts.MaxMemory = maps.Clone(own.Kinds), own.Lenient,
		append(own.Missing, t.format.marks...), t.memory.left()
	opts.History = own.History
	if t.format.lod == "" {
		opts.Lod = own.Lod
	}
	table, err := t.format.readTable(ctx, path, opts)
	if usage := (usageError{}); errors.As(err, &usage) {
		return nil, nil, err
	}
	if err != nil {
		return nil, nil, dataError{err}
	}
	t.progress.reportOrigin(path, table)
	return t.plain(table, s.Created.Targets, opts, path)
}

// plain returns a table whose labels are written as programs write numbers, and their units where the campaign knows
// none.
func (t *telling) plain(table *dataset.Table, targets []string, opts source.Options,
	path string) (*dataset.Table, map[string]string, error) {
	columns, from := slices.Clone(table.Columns()), table.Origin()
	units := map[string]string{}
	for i, c := range columns {
		if !slices.Contains(targets, c.Name()) {
			continue
		}
		labels, err := sheets.PlainNumbers(c, opts, from)
		if at := (*source.Error)(nil); errors.As(err, &at) {
			at.File = nameOf(path)
			return nil, nil, dataError{at}
		}
		for _, w := range labels.Warnings {
			t.progress.warn(nameOf(path) + ": " + w)
		}
		columns[i] = labels.Plain
		if labels.Unit != "" {
			units[c.Name()] = labels.Unit
		}
	}
	plain, err := dataset.NewTable(columns...)
	if err == nil {
		plain.SetOrigin(from)
	}
	return plain, units, err
}

// changingRows is a run of campaign fail, return, retire or confirm.
type changingRows struct {
	campaignFlags
	memory      memory
	reason      string
	again, json bool
}

// command returns a command that changes rows by their ids.
func (r *changingRows) command(c *cobra.Command, past string,
	change func(c *campaign.Campaign, ctx context.Context, ids []string) (campaign.Changed, error)) *cobra.Command {
	c.Args = cobra.MinimumNArgs(2)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		return r.perform(cmd, args[0], steps{check: r.memory.check, memory: &r.memory},
			func(ctx context.Context, c *campaign.Campaign) (*answer, error) {
				ids, err := namedRows(ctx, c, args[1:], r.memory)
				if err != nil {
					return nil, err
				}
				changed, err := change(c, ctx, ids)
				if err != nil {
					return nil, idsError(err)
				}
				r.progress.say("%s %s%s%s", words.Count(len(changed.Rows), "row", "rows"), past, eventText(changed.Seq),
					again(changed.Repeated))
				return printed(r.json, wire.ChangedOf(changed), nil), nil
			})
	}
	c.Flags().StringVar(&r.reason, "reason", "", "why, for the history")
	c.Flags().BoolVar(&r.json, "json", false, "print one JSON object")
	r.memory.register(c)
	r.registerChange(c)
	return c
}

// eventText names the event that a change made, if it made one.
func eventText(seq int64) string {
	if seq == 0 {
		return ""
	}
	return " (" + report.EventName(seq) + ")"
}

func newCampaignFail() *cobra.Command {
	r := &changingRows{}
	c := r.command(&cobra.Command{
		Use:     "fail STORE ID…",
		Short:   "Report that rows could not be labelled",
		Example: "  nextbatch campaign fail c.db s017 s018 --reason 'did not dissolve'",
		Long: `Rows that failed are never handed out again; with --again they are open again.
Rows are named by their ids, @FILE with one id per line, or a batch file: @batch.csv.`,
	}, "failed", func(c *campaign.Campaign, ctx context.Context, ids []string) (campaign.Changed, error) {
		return c.Fail(ctx, r.by(), ids, r.reason, r.again)
	})
	c.Flags().BoolVar(&r.again, "again", false, "try again: the rows are open again")
	return c
}

func newCampaignReturn() *cobra.Command {
	r := &changingRows{}
	return r.command(&cobra.Command{
		Use:     "return STORE ID…",
		Short:   "Return rows that are out: they are open again",
		Example: "  nextbatch campaign return c.db s017 s018 --reason 'no time'",
		Long: `Returns rows before their lease ends, so that others may get them. Rows are named
by their ids, @FILE with one id per line, or a batch file: @batch.csv.`,
	}, "returned", func(c *campaign.Campaign, ctx context.Context, ids []string) (campaign.Changed, error) {
		return c.Return(ctx, r.by(), ids, r.reason)
	})
}

func newCampaignRetire() *cobra.Command {
	r := &changingRows{}
	return r.command(&cobra.Command{
		Use:     "retire STORE ID…",
		Short:   "Remove rows from the campaign: they are neither picked nor used for training",
		Example: "  nextbatch campaign retire c.db @discontinued.txt --reason 'no longer sold'",
		Long: `Retired rows stay in the store, with their labels, and 'nextbatch campaign undo'
brings them back. Rows are named by their ids, @FILE with one id per line, or a batch
file: @batch.csv.`,
	}, "retired", func(c *campaign.Campaign, ctx context.Context, ids []string) (campaign.Changed, error) {
		return c.Retire(ctx, r.by(), ids, r.reason)
	})
}
