package server

import (
	"context"
	"time"
)

// A database may restart, and a network may fail, while jobs run: they wait, and go on.

const (
	firstWait   = time.Second
	longestWait = 30 * time.Second
)

// jobWork is what a job does. It returns its result and, if it made one, the number of an ask.
type jobWork func(context.Context, func(JobProgress)) (result any, ask int64, err error)

// patiently returns work that is done again as often as the store goes away meanwhile. That is
// safe, as an ask has a request id, and other jobs change nothing.
func (s *Server) patiently(o order, work jobWork) jobWork {
	return func(ctx context.Context, report func(JobProgress)) (any, int64, error) {
		for wait := firstWait; ; wait = min(2*wait, longestWait) {
			result, ask, err := work(ctx, report)
			if err != nil && ctx.Err() == nil {
				s.options.Log.Error("a job failed", "job", o.ID, "kind", o.Kind, "waits", away(err), "error", err)
			}
			if !away(err) {
				return result, ask, err
			}
			report(JobProgress{Stage: "waiting"})
			select {
			case <-ctx.Done():
				return nil, 0, ctx.Err()
			case <-time.After(wait):
			}
		}
	}
}
