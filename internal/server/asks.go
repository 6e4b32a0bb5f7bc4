package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/internal/options"
	"github.com/nextbatch/nextbatch/internal/wire"
)

// Batch is rows that were handed out.
type Batch struct {
	wire.Batch
	Rows []Picked `json:"rows" doc:"the measurements, in the order of the picks; a row that is measured several times is there several times"`
}

// Picked is a row of a batch.
type Picked struct {
	Row
	wire.Pick
}

func (s *Server) askRoutes() {
	route(s, Labeller, huma.Operation{
		OperationID: "ask", Method: http.MethodPost, Path: "/v1/campaigns/{campaign}/asks", Summary: "Ask for a batch",
		DefaultStatus: http.StatusAccepted, MaxBodyBytes: listBody,
	}, s.ask)
	route(s, Labeller, huma.Operation{
		OperationID: "get-queue", Method: http.MethodGet, Path: "/v1/campaigns/{campaign}/queue",
		Summary: "Rows that are out with the caller",
	}, s.getQueue)
	route(s, Viewer, huma.Operation{
		OperationID: "get-ask", Method: http.MethodGet, Path: "/v1/campaigns/{campaign}/asks/{ask}",
		Summary: "A batch that was handed out",
	}, s.getAsk)
	route(s, Labeller, huma.Operation{
		OperationID: "predict", Method: http.MethodPost, Path: "/v1/campaigns/{campaign}/predictions",
		Summary:       "Predict the labels of all open rows",
		DefaultStatus: http.StatusAccepted,
	}, s.predict)
}

func (s *Server) ask(ctx context.Context, in *struct {
	Change
	Body wire.AskRequest
}) (*output[wire.Job], error) {
	c, err := s.campaign(ctx, in.Campaign)
	if err != nil {
		return nil, err
	}
	var lease time.Duration
	if in.Body.Lease != "" {
		if lease, err = options.ParseLease(in.Body.Lease); err != nil {
			return nil, huma.Error422UnprocessableEntity(err.Error(),
				&huma.ErrorDetail{Location: "body.lease", Value: in.Body.Lease, Message: err.Error()})
		}
	}
	by := in.by(ctx)
	o := order{
		Job: wire.Job{Campaign: in.Campaign, Kind: "ask", Person: by.Person}, Request: by.Request,
		Rows: in.Body.Rows, Lease: lease, Audit: in.Body.Audit, Must: in.Body.Must, Exclude: in.Body.Exclude,
		Overrides: in.Body.Overrides, Browser: callerOf(ctx).session != "",
	}
	if err := c.CheckRequest(ctx, by, o.ask()); err != nil {
		return nil, err
	}
	return s.begin(ctx, o)
}

func (s *Server) getAsk(ctx context.Context, in *struct {
	Named
	Ask int64 `path:"ask" minimum:"1"`
}) (*output[Batch], error) {
	c, err := s.campaign(ctx, in.Campaign)
	if err != nil {
		return nil, err
	}
	v, err := c.View(ctx)
	if err != nil {
		return nil, err
	}
	for _, e := range v.Asks {
		if e.Ask == in.Ask {
			return answer(s.batch(ctx, c, v, e))
		}
	}
	return nil, huma.Error404NotFound(fmt.Sprintf("the campaign has no ask %d", in.Ask))
}

// batch returns a batch with the reasons and predictions for its rows from when it was handed out.
func (s *Server) batch(ctx context.Context, c *campaign.Campaign, v *campaign.View,
	e campaign.AskEvent) (Batch, error) {
	result, err := s.result(ctx, c.Name(), e)
	if err != nil {
		return Batch{}, err
	}
	b := Batch{wire.BatchOf(e, result.warnings), []Picked{}}
	for i, r := range e.Rows {
		if !v.Exists(r.Row) { // the event that added it was undone
			continue
		}
		row := detail(v, v.At(r.Row))
		b.Rows = append(b.Rows, Picked{row, wire.Pick{
			Audit: r.Audit, Reason: at(result.reasons, i), ReasonAlone: at(result.alone, i),
			Predictions: wire.Predictions(v.Created.Targets, r.Predictions), Place: wire.PlaceOf(e.Asked, &r, row.Inputs),
		}})
	}
	return b, nil
}

// askResult is what is kept of the result of a selection: a reason for each measurement, with what was predicted and
// without, and the warnings.
type askResult struct{ reasons, alone, warnings []string }

// at returns an entry of a list; empty beyond its end.
func at(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return ""
}

// result returns the result of the selection that an ask made. It never changes, so the
// last ones that were read are kept.
func (s *Server) result(ctx context.Context, name string, e campaign.AskEvent) (askResult, error) {
	key := cacheKey{group: "asks of " + name, text: e.Result + e.Time.Format(" "+time.RFC3339Nano)}
	return cacheGet(&s.results, key, func() (askResult, int64, error) {
		raw, err := s.options.Store.Blob(context.WithoutCancel(ctx), name, e.Result)
		if err != nil {
			return askResult{}, 0, err
		}
		var result nextbatch.Result
		err = json.Unmarshal(raw, &result)
		if err != nil {
			return askResult{}, 0, err
		}
		kept := askResult{alone: wire.ReasonsAlone(&result), warnings: result.Warnings}
		for _, line := range result.Lines() {
			kept.reasons = append(kept.reasons, line.Reason)
		}
		return kept, int64(len(raw)), nil
	})
}

// reason returns why an ask picked a row, with what was predicted for it or without.
func (s *Server) reason(ctx context.Context, name string, e campaign.AskEvent, row int64,
	predicted bool) (string, error) {
	result, err := s.result(ctx, name, e)
	reasons := result.alone
	if predicted {
		reasons = result.reasons
	}
	return at(reasons, slices.IndexFunc(e.Rows, func(r campaign.AskedRow) bool { return r.Row == row })), err
}

// Predicted is predictions for open rows.
type Predicted struct {
	Trained  int            `json:"trained" doc:"labelled rows that the model was fitted to"`
	Warnings []string       `json:"warnings"`
	Rows     []PredictedRow `json:"rows"`
	Total    int            `json:"total" doc:"rows that were predicted"`
}

// PredictedRow is an open row with its predictions.
type PredictedRow struct {
	campaign.RowRef
	Predictions map[string]*fitted.Prediction `json:"predictions" doc:"by target; empty for a row that lacks inputs"`
}

func (s *Server) predict(ctx context.Context, in *Named) (*output[wire.Job], error) {
	if _, err := s.campaign(ctx, in.Campaign); err != nil {
		return nil, err
	}
	return s.begin(ctx, order{Job: wire.Job{Campaign: in.Campaign, Kind: "predict", Person: callerOf(ctx).token.Person}})
}
