package server

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/internal/wire"
)

func (s *Server) tellRoutes() {
	route(s, Labeller, huma.Operation{
		OperationID: "tell", Method: http.MethodPost, Path: "/v1/campaigns/{campaign}/tells", Summary: "Tell labels",
		MaxBodyBytes: listBody,
	}, s.tell((*campaign.Campaign).Tell))
	route(s, Labeller, huma.Operation{
		OperationID: "correct", Method: http.MethodPost, Path: "/v1/campaigns/{campaign}/corrections",
		Summary:      "Replace labels; those of others take the role owner",
		MaxBodyBytes: listBody,
	}, s.correct)
	route(s, Labeller, huma.Operation{
		OperationID: "confirm", Method: http.MethodPost, Path: "/v1/campaigns/{campaign}/confirmations",
		Summary:      "Confirm labels that wait for a second look",
		MaxBodyBytes: listBody,
	}, s.confirm)
	route(s, Labeller, huma.Operation{
		OperationID: "fail", Method: http.MethodPost, Path: "/v1/campaigns/{campaign}/failures",
		Summary:      "Report rows that could not be labelled",
		MaxBodyBytes: listBody,
	}, s.fail)
	route(s, Labeller, huma.Operation{
		OperationID: "return", Method: http.MethodPost, Path: "/v1/campaigns/{campaign}/returns",
		Summary:      "Give rows back that are out",
		MaxBodyBytes: listBody,
	}, s.giveBack)
}

// Told is the answer to a tell.
type Told struct {
	wire.Told
	Predictions map[string]map[string]*fitted.Prediction `json:"predictions" doc:"by id and target: what was predicted before the labels came, of the rows that had been asked for"`
}

type tellInput struct {
	Change
	Body wire.TellRequest
}

func (s *Server) tell(do func(*campaign.Campaign, context.Context, campaign.By, campaign.Tell) (campaign.ToldRows,
	error)) func(context.Context, *tellInput) (*output[Told], error) {
	return func(ctx context.Context, in *tellInput) (*output[Told], error) {
		c, state, err := s.state(ctx, in.Campaign)
		if err != nil {
			return nil, err
		}
		told, err := do(c, ctx, in.by(ctx), in.Body.Tell(state.Created.Targets))
		if err != nil {
			return nil, err
		}
		result := Told{wire.ToldOf(told), map[string]map[string]*fitted.Prediction{}}
		for _, ref := range told.Rows {
			if _, asked := state.AskOf(ref.Row); asked != nil && len(asked.Predictions) > 0 {
				result.Predictions[ref.ID] = wire.Predictions(state.Created.Targets, asked.Predictions)
			}
		}
		return answer(result, nil)
	}
}

func (s *Server) correct(ctx context.Context, in *tellInput) (*output[Told], error) {
	if err := s.mayCorrect(ctx, in); err != nil {
		return nil, err
	}
	return s.tell((*campaign.Campaign).Correct)(ctx, in)
}

// mayCorrect lets a labeller replace only labels that are all their own; an owner may replace all.
func (s *Server) mayCorrect(ctx context.Context, in *tellInput) error {
	token := callerOf(ctx).token
	if token.Role.includes(Owner) {
		return nil
	}
	_, state, err := s.state(ctx, in.Campaign)
	if err != nil {
		return err
	}
	wanted := map[string][]int{} // the numbers of measurements; 0 for all
	for _, m := range in.Body.Rows {
		wanted[m.ID] = append(wanted[m.ID], m.Replicate)
	}
	for _, ref := range slices.Concat(state.With(campaign.StatusLabelled), state.With(campaign.StatusWaiting)) {
		numbers := wanted[ref.ID]
		for _, m := range state.Measurements(ref.Row) {
			if m.Person != token.Person && (slices.Contains(numbers, 0) || slices.Contains(numbers, m.Replicate)) {
				return huma.Error403Forbidden(fmt.Sprintf(
					"a label of %q is not yours; only an owner can correct what others measured", ref.ID))
			}
		}
	}
	return nil
}

func (s *Server) confirm(ctx context.Context, in *IDs) (*output[wire.Changed], error) {
	c, err := s.campaign(ctx, in.Campaign)
	if err != nil {
		return nil, err
	}
	return changedOf(c.Confirm(ctx, in.by(ctx), in.Body.IDs, in.Body.Reason))
}

func (s *Server) fail(ctx context.Context, in *struct {
	Change
	Body wire.FailRequest
}) (*output[wire.Changed], error) {
	c, err := s.campaign(ctx, in.Campaign)
	if err != nil {
		return nil, err
	}
	return changedOf(c.Fail(ctx, in.by(ctx), in.Body.IDs, in.Body.Reason, in.Body.Again))
}

func (s *Server) giveBack(ctx context.Context, in *IDs) (*output[wire.Changed], error) {
	c, err := s.campaign(ctx, in.Campaign)
	if err != nil {
		return nil, err
	}
	return changedOf(c.Return(ctx, in.by(ctx), in.Body.IDs, in.Body.Reason))
}
