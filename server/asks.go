package server

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/network"
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
	RowDetail
	Audit       bool                   `json:"audit" doc:"drawn at random, to estimate the error"`
	Reason      string                 `json:"reason" doc:"why it was picked"`
	Predictions map[string]*Prediction `json:"predictions" doc:"by target, made before the label came; empty without a network"`
}

// Prediction is a predicted label, with an interval that is to hold it with a
// probability of 90 %.
type Prediction struct {
	Value float64  `json:"value"`
	Low   *float64 `json:"low,omitempty"`
	High  *float64 `json:"high,omitempty"`
}

func (s *Server) askRoutes() {
	route(s, Labeller, huma.Operation{
		OperationID: "ask", Method: http.MethodPost, Path: "/v1/campaigns/{campaign}/asks", Summary: "Ask for a batch",
		DefaultStatus: http.StatusAccepted, Errors: []int{http.StatusServiceUnavailable},
	}, s.ask)
	route(s, Viewer, huma.Operation{
		OperationID: "get-ask", Method: http.MethodGet, Path: "/v1/campaigns/{campaign}/asks/{ask}", Summary: "A batch that was handed out",
	}, s.getAsk)
	route(s, Labeller, huma.Operation{
		OperationID: "predict", Method: http.MethodPost, Path: "/v1/campaigns/{campaign}/predictions", Summary: "Predict the labels of all open rows",
		DefaultStatus: http.StatusAccepted, Errors: []int{http.StatusServiceUnavailable},
	}, s.predict)
}

func (s *Server) ask(ctx context.Context, in *struct {
	Change
	Body struct {
		Rows    int      `json:"rows,omitempty" minimum:"0" maximum:"1000000" doc:"how many; 0 means as the settings say"`
		Lease   string   `json:"lease,omitempty" doc:"how long the rows are out, such as 168h; empty means as the settings say" example:"168h"`
		Audit   *float64 `json:"audit,omitempty" minimum:"0" maximum:"1" doc:"share of audit rows; by default as the settings say"`
		Must    []string `json:"must,omitempty" maxItems:"100000" doc:"ids of rows that must be in the batch"`
		Exclude []string `json:"exclude,omitempty" maxItems:"100000" doc:"ids of rows that may not be in the batch"`
	}
}) (*output[Job], error) {
	c, err := s.campaign(ctx, in.Campaign)
	if err != nil {
		return nil, err
	}
	a := campaign.Ask{Rows: in.Body.Rows, Audit: in.Body.Audit, Must: in.Body.Must, Exclude: in.Body.Exclude}
	if in.Body.Lease != "" {
		if a.Lease, err = time.ParseDuration(in.Body.Lease); err != nil || a.Lease == 0 {
			return nil, huma.Error422UnprocessableEntity("the lease cannot be read",
				&huma.ErrorDetail{Location: "body.lease", Value: in.Body.Lease, Message: "write a time such as 168h or 90m; a negative one means without end"})
		}
	}
	by := in.by(ctx)
	return s.begin(Job{Campaign: in.Campaign, Kind: "ask", Person: by.Person}, func(ctx context.Context, report func(JobProgress)) (any, int64, error) {
		watch(&a, report)
		batch, err := c.Ask(ctx, by, a)
		if err != nil {
			return nil, 0, err
		}
		return nil, batch.Ask, nil
	})
}

// begin starts a job and answers with it.
func (s *Server) begin(public Job, work func(context.Context, func(JobProgress)) (any, int64, error)) (*output[Job], error) {
	j, err := s.jobs.start(public, work)
	if err != nil {
		return nil, err
	}
	return answer(j.snapshot(), nil)
}

// watch reports the progress of an ask.
func watch(a *campaign.Ask, report func(JobProgress)) {
	a.Epoch = func(e network.Epoch) { report(JobProgress{"training", e.Number, e.Of}) }
	a.Progress = func(p nextbatch.Progress) { report(JobProgress{string(p.Stage), p.Done, p.Of}) }
}

func (s *Server) getAsk(ctx context.Context, in *struct {
	Named
	Ask int64 `path:"ask" minimum:"1"`
}) (*output[Batch], error) {
	c, err := s.campaign(ctx, in.Campaign)
	if err != nil {
		return nil, err
	}
	state, err := c.State(ctx)
	if err != nil {
		return nil, err
	}
	for _, e := range state.Asks {
		if e.Ask == in.Ask {
			return answer(s.batch(ctx, c, state, e))
		}
	}
	return nil, huma.Error404NotFound(fmt.Sprintf("the campaign has no ask %d", in.Ask))
}

// batch returns a batch with what was said about its rows when it was handed out.
func (s *Server) batch(ctx context.Context, c *campaign.Campaign, state *campaign.State, e campaign.AskEvent) (Batch, error) {
	b := Batch{
		Ask: e.Ask, Event: e.Seq, Time: e.Time, Person: e.Person, LeaseEnd: e.LeaseEnd, Spec: e.Spec, Trained: e.Trained,
		Warnings: []string{}, Rows: []Picked{},
	}
	raw, err := s.options.Store.Blob(ctx, c.Name(), e.Result)
	if err != nil {
		return b, err
	}
	var result nextbatch.Result
	if err := json.Unmarshal(raw, &result); err != nil {
		return b, err
	}
	b.Warnings = append(b.Warnings, result.Warnings...)
	refs := make([]campaign.RowRef, len(e.Rows))
	for i, r := range e.Rows {
		refs[i] = r.RowRef
	}
	rows, err := details(ctx, c, state, refs)
	if err != nil {
		return b, err
	}
	for i, r := range e.Rows {
		p := Picked{RowDetail: rows[i], Audit: r.Audit, Predictions: predictionsOf(state.Created.Targets, r.Predictions)}
		if i < len(result.Reasons) {
			p.Reason = result.Reasons[i]
		}
		b.Rows = append(b.Rows, p)
	}
	return b, nil
}

func predictionsOf(targets []string, list []nextbatch.Prediction) map[string]*Prediction {
	all := map[string]*Prediction{}
	for i, p := range list {
		if math.IsNaN(float64(p.Value)) || math.IsInf(float64(p.Value), 0) {
			continue
		}
		all[targets[i]] = &Prediction{float64(p.Value), (*float64)(p.Low), (*float64)(p.High)}
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
	Row
	Predictions map[string]*Prediction `json:"predictions" doc:"by target; empty for a row that lacks inputs"`
}

func (s *Server) predict(ctx context.Context, in *Named) (*output[Job], error) {
	c, err := s.campaign(ctx, in.Campaign)
	if err != nil {
		return nil, err
	}
	person := callerOf(ctx).token.Person
	return s.begin(Job{Campaign: in.Campaign, Kind: "predict", Person: person}, func(ctx context.Context, report func(JobProgress)) (any, int64, error) {
		var a campaign.Ask
		watch(&a, report)
		p, err := c.Predict(ctx, a)
		if err != nil {
			return nil, 0, err
		}
		state, err := c.State(ctx)
		if err != nil {
			return nil, 0, err
		}
		result := Predicted{Trained: p.Trained, Warnings: append([]string{}, p.Warnings...), Rows: []PredictedRow{}}
		for i, ref := range p.Rows {
			result.Rows = append(result.Rows, PredictedRow{Row(ref), predictionsOf(state.Created.Targets, p.Predictions[i])})
		}
		result.Total = len(result.Rows)
		return result, 0, nil
	})
}
