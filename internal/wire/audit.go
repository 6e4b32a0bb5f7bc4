package wire

import (
	"context"
	"slices"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/internal/audit"
	"github.com/nextbatch/nextbatch/network"
)

// What 'nextbatch campaign audit' does by default.
const (
	auditLevel = 0.05 // p-value up to which a label is called suspect
	mostAudits = 20   // findings of a target, unless more are suspect
)

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

// AuditOf audits the labels of a campaign. Of the ask, only the functions have an effect.
func AuditOf(ctx context.Context, c *campaign.Campaign, a campaign.Ask, report func(Progress)) (*Audit, error) {
	found, err := c.Labelled(ctx, a)
	if err != nil {
		return nil, err
	}
	step := func(done, of int) { report(Progress{Stage: "auditing", Done: done, Of: of}) }
	reports, err := audit.Labels(ctx, fitted.Sample(found.Rows), audit.Options{
		Learner: found.Learner, Network: network.Options{Config: found.Network, Columns: &found.Encoder,
			Targets: found.Targets}, Progress: step,
		Fitting: func(done, of int, _ string, _, _ int) { step(done, of) },
	})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if reports == nil {
		return nil, err
	}
	made := &Audit{Labelled: int64(len(found.Refs)), Warnings: []string{}}
	if err != nil { // some networks diverged
		made.Warnings = append(made.Warnings, err.Error())
	}
	for t, r := range reports {
		made.Targets = append(made.Targets, auditOf(found, found.Targets[t], r))
		for _, note := range r.Notes {
			if !slices.Contains(made.Warnings, note) {
				made.Warnings = append(made.Warnings, note)
			}
		}
	}
	return made, nil
}

func auditOf(of *campaign.Labelled, target string, r *audit.Report) AuditTarget {
	name := func(row int) string { return of.Refs[row].ID }
	t := AuditTarget{Target: target, Answer: r.Answer(auditLevel, name).String(), Suspects: len(r.Suspects(auditLevel)),
		Findings: []AuditFinding{}}
	for _, f := range r.Findings[:min(max(mostAudits, t.Suspects), len(r.Findings))] {
		one := AuditFinding{RowRef: of.Refs[f.Row], Label: f.Label, Prediction: f.Prediction, Low: f.Low,
			High: f.High, Score: f.Score}
		if f.P <= audit.ShownP {
			one.P = &f.P
		}
		t.Findings = append(t.Findings, one)
	}
	return t
}
