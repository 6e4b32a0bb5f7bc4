package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/internal/source/databases"
	"github.com/nextbatch/nextbatch/internal/space"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/tables"
)

// campaignRows is a run of campaign new or campaign add: rows that come from a table.
type campaignRows struct {
	campaignFlags
	columns  columnFlags
	targets  []string
	settings settingFlags
	space    string // file with the space of a new campaign, in place of a table
}

func newCampaignNew() *cobra.Command {
	n := &campaignRows{}
	c := &cobra.Command{
		Use:        "new STORE [TABLE]",
		SuggestFor: []string{"create", "init", "start"},
		Short:      "Begin a campaign with the rows of a table, or with a space of factors",
		Example: `  nextbatch campaign new c.db table.csv --target y --id name
  nextbatch campaign new c.db candidates.parquet --target yield,purity --id well -n 96 --audit 1/8 --lease 14d
  nextbatch campaign new c.db --space space.toml --target y`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			n.run = newRun(cmd, n.quiet)
			settings, path := campaign.Settings{}, n.space
			switch {
			case len(args) == 2 && n.space != "":
				return usagef("give either a table or --space; rows that were measured before join with 'nextbatch campaign add'")
			case len(args) == 2:
				path = args[1]
			case n.space == "":
				return usagef("name the table, or describe the candidates with --space")
			}
			return n.run.perform(cmd.Context(), steps{memory: &n.columns.memory,
				check: func() (err error) {
					settings, err = n.check(args[0], path)
					return err
				},
				compute: func(ctx context.Context) (*answer, error) {
					return nil, n.create(ctx, args[0], path, settings)
				}})
		},
		Long: `Creates a campaign in a store, and the store if it does not exist. Labels in the
table become labels of the campaign. The table may also lack the target columns. Labels
that are far from the others are named in a warning: they count, since they were there
before; correct those that are wrong with 'nextbatch campaign tell --correct'.

--learner names the model that is fitted to the labels: auto blends a Gaussian process,
trees and networks by their errors on held-out rows; network, gp and trees take one.

Rows are named by the column --id, or else by their number, from 0. The settings
apply to every ask; 'nextbatch campaign settings' changes them later.

With --space (see 'nextbatch candidates') there is no table: each ask draws new candidates,
everywhere and near those that the model finds informative, and what it picks becomes rows.

A share of the rows in each batch (--audit) is drawn at random from the open ones.
A batch teaches a little less with these audit rows, but they show how large the
error of the model is: the other rows are picked because they are unusual, and do
not represent the rest. Without audit rows 'campaign status' cannot estimate it.`,
	}
	c.Flags().StringSliceVar(&n.targets, "target", nil,
		"target column, or several: the labels, empty where a row has none")
	n.registerChange(c)
	c.Flag("campaign").Usage = "name of the campaign (default that of the table or the space, without its extension)"
	c.Flags().StringVar(&n.space, "space", "", "description of factors whose combinations are the candidates: .toml")
	n.columns.register(c)
	n.columns.registerMissing(c)
	n.columns.registerEarlier(c.Flags())
	n.settings.register(c)
	return c
}

// check returns the settings of a new campaign.
func (n *campaignRows) check(address, path string) (campaign.Settings, error) {
	settings := campaign.Settings{Choices: fitted.Choices{Learner: learner.Auto}, Columns: n.columns.Columns,
		Missing: n.columns.missing, Lod: n.columns.format.lod}
	if err := n.settings.apply(&settings); err != nil {
		return settings, err
	}
	switch {
	case len(n.targets) == 0:
		return settings, usagef("name the target column with --target")
	case slices.Contains(n.targets, n.columns.id) && n.columns.id != "":
		return settings, usagef("column %q is named by --id and --target; one column cannot be both", n.columns.id)
	}
	if n.name == "" {
		n.name = cmp.Or(databases.Table(path), tableName(nameOf(path)))
	}
	return settings, errors.Join(n.columns.check(), checkDistinct(append(n.columns.earlierFiles(),
		flagged{"TABLE", path}), []flagged{{"STORE", address}}))
}

func (n *campaignRows) create(ctx context.Context, address, path string, settings campaign.Settings) (err error) {
	start := campaign.Start{IDColumn: n.columns.id, Targets: n.targets, Settings: settings, By: n.by()}
	if n.space != "" {
		if start.Space, err = space.Read(ctx, path); err != nil {
			return dataError{err}
		}
	} else {
		if start.Table, err = n.read(ctx, path); err != nil {
			return err
		}
		n.progress.reportOrigin(path, start.Table)
	}
	flags, names := n.columns, tables.Names{}
	flags.numeric, flags.labels = slices.Concat(n.columns.numeric, n.targets), n.targets
	earlier, err := flags.readEarlier(ctx, names)
	if err != nil {
		return err
	}
	store := &newStore{address: address}
	defer func() { err = errors.Join(err, store.Close()) }()
	start.Earlier, start.Names, start.Converted = earlier, names, n.progress.warn
	c, err := campaign.New(ctx, store, n.name, start)
	if errors.Is(err, campaign.ErrExists) {
		return usagef(
			"%s has a campaign %q already: add rows to it with 'nextbatch campaign add', or name another one with --campaign",
			addressText(address), n.name)
	}
	if err != nil {
		return campaignError(faultsError(err, path, ""))
	}
	s, err := c.State(ctx)
	if err != nil {
		return campaignError(err)
	}
	counts := s.Counts()
	if start.Space != nil {
		n.progress.say("campaign %q in %s: asks draw from the space of %s, %s", n.name, addressText(address), nameOf(path),
			words.Count(len(s.Created.Columns), "column", "columns"))
		return nil
	}
	n.progress.say("campaign %q in %s: %s, %s of them labelled, %s", n.name, addressText(address),
		words.Count(int(counts.Rows), "row", "rows"), words.Whole(int(counts.Labelled)),
		words.Count(len(s.Created.Columns), "column", "columns"))
	n.warnUnlikely(address, s.Unlikely())
	if text := s.Replicated(); text != "" {
		n.progress.warn(text)
	}
	leaks, err := c.Leaks(ctx, s, n.asking(&n.columns.memory))
	n.progress.warn(leaks...)
	return err
}

// read reads a table, which may lack target columns.
func (n *campaignRows) read(ctx context.Context, path string) (*dataset.Table, error) {
	flags := n.columns
	flags.numeric, flags.labels = slices.Concat(n.columns.numeric, n.targets), n.targets
	for {
		table, err := flags.read(ctx, path, false)
		name, unknown := unknownColumn(err)
		if at := slices.Index(flags.numeric, name); unknown && at >= 0 && slices.Contains(n.targets, name) {
			flags.numeric = slices.Delete(slices.Clone(flags.numeric), at, at+1)
			continue
		}
		n.columns.memory = flags.memory
		return table, err
	}
}

func newCampaignAdd() *cobra.Command {
	n := &campaignRows{}
	c := &cobra.Command{
		Use:     "add STORE TABLE",
		Short:   "Add rows to a campaign",
		Example: "  nextbatch campaign add c.db next-year.csv",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return n.perform(cmd, args[0], steps{check: n.columns.memory.check, memory: &n.columns.memory},
				func(ctx context.Context, c *campaign.Campaign) (*answer, error) {
					return nil, n.add(ctx, c, args[0], args[1])
				})
		},
		Long: `Adds the rows of a table, which has the columns of the campaign and new ids. Labels
in the table become labels of the campaign; those that are far from the labels so far
wait for a second look, as with 'nextbatch campaign tell'. Levels of a categorical column that no row
had before are reported; they are inputs from the next ask on.`,
	}
	n.registerChange(c)
	c.Flags().StringSliceVar(&n.columns.ignore, "ignore", nil, "columns to skip")
	n.columns.format.register(c)
	n.columns.memory.register(c)
	return c
}

func (n *campaignRows) add(ctx context.Context, c *campaign.Campaign, address, path string) error {
	s, err := c.State(ctx)
	if err != nil {
		return err
	}
	n.columns.id, n.columns.history, n.columns.format.lod = s.Created.IDColumn, s.History,
		cmp.Or(n.columns.format.lod, s.Settings.Lod)
	n.columns.numeric, n.columns.labels = slices.Clone(s.Created.Targets), s.Created.Targets
	for _, column := range s.Created.Columns {
		switch column.Kind {
		case dataset.KindNumeric.String():
			n.columns.numeric = append(n.columns.numeric, column.Name)
		case dataset.KindCategorical.String():
			n.columns.Categorical = append(n.columns.Categorical, column.Name)
		}
	}
	table, err := n.columns.read(ctx, path, true)
	if err != nil {
		return err
	}
	n.progress.reportOrigin(path, table)
	added, err := c.Add(ctx, n.by(), table)
	if err != nil {
		return faultsError(err, path, "")
	}
	for _, text := range added.Converted {
		n.progress.warn(nameOf(path) + ": " + text)
	}
	for _, name := range slices.Sorted(maps.Keys(added.NewLevels)) {
		//warning:new-levels
		n.progress.warn(fmt.Sprintf("column %q has levels that no row had before: %s", name,
			strings.Join(added.NewLevels[name], ", ")))
	}
	n.progress.say("%s: %s added, %s of them labelled (event %d)%s", nameOf(path),
		words.Count(int(added.Rows), "row", "rows"), words.Whole(int(added.Labelled)), added.Seq, again(added.Repeated))
	n.warnWaiting(address, added.Waiting)
	leaks, err := c.NewLeaks(ctx, added, n.asking(&n.columns.memory))
	n.progress.warn(leaks...)
	return err
}

// again is the part of a message about a repeated request.
func again(repeated bool) string {
	if repeated {
		return "; the request had been met before, so nothing was changed"
	}
	return ""
}

// changingSettings is a run of campaign settings.
type changingSettings struct {
	campaignFlags
	settings settingFlags
}

func newCampaignSettings() *cobra.Command {
	n := &changingSettings{}
	c := &cobra.Command{
		Use:   "settings STORE",
		Short: "Print the settings of a campaign, or change some of them",
		Example: `  nextbatch campaign settings c.db
  nextbatch campaign settings c.db --method 'bald' --audit 1/16
  nextbatch campaign settings c.db --learner auto`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return n.perform(cmd, args[0], steps{}, n.compute)
		},
		Long: `Without flags, prints the settings as JSON. With flags, changes the settings that
they name, from the next ask on; the others stay as they are.`,
	}
	n.registerChange(c)
	n.settings.register(c)
	n.settings.flags.StringVar(&n.settings.to.Lod, "lod", "",
		"limit of detection of the labels, for those such as <LOD or n.d.: a number, or one for each target as in y=0.5,z=2")
	c.Flags().AddFlagSet(n.settings.flags)
	return c
}

func (n *changingSettings) compute(ctx context.Context, c *campaign.Campaign) (*answer, error) {
	s, err := c.State(ctx)
	if err != nil {
		return nil, err
	}
	settings := s.Settings
	if !n.settings.given() {
		return &answer{json: settings}, nil
	}
	if err := n.settings.apply(&settings); err != nil {
		return nil, err
	}
	changed, err := c.ChangeSettings(ctx, n.by(), settings)
	if err != nil {
		return nil, usageError{err}
	}
	n.progress.say("settings changed (event %d)%s", changed.Seq, again(changed.Repeated))
	return nil, nil
}
