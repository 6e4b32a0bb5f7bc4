package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/internal/options"
	"github.com/nextbatch/nextbatch/internal/wire"
	"github.com/nextbatch/nextbatch/learner"
)

// Campaign is where a campaign stands.
type Campaign struct {
	wire.About
	campaign.Counts
	Decimal  string   `json:"decimal,omitempty" enum:"comma" doc:"decimal mark of the table's file; absent for a point"`
	Warnings []string `json:"warnings,omitempty" doc:"about a new campaign: what the cells of the table gave cause for, and columns that are measured together with the label"`
}

func (s *Server) campaignRoutes() {
	route(s, Viewer, huma.Operation{
		OperationID: "list-campaigns", Method: http.MethodGet, Path: "/v1/campaigns", Summary: "List the campaigns",
	}, s.listCampaigns)
	route(s, Owner, upload(huma.Operation{
		OperationID: "create-campaign", Method: http.MethodPost, Path: "/v1/campaigns",
		Summary:       "Create a campaign from a table",
		DefaultStatus: http.StatusCreated,
	}), s.createCampaign)
	route(s, Viewer, huma.Operation{
		OperationID: "get-campaign", Method: http.MethodGet, Path: "/v1/campaigns/{campaign}",
		Summary: "Where a campaign stands",
	}, s.getCampaign)
	route(s, Owner, huma.Operation{
		OperationID: "change-settings", Method: http.MethodPut, Path: "/v1/campaigns/{campaign}/settings",
		Summary:      "Replace the settings",
		MaxBodyBytes: settingsBody,
	}, s.changeSettings)
	route(s, Viewer, huma.Operation{
		OperationID: "list-events", Method: http.MethodGet, Path: "/v1/campaigns/{campaign}/events",
		Summary: "The log of a campaign",
	}, s.listEvents)
	route(s, Labeller, huma.Operation{
		OperationID: "undo", Method: http.MethodPost, Path: "/v1/campaigns/{campaign}/undo", Summary: "Take back an event",
	}, s.undo)
}

func (s *Server) listCampaigns(ctx context.Context, _ *struct{}) (*output[[]Campaign], error) {
	names, err := campaign.List(ctx, s.options.Store)
	if err != nil {
		return nil, err
	}
	list := []Campaign{}
	for _, name := range names {
		if only := callerOf(ctx).token.Campaign; only != "" && name != only {
			continue
		}
		status, err := s.status(ctx, name)
		if err != nil {
			return nil, err
		}
		list = append(list, status)
	}
	return answer(list, nil)
}

func (s *Server) getCampaign(ctx context.Context, in *Named) (*output[Campaign], error) {
	return answer(s.status(ctx, in.Campaign))
}

func (s *Server) status(ctx context.Context, name string) (Campaign, error) {
	_, state, err := s.state(ctx, name)
	if err != nil {
		return Campaign{}, err
	}
	return statusOf(name, state), nil
}

// state returns a campaign and its state.
func (s *Server) state(ctx context.Context, name string) (c *campaign.Campaign, state *campaign.State, err error) {
	if c, err = s.campaign(ctx, name); err == nil {
		state, err = c.State(ctx)
	}
	return c, state, err
}

func statusOf(name string, state *campaign.State) Campaign {
	return Campaign{wire.AboutOf(name, state), state.Counts(), options.NameOf(state.Created.Style().Decimal), nil}
}

// Upload is the body of a request that uploads a table. It is read as a stream.
type Upload struct {
	Format string   `query:"format" enum:"csv,tsv,jsonl,parquet,xlsx" doc:"format of the table; by default its content tells"`
	Ignore []string `query:"ignore,explode" maxItems:"1000" doc:"columns to skip"`
	TextStyle

	body io.Reader
}

// Resolve implements huma.Resolver: it keeps the body for later.
func (t *Upload) Resolve(ctx huma.Context) []error {
	t.body = ctx.BodyReader()
	return nil
}

// upload documents the body of a request that uploads a table.
func upload(op huma.Operation) huma.Operation {
	content := map[string]*huma.MediaType{}
	for _, kind := range []string{"text/csv", "application/vnd.apache.parquet", "application/x-ndjson",
		"application/octet-stream"} {
		content[kind] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}
	}
	op.RequestBody = &huma.RequestBody{Description: "a table with a header", Required: true, Content: content}
	op.Errors = append(op.Errors, http.StatusUnprocessableEntity)
	return op
}

func (s *Server) createCampaign(ctx context.Context, in *struct {
	Upload
	Name    string   `query:"name" required:"true" minLength:"1" maxLength:"200" pattern:"^(?:[^./\\\\\\x00-\\x1f\\x7f-\\x9f]|\\.[^./\\\\\\x00-\\x1f\\x7f-\\x9f]|\\.\\.[^/\\\\\\x00-\\x1f\\x7f-\\x9f])[^/\\\\\\x00-\\x1f\\x7f-\\x9f]*(?:[/\\\\](?:[^./\\\\\\x00-\\x1f\\x7f-\\x9f]|\\.[^./\\\\\\x00-\\x1f\\x7f-\\x9f]|\\.\\.[^/\\\\\\x00-\\x1f\\x7f-\\x9f])[^/\\\\\\x00-\\x1f\\x7f-\\x9f]*)*$" patternDescription:"text without control characters, of which no part between slashes is empty, . or .." doc:"name of the campaign"`
	Targets []string `query:"target" required:"true" minItems:"1" doc:"columns of the labels, separated by commas"`
	ID      string   `query:"id" doc:"column that names the rows; without it, their numbers do"`
	Learner string   `query:"learner" enum:"auto,network,gp,trees,in-context" default:"auto" doc:"model that is fitted to the labels: auto blends a Gaussian process, trees and networks by their errors on held-out rows, the others are one of them"`
	Keep    []string `query:"keep,explode" maxItems:"1000" doc:"columns that are inputs even if they look like row numbers, or as if they were measured together with the label"`
	Range   string   `query:"range" maxLength:"1000" doc:"what the labels can be, such as 0..100 or 0..; for several targets one for all, or one for each, separated by commas" example:"0..100"`
	Lease   string   `query:"lease" maxLength:"100" doc:"how long the rows of an ask are out, such as 36h, 7d or 2w, or never" example:"7d"`
	Random  bool     `query:"random_start" doc:"the rows with a label in the table were drawn at random, so that errors are estimated from them, too"`
	Key     string   `header:"Idempotency-Key" maxLength:"200" doc:"id of the request; repeating it creates nothing and returns the first answer. The same id with another table, or by another person, is a conflict"`
}) (*output[Campaign], error) {
	if only := callerOf(ctx).token.Campaign; only != "" && only != in.Name {
		return nil, huma.Error403Forbidden("the token is for another campaign")
	}
	if err := campaign.CheckName(in.Name); err != nil { // before the table is read
		return nil, err
	}
	settings := campaign.Settings{Choices: fitted.Choices{Learner: learner.Kind(in.Learner)},
		RandomStart: in.Random, Lod: in.Lod}
	settings.Keep = in.Keep
	if in.Lease != "" {
		lease, err := options.ParseLease(in.Lease)
		if err != nil {
			return nil, huma.Error422UnprocessableEntity(err.Error())
		}
		settings.Lease = campaign.Duration(lease)
	}
	if in.Range != "" {
		ranges, err := dataset.ParseRanges(in.Range)
		if err != nil {
			return nil, huma.Error422UnprocessableEntity(err.Error())
		}
		settings.Ranges = ranges
	}
	o := source.Options{RowNames: in.ID}.WithLabels(in.Targets)
	if in.ID != "" {
		o.Kinds = map[string]dataset.Kind{in.ID: dataset.KindText}
	}
	t, done, err := s.read(ctx, &in.Upload, o)
	if err != nil {
		return nil, err
	}
	defer done()
	by := Change{Key: in.Key}.by(ctx)
	c, err := campaign.New(ctx, s.options.Store, in.Name, campaign.Start{Table: t, IDColumn: in.ID, Targets: in.Targets,
		By: by, Settings: settings})
	if err != nil {
		return nil, err
	}
	state, err := s.keep(c).Beginning(ctx)
	if err != nil {
		return nil, err
	}
	made := statusOf(in.Name, state)
	made.Warnings = slices.Clone(t.Origin().Warnings)
	if text := state.Replicated(); text != "" {
		made.Warnings = append(made.Warnings, text)
	}
	leaks, err := c.Leaks(ctx, state, campaign.Ask{FieldName: options.Parameter})
	made.Warnings = append(made.Warnings, leaks...)
	return answer(made, err)
}

func (s *Server) changeSettings(ctx context.Context, in *struct {
	Change
	Body json.RawMessage `doc:"all settings; those that are left out have their defaults, but without a learner that of the campaign stays"`
}) (*output[wire.Changed], error) {
	c, err := s.campaign(ctx, in.Campaign)
	if err != nil {
		return nil, err
	}
	var settings campaign.Settings
	read := json.NewDecoder(bytes.NewReader(shareAsNumber(in.Body)))
	read.DisallowUnknownFields()
	if err := read.Decode(&settings); err != nil {
		return nil, huma.Error422UnprocessableEntity("the settings cannot be read: " + err.Error())
	}
	if err := settings.CheckNamed(doorOf(ctx)); err != nil {
		return nil, huma.Error422UnprocessableEntity(err.Error())
	}
	return changedOf(c.ChangeSettings(ctx, in.by(ctx), settings))
}

// shareAsNumber replaces a share of repeats such as "1/8" in settings by a number.
func shareAsNumber(raw json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil { // whoever reads the settings reports it
		return raw
	}
	var text string
	var share campaign.Share
	if json.Unmarshal(fields["replicate_share"], &text) != nil || share.UnmarshalJSON(fields["replicate_share"]) != nil {
		return raw
	}
	fields["replicate_share"] = fmt.Append(nil, float64(share))
	changed, err := json.Marshal(fields)
	if err != nil {
		return raw
	}
	return changed
}

func (s *Server) listEvents(ctx context.Context, in *struct {
	Named
	After int64 `query:"after" minimum:"0" doc:"only events after this one"`
	Limit int   `query:"limit" minimum:"1" maximum:"1000" default:"100"`
}) (*output[[]wire.LogEvent], error) {
	c, err := s.campaign(ctx, in.Campaign)
	if err != nil {
		return nil, err
	}
	list, err := wire.Events(ctx, c, in.After, in.Limit)
	for i := range list {
		list[i].Person, list[i].Request = unlessEmpty(list[i].Person), unlessEmpty(list[i].Request)
	}
	return answer(list, err)
}

// unlessEmpty returns a text that answers omit if it is empty.
func unlessEmpty(text *string) *string {
	if *text == "" {
		return nil
	}
	return text
}

func (s *Server) undo(ctx context.Context, in *struct {
	Change
	Body wire.UndoRequest
}) (*output[wire.Changed], error) {
	c, err := s.campaign(ctx, in.Campaign)
	if err != nil {
		return nil, err
	}
	if err := mayUndo(ctx, c, in.Body.Event); err != nil {
		return nil, err
	}
	return changedOf(c.Undo(ctx, in.by(ctx), in.Body.Event, in.Body.Reason))
}

// mayUndo lets a labeller undo only their own events; an owner may undo all.
func mayUndo(ctx context.Context, c *campaign.Campaign, event int64) error {
	token := callerOf(ctx).token
	if token.Role.includes(Owner) {
		return nil
	}
	log, err := c.History(ctx)
	if err != nil || event > int64(len(log)) {
		return err // Undo says what is wrong with the number
	}
	if log[event-1].Person != token.Person {
		return huma.Error403Forbidden(fmt.Sprintf("event %d is not yours; only an owner can take back what others did",
			event))
	}
	return nil
}
