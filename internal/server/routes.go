package server

import (
	"cmp"
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/internal/wire"
)

// routes registers all operations. Those about a campaign, and the verbs in their
// paths, are those of package campaign.
func (s *Server) routes() {
	s.sessionRoutes()
	s.campaignRoutes()
	s.standingRoutes()
	s.rowRoutes()
	s.askRoutes()
	s.tellRoutes()
	s.jobRoutes()
	s.peopleRoutes()
	s.previewRoutes()
	s.mapRoutes()
	s.auditRoutes()
	s.benchmarkRoutes()
}

// statuses are those that any operation may answer with.
var statuses = []int{
	http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound,
	http.StatusRequestTimeout, http.StatusConflict,
	http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusTooManyRequests,
	http.StatusServiceUnavailable,
	http.StatusInsufficientStorage,
}

// route registers an operation for a role, or for everybody if there is none.
func route[I, O any](s *Server, role Role, op huma.Operation, answer func(context.Context, *I) (*O, error)) {
	op.Metadata = map[string]any{"role": role}
	if op.Description = "Takes no token."; role == "" {
		op.Security = []map[string][]string{}
	} else {
		op.Middlewares = append(op.Middlewares, s.allow(role))
		op.Description = "Takes the role " + string(role) + "."
	}
	op.Errors = append(op.Errors, statuses...)
	op.BodyReadTimeout = -1 // see steady
	longest := longestBody
	if op.RequestBody != nil { // a table
		op.MaxBodyBytes, longest = s.options.MaxUpload, longestUpload
	}
	op.MaxBodyBytes = cmp.Or(op.MaxBodyBytes, plainBody)
	s.allowances[op.Method+" "+op.Path] = allowance{op.MaxBodyBytes, longest}
	huma.Register(s.api, op, func(ctx context.Context, in *I) (*O, error) {
		out, err := answer(ctx, in)
		return out, s.problem(ctx, err)
	})
}

// Named is the input of an operation about a campaign.
type Named struct {
	Campaign string `path:"campaign" maxLength:"200" doc:"name of the campaign"`
}

// Change is the input of an operation that changes a campaign.
type Change struct {
	Named
	Key string `header:"Idempotency-Key" maxLength:"200" doc:"id of the request; repeating it changes nothing and returns the first answer. The same id with another body, or by another person, is a conflict"`
}

// by returns who changes something, and with which request.
func (c Change) by(ctx context.Context) campaign.By {
	return campaign.By{Person: callerOf(ctx).token.Person, Request: c.Key}
}

// output is an answer in JSON.
type output[T any] struct{ Body T }

func answer[T any](body T, err error) (*output[T], error) {
	if err != nil {
		return nil, err
	}
	return &output[T]{body}, nil
}

func changedOf(c campaign.Changed, err error) (*output[wire.Changed], error) {
	return answer(wire.ChangedOf(c), err)
}
