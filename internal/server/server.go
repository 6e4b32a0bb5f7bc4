package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"golang.org/x/time/rate"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/internal/device"
	"github.com/nextbatch/nextbatch/internal/kept"
	"github.com/nextbatch/nextbatch/internal/server/web"
	"github.com/nextbatch/nextbatch/internal/wire"
)

// Options are what a server needs. Store, Tokens and Log must be set.
type Options struct {
	Store   campaign.Store
	Tokens  *Tokens
	Log     *slog.Logger
	Version string // of the program; empty means nextbatch.Version

	MaxUpload int64  // bytes of an uploaded table; 0 means DefaultUpload
	MaxMemory int64  // bytes that all uploaded tables may take while they are read; 0 means no limit
	Scratch   string // folder for uploads while they are read; empty means the system's
	Results   string // a results file of benchmarks, a folder with some, or the address of a database; may be empty
	Threads   int    // that jobs compute with; 0 means GOMAXPROCS. See JobsAtOnce
	Rate      int    // requests per second that each token may make; 0 means DefaultRate

	Device device.Device // that jobs compute on; nil means the CPU
	// Available returns how many bytes are available for jobs; 0 or a nil function means no limit. A job
	// that forecasts more fails.
	Available func() int64

	Secure      bool // browsers reach the service by HTTPS alone
	BehindProxy bool // a proxy in front reports where requests come from
}

// What options mean that are not set.
const (
	DefaultUpload = 4 << 30
	DefaultRate   = 2000
)

const (
	listBytes   = 128 << 20
	resultBytes = 32 << 20
)

// Server answers requests about the campaigns of a store. It is an http.Handler.
type Server struct {
	options    Options
	handler    http.Handler
	mux        *http.ServeMux
	api        huma.API
	operations func() []operation  // for assistants
	files      map[string]pageFile // by path
	jobs       *jobs
	meter      meter
	now        func() time.Time

	patience  time.Duration
	measuring time.Duration // that a preview may spend on what an ask takes
	failures  buckets       // failed attempts to sign in, by address
	requests  buckets       // by token

	allowances  map[string]allowance // for bodies, by the pattern of the route
	bodies      budget               // of large bodies in JSON
	readers     counts               // of such bodies, by the id of the token
	memory      budget               // of uploaded tables
	connections connections

	lists    cache         // places of rows that queries asked for
	results  cache         // of selections
	kept     kept.Features // of the campaign that asked last
	uploads  *uploads
	planning chan struct{} // holds one for each preview that plans an ask

	mu        sync.Mutex
	campaigns map[string]*campaign.Campaign // that were used
	maps      map[string]*campaign.Map      // the newest of each campaign
	audits    map[string]*wire.Audit        // the newest of each campaign
	mapOrder  []string                      // campaigns, the map that was made longest ago first
}

// New returns a server, which resumes the jobs that the last one left. Close ends them.
func New(o Options) *Server {
	o.MaxUpload = cmp.Or(o.MaxUpload, DefaultUpload)
	o.Rate = cmp.Or(o.Rate, DefaultRate)
	files, err := pageFiles(web.Files())
	if err != nil {
		panic(err) // they are part of the binary
	}
	mux := http.NewServeMux()
	s := &Server{
		options: o, mux: mux, files: files, jobs: newJobs(o.Threads, o.Device, o.Available), now: time.Now,
		campaigns: map[string]*campaign.Campaign{},
		maps:      map[string]*campaign.Map{}, audits: map[string]*wire.Audit{}, planning: make(chan struct{}, 2),
		uploads: newUploads(o.Scratch, o.MaxUpload), patience: patience, measuring: 10 * time.Second,
		failures: buckets{rate: failuresRate, burst: failuresBurst},
		requests: buckets{rate: rate.Limit(o.Rate), burst: 2 * o.Rate},
		lists:    cache{most: listBytes}, results: cache{most: resultBytes},
		allowances: map[string]allowance{}, bodies: budget{most: allBodies}, readers: counts{most: eachBodies},
		memory:      budget{most: o.MaxMemory},
		connections: connections{all: allConnections, each: eachConnections},
		kept:        kept.Features{Limit: kept.UsualLimit},
	}
	if o.BehindProxy {
		s.connections.each = 0 // all are the proxy's
	}
	s.api = humago.New(mux, s.config())
	s.routes()
	refine(s.api.OpenAPI().Components.Schemas)
	s.operations = sync.OnceValue(s.describeOperations)
	s.mcpRoute()
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("ok\n")) })
	mux.HandleFunc("GET /metrics", s.metrics)
	docs, err := s.docs()
	if err != nil {
		panic(err) // the template does not fit the API, which a test would have noticed
	}
	mux.HandleFunc("GET /docs", serveDocs("text/html; charset=utf-8", docs))
	mux.HandleFunc("GET /docs.css", serveDocs("text/css; charset=utf-8", docsCSS))
	mux.HandleFunc("/", s.page)
	s.handler = s.observe(headers(s.ownHost(s.steady(sameSite(s.authenticate(s.shareBodies(mux)))))))
	s.resume()
	return s
}

func (s *Server) config() huma.Config {
	c := huma.DefaultConfig("nextbatch", cmp.Or(s.options.Version, nextbatch.Version))
	c.Info.Description = "Which rows of my unlabelled table should I label next?"
	c.DocsPath = "" // its page would be fetched from another host
	c.SchemasPath = ""
	c.CreateHooks = nil // no links to schemas in answers
	c.RejectUnknownQueryParameters = true
	c.Formats = map[string]huma.Format{"application/json": escaped, "json": escaped}
	c.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"token":   {Type: "http", Scheme: "bearer"},
		"session": {Type: "apiKey", In: "cookie", Name: "nextbatch-PORT"},
	}
	describeTypes(c.Components.Schemas)
	c.Security = []map[string][]string{{"token": {}}, {"session": {}}}
	return c
}

// escaped is JSON in which text that looks like HTML is harmless even to a browser that
// interprets it as HTML.
var escaped = huma.Format{
	Marshal:   func(w io.Writer, v any) error { return json.NewEncoder(w).Encode(v) },
	Unmarshal: json.Unmarshal,
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Close interrupts the jobs and waits for their ends. Stored labels are kept, and the
// next server with the same tokens resumes the jobs.
func (s *Server) Close() { s.jobs.stop() }

// HTTP returns an http.Server for the service, with limits on headers, on silent connections
// and on their number. Bodies and answers have limits of their own: see steady.
func (s *Server) HTTP() *http.Server {
	h := &http.Server{
		Handler: s, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 32 << 10,
		ConnState: s.connections.watch,
		ErrorLog:  slog.NewLogLogger(slog.DiscardHandler, slog.LevelError), // failed handshakes of strangers
	}
	h.RegisterOnShutdown(s.Close) // ends the streams that watch jobs
	return h
}

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

// keep stores a campaign, unless another request was faster, and returns the one
// that is stored.
func (s *Server) keep(c *campaign.Campaign) *campaign.Campaign {
	s.mu.Lock()
	defer s.mu.Unlock()
	if there := s.campaigns[c.Name()]; there != nil {
		return there
	}
	s.campaigns[c.Name()] = c
	return c
}

// sameSite rejects changes that another site makes a browser request.
func sameSite(next http.Handler) http.Handler {
	guard := http.NewCrossOriginProtection()
	guard.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		writeProblem(w, http.StatusForbidden, "another site asked for this; only pages of this service may change anything")
	}))
	return guard.Handler(next)
}

// headers sets what every answer has: nothing may be framed, sniffed, cached or loaded
// from elsewhere.
func headers(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy",
			"default-src 'self'; style-src 'self'; script-src 'self'; img-src 'self' data:; base-uri 'none'; form-action "+
				"'self'; frame-ancestors 'none'; object-src 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		if len(r.TransferEncoding) > 0 {
			// A proxy in front may see another end of such a body than we do: nothing that
			// follows on the connection is treated as a request.
			h.Set("Connection", "close")
		}
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
					writeProblem(seen, http.StatusInternalServerError, errFault.Error())
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

// observed records the status of an answer.
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
