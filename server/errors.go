package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/device"
)

// writeProblem answers with a problem (RFC 9457), outside of the operations.
func writeProblem(w http.ResponseWriter, status int, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	// A client that has gone needs no answer.
	_ = json.NewEncoder(w).Encode(huma.ErrorModel{Title: http.StatusText(status), Status: status, Detail: detail})
}

// problem turns an error into an answer. What the caller can mend has its own status;
// anything else is logged and is the server's fault.
func (s *Server) problem(ctx context.Context, err error) error {
	var (
		told     *campaign.TellError
		rows     *campaign.RowsError
		stop     *campaign.StopRuleError
		undo     *campaign.UndoError
		repeated *campaign.RequestError
		request  *nextbatch.RequestError
		data     *nextbatch.DataError
		file     *source.Error
		known    huma.StatusError
		large    *http.MaxBytesError
	)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return err
	case errors.As(err, &told):
		return faults(told.Faults)
	case device.Failed(err):
		s.options.Log.Error("the GPU failed", "error", err)
		return huma.NewError(statusOfDevice(err), err.Error())
	case errors.Is(err, campaign.ErrNotFound):
		return huma.Error404NotFound(err.Error())
	case errors.As(err, &large):
		return huma.NewError(http.StatusRequestEntityTooLarge, fmt.Sprintf("the upload is larger than %d bytes, which is the most this service takes", large.Limit))
	case errors.As(err, &rows), errors.As(err, &stop), errors.As(err, &request), errors.As(err, &data), errors.As(err, &file):
		return huma.Error422UnprocessableEntity(err.Error())
	case errors.Is(err, campaign.ErrExists), errors.Is(err, campaign.ErrNothingOpen), errors.Is(err, campaign.ErrTooFewLabels),
		errors.As(err, &undo), errors.As(err, &repeated):
		return huma.Error409Conflict(err.Error())
	case errors.Is(err, errTooManyOne):
		return huma.Error429TooManyRequests(err.Error())
	case errors.Is(err, errStopping), errors.Is(err, errTooMany):
		return huma.Error503ServiceUnavailable(err.Error())
	case ctx.Err() != nil:
		return huma.NewError(499, "the client has gone")
	}
	s.options.Log.Error("a request failed", "error", err)
	return huma.Error500InternalServerError("the service could not do this; its log says why")
}

// statusOfDevice tells a GPU with too little memory from one that failed.
func statusOfDevice(err error) int {
	if errors.Is(err, device.ErrMemory) {
		return http.StatusInsufficientStorage
	}
	return http.StatusInternalServerError
}

// faults lists what is wrong with each line of a request.
func faults(list []campaign.Fault) error {
	details := make([]error, len(list))
	for i, f := range list {
		details[i] = &huma.ErrorDetail{Message: f.Reason, Location: fmt.Sprintf("body.rows[%d]", f.Line), Value: f.ID}
	}
	return huma.Error422UnprocessableEntity(fmt.Sprintf("%d of the rows are wrong; nothing was changed", len(list)), details...)
}
