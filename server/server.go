package server

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/nextbatch/nextbatch/campaign"
)

// Options are what a server needs. Store, Tokens and Log must be set.
type Options struct {
	Store   campaign.Store
	Tokens  *Tokens
	Log     *slog.Logger
	Version string

	MaxUpload int64  // bytes of an uploaded table; 0 means 4 GiB
	MaxMemory int64  // bytes that reading an uploaded table may take; 0 means no limit
	Scratch   string // folder for uploads while they are read; empty means the system's
}

const (
	defaultUpload = 4 << 30
	maxBody       = 32 << 20 // bytes of a body in JSON
)

// Server answers requests about the campaigns of a store. It is an http.Handler.
type Server struct {
	options Options
	handler http.Handler
	api     huma.API
	jobs    *jobs
	meter   meter
	now     func() time.Time

	mu        sync.Mutex
	campaigns map[string]*campaign.Campaign // that were used
}

// New returns a server. Close ends its jobs.
func New(o Options) *Server {
	o.MaxUpload = cmp.Or(o.MaxUpload, defaultUpload)
	s := &Server{options: o, jobs: newJobs(), now: time.Now, campaigns: map[string]*campaign.Campaign{}}
	mux := http.NewServeMux()
	s.api = humago.New(mux, s.config())
	s.routes()
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("ok\n")) })
	mux.HandleFunc("GET /metrics", s.metrics)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeProblem(w, http.StatusNotFound, "there is no "+r.Method+" "+r.URL.Path+"; /openapi.json lists what there is")
	})
	s.handler = s.observe(headers(http.NewCrossOriginProtection().Handler(s.authenticate(mux))))
	return s
}

func (s *Server) config() huma.Config {
	c := huma.DefaultConfig("nextbatch", cmp.Or(s.options.Version, "dev"))
	c.Info.Description = "Which rows of my unlabelled table should I label next?"
	c.DocsPath = "" // its page would be fetched from another host
	c.SchemasPath = ""
	c.CreateHooks = nil // no links to schemas in answers
	c.RejectUnknownQueryParameters = true
	c.Components.SecuritySchemes = map[string]*huma.SecurityScheme{"token": {Type: "http", Scheme: "bearer"}}
	c.Security = []map[string][]string{{"token": {}}}
	return c
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Close cancels the jobs and waits for their ends. What was told stays told.
func (s *Server) Close() { s.jobs.stop() }

// campaign returns the campaign of a name.
func (s *Server) campaign(ctx context.Context, name string) (*campaign.Campaign, error) {
	if name == "" { // would mean the only one
		return nil, campaign.ErrNotFound
	}
	s.mu.Lock()
	c := s.campaigns[name]
	s.mu.Unlock()
	if c != nil {
		return c, nil
	}
	c, err := campaign.Open(ctx, s.options.Store, name)
	if err != nil {
		return nil, err
	}
	return s.keep(c), nil
}

// keep remembers a campaign, unless another request was faster, and returns the one
// that is remembered.
func (s *Server) keep(c *campaign.Campaign) *campaign.Campaign {
	s.mu.Lock()
	defer s.mu.Unlock()
	if there := s.campaigns[c.Name()]; there != nil {
		return there
	}
	s.campaigns[c.Name()] = c
	return c
}

// headers sets what every answer has: nothing may be framed, sniffed, cached or loaded
// from elsewhere.
func headers(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// observe logs and counts requests, and turns a panic into an answer.
func (s *Server) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begin := time.Now()
		seen := &observed{ResponseWriter: w}
		ctx := context.WithValue(r.Context(), callerKey{}, &caller{})
		r = r.WithContext(ctx)
		defer func() {
			if fault := recover(); fault != nil {
				if err, ok := fault.(error); ok && errors.Is(err, http.ErrAbortHandler) {
					panic(fault)
				}
				s.options.Log.Error("a request panicked", "fault", fault, "stack", string(debug.Stack()))
				if seen.status == 0 {
					writeProblem(seen, http.StatusInternalServerError, "a fault in nextbatch; its log has the details")
				}
			}
			took := time.Since(begin)
			s.meter.count(r.Method, seen.status, took)
			s.options.Log.Info("request", "method", r.Method, "path", r.URL.Path, "status", seen.status,
				"ms", took.Milliseconds(), "token", callerOf(ctx).token.ID)
		}()
		next.ServeHTTP(seen, r)
	})
}

// observed remembers the status of an answer.
type observed struct {
	http.ResponseWriter
	status int
}

func (o *observed) WriteHeader(status int) {
	if o.status == 0 {
		o.status = status
	}
	o.ResponseWriter.WriteHeader(status)
}

func (o *observed) Write(b []byte) (int, error) {
	if o.status == 0 {
		o.status = http.StatusOK
	}
	return o.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController and events reach the connection.
func (o *observed) Unwrap() http.ResponseWriter { return o.ResponseWriter }
