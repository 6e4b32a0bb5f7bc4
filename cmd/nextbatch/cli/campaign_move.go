package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/internal/atomicfile"
	"github.com/nextbatch/nextbatch/internal/words"
)

func newCampaignExport() *cobra.Command {
	f := &campaignFlags{}
	c := &cobra.Command{
		Use:        "export STORE FILE",
		SuggestFor: []string{"backup", "dump"},
		Short:      "Write a campaign to one archive of open formats, or its rows and labels to a table",
		Example:    "  nextbatch campaign export c.db solubility.zip\n  nextbatch campaign export c.db solubility.xlsx",
		Args:       cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			check := func() error {
				return errors.Join(checkDistinct([]flagged{{"STORE", args[0]}}, []flagged{{"FILE", args[1]}}),
					checkOutput("FILE", args[1], append([]string{".zip"}, tableExtensions()...)...))
			}
			return f.perform(cmd, args[0], steps{check: check},
				func(ctx context.Context, c *campaign.Campaign) (*answer, error) {
					return nil, f.export(ctx, c, args[1])
				})
		},
		Long: `If the name of the file ends in .zip, it is an archive of the whole campaign: the events
as JSON lines, the rows as Parquet and the batches as JSON, which other programs can read.
'nextbatch campaign import' creates the campaign in another store, which may be one of a
newer version.

Otherwise it is a table like the one that the campaign began with, written as that was (with
decimal commas, say): all rows with their inputs, and their labels as of now, which are
empty where there is none. The label of a row that was measured several times is the one
that the model learns from. The name ends in ` + strings.Join(tableExtensions(), ", ") + `.`,
	}
	f.registerName(c)
	registerQuiet(c, &f.quiet)
	return c
}

func (f *campaignFlags) export(ctx context.Context, c *campaign.Campaign, path string) error {
	if isTableFile(strings.ToLower(path)) {
		return f.exportTable(ctx, c, path)
	}
	if err := atomicfile.Write(path, func(w io.Writer) error { return c.Export(ctx, w) }); err != nil {
		return err
	}
	f.progress.say("campaign %q written to %s", c.Name(), path)
	return nil
}

// exportTable writes all rows with their labels.
func (f *campaignFlags) exportTable(ctx context.Context, c *campaign.Campaign, path string) error {
	s, err := c.State(ctx)
	if err != nil {
		return err
	}
	t, err := c.Current(ctx)
	if err != nil {
		return err
	}
	if err := source.WriteFile(path, t); err != nil {
		return err
	}
	f.progress.say("%s of campaign %q written to %s, %s", words.Count(t.Rows(), "row", "rows"), c.Name(), path,
		words.Whole(int(s.Counts().Labelled))+" of them labelled")
	return nil
}

func newCampaignImport() *cobra.Command {
	f := &campaignFlags{}
	c := &cobra.Command{
		Use:        "import STORE ARCHIVE",
		SuggestFor: []string{"restore"},
		Short:      "Create a campaign from an archive",
		Example:    "  nextbatch campaign import postgres://lab@server/campaigns solubility.zip",
		Args:       cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.run = newRun(cmd, f.quiet)
			return f.run.perform(cmd.Context(), steps{compute: func(ctx context.Context) (*answer, error) {
				return nil, f.bringIn(ctx, args[0], args[1])
			}})
		},
		Long: `Reads an archive that 'nextbatch campaign export' wrote, with the whole history. An archive
that is damaged or incomplete is rejected, and nothing is changed.`,
	}
	c.Flags().StringVar(&f.name, "campaign", "", "name of the campaign in the store (default its name in the archive)")
	registerQuiet(c, &f.quiet)
	return c
}

func (f *campaignFlags) bringIn(ctx context.Context, address, path string) (err error) {
	if err := checkDistinct([]flagged{{"ARCHIVE", path}}, []flagged{{"STORE", address}}); err != nil {
		return err
	}
	file, err := os.Open(path)
	if err != nil {
		return dataError{err}
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	store := &newStore{address: address}
	defer func() { err = errors.Join(err, store.Close()) }()
	c, err := campaign.Import(ctx, store, f.name, file, info.Size())
	bad := (*campaign.ArchiveError)(nil)
	switch {
	case errors.As(err, &bad):
		return dataError{errorf("%s: %w", path, err)}
	case errors.Is(err, campaign.ErrExists):
		return usagef("%s: %w; name another one with --campaign", addressText(address), err)
	case err != nil:
		return campaignError(err)
	}
	f.progress.say("campaign %q of %s is in %s", c.Name(), path, addressText(address))
	return nil
}
