package cli

import (
	"cmp"
	"context"
	"errors"
	"math"
	"os"
	"os/user"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/internal/device"
	"github.com/nextbatch/nextbatch/internal/options"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/network"
)

// newCampaign is the parent of the commands that label a table over weeks.
func newCampaign() *cobra.Command {
	c := &cobra.Command{
		Use:        "campaign",
		SuggestFor: []string{"ask", "tell", "study", "loop"},
		Short:      "Label a table over weeks: ask for rows, tell their labels, know when to stop",
		Example: `  nextbatch campaign new c.db table.csv --target y --id name
  nextbatch campaign ask c.db -n 32 --lease 7d --out batch.csv
  nextbatch campaign tell c.db batch.csv
  nextbatch campaign status c.db --stop 'rmse<0.5'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		Long: `A campaign is a table of rows, its targets and settings, and a log of all that
happened: who asked for which rows, what was measured, what failed. Nothing in the
log is ever changed, so nothing is lost, and every event can be undone by another.

STORE is a file, which 'campaign new' creates, or a PostgreSQL database:
postgres://user@host/database. Several people may use it at the same
time: no row is handed out twice. A store can hold many campaigns; --campaign names
one of them.`,
	}
	c.AddCommand(newCampaignNew(), newCampaignAdd(), newCampaignSettings(), newCampaignAsk(), newCampaignPredict(),
		newCampaignTell(), newCampaignConfirm(), newCampaignAudit(), newCampaignFail(),
		newCampaignReturn(), newCampaignRetire(),
		newCampaignStatus(), newCampaignList(), newCampaignHistory(), newCampaignUndo(), newCampaignExport(),
		newCampaignImport(), newCampaignRun())
	return c
}

// campaignFlags name a campaign in a store, and who changes it.
type campaignFlags struct {
	name, person, request string
	quiet                 bool

	run
}

// registerName registers the flag that names the campaign.
func (f *campaignFlags) registerName(c *cobra.Command) {
	c.Flags().StringVar(&f.name, "campaign", "", "name of the campaign, if the store holds several")
}

// registerChange registers the flags of commands that change something.
func (f *campaignFlags) registerChange(c *cobra.Command) {
	f.registerName(c)
	c.Flags().StringVar(&f.person, "person", "", "who does it, for the history (default the user name of the system)")
	c.Flags().StringVar(&f.request, "request", "",
		"id of this request: a repeated request changes nothing and answers as the first one did")
	registerQuiet(c, &f.quiet)
}

func (f *campaignFlags) by() campaign.By {
	return campaign.By{Person: cmp.Or(f.person, userName()), Request: f.request}
}

// userName is the name that the system knows the user by; empty if it has none.
func userName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return cmp.Or(os.Getenv("USER"), os.Getenv("USERNAME"))
}

// with opens a campaign, and closes its store afterwards.
func (f *campaignFlags) with(ctx context.Context, address string, do func(c *campaign.Campaign) error) (err error) {
	store, err := openStore(ctx, address, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	c, err := campaign.Open(ctx, store, f.name)
	if err != nil {
		return f.inStore(address, err)
	}
	return campaignError(do(c))
}

// perform takes the steps of a command, of which the last is about a campaign.
func (f *campaignFlags) perform(cmd *cobra.Command, address string, s steps,
	compute func(ctx context.Context, c *campaign.Campaign) (*answer, error)) error {
	f.run = newRun(cmd, f.quiet)
	s.compute = func(ctx context.Context) (found *answer, err error) {
		err = f.with(ctx, address, func(c *campaign.Campaign) (err error) {
			found, err = compute(ctx, c)
			return err
		})
		return found, err
	}
	return f.run.perform(cmd.Context(), s)
}

// inCommands names the campaign in the commands that a page shows.
func (f *campaignFlags) inCommands(address string) []string {
	if f.name == "" {
		return []string{addressText(address)}
	}
	return []string{addressText(address), "--campaign", f.name}
}

// inStore explains which campaigns a store has.
func (f *campaignFlags) inStore(address string, err error) error {
	address = addressText(address)
	if errors.Is(err, campaign.ErrNotFound) {
		return usagef("%s has no campaign %q; 'nextbatch campaign list %s' lists those it has", address, f.name, address)
	}
	if wrong := (*campaign.StoreError)(nil); errors.As(err, &wrong) || f.name != "" || errors.Is(err, context.Canceled) {
		return campaignError(err)
	}
	if damaged := (*campaign.FoldError)(nil); errors.As(err, &damaged) {
		return campaignError(err)
	}
	return usagef("%s: %w; --campaign does so", address, err)
}

// campaignError wraps an error of the package so that it gets the right exit code.
func campaignError(err error) error {
	var (
		store *campaign.StoreError
		rows  *campaign.RowsError
		fold  *campaign.FoldError
		undo  *campaign.UndoError
		usage usageError
		data  dataError
	)
	switch {
	case err == nil, errors.As(err, &usage), errors.As(err, &data):
		return err
	case errors.As(err, &undo), errors.Is(err, campaign.ErrExists), errors.Is(err, campaign.ErrNotFound):
		return usageError{err}
	case errors.As(err, &store), errors.As(err, &rows), errors.As(err, &fold), errors.Is(err, campaign.ErrTooFewLabels):
		return dataError{err}
	}
	return requestError(err)
}

// faultsError explains why a campaign rejects a file and lists all lines that are wrong.
func faultsError(err error, path, advice string) error {
	var (
		wrong  *campaign.TellError
		rows   *campaign.RowsError
		file   *source.Error
		column *dataset.ColumnError
	)
	if errors.As(err, &rows) || errors.As(err, &file) || errors.As(err, &column) {
		return dataError{errorf("%s: %w", nameOf(path), err)}
	}
	if !errors.As(err, &wrong) {
		return err
	}
	list := []error{errorf("%s: %s; nothing was changed%s", nameOf(path),
		words.Count(len(wrong.Faults), "line is wrong", "lines are wrong"), advice)}
	for _, f := range wrong.Faults {
		list = append(list, errorf("%s: %s: %s", nameOf(path), f.Place(), f.Reason))
	}
	return dataError{errors.Join(list...)}
}

// idsError is faultsError for ids on the command line.
func idsError(err error) error {
	wrong := (*campaign.TellError)(nil)
	if !errors.As(err, &wrong) {
		return err
	}
	list := []error{errorf("%s wrong; nothing was changed", words.Count(len(wrong.Faults), "id is", "ids are"))}
	for _, f := range wrong.Faults {
		list = append(list, errorf("id %q: %s", f.ID, f.Reason))
	}
	return dataError{errors.Join(list...)}
}

// asking returns an ask with the functions that report progress and guard the memory.
func (f *campaignFlags) asking(mem *memory) campaign.Ask {
	return campaign.Ask{
		Epoch:    func(e network.Epoch) { f.progress.epoch(1)(e) },
		Fitting:  f.progress.fitting(),
		Progress: f.progress.selection(),
		Admit:    func(bytes int64, less ...string) error { return mem.admit("the ask", bytes, less...) },
		FieldName: func(field string, value ...string) string {
			switch field {
			case "Batch", "Must", "Exclude": // of the command itself
				return options.Flag(field, value...)
			}
			return "campaign settings " + options.Flag(field, value...)
		},
	}
}

// sayDevice says which part of the model of a campaign a device computes.
func (f *campaignFlags) sayDevice(ctx context.Context, c *campaign.Campaign) error {
	if device.Of(ctx) == nil {
		return nil
	}
	s, err := c.State(ctx)
	if err == nil {
		f.progress.sayDevice(ctx, s.Settings.Learner)
	}
	return err
}

// namedRows returns the ids that arguments name: by themselves, or @FILE with one per line,
// or @TABLE with the id column of the campaign.
func namedRows(ctx context.Context, c *campaign.Campaign, args []string, mem memory) (ids []string, err error) {
	for _, arg := range args {
		path, isFile := strings.CutPrefix(arg, "@")
		if !isFile || !isTable(path) {
			some, err := list([]string{arg})
			if err != nil {
				return nil, err
			}
			ids = append(ids, some...)
			continue
		}
		some, err := idsOfTable(ctx, c, path, mem)
		if err != nil {
			return nil, err
		}
		ids = append(ids, some...)
	}
	return ids, nil
}

func idsOfTable(ctx context.Context, c *campaign.Campaign, path string, mem memory) (ids []string, err error) {
	s, err := c.State(ctx)
	if err != nil {
		return nil, err
	}
	name := cmp.Or(s.Created.IDColumn, campaign.RowColumn)
	columns := columnFlags{id: name, memory: mem}
	t, err := columns.read(ctx, path, true)
	if err != nil {
		return nil, err
	}
	column, err := t.Column(name)
	if err != nil {
		return nil, dataError{errorf("%s: %w", path, err)}
	}
	for row := range column.Len() {
		ids = append(ids, column.Format(row))
	}
	return ids, nil
}

// predictionColumns are the predictions of one target for a list of rows, NaN where there are none.
func predictionColumns(prefix string, target int, predictions [][]fitted.Prediction) []dataset.Column {
	value, low, high := dataset.NewNumeric(prefix+"prediction"), dataset.NewNumeric(prefix+"low"),
		dataset.NewNumeric(prefix+"high")
	intervals := false
	for _, p := range predictions {
		if target >= len(p) {
			value.Append(math.NaN())
			low.Append(math.NaN())
			high.Append(math.NaN())
			continue
		}
		value.Append(float64(p[target].Value))
		low.Append(limit(p[target].Low))
		high.Append(limit(p[target].High))
		intervals = intervals || p[target].Low != nil
	}
	if !intervals {
		return []dataset.Column{value}
	}
	return []dataset.Column{value, low, high}
}
