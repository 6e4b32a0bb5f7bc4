package server

import (
	"context"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/audit"
	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/wire"
)

// What 'nextbatch campaign audit' does by default.
const (
	auditLevel = 0.05 // p-value up to which a label is called suspect
	mostAudits = 20   // findings of a target, unless more are suspect
)

// LastAudit is the newest audit of a campaign.
type LastAudit struct {
	Audit *Audit `json:"audit" doc:"null if there was none since the service started"`
}

// Audit is which labels of a campaign look wrong.
type Audit struct {
	Labelled int64         `json:"labelled" doc:"labelled rows when it was made"`
	Targets  []AuditTarget `json:"targets"`
	Warnings []string      `json:"warnings"`
}

// AuditTarget is which labels of a target look wrong.
type AuditTarget struct {
	Target   string         `json:"target"`
	Answer   string         `json:"answer" doc:"in a sentence"`
	Suspects int            `json:"suspects" doc:"labels that look wrong: the first findings"`
	Findings []AuditFinding `json:"findings" doc:"labels that disagree most with predictions by models that have not seen them"`
}

// AuditFinding is a label and what was predicted for its row by models that have not seen it.
type AuditFinding struct {
	campaign.RowRef
	Label      float64  `json:"label"`
	Prediction float64  `json:"prediction"`
	Low        float64  `json:"low" doc:"a right label lies between low and high with a probability of 95 %"`
	High       float64  `json:"high"`
	Score      float64  `json:"score" doc:"the error over the error that is typical for such a row"`
	P          *float64 `json:"p,omitempty" doc:"p-value, corrected for the number of labels; absent where it says nothing"`
	Changed    bool     `json:"changed" doc:"the label has changed since, or counts no longer"`
}

func (s *Server) auditRoutes() {
	route(s, Labeller, huma.Operation{
		OperationID: "make-audit", Method: http.MethodPost, Path: "/v1/campaigns/{campaign}/audits", Summary: "Look for labels that look wrong",
		DefaultStatus: http.StatusAccepted,
	}, s.makeAudit)
	route(s, Viewer, huma.Operation{
		OperationID: "get-audit", Method: http.MethodGet, Path: "/v1/campaigns/{campaign}/audit", Summary: "The newest audit of the labels",
	}, s.getAudit)
}

func (s *Server) makeAudit(ctx context.Context, in *Named) (*output[wire.Job], error) {
	if _, err := s.campaign(ctx, in.Campaign); err != nil {
		return nil, err
	}
	return s.begin(ctx, order{Job: wire.Job{Campaign: in.Campaign, Kind: "audit", Person: callerOf(ctx).token.Person}})
}

// runAudit audits the labels and keeps what it finds.
func (s *Server) runAudit(ctx context.Context, j *job, c *campaign.Campaign, a campaign.Ask) (outcome, error) {
	found, err := c.Labelled(ctx, a)
	if err != nil {
		return outcome{}, err
	}
	step := func(done, of int) { j.progress(wire.Progress{Stage: "auditing", Done: done, Of: of}) }
	reports, err := audit.Labels(ctx, nextbatch.Sample(found.Rows), audit.Options{
		Learner: found.Learner, Network: network.Options{Config: found.Network, Columns: &found.Encoder, Targets: found.Targets}, Progress: step,
		Fitting: func(done, of int, _ string, _, _ int) { step(done, of) },
	})
	if reports == nil || ctx.Err() != nil {
		return outcome{}, err
	}
	made := &Audit{Labelled: int64(len(found.Refs)), Warnings: []string{}}
	if err != nil { // some networks diverged
		made.Warnings = append(made.Warnings, err.Error())
	}
	for t, r := range reports {
		made.Targets = append(made.Targets, targetOf(found, found.Targets[t], r))
		for _, note := range r.Notes {
			if !slices.Contains(made.Warnings, note) {
				made.Warnings = append(made.Warnings, note)
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.audits[c.Name()] = made
	return outcome{}, nil
}

func targetOf(of *campaign.Labelled, target string, r *audit.Report) AuditTarget {
	t := AuditTarget{Target: target, Answer: r.Answer(auditLevel), Suspects: len(r.Suspects(auditLevel)), Findings: []AuditFinding{}}
	for _, f := range r.Findings[:min(max(mostAudits, t.Suspects), len(r.Findings))] {
		one := AuditFinding{RowRef: of.Refs[f.Row], Label: f.Label, Prediction: f.Prediction, Low: f.Low, High: f.High, Score: f.Score}
		if f.P <= audit.ShownP {
			one.P = &f.P
		}
		t.Findings = append(t.Findings, one)
	}
	return t
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
			f.Changed = !state.Exists(f.Row) || state.Status(f.Row) != campaign.StatusLabelled || state.Label(f.Row)[i] != f.Label
		}
		now.Targets[i].Findings = list
	}
	return answer(LastAudit{&now}, nil)
}
