package server

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/campaign"
)

// Batch is rows that were handed out.
type Batch struct {
	Ask      int64      `json:"ask" doc:"number of the ask, from 1"`
	Event    int64      `json:"event"`
	Time     time.Time  `json:"time"`
	Person   string     `json:"person"`
	LeaseEnd *time.Time `json:"lease_end,omitempty" doc:"when its rows are open again; never if it is absent"`
	Spec     string     `json:"spec" doc:"method that picked"`
	Trained  int        `json:"trained" doc:"labelled rows that the network was trained on; 0 without a network"`
	Warnings []string   `json:"warnings"`
	Rows     []Picked   `json:"rows" doc:"in the order of the picks"`
}

// Picked is a row of a batch.
type Picked struct {
	Row
	Audit       bool                             `json:"audit" doc:"drawn at random, to estimate the error"`
	Reason      string                           `json:"reason" doc:"why it was picked"`
	Predictions map[string]*nextbatch.Prediction `json:"predictions" doc:"by target, made before the label came; empty without a network"`
}

func (s *Server) askRoutes() {
	route(s, Labeller, huma.Operation{
		OperationID: "ask", Method: http.MethodPost, Path: "/v1/campaigns/{campaign}/asks", Summary: "Ask for a batch",
		DefaultStatus: http.StatusAccepted, MaxBodyBytes: listBody,
	}, s.ask)
	route(s, Labeller, huma.Operation{
		OperationID: "get-queue", Method: http.MethodGet, Path: "/v1/campaigns/{campaign}/queue", Summary: "Rows that are out with the caller",
	}, s.getQueue)
	route(s, Viewer, huma.Operation{
		OperationID: "get-ask", Method: http.MethodGet, Path: "/v1/campaigns/{campaign}/asks/{ask}", Summary: "A batch that was handed out",
	}, s.getAsk)
	route(s, Labeller, huma.Operation{
		OperationID: "predict", Method: http.MethodPost, Path: "/v1/campaigns/{campaign}/predictions", Summary: "Predict the labels of all open rows",
		DefaultStatus: http.StatusAccepted,
	}, s.predict)
}

func (s *Server) ask(ctx context.Context, in *struct {
	Change
	Body struct {
		Rows    int      `json:"rows,omitempty" minimum:"0" maximum:"1000000" doc:"how many; 0 means as the settings say"`
		Lease   string   `json:"lease,omitempty" doc:"how long the rows are out, such as 168h; empty means as the settings say" example:"168h"`
		Audit   *float64 `json:"audit,omitempty" minimum:"0" maximum:"1" doc:"share of audit rows; by default as the settings say"`
		Must    []string `json:"must,omitempty" nullable:"true" maxItems:"100000" doc:"ids of rows that must be in the batch"`
		Exclude []string `json:"exclude,omitempty" nullable:"true" maxItems:"100000" doc:"ids of rows that may not be in the batch"`
	}
}) (*output[Job], error) {
	c, err := s.campaign(ctx, in.Campaign)
	if err != nil {
		return nil, err
	}
	var lease time.Duration
	if in.Body.Lease != "" {
		if lease, err = time.ParseDuration(in.Body.Lease); err != nil || lease == 0 {
			return nil, huma.Error422UnprocessableEntity("the lease cannot be read",
				&huma.ErrorDetail{Location: "body.lease", Value: in.Body.Lease, Message: "write a time such as 168h or 90m; a negative one means without end"})
		}
	}
	by := in.by(ctx)
	o := order{
		Job: Job{Campaign: in.Campaign, Kind: "ask", Person: by.Person}, Request: by.Request,
		Rows: in.Body.Rows, Lease: lease, Audit: in.Body.Audit, Must: in.Body.Must, Exclude: in.Body.Exclude,
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

// batch returns a batch with what was said about its rows when it was handed out.
func (s *Server) batch(ctx context.Context, c *campaign.Campaign, v *campaign.View, e campaign.AskEvent) (Batch, error) {
	b := Batch{
		Ask: e.Ask, Event: e.Seq, Time: e.Time, Person: e.Person, LeaseEnd: e.LeaseEnd, Spec: e.Spec, Trained: e.Trained,
		Warnings: []string{}, Rows: []Picked{},
	}
	result, err := s.result(ctx, c.Name(), e)
	if err != nil {
		return b, err
	}
	b.Warnings = append(b.Warnings, result.warnings...)
	for i, r := range e.Rows {
		if !v.Exists(r.Row) { // the event that added it was undone
			continue
		}
		b.Rows = append(b.Rows, Picked{
			Row: detail(v, v.At(r.Row)), Audit: r.Audit, Reason: result.reason(i),
			Predictions: predictionsOf(v.Created.Targets, r.Predictions),
		})
	}
	return b, nil
}

// askResult is what is kept of the result of a selection.
type askResult struct{ reasons, warnings []string }

func (r askResult) reason(i int) string {
	if i < len(r.reasons) {
		return r.reasons[i]
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
		return askResult{result.Reasons, result.Warnings}, int64(len(raw)), err
	})
}

// reason returns why an ask picked a row.
func (s *Server) reason(ctx context.Context, name string, e campaign.AskEvent, row int64) (string, error) {
	result, err := s.result(ctx, name, e)
	return result.reason(slices.IndexFunc(e.Rows, func(r campaign.AskedRow) bool { return r.Row == row })), err
}

func predictionsOf(targets []string, list []nextbatch.Prediction) map[string]*nextbatch.Prediction {
	all := map[string]*nextbatch.Prediction{}
	for i, p := range list {
		if math.IsNaN(float64(p.Value)) || math.IsInf(float64(p.Value), 0) {
			continue
		}
		all[targets[i]] = &p
	}
	return all
}

// Predicted is predictions for open rows.
type Predicted struct {
	Trained  int            `json:"trained" doc:"labelled rows that the network was trained on"`
	Warnings []string       `json:"warnings"`
	Rows     []PredictedRow `json:"rows"`
	Total    int            `json:"total" doc:"rows that were predicted"`
}

// PredictedRow is an open row with its predictions.
type PredictedRow struct {
	campaign.RowRef
	Predictions map[string]*nextbatch.Prediction `json:"predictions" doc:"by target; empty for a row that lacks inputs"`
}

func (s *Server) predict(ctx context.Context, in *Named) (*output[Job], error) {
	if _, err := s.campaign(ctx, in.Campaign); err != nil {
		return nil, err
	}
	return s.begin(ctx, order{Job: Job{Campaign: in.Campaign, Kind: "predict", Person: callerOf(ctx).token.Person}})
}
