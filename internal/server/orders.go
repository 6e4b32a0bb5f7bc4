package server

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"fmt"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/internal/options"
	"github.com/nextbatch/nextbatch/internal/wire"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/network"
)

// A job is recorded before it begins, and its record is removed when it ends or is cancelled, so
// that the next start resumes those that the end of the process interrupted. Repeating an ask is
// safe, because it has a request id: what it handed out before is returned.
//
// A job may be the reason why the process ended, by taking all memory for example. So each attempt
// is counted before it begins, and the count is reduced by an orderly end. A job that was
// interrupted mostAttempts times fails.

// order is the record of a job: what clients see of it, and what to do.
type order struct {
	wire.Job
	Request string        `json:"request"`
	Rows    int           `json:"rows,omitempty"`
	Lease   time.Duration `json:"lease,omitempty"`
	Audit   *float64      `json:"audit,omitempty"`
	Must    []string      `json:"must,omitempty"`
	Exclude []string      `json:"exclude,omitempty"`
	campaign.Overrides
	Browser  bool `json:"browser,omitempty"`  // messages name options as the page does
	Attempts int  `json:"attempts,omitempty"` // that the end of the process may have interrupted
}

const mostAttempts = 2

// asksFor reports whether two orders of one campaign are the same ask of the same person.
func (o order) asksFor(other order) bool {
	return o.Person == other.Person && o.Rows == other.Rows && o.Lease == other.Lease &&
		reflect.DeepEqual(o.Audit, other.Audit) &&
		slices.Equal(o.Must, other.Must) && slices.Equal(o.Exclude, other.Exclude) &&
		reflect.DeepEqual(o.Overrides, other.Overrides)
}

// ask returns what an order of this kind asks for.
func (o *order) ask() campaign.Ask {
	a := campaign.Ask{Rows: o.Rows, Lease: o.Lease, Audit: o.Audit, Must: o.Must, Exclude: o.Exclude,
		Overrides: o.Overrides}
	if o.Browser {
		a.FieldName = options.Field
	}
	return a
}

// putJob records a job.
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

// updateJob changes the record of a job, unless it was removed; it reports whether it was there.
func (t *Tokens) updateJob(ctx context.Context, o order) (there bool, err error) {
	body, err := json.Marshal(o)
	if err != nil {
		return false, err
	}
	err = t.file.Write(ctx, func(tx *sql.Tx) error {
		result, err := tx.Exec("UPDATE jobs SET body = ? WHERE id = ?", string(body), o.ID)
		if err != nil {
			return err
		}
		n, err := result.RowsAffected()
		there = n > 0
		return err
	})
	return there, err
}

// dropJob removes the record of a job.
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

// begin starts a job and answers with it, or with the same job if it is already open.
func (s *Server) begin(ctx context.Context, o order) (*output[wire.Job], error) {
	same, err := s.same(ctx, o)
	if err != nil {
		return nil, err
	}
	o.ID, o.Begun = strings.ToLower(rand.Text()), s.now().UTC()
	if o.Request == "" {
		o.Request = "job-" + o.ID
	}
	write := func() error { return s.options.Tokens.putJob(context.Background(), o) } // the job outlives the request
	j, err := s.jobs.start(o, same, write, s.work)
	if err != nil {
		return nil, err
	}
	return answer(j.snapshot(), nil)
}

// same returns a function that finds the job that an order repeats: an ask with the same request, because
// the connection was lost, or another job of the kind that has not begun or sees the
// campaign as it is now.
func (s *Server) same(ctx context.Context, o order) (func(*job) (bool, error), error) {
	alike := func(j *job) bool { return j.order.Campaign == o.Campaign && j.order.Kind == o.Kind }
	if o.Kind == "ask" {
		return func(j *job) (bool, error) {
			if !alike(j) || j.order.Request != o.Request {
				return false, nil
			}
			if !j.order.asksFor(o) {
				return true, &campaign.RequestError{Request: o.Request, Before: "for another ask, which is running"}
			}
			return true, nil
		}, nil
	}
	_, state, err := s.state(ctx, o.Campaign)
	if err != nil {
		return nil, err
	}
	return func(j *job) (bool, error) { return alike(j) && j.sees(state.Seq), nil }, nil
}

// work does the work of a job, and keeps its record up to date.
func (s *Server) work(ctx context.Context, j *job) (jobResult, error) {
	o := j.order
	o.Attempts++
	switch there, err := s.options.Tokens.updateJob(context.WithoutCancel(ctx), o); {
	case err != nil:
		s.logJob("a job that has failed is still written down", o, s.options.Tokens.dropJob(context.Background(), o.ID))
		return jobResult{}, err
	case !there: // it is being cancelled
		j.stop()
		return jobResult{}, context.Canceled
	}
	left, err := s.patiently(ctx, j, s.guarded)
	if err != nil && s.jobs.begin.Err() != nil { // the process ends in good order
		_, failed := s.options.Tokens.updateJob(context.Background(), j.order)
		s.logJob("a job that was interrupted counts as an attempt", o, failed)
		return left, err
	}
	s.logJob("a job that has ended is still written down", o, s.options.Tokens.dropJob(context.Background(), o.ID))
	return left, err
}

func (s *Server) logJob(what string, o order, err error) {
	if err != nil {
		s.options.Log.Error(what, "job", o.ID, "error", err)
	}
}

// guarded runs a job and turns a panic into its failure.
func (s *Server) guarded(ctx context.Context, j *job) (left jobResult, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			s.options.Log.Error("a job panicked", "job", j.order.ID, "kind", j.order.Kind, "campaign", j.order.Campaign, "fault",
				fault, "stack", string(debug.Stack()))
			left, err = jobResult{}, errFault
		}
	}()
	c, state, err := s.state(ctx, j.order.Campaign)
	if err != nil {
		return jobResult{}, err
	}
	j.update(func() { j.event = state.Seq })
	run, known := map[string]func(context.Context, *job, *campaign.Campaign, campaign.Ask) (jobResult, error){
		"ask": s.runAsk, "predict": s.runPredict, "map": s.runMap, "gain": s.runGain, "audit": s.runAudit,
	}[j.order.Kind]
	if !known {
		return jobResult{}, fmt.Errorf("there is no kind of job %q", j.order.Kind)
	}
	return run(ctx, j, c, s.watched(ctx, j))
}

// kinds are what messages call jobs.
var kinds = map[string]string{"ask": "the ask", "predict": "predicting", "map": "the map", "gain": "measuring the gain",
	"audit": "the audit of the labels"}

// watched returns the ask of a job, which reports its progress and requests its memory.
func (s *Server) watched(ctx context.Context, j *job) campaign.Ask {
	a := j.order.ask()
	a.Epoch = func(e network.Epoch) { j.progress(wire.Progress{Stage: "training", Done: e.Number, Of: e.Of}) }
	a.Fitting = j.fitting()
	a.Progress = func(p nextbatch.Progress) { j.progress(wire.Progress{Stage: string(p.Stage), Done: p.Done, Of: p.Of}) }
	a.Admit = func(bytes int64, less ...string) error {
		return s.jobs.memory.admit(ctx, j, kinds[j.order.Kind], bytes, less)
	}
	return a
}

// fitting returns a function that reports which model of a blend is being fitted, to all rows after those of the folds.
// Networks report their epochs.
func (j *job) fitting() func(learner string, fold, folds int) {
	begun := map[string]int{}
	return func(name string, _, folds int) {
		if name != learner.NetworkName {
			j.progress(wire.Progress{Stage: "fitting", Done: begun[name] % (folds + 1), Of: folds + 1})
			begun[name]++
		}
	}
}

// cancelJob cancels a job. Its record is removed first: once the answer has been sent, no start of
// the service resumes it.
func (s *Server) cancelJob(ctx context.Context, j *job) error {
	if !j.goesOn() {
		return nil
	}
	if err := s.options.Tokens.dropJob(context.WithoutCancel(ctx), j.order.ID); err != nil {
		return err
	}
	j.stop()
	return nil
}

// resume resumes the jobs that the end of the last process interrupted.
func (s *Server) resume() {
	ctx := context.Background()
	list, err := s.options.Tokens.openJobs(ctx)
	if err != nil {
		s.options.Log.Error("jobs cannot be taken up again", "error", err)
		return
	}
	none := func(*job) (bool, error) { return false, nil }
	for _, o := range list {
		if o.Attempts >= mostAttempts {
			o.State, o.Ended = wire.Failed, new(s.now().UTC())
			o.Problem = fmt.Sprintf("the service ended %d times while this job ran, so it is not tried again; it may take "+
				"more memory than there is: try a smaller method or network, or fewer rows", o.Attempts)
			s.options.Log.Error("a job failed", "job", o.ID, "kind", o.Kind, "campaign", o.Campaign, "error", o.Problem)
			s.jobs.add(o)
			s.logJob("a job that has failed is still written down", o, s.options.Tokens.dropJob(ctx, o.ID))
			continue
		}
		s.options.Log.Info("a job resumes", "job", o.ID, "kind", o.Kind, "campaign", o.Campaign)
		_, err := s.jobs.start(o, none, func() error { return nil }, s.work)
		s.logJob("a job cannot be taken up again", o, err)
	}
}

// runAsk picks a batch.
func (s *Server) runAsk(ctx context.Context, j *job, c *campaign.Campaign, a campaign.Ask) (jobResult, error) {
	a.Kept = &s.kept
	batch, err := c.Ask(ctx, campaign.By{Person: j.order.Person, Request: j.order.Request}, a)
	if err != nil {
		return jobResult{}, err
	}
	return jobResult{ask: batch.Ask}, nil
}

// predictionResult is the result of a job that predicts.
type predictionResult struct {
	*campaign.Predicted
	targets []string
	bytes   int64
}

// runPredict predicts the labels of the open rows.
func (s *Server) runPredict(ctx context.Context, _ *job, c *campaign.Campaign, a campaign.Ask) (jobResult, error) {
	p, err := c.Predict(ctx, a)
	if err != nil {
		return jobResult{}, err
	}
	state, err := c.State(ctx)
	if err != nil {
		return jobResult{}, err
	}
	const row, target = 56, 40 // bytes: the lists' own, and a value with its limits
	size := int64(len(p.Rows)) * int64(row+target*len(state.Created.Targets))
	for _, ref := range p.Rows {
		size += int64(len(ref.ID))
	}
	return jobResult{predicted: &predictionResult{p, state.Created.Targets, size}}, nil
}
