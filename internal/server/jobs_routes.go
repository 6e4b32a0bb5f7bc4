package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/sse"

	"github.com/nextbatch/nextbatch/internal/wire"
)

// JobPath is the input of an operation about a job.
type JobPath struct {
	Named
	Job string `path:"job" maxLength:"64" doc:"id of the job"`
}

func (s *Server) jobRoutes() {
	const path = "/v1/campaigns/{campaign}/jobs"
	route(s, Viewer, huma.Operation{
		OperationID: "list-jobs", Method: http.MethodGet, Path: path, Summary: "Jobs, the latest first",
	}, func(_ context.Context, in *Named) (*output[[]wire.Job], error) {
		return answer(append([]wire.Job{}, s.jobs.of(in.Campaign)...), nil)
	})
	route(s, Viewer, huma.Operation{
		OperationID: "get-job", Method: http.MethodGet, Path: path + "/{job}", Summary: "How far a job is",
	}, func(_ context.Context, in *JobPath) (*output[wire.Job], error) {
		j, err := s.job(in)
		if err != nil {
			return nil, err
		}
		return answer(j.snapshot(), nil)
	})
	route(s, Viewer, huma.Operation{
		OperationID: "get-predictions", Method: http.MethodGet, Path: path + "/{job}/predictions",
		Summary: "The result of a job that predicted",
	}, s.predictions)
	route(s, Labeller, huma.Operation{
		OperationID: "cancel-job", Method: http.MethodDelete, Path: path + "/{job}", Summary: "Cancel a job",
	}, func(ctx context.Context, in *JobPath) (*output[wire.Job], error) {
		j, err := s.job(in)
		if err != nil {
			return nil, err
		}
		if err := s.cancelJob(ctx, j); err != nil {
			return nil, err
		}
		return answer(j.snapshot(), nil)
	})
	sse.Register(s.api, huma.Operation{
		OperationID: "watch-job", Method: http.MethodGet, Path: path + "/{job}/events", Summary: "Watch a job",
		Description: "Takes the role viewer. Sends the job after every change, and ends with the job.",
		Middlewares: huma.Middlewares{s.allow(Viewer), s.knownJob}, Metadata: map[string]any{"role": Viewer},
		Errors: []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound},
	}, map[string]any{"job": wire.Job{}}, s.watchJob)
}

// knownJob rejects a request to watch a job that does not exist: a stream has no other place for an error.
func (s *Server) knownJob(ctx huma.Context, next func(huma.Context)) {
	if _, err := s.job(&JobPath{Named: Named{ctx.Param("campaign")}, Job: ctx.Param("job")}); err != nil {
		huma.WriteErr(s.api, ctx, http.StatusNotFound, noSuchJob)
		return
	}
	next(ctx)
}

const noSuchJob = "there is no such job; jobs that have ended are forgotten when the service restarts"

// job returns a job of a campaign.
func (s *Server) job(in *JobPath) (*job, error) {
	j := s.jobs.find(in.Job)
	if j == nil || j.snapshot().Campaign != in.Campaign {
		return nil, huma.Error404NotFound(noSuchJob)
	}
	return j, nil
}

func (s *Server) predictions(_ context.Context, in *struct {
	JobPath
	Offset int `query:"offset" minimum:"0" doc:"rows to skip"`
	Limit  int `query:"limit" minimum:"1" maximum:"100000" default:"1000"`
}) (*output[Predicted], error) {
	j, err := s.job(&in.JobPath)
	if err != nil {
		return nil, err
	}
	j.mu.Lock()
	state, found := j.public, j.outcome.predicted
	j.mu.Unlock()
	switch {
	case state.Kind != "predict":
		return nil, huma.Error404NotFound("the job predicts nothing")
	case state.State == wire.Running:
		return nil, huma.Error409Conflict("the job is still running")
	case state.State != wire.Done:
		return nil, huma.Error409Conflict("the job has no result: " + state.Problem)
	case found == nil:
		return nil, huma.Error410Gone("the predictions are no longer kept, as others came after them: predict again")
	}
	result := Predicted{Trained: found.Trained, Warnings: append([]string{}, found.Warnings...), Rows: []PredictedRow{},
		Total: len(found.Rows)}
	from := min(in.Offset, len(found.Rows))
	for i := from; i < min(from+in.Limit, len(found.Rows)); i++ {
		result.Rows = append(result.Rows, PredictedRow{found.Rows[i], wire.Predictions(found.targets, found.Predictions[i])})
	}
	return answer(result, nil)
}

func (s *Server) watchJob(ctx context.Context, in *JobPath, send sse.Sender) {
	j, err := s.job(in)
	if err != nil {
		return
	}
	for {
		state, changed := j.next()
		if err := send.Data(state); err != nil || state.State != wire.Running {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-s.jobs.begin.Done(): // the service ends; the job resumes after its next start
			return
		case <-changed:
		}
	}
}
