package worker

import (
	"bytes"
	"context"
	"errors"
	"math"
	"strings"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/internal/merge"
	"github.com/nextbatch/nextbatch/internal/options"
	"github.com/nextbatch/nextbatch/internal/source/cells"
	"github.com/nextbatch/nextbatch/internal/source/sheets"
	"github.com/nextbatch/nextbatch/internal/wire"
	"github.com/nextbatch/nextbatch/learner"
)

// Requests about campaigns have the verbs of package campaign. Their bodies and answers are those of
// package wire, as the service's are. A store is open during a request only: the worker keeps nothing.

// address names a campaign in a store, and who changes it.
type address struct {
	Store   string `json:"store"` // a path, or the address of a database
	Name    string `json:"name"`  // empty for the only campaign of the store
	Person  string `json:"person"`
	Request string `json:"request"` // a repeated request changes nothing
}

func (p address) by() campaign.By { return campaign.By{Person: p.Person, Request: p.Request} }

// about reads the body of a request about a campaign, opens the campaign, and closes its store afterwards.
func about[B interface{ at() address }](c *call, do func(body B, c *campaign.Campaign) (any,
	error)) (answer any, err error) {
	var body B
	if err := c.read(&body); err != nil {
		return nil, err
	}
	p := body.at()
	if c.server.OpenStore == nil {
		return nil, refuse("this worker has no campaigns")
	}
	store, err := c.server.OpenStore(c.ctx, p.Store)
	if damaged := is[*campaign.StoreError](err); err != nil && !damaged && c.ctx.Err() == nil {
		return nil, refuse("%v", err)
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if p.Name == "" {
		if p.Name, err = onlyCampaign(c.ctx, store); err != nil {
			return nil, err
		}
	}
	opened, err := campaign.Open(c.ctx, store, p.Name)
	if err != nil {
		return nil, err
	}
	return do(body, opened)
}

func onlyCampaign(ctx context.Context, store campaign.Store) (string, error) {
	names, err := campaign.List(ctx, store)
	if err != nil {
		return "", err
	}
	if len(names) != 1 {
		return "", refuse("there are %d campaigns; name one of them: %s", len(names), strings.Join(names, ", "))
	}
	return names[0], nil
}

func (p address) at() address { return p }

// status is the status of a campaign.
type status struct {
	wire.About
	Standing *campaign.Standing `json:"standing,omitempty"`
	campaign.Counts
}

func statusOf(ctx context.Context, c *campaign.Campaign) (status, error) {
	s, err := c.State(ctx)
	if err != nil {
		return status{}, err
	}
	return status{About: wire.AboutOf(c.Name(), s), Counts: s.Counts()}, nil
}

// remarksOn returns the warnings from reading a table.
func remarksOn(t table, read *dataset.Table) []string {
	remarks := []string{}
	for _, w := range read.Origin().Warnings {
		remarks = append(remarks, t.Name+": "+w)
	}
	return remarks
}

// newBody creates a campaign with the rows of a table.
type newBody struct {
	address
	Table    table             `json:"table"`
	Censored string            `json:"censored"`
	ID       string            `json:"id"`
	Targets  []string          `json:"targets"`
	Settings campaign.Settings `json:"settings"`
}

func (c *call) campaignNew() (answer any, err error) {
	body := newBody{}
	body.Settings.Learner = learner.Auto // unless the body says otherwise
	if err := c.read(&body); err != nil {
		return nil, err
	}
	t, err := c.tableFor(body)
	if err != nil {
		return nil, err
	}
	if c.server.NewStore == nil {
		return nil, refuse("this worker has no campaigns")
	}
	store := c.server.NewStore(body.Store)
	defer func() { err = errors.Join(err, store.Close()) }()
	made, err := campaign.New(c.ctx, store, body.Name, campaign.Start{
		Table: t, IDColumn: body.ID, Targets: body.Targets, Settings: body.Settings, By: body.by(),
	})
	if err != nil {
		return nil, err
	}
	about, err := statusOf(c.ctx, made)
	if err != nil {
		return nil, err
	}
	s, err := made.Beginning(c.ctx)
	if err != nil {
		return nil, err
	}
	remarks := remarksOn(body.Table, t)
	if text := s.Replicated(); text != "" {
		remarks = append(remarks, text)
	}
	leaks, err := made.Leaks(c.ctx, s, c.asking())
	return struct {
		status
		Warnings []string `json:"warnings"`
	}{about, append(remarks, leaks...)}, err
}

// tableFor checks the start of a campaign and returns its rows.
func (c *call) tableFor(body newBody) (*dataset.Table, error) {
	if err := body.Settings.CheckNamed(options.Argument); err != nil {
		return nil, refuse("%v", err)
	}
	opts, err := reading(body.Settings.Categorical, body.Targets, body.Censored, lod(body.Settings.Lod))
	if err != nil {
		return nil, err
	}
	opts.RowNames = body.ID
	return c.build(body.Table, opts, 0)
}

// campaignEncode returns the rows for a new campaign, or for one that exists and has Columns, as a
// Parquet file: what a client uploads to a service. The settings are checked.
func (c *call) campaignEncode() (any, error) {
	var body struct {
		newBody
		Columns []campaign.Column `json:"columns"`
	}
	if err := c.read(&body); err != nil {
		return nil, err
	}
	var t *dataset.Table
	var err error
	if body.Columns == nil {
		t, err = c.tableFor(body.newBody)
	} else {
		opts := (&campaign.Created{IDColumn: body.ID, Targets: body.Targets, Columns: body.Columns}).RowOptions()
		opts.Lod, _ = sheets.ParseLod(body.Settings.Lod) // which the campaign has checked
		t, err = c.rowsFor(body.Table, opts, body.Censored)
	}
	if err != nil {
		return nil, err
	}
	var file bytes.Buffer
	if err := source.WriteParquet(&file, merge.MarkLimits(t, body.Targets...)); err != nil {
		return nil, err
	}
	c.data = []Array{{Shape: Shape{"uint8", []int{file.Len()}}, Uint8: file.Bytes()}}
	return map[string][]string{"warnings": remarksOn(body.Table, t)}, nil
}

// rowsFor returns a table of rows for a campaign that exists.
func (c *call) rowsFor(t table, opts source.Options, censored string) (_ *dataset.Table, err error) {
	if opts.Censored, err = cells.ParseCensored(censored); err != nil {
		return nil, refuse("censored %v", err)
	}
	return c.build(t, opts, 0)
}

func (c *call) campaignStatus() (any, error) {
	type request struct {
		address
		Stop *string `json:"stop"` // a rule, empty for the default; null for counts and settings alone
	}
	return about(c, func(body request, camp *campaign.Campaign) (any, error) {
		s, err := statusOf(c.ctx, camp)
		if err != nil || body.Stop == nil {
			return s, err
		}
		s.Standing, err = camp.Standing(c.ctx, *body.Stop)
		return s, err
	})
}

func changedOf(c campaign.Changed, err error) (any, error) { return wire.ChangedOf(c), err }

func (c *call) campaignSettings() (any, error) {
	type request struct {
		address
		Settings campaign.Settings `json:"settings"` // all of them
	}
	return about(c, func(body request, camp *campaign.Campaign) (any, error) {
		if err := body.Settings.CheckNamed(options.Argument); err != nil {
			return nil, refuse("%v", err)
		}
		return changedOf(camp.ChangeSettings(c.ctx, body.by(), body.Settings))
	})
}

// newRows are rows for a campaign.
type newRows struct {
	address
	Table    table  `json:"table"`
	Censored string `json:"censored"`
}

// withRows reads rows by the options of a campaign.
func (c *call) withRows(opts func(*campaign.State) source.Options,
	do func(body newRows, camp *campaign.Campaign, t *dataset.Table) (any, error)) (any, error) {
	return about(c, func(body newRows, camp *campaign.Campaign) (any, error) {
		s, err := camp.State(c.ctx)
		if err != nil {
			return nil, err
		}
		t, err := c.rowsFor(body.Table, opts(s), body.Censored)
		if err != nil {
			return nil, err
		}
		return do(body, camp, t)
	})
}

func (c *call) campaignAdd() (any, error) {
	opts := (*campaign.State).RowOptions
	return c.withRows(opts, func(body newRows, camp *campaign.Campaign, t *dataset.Table) (any, error) {
		a, err := camp.Add(c.ctx, body.by(), t)
		if err != nil {
			return nil, err
		}
		leaks, err := camp.NewLeaks(c.ctx, a, c.asking())
		return wire.AddedOf(a, append(remarksOn(body.Table, t), leaks...)), err
	})
}

func (c *call) campaignEarlier() (any, error) {
	opts := func(s *campaign.State) source.Options { return s.Created.RowOptions() }
	return c.withRows(opts, func(body newRows, camp *campaign.Campaign, t *dataset.Table) (any, error) {
		added, err := camp.AddEarlier(c.ctx, body.by(), body.Table.Name, t)
		return wire.AddedEarlierOf(added, remarksOn(body.Table, t)), err
	})
}

func (c *call) campaignTell() (any, error) {
	type request struct {
		address
		wire.TellRequest
		Correct bool `json:"correct"`
	}
	return about(c, func(body request, camp *campaign.Campaign) (any, error) {
		s, err := camp.State(c.ctx)
		if err != nil {
			return nil, err
		}
		tell := camp.Tell
		if body.Correct {
			tell = camp.Correct
		}
		done, err := tell(c.ctx, body.by(), body.Tell(s.Created.Targets))
		if err != nil {
			return nil, err
		}
		return wire.ToldOf(done), nil
	})
}

// rowsBody is a request about rows.
type rowsBody struct {
	address
	wire.FailRequest // again is of fail alone
}

func (c *call) campaignFail() (any, error) {
	return about(c, func(body rowsBody, camp *campaign.Campaign) (any, error) {
		return changedOf(camp.Fail(c.ctx, body.by(), body.IDs, body.Reason, body.Again))
	})
}

func (c *call) campaignReturn() (any, error) {
	return about(c, func(body rowsBody, camp *campaign.Campaign) (any, error) {
		return changedOf(camp.Return(c.ctx, body.by(), body.IDs, body.Reason))
	})
}

func (c *call) campaignConfirm() (any, error) {
	return about(c, func(body rowsBody, camp *campaign.Campaign) (any, error) {
		return changedOf(camp.Confirm(c.ctx, body.by(), body.IDs, body.Reason))
	})
}

func (c *call) campaignRetire() (any, error) {
	return about(c, func(body rowsBody, camp *campaign.Campaign) (any, error) {
		return changedOf(camp.Retire(c.ctx, body.by(), body.IDs, body.Reason))
	})
}

func (c *call) campaignUndo() (any, error) {
	type request struct {
		address
		wire.UndoRequest
	}
	return about(c, func(body request, camp *campaign.Campaign) (any, error) {
		return changedOf(camp.Undo(c.ctx, body.by(), body.Event, body.Reason))
	})
}

func (c *call) campaignHistory() (any, error) {
	type request struct {
		address
		After int64 `json:"after"`
	}
	return about(c, func(body request, camp *campaign.Campaign) (any, error) {
		return wire.Events(c.ctx, camp, body.After, math.MaxInt)
	})
}
