package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/dataset/source"
)

// Requests about campaigns have the verbs of package campaign. Their answers have the
// fields of the service's answers, so that a client can treat a local file and a
// service alike. A store is open during a request only: the worker keeps nothing.

// place names a campaign in a store, and says who changes it.
type place struct {
	Store   string `json:"store"` // a path, or the address of a database
	Name    string `json:"name"`  // empty for the only campaign of the store
	Person  string `json:"person"`
	Request string `json:"request"` // a request that was met before changes nothing
}

func (p place) by() campaign.By { return campaign.By{Person: p.Person, Request: p.Request} }

// about reads the body of a request about a campaign, opens the campaign, and closes its store afterwards.
func about[B interface{ at() place }](c *call, do func(body B, c *campaign.Campaign) (any, error)) (answer any, err error) {
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

func (p place) at() place { return p }

// status is where a campaign stands.
type status struct {
	Name     string             `json:"name"`
	Targets  []string           `json:"targets"`
	IDColumn string             `json:"id_column,omitempty"`
	Columns  []campaign.Column  `json:"columns"`
	Settings campaign.Settings  `json:"settings"`
	Event    int64              `json:"event"`
	Asks     int                `json:"asks"`
	Standing *campaign.Standing `json:"standing,omitempty"`
	campaign.Counts
}

func statusOf(ctx context.Context, c *campaign.Campaign) (status, error) {
	s, err := c.State(ctx)
	if err != nil {
		return status{}, err
	}
	return status{
		Name: c.Name(), Targets: s.Created.Targets, IDColumn: s.Created.IDColumn, Columns: append([]campaign.Column{}, s.Created.Columns...),
		Settings: s.Settings, Event: s.Seq, Asks: len(s.Asks), Counts: s.Counts(),
	}, nil
}

// newBody creates a campaign with the rows of a table.
type newBody struct {
	place
	Table    table             `json:"table"`
	ID       string            `json:"id"`
	Targets  []string          `json:"targets"`
	Settings campaign.Settings `json:"settings"`
}

func (c *call) campaignNew() (answer any, err error) {
	var body newBody
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
	return statusOf(c.ctx, made)
}

// tableFor checks what a campaign is to begin with and returns its rows.
func (c *call) tableFor(body newBody) (*dataset.Table, error) {
	if err := body.Settings.CheckNamed(argumentOf); err != nil {
		return nil, refuse("%v", err)
	}
	return c.build(body.Table, body.Settings.Categorical, 0)
}

// campaignEncode returns the rows for a new campaign, or for one that exists, as a
// Parquet file: what a client uploads to a service. The settings are checked.
func (c *call) campaignEncode() (any, error) {
	var body newBody
	if err := c.read(&body); err != nil {
		return nil, err
	}
	t, err := c.tableFor(body)
	if err != nil {
		return nil, err
	}
	var file bytes.Buffer
	if err := source.WriteParquet(&file, t); err != nil {
		return nil, err
	}
	c.data = []Array{{Shape: Shape{"uint8", []int{file.Len()}}, Uint8: file.Bytes()}}
	return struct{}{}, nil
}

func (c *call) campaignStatus() (any, error) {
	type request struct {
		place
		Stop *string `json:"stop"` // a rule, empty for the default; null for counts and settings alone
	}
	return about(c, func(body request, camp *campaign.Campaign) (any, error) {
		s, err := statusOf(c.ctx, camp)
		if err != nil || body.Stop == nil {
			return s, err
		}
		var rule campaign.StopRule
		if *body.Stop != "" {
			if rule, err = campaign.ParseStopRule(*body.Stop); err != nil {
				return nil, err
			}
		}
		s.Standing, err = camp.Standing(c.ctx, rule)
		return s, err
	})
}

// changed is what a change changed.
type changed struct {
	Event    int64             `json:"event"` // 0 if nothing changed
	Rows     []campaign.RowRef `json:"rows"`
	Repeated bool              `json:"repeated"`
}

func changedOf(c campaign.Changed, err error) (any, error) {
	return changed{c.Seq, append([]campaign.RowRef{}, c.Rows...), c.Repeated}, err
}

func (c *call) campaignSettings() (any, error) {
	type request struct {
		place
		Settings campaign.Settings `json:"settings"` // all of them
	}
	return about(c, func(body request, camp *campaign.Campaign) (any, error) {
		if err := body.Settings.CheckNamed(argumentOf); err != nil {
			return nil, refuse("%v", err)
		}
		return changedOf(camp.ChangeSettings(c.ctx, body.by(), body.Settings))
	})
}

// added is what was added.
type added struct {
	Event     int64               `json:"event"`
	Rows      int64               `json:"rows"`
	Labelled  int                 `json:"labelled"`
	Repeated  bool                `json:"repeated"`
	NewLevels map[string][]string `json:"new_levels,omitempty"`
}

func (c *call) campaignAdd() (any, error) {
	type request struct {
		place
		Table table `json:"table"`
	}
	return about(c, func(body request, camp *campaign.Campaign) (any, error) {
		s, err := camp.State(c.ctx)
		if err != nil {
			return nil, err
		}
		t, err := c.build(body.Table, s.Settings.Categorical, 0)
		if err != nil {
			return nil, err
		}
		a, err := camp.Add(c.ctx, body.by(), t)
		return added{a.Seq, a.Rows, a.Labelled, a.Repeated, a.NewLevels}, err
	})
}

// told is what was told.
type told struct {
	changed
	Known int              `json:"known"` // numbers that the rows had already
	Wrong []campaign.Fault `json:"wrong"` // entries that were left out, with partial
}

func (c *call) campaignTell() (any, error) {
	type request struct {
		place
		Rows []struct {
			ID     string             `json:"id"`
			Values map[string]float64 `json:"values"` // by target
		} `json:"rows"`
		Partial bool `json:"partial"`
		Again   bool `json:"again"`
		Correct bool `json:"correct"`
	}
	return about(c, func(body request, camp *campaign.Campaign) (any, error) {
		s, err := camp.State(c.ctx)
		if err != nil {
			return nil, err
		}
		t := campaign.Tell{Partial: body.Partial, Again: body.Again}
		for line, row := range body.Rows {
			t.Entries = append(t.Entries, entry(line, row.ID, row.Values, s.Created.Targets))
		}
		tell := camp.Tell
		if body.Correct {
			tell = camp.Correct
		}
		done, err := tell(c.ctx, body.by(), t)
		if err != nil {
			return nil, err
		}
		return told{changed{done.Seq, append([]campaign.RowRef{}, done.Rows...), done.Repeated}, done.Known, append([]campaign.Fault{}, done.Faults...)}, nil
	})
}

// entry returns measurements of a row in the order of the targets.
func entry(line int, id string, values map[string]float64, targets []string) campaign.Entry {
	e := campaign.Entry{Line: line, ID: id, Values: make([]float64, len(targets))}
	for i, target := range targets {
		v, there := values[target]
		if !there {
			v = math.NaN()
		}
		e.Values[i] = v
	}
	for name := range values {
		if !slices.Contains(targets, name) {
			e.Fault = fmt.Sprintf("%q is not a target of the campaign; its targets are %s", name, strings.Join(targets, ", "))
		}
	}
	return e
}

// rowsBody is a request about rows.
type rowsBody struct {
	place
	IDs    []string `json:"ids"`
	Reason string   `json:"reason"`
	Again  bool     `json:"again"` // of fail: the rows are open again
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

func (c *call) campaignRetire() (any, error) {
	return about(c, func(body rowsBody, camp *campaign.Campaign) (any, error) {
		return changedOf(camp.Retire(c.ctx, body.by(), body.IDs, body.Reason))
	})
}

func (c *call) campaignUndo() (any, error) {
	type request struct {
		place
		Event  int64  `json:"event"`
		Reason string `json:"reason"`
	}
	return about(c, func(body request, camp *campaign.Campaign) (any, error) {
		return changedOf(camp.Undo(c.ctx, body.by(), body.Event, body.Reason))
	})
}

// event is an entry of the log.
type event struct {
	Event   int64             `json:"event"`
	Time    time.Time         `json:"time"`
	Person  string            `json:"person"`
	Request string            `json:"request"`
	Kind    string            `json:"kind"`
	Undone  bool              `json:"undone"` // it has no effect
	Rows    []campaign.RowRef `json:"rows"`   // that it names
	Detail  json.RawMessage   `json:"detail"` // as it is stored
}

func (c *call) campaignHistory() (any, error) {
	type request struct {
		place
		After int64 `json:"after"`
	}
	return about(c, func(body request, camp *campaign.Campaign) (any, error) {
		log, err := camp.History(c.ctx)
		if err != nil {
			return nil, err
		}
		s, err := camp.State(c.ctx)
		if err != nil {
			return nil, err
		}
		list := []event{}
		for _, e := range log[min(max(body.After, 0), int64(len(log))):] {
			detail, err := campaign.EncodeEvent(e)
			if err != nil {
				return nil, err
			}
			list = append(list, event{e.Seq, e.Time, e.Person, e.Request, string(e.Kind()), s.Undone(e.Seq), append([]campaign.RowRef{}, e.Rows()...), detail})
		}
		return list, nil
	})
}
