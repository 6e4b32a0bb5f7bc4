package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/internal/benchmark"
	"github.com/nextbatch/nextbatch/internal/device"
	"github.com/nextbatch/nextbatch/internal/estimate"
	"github.com/nextbatch/nextbatch/internal/options"
	"github.com/nextbatch/nextbatch/internal/sqlitefile"
	"github.com/nextbatch/nextbatch/internal/wire"
	"github.com/nextbatch/nextbatch/internal/words"
)

// errFault is the error that clients get after a panic.
var errFault = errors.New("a fault in nextbatch; its log has the details")

// writeProblem answers with a problem (RFC 9457), outside of the operations.
func writeProblem(w http.ResponseWriter, status int, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	// A client that has gone needs no answer.
	_ = json.NewEncoder(w).Encode(wire.Problem{Title: http.StatusText(status), Status: status, Detail: detail})
}

// doorOf returns how messages to the caller name options: to a browser as the page does, otherwise as JSON does.
func doorOf(ctx context.Context) func(option string, value ...string) string {
	if callerOf(ctx).session != "" {
		return options.Field
	}
	return options.Setting
}

// problem turns an error into an answer. Errors that the caller can correct have their own
// status; all others are logged and are the server's fault.
func (s *Server) problem(ctx context.Context, err error) error {
	var (
		told     *campaign.TellError
		rows     *campaign.RowsError
		stop     *estimate.StopRuleError
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
	case full(err):
		s.options.Log.Error("the disk is full", "error", err)
		return huma.NewError(http.StatusInsufficientStorage, diskIsFull)
	case away(err):
		s.options.Log.Error("the store does not answer", "error", err)
		return retryLater(storeIsAway)
	case errors.As(err, &large):
		return huma.NewError(http.StatusRequestEntityTooLarge,
			fmt.Sprintf("the upload is larger than %d bytes, which is the most this service takes", large.Limit))
	case errors.As(err, &rows), errors.As(err, new(*campaign.NameError)), errors.As(err, &stop), errors.As(err, &request),
		errors.As(err, &data), errors.As(err, &file), errors.As(err, new(*dataset.ColumnError)):
		return huma.Error422UnprocessableEntity(options.Error(doorOf(ctx), err))
	case errors.Is(err, campaign.ErrExists), errors.Is(err, campaign.ErrNothingOpen),
		errors.Is(err, campaign.ErrTooFewLabels),
		errors.As(err, &undo), errors.As(err, &repeated):
		return huma.Error409Conflict(err.Error())
	case errors.Is(err, errTooManyOne):
		return tooMany(retryIn, err.Error())
	case errors.Is(err, errStopping), errors.Is(err, errTooMany):
		return retryLater(err.Error())
	case ctx.Err() != nil:
		return huma.NewError(499, "the client has gone")
	}
	s.options.Log.Error("a request failed", "error", err)
	return huma.Error500InternalServerError("the service could not do this; its log says why")
}

// The messages about stores that clients get. The names of files, hosts and users are only logged.
const (
	diskIsFull  = "the disk of the service is full, so nothing was changed; the person who runs it has to free some space"
	storeIsAway = "the database of the service does not answer at the moment; try again in a while, with the same " +
		"Idempotency-Key"
	storeIsWrong = "the service could not read or write its data; its log says why"
)

// full reports a disk without space, here or where the database is.
func full(err error) bool { return errors.Is(err, syscall.ENOSPC) }

// away reports a store that may answer later.
func away(err error) bool {
	store, file, results := (*campaign.StoreError)(nil), (*sqlitefile.Error)(nil), (*benchmark.StoreError)(nil)
	return errors.As(err, &store) && store.Away || errors.As(err, &file) && file.Busy ||
		errors.As(err, &results) && results.Away
}

// toClients returns an error for clients, who may not know where the data are.
func toClients(err error) string {
	switch {
	case full(err):
		return diskIsFull
	case away(err):
		return storeIsAway
	case errors.As(err, new(*campaign.StoreError)), errors.As(err, new(*sqlitefile.Error)),
		errors.As(err, new(*benchmark.StoreError)),
		errors.As(err, new(*fs.PathError)), errors.As(err, new(*net.OpError)):
		return storeIsWrong
	}
	return err.Error()
}

// retryIn is when to try again if nothing better is known.
const retryIn = 2 * time.Second

// retryHeader states when to try again.
func retryHeader(wait time.Duration) http.Header {
	return http.Header{"Retry-After": {strconv.Itoa(max(1, int(wait.Seconds())))}}
}

// retryLater answers a request that may succeed later.
func retryLater(detail string) error {
	return huma.ErrorWithHeaders(huma.Error503ServiceUnavailable(detail), retryHeader(retryIn))
}

// writeBusy does so outside of the operations.
func writeBusy(w http.ResponseWriter, detail string) {
	maps.Copy(w.Header(), retryHeader(retryIn))
	writeProblem(w, http.StatusServiceUnavailable, detail)
}

// tooMany answers a request that comes too early.
func tooMany(wait time.Duration, detail string) error {
	return huma.ErrorWithHeaders(huma.Error429TooManyRequests(detail), retryHeader(wait))
}

// statusOfDevice distinguishes a GPU with too little memory from one that failed.
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
	return huma.Error422UnprocessableEntity(words.Count(len(list), "row is", "rows are")+
		" wrong; nothing was changed", details...)
}
