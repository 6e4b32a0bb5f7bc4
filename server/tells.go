package server

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/campaign"
)

func (s *Server) tellRoutes() {
	route(s, Labeller, huma.Operation{
		OperationID: "tell", Method: http.MethodPost, Path: "/v1/campaigns/{campaign}/tells", Summary: "Tell labels",
		MaxBodyBytes: listBody,
	}, s.tell((*campaign.Campaign).Tell))
	route(s, Owner, huma.Operation{
		OperationID: "correct", Method: http.MethodPost, Path: "/v1/campaigns/{campaign}/corrections", Summary: "Replace labels",
		MaxBodyBytes: listBody,
	}, s.tell((*campaign.Campaign).Correct))
	route(s, Labeller, huma.Operation{
		OperationID: "fail", Method: http.MethodPost, Path: "/v1/campaigns/{campaign}/failures", Summary: "Report rows that could not be labelled",
		MaxBodyBytes: listBody,
	}, s.fail)
	route(s, Labeller, huma.Operation{
		OperationID: "return", Method: http.MethodPost, Path: "/v1/campaigns/{campaign}/returns", Summary: "Give rows back that are out",
		MaxBodyBytes: listBody,
	}, s.giveBack)
}

// Measured is measurements of a row.
type Measured struct {
	ID     string             `json:"id" doc:"of the row"`
	Values map[string]float64 `json:"values" doc:"by target"`
}

// Told is what was told.
type Told struct {
	Changed
	Known int              `json:"known" doc:"numbers that the rows had already"`
	Wrong []campaign.Fault `json:"wrong" doc:"rows that were left out, with partial"`
	// By id, then by target.
	Predictions map[string]map[string]*nextbatch.Prediction `json:"predictions" doc:"by id and target: what was predicted before the labels came, of the rows that had been asked for"`
}

type tellInput struct {
	Change
	Body struct {
		Rows    []Measured `json:"rows" nullable:"true" minItems:"1" maxItems:"100000" doc:"what was measured"`
		Partial bool       `json:"partial,omitempty" doc:"take the rows that are right, even if others are wrong"`
		Again   bool       `json:"again,omitempty" doc:"take numbers that rows already have as further measurements"`
	}
}

func (s *Server) tell(do func(*campaign.Campaign, context.Context, campaign.By, campaign.Tell) (campaign.ToldRows, error)) func(context.Context, *tellInput) (*output[Told], error) {
	return func(ctx context.Context, in *tellInput) (*output[Told], error) {
		c, err := s.campaign(ctx, in.Campaign)
		if err != nil {
			return nil, err
		}
		state, err := c.State(ctx)
		if err != nil {
			return nil, err
		}
		t := campaign.Tell{Partial: in.Body.Partial, Again: in.Body.Again}
		for i, m := range in.Body.Rows {
			t.Entries = append(t.Entries, entry(i, m, state.Created.Targets))
		}
		told, err := do(c, ctx, in.by(ctx), t)
		if err != nil {
			return nil, err
		}
		result := Told{Changed{told.Seq, append([]campaign.RowRef{}, told.Rows...), told.Repeated}, told.Known, append([]campaign.Fault{}, told.Faults...), map[string]map[string]*nextbatch.Prediction{}}
		for _, ref := range told.Rows {
			if _, asked := state.AskOf(ref.Row); asked != nil && len(asked.Predictions) > 0 {
				result.Predictions[ref.ID] = predictionsOf(state.Created.Targets, asked.Predictions)
			}
		}
		return answer(result, nil)
	}
}

// entry returns a measurement in the order of the targets.
func entry(line int, m Measured, targets []string) campaign.Entry {
	e := campaign.Entry{Line: line, ID: m.ID, Values: make([]float64, len(targets))}
	for i, target := range targets {
		v, there := m.Values[target]
		if !there {
			v = math.NaN()
		}
		e.Values[i] = v
	}
	for name := range m.Values {
		if !slices.Contains(targets, name) {
			e.Fault = fmt.Sprintf("%q is not a target of the campaign; its targets are %s", name, strings.Join(targets, ", "))
		}
	}
	return e
}

func (s *Server) fail(ctx context.Context, in *struct {
	Change
	Body struct {
		IDs    []string `json:"ids" nullable:"true" minItems:"1" maxItems:"100000" doc:"ids of the rows"`
		Reason string   `json:"reason,omitempty" maxLength:"1000"`
		Again  bool     `json:"again,omitempty" doc:"the rows are open again; otherwise they are never asked for again"`
	}
}) (*output[Changed], error) {
	c, err := s.campaign(ctx, in.Campaign)
	if err != nil {
		return nil, err
	}
	return changedOf(c.Fail(ctx, in.by(ctx), in.Body.IDs, in.Body.Reason, in.Body.Again))
}

func (s *Server) giveBack(ctx context.Context, in *IDs) (*output[Changed], error) {
	c, err := s.campaign(ctx, in.Campaign)
	if err != nil {
		return nil, err
	}
	return changedOf(c.Return(ctx, in.by(ctx), in.Body.IDs, in.Body.Reason))
}
