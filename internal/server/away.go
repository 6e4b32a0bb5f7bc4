package server

import (
	"context"
	"time"

	"github.com/nextbatch/nextbatch/internal/wire"
)

// A database may restart, and a network may fail, while jobs run: they wait, and then resume.

const (
	firstWait   = time.Second
	longestWait = 30 * time.Second
)

// patiently repeats the work of a job whenever the store becomes unreachable meanwhile. That is
// safe, because an ask has a request id, and other jobs change nothing.
func (s *Server) patiently(ctx context.Context, j *job, work func(context.Context, *job) (jobResult,
	error)) (jobResult, error) {
	for wait := firstWait; ; wait = min(2*wait, longestWait) {
		left, err := work(ctx, j)
		if err != nil && ctx.Err() == nil {
			s.options.Log.Error("a job failed", "job", j.order.ID, "kind", j.order.Kind, "waits", away(err), "error", err)
		}
		if !away(err) {
			return left, err
		}
		j.progress(wire.Progress{Stage: "waiting"})
		select {
		case <-ctx.Done():
			return jobResult{}, ctx.Err()
		case <-time.After(wait):
		}
	}
}
