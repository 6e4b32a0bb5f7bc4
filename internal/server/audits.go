package server

import (
	"context"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/internal/wire"
)

// LastAudit is the newest audit of a campaign.
type LastAudit struct {
	Audit *wire.Audit `json:"audit" doc:"null if there was none since the service started"`
}

func (s *Server) auditRoutes() {
	route(s, Labeller, huma.Operation{
		OperationID: "make-audit", Method: http.MethodPost, Path: "/v1/campaigns/{campaign}/audits",
		Summary:       "Look for labels that look wrong",
		DefaultStatus: http.StatusAccepted,
	}, s.makeAudit)
	route(s, Viewer, huma.Operation{
		OperationID: "get-audit", Method: http.MethodGet, Path: "/v1/campaigns/{campaign}/audit",
		Summary: "The newest audit of the labels",
	}, s.getAudit)
}

func (s *Server) makeAudit(ctx context.Context, in *Named) (*output[wire.Job], error) {
	if _, err := s.campaign(ctx, in.Campaign); err != nil {
		return nil, err
	}
	return s.begin(ctx, order{Job: wire.Job{Campaign: in.Campaign, Kind: "audit", Person: callerOf(ctx).token.Person}})
}

// runAudit audits the labels and keeps what it finds.
func (s *Server) runAudit(ctx context.Context, j *job, c *campaign.Campaign, a campaign.Ask) (jobResult, error) {
	made, err := wire.AuditOf(ctx, c, a, j.progress)
	if err != nil {
		return jobResult{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.audits[c.Name()] = made
	return jobResult{}, nil
}

func (s *Server) getAudit(ctx context.Context, in *Named) (*output[LastAudit], error) {
	c, err := s.campaign(ctx, in.Campaign)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	kept := s.audits[in.Campaign]
	s.mu.Unlock()
	if kept == nil {
		return answer(LastAudit{}, nil)
	}
	state, err := c.State(ctx)
	if err != nil {
		return nil, err
	}
	now := *kept
	now.Targets = slices.Clone(kept.Targets)
	for i, t := range now.Targets {
		list := slices.Clone(t.Findings)
		for k := range list {
			f := &list[k]
			f.Changed = !state.Exists(f.Row) || state.Status(f.Row) != campaign.StatusLabelled ||
				state.Label(f.Row)[i] != f.Label
		}
		now.Targets[i].Findings = list
	}
	return answer(LastAudit{&now}, nil)
}
