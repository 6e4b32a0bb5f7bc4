package server

import (
	"fmt"
	"net/http"
	"sync"
	"time"
)

// meter counts requests, for Prometheus.
type meter struct {
	mu      sync.Mutex
	counts  map[meterKey]int64
	seconds float64
	total   int64
}

type meterKey struct {
	method string
	class  int // hundreds of the status
}

// methods are those that are counted separately, so that hostile ones cost no memory.
var methods = map[string]bool{http.MethodGet: true, http.MethodPost: true, http.MethodPut: true,
	http.MethodDelete: true, http.MethodHead: true}

func (m *meter) count(method string, status int, took time.Duration) {
	if !methods[method] {
		method = "other"
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.counts == nil {
		m.counts = map[meterKey]int64{}
	}
	m.counts[meterKey{method, status / 100}]++
	m.seconds += took.Seconds()
	m.total++
}

// metrics writes the counts in the text format of Prometheus.
func (s *Server) metrics(w http.ResponseWriter, r *http.Request) {
	if callerOf(r.Context()).token.Campaign != "" {
		writeProblem(w, http.StatusForbidden, "metrics take a token for all campaigns")
		return
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	s.meter.mu.Lock()
	defer s.meter.mu.Unlock()
	fmt.Fprintln(w, "# TYPE nextbatch_requests_total counter")
	for key, n := range s.meter.counts {
		fmt.Fprintf(w, "nextbatch_requests_total{method=%q,status=\"%dxx\"} %d\n", key.method, key.class, n)
	}
	fmt.Fprintln(w, "# TYPE nextbatch_request_seconds summary")
	fmt.Fprintf(w, "nextbatch_request_seconds_sum %g\nnextbatch_request_seconds_count %d\n",
		s.meter.seconds, s.meter.total)
	fmt.Fprintf(w, "# TYPE nextbatch_jobs_running gauge\nnextbatch_jobs_running %d\n", s.jobs.running())
}
