package server

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/nextbatch/nextbatch/campaign"
)

// A job is written down before it begins, and crossed out when it ends, so that the next
// start takes up those that the end of the process interrupted. Repeating an ask is safe,
// as it has a request id: what it handed out before is returned.

// order is a job as it is written down: what clients see of it, and what to do.
type order struct {
	Job
	Request string        `json:"request"`
	Rows    int           `json:"rows,omitempty"`
	Lease   time.Duration `json:"lease,omitempty"`
	Audit   *float64      `json:"audit,omitempty"`
	Must    []string      `json:"must,omitempty"`
	Exclude []string      `json:"exclude,omitempty"`
}

// ask returns what an order of this kind asks for.
func (o *order) ask() campaign.Ask {
	return campaign.Ask{Rows: o.Rows, Lease: o.Lease, Audit: o.Audit, Must: o.Must, Exclude: o.Exclude}
}

// content is all that an ask says, for comparisons.
func (o *order) content() string {
	raw, err := json.Marshal([]any{o.Rows, o.Lease, o.Audit, append([]string{}, o.Must...), append([]string{}, o.Exclude...)})
	if err != nil {
		panic(err) // it came as JSON
	}
	return string(raw)
}

// putJob writes a job down.
func (t *Tokens) putJob(ctx context.Context, o order) error {
	body, err := json.Marshal(o)
	if err != nil {
		return err
	}
	return t.file.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.Exec("INSERT OR REPLACE INTO jobs VALUES (?, ?, ?)", o.ID, o.Campaign, string(body))
		return err
	})
}

// dropJob crosses a job out.
func (t *Tokens) dropJob(ctx context.Context, id string) error {
	return t.file.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.Exec("DELETE FROM jobs WHERE id = ?", id)
		return err
	})
}

// openJobs returns the jobs that have not ended.
func (t *Tokens) openJobs(ctx context.Context) (list []order, err error) {
	err = t.file.Each(ctx, "SELECT body FROM jobs ORDER BY id", func(row *sql.Rows) error {
		var body string
		if err := row.Scan(&body); err != nil {
			return err
		}
		var o order
		err := json.Unmarshal([]byte(body), &o)
		list = append(list, o)
		return err
	})
	return list, err
}

// begin starts a job and answers with it. An ask whose request is repeated while it runs, because the
// connection was lost, is the job that runs.
func (s *Server) begin(o order) (*output[Job], error) {
	s.jobs.begins.Lock()
	defer s.jobs.begins.Unlock()
	if j := s.jobs.asking(o.Campaign, o.Request); j != nil {
		if err := s.checkSame(j.snapshot().ID, o); err != nil {
			return nil, err
		}
		return answer(j.snapshot(), nil)
	}
	o.ID, o.Begun = strings.ToLower(rand.Text()), s.now().UTC()
	if o.Request == "" {
		o.Request = "job-" + o.ID
	}
	if err := s.jobs.full(); err != nil {
		return nil, err
	}
	ctx := context.Background() // the job outlives the request
	if err := s.options.Tokens.putJob(ctx, o); err != nil {
		return nil, err
	}
	j, err := s.start(o)
	if err != nil {
		_ = s.options.Tokens.dropJob(ctx, o.ID) // otherwise it runs after the next start
		return nil, err
	}
	return answer(j.snapshot(), nil)
}

// checkSame refuses an ask with the request of a running job that asks for something else.
func (s *Server) checkSame(id string, o order) error {
	list, err := s.options.Tokens.openJobs(context.Background())
	if err != nil {
		return err
	}
	for _, there := range list {
		switch {
		case there.ID != id:
		case there.Person != o.Person:
			return &campaign.RequestError{Request: o.Request, Before: "by another person"}
		case there.content() != o.content():
			return &campaign.RequestError{Request: o.Request, Before: "with other content (it is running)"}
		}
	}
	return nil
}

// start runs a job that is written down.
func (s *Server) start(o order) (*job, error) {
	ended := func(interrupted bool) {
		if interrupted {
			return
		}
		if err := s.options.Tokens.dropJob(context.Background(), o.ID); err != nil {
			s.options.Log.Error("a job that has ended is still written down", "job", o.ID, "error", err)
		}
	}
	return s.jobs.start(o.Job, o.Request, s.patiently(o, func(ctx context.Context, report func(JobProgress)) (any, int64, error) {
		switch o.Kind {
		case "ask":
			return s.runAsk(ctx, o, report)
		case "predict":
			return s.runPredict(ctx, o, report)
		case "map":
			return s.runMap(ctx, o, report)
		case "gain":
			return s.runGain(ctx, o, report)
		}
		return nil, 0, fmt.Errorf("there is no kind of job %q", o.Kind)
	}), ended)
}

// resume takes up the jobs that the end of the last process interrupted.
func (s *Server) resume() {
	list, err := s.options.Tokens.openJobs(context.Background())
	if err != nil {
		s.options.Log.Error("jobs cannot be taken up again", "error", err)
		return
	}
	for _, o := range list {
		s.options.Log.Info("a job goes on", "job", o.ID, "kind", o.Kind, "campaign", o.Campaign)
		if _, err := s.start(o); err != nil {
			s.options.Log.Error("a job cannot be taken up again", "job", o.ID, "error", err)
		}
	}
}

// runAsk picks a batch.
func (s *Server) runAsk(ctx context.Context, o order, report func(JobProgress)) (any, int64, error) {
	c, err := s.campaign(ctx, o.Campaign)
	if err != nil {
		return nil, 0, err
	}
	a := o.ask()
	a.Kept = &s.kept
	watch(&a, report)
	batch, err := c.Ask(ctx, campaign.By{Person: o.Person, Request: o.Request}, a)
	if err != nil {
		return nil, 0, err
	}
	return nil, batch.Ask, nil
}

// runPredict predicts the labels of the open rows.
func (s *Server) runPredict(ctx context.Context, o order, report func(JobProgress)) (any, int64, error) {
	c, err := s.campaign(ctx, o.Campaign)
	if err != nil {
		return nil, 0, err
	}
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
}
