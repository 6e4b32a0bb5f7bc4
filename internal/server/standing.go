package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/internal/estimate"
	"github.com/nextbatch/nextbatch/internal/wire"
	"github.com/nextbatch/nextbatch/network"
)

func (s *Server) standingRoutes() {
	route(s, Viewer, huma.Operation{
		OperationID: "get-standing", Method: http.MethodGet, Path: "/v1/campaigns/{campaign}/standing",
		Summary: "Errors, learning curve, forecast and advice",
	}, s.standing)
	route(s, Labeller, huma.Operation{
		OperationID: "measure-gain", Method: http.MethodPost, Path: "/v1/campaigns/{campaign}/gains",
		Summary:       "Measure how many labels random selection would have taken, for the standing",
		DefaultStatus: http.StatusAccepted,
	}, s.measureGain)
}

func (s *Server) measureGain(ctx context.Context, in *Named) (*output[wire.Job], error) {
	if _, err := s.campaign(ctx, in.Campaign); err != nil {
		return nil, err
	}
	return s.begin(ctx, order{Job: wire.Job{Campaign: in.Campaign, Kind: "gain", Person: callerOf(ctx).token.Person}})
}

// runGain fits models to random rows; the campaign keeps what it finds.
func (s *Server) runGain(ctx context.Context, j *job, c *campaign.Campaign, a campaign.Ask) (jobResult, error) {
	state, err := c.State(ctx)
	if err != nil {
		return jobResult{}, err
	}
	done, networks := 0, estimate.GainNetworks*len(state.Created.Targets)
	a.Epoch = func(e network.Epoch) {
		done++
		j.progress(wire.Progress{Stage: "comparing", Done: min(done, networks*e.Of), Of: networks * e.Of})
	}
	if state.Settings.Learner.Blends() { // whose networks are of any number
		a.Epoch, a.Fitting = nil, nil
		a.Compared = func(n int) { j.progress(wire.Progress{Stage: "comparing", Done: n, Of: networks}) }
	}
	return jobResult{}, c.MeasureGain(ctx, a)
}

func (s *Server) standing(ctx context.Context, in *struct {
	Named
	Stop string `query:"stop" maxLength:"200" doc:"when to stop, such as rmse<0.5 or gain<2%, where the gain is that of 10 % more labels, by its upper limit" example:"rmse<0.5"`
}) (*output[campaign.Standing], error) {
	c, err := s.campaign(ctx, in.Campaign)
	if err != nil {
		return nil, err
	}
	standing, err := c.Standing(ctx, in.Stop)
	if err != nil {
		return nil, err
	}
	return answer(*standing, nil)
}
