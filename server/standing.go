package server

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/nextbatch/nextbatch/campaign"
)

func (s *Server) standingRoutes() {
	route(s, Viewer, huma.Operation{
		OperationID: "get-standing", Method: http.MethodGet, Path: "/v1/campaigns/{campaign}/standing",
		Summary: "Errors, learning curve, forecast and advice",
	}, s.standing)
}

func (s *Server) standing(ctx context.Context, in *struct {
	Named
	Stop string `query:"stop" maxLength:"200" doc:"when to stop, such as rmse<0.5 or gain<1%" example:"rmse<0.5"`
}) (*output[json.RawMessage], error) {
	c, err := s.campaign(ctx, in.Campaign)
	if err != nil {
		return nil, err
	}
	var rule campaign.StopRule
	if in.Stop != "" {
		if rule, err = campaign.ParseStopRule(in.Stop); err != nil {
			return nil, err
		}
	}
	standing, err := c.Standing(ctx, rule)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(standing)
	return answer(json.RawMessage(raw), err)
}
