package server

import (
	"fmt"
	"io"
	"maps"
	"math"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// buckets limits how often something may happen to each of many keys.
type buckets struct {
	rate  rate.Limit
	burst int

	mu   sync.Mutex
	left map[string]*rate.Limiter
}

// manyBuckets is the number from which on full buckets, which carry no information, are dropped.
const manyBuckets = 10000

// take takes a drop from the bucket of a key. Without one, it returns how long to wait for it.
func (b *buckets) take(key string, now time.Time) (wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.left) >= manyBuckets {
		b.sweep(now)
	}
	if b.left == nil {
		b.left = map[string]*rate.Limiter{}
	}
	if b.left[key] == nil {
		b.left[key] = rate.NewLimiter(b.rate, b.burst)
	}
	if b.left[key].AllowN(now, 1) {
		return 0
	}
	return time.Duration(math.Ceil((1-b.left[key].TokensAt(now))/float64(b.rate))) * time.Second
}

// sweep drops full buckets, and all of them if that does not help, so that strangers cannot
// fill the memory.
func (b *buckets) sweep(now time.Time) {
	maps.DeleteFunc(b.left, func(_ string, l *rate.Limiter) bool { return l.TokensAt(now) >= float64(b.burst) })
	if len(b.left) >= manyBuckets {
		clear(b.left)
	}
}

// Failed attempts to sign in, for each address. A token has 256 random bits, so guessing
// is hopeless anyway; the limit keeps guessers from overloading the service.
const (
	failuresBurst = 20
	failuresRate  = 0.2
)

// writeTooMany answers a request that comes too early.
func writeTooMany(w http.ResponseWriter, wait time.Duration, detail string) {
	maps.Copy(w.Header(), retryHeader(wait))
	writeProblem(w, http.StatusTooManyRequests, detail)
}

// addressOf returns the address that a request came from; with a proxy in front, the last one
// of the header, because the proxy appends the address that it saw to those that the client claims.
func (s *Server) addressOf(r *http.Request) string {
	if s.options.BehindProxy {
		claimed := strings.Join(r.Header.Values("X-Forwarded-For"), ",")
		if last := strings.TrimSpace(claimed[strings.LastIndex(claimed, ",")+1:]); last != "" {
			return last
		}
	}
	return hostOf(r.RemoteAddr)
}

// Bodies must keep arriving, and answers must keep being read: a client that stops, or is slower
// than slowest bytes per second after a while, loses the connection. However steadily it arrives,
// a body has a final deadline, which depends on its length and is never extended.
const (
	patience      = 30 * time.Second
	slowest       = 10 << 10
	longestBody   = time.Minute // in JSON
	longestUpload = 6 * time.Hour
)

// Bytes of a body in JSON. Signing in is for everybody; lists name up to 100,000 rows.
const (
	signInBody   = 4 << 10
	plainBody    = 64 << 10
	settingsBody = 1 << 20
	listBody     = 16 << 20

	largeBody = 64 << 10 // bytes beyond which a body counts as large
	allBodies = 64 << 20 // bytes that all large bodies share

	eachBodies = allBodies / 2 / listBody // large ones at a time with one token
)

// allowance is how large a body may be and how long it may take.
type allowance struct {
	bytes   int64
	longest time.Duration
}

// length returns how long the body of a request may be.
func (a allowance) length(r *http.Request) int64 {
	if r.ContentLength < 0 {
		return a.bytes
	}
	return min(r.ContentLength, a.bytes)
}

// until returns when the body of a request must have arrived.
func (a allowance) until(begin time.Time, patience time.Duration, length int64) time.Time {
	return begin.Add(min(patience+time.Duration(length/slowest)*time.Second, max(patience, a.longest)))
}

// steady sets deadlines for the body of a request and for writing the answer.
func (s *Server) steady(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		if r.Body != nil && r.Body != http.NoBody {
			_, pattern := s.mux.Handler(r)
			allowed, begin := s.allowances[pattern], time.Now()
			body := &steadyBody{r.Body, control, begin.Add(s.patience), allowed.until(begin, s.patience, allowed.length(r))}
			_ = control.SetReadDeadline(body.until) // a connection without deadlines is one of a test
			r.Body = body
		}
		next.ServeHTTP(&steadyWriter{w, control, s.patience}, r)
	})
}

// shareBodies makes large bodies in JSON, which are read into memory, share a budget. Only requests
// with a token use it, and no token uses more than half.
func (s *Server) shareBodies(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, pattern := s.mux.Handler(r)
		allowed := s.allowances[pattern]
		length := allowed.length(r)
		if allowed.longest != longestBody || length <= largeBody {
			next.ServeHTTP(w, r)
			return
		}
		token := callerOf(r.Context()).token.ID
		if !s.readers.take(token) {
			writeTooMany(w, retryIn,
				fmt.Sprintf("%d large requests with this token are being read, which is the most at a time; try again in a while",
					eachBodies))
			return
		}
		defer s.readers.give(token)
		if !s.bodies.take(length) {
			writeBusy(w, "too many large requests are being read; try again in a while")
			return
		}
		defer s.bodies.give(length)
		next.ServeHTTP(w, r)
	})
}

// steadyBody moves the deadline with every byte that arrives, up to the final one.
type steadyBody struct {
	io.ReadCloser
	control    *http.ResponseController
	until, end time.Time
}

func (b *steadyBody) Read(p []byte) (int, error) {
	deadline := b.until
	if b.end.Before(deadline) {
		deadline = b.end
	}
	_ = b.control.SetReadDeadline(deadline) // before reading, as others may have lifted it
	n, err := b.ReadCloser.Read(p)
	b.until = b.until.Add(time.Duration(n) * time.Second / slowest)
	if err == io.EOF { // from here on, reading only notices that the client has gone
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

// steadyWriter gives each write a deadline of its own.
type steadyWriter struct {
	http.ResponseWriter
	control  *http.ResponseController
	patience time.Duration
}

func (w *steadyWriter) Write(p []byte) (int, error) {
	_ = w.control.SetWriteDeadline(time.Now().Add(w.patience + time.Duration(len(p))*time.Second/slowest))
	return w.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *steadyWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// budget is bytes that several requests share.
type budget struct {
	most int64 // 0 means no limit

	mu    sync.Mutex
	bytes int64
}

// take reserves bytes, if enough are left.
func (b *budget) take(n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.most > 0 && b.bytes+n > b.most {
		return false
	}
	b.bytes += n
	return true
}

func (b *budget) give(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bytes -= n
}

// counts counts the things that each of many keys has at a time.
type counts struct {
	most int

	mu sync.Mutex
	of map[string]int
}

// take counts one more, unless the key has reached the limit.
func (c *counts) take(key string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of[key] >= c.most {
		return false
	}
	if c.of == nil {
		c.of = map[string]int{}
	}
	c.of[key]++
	return true
}

func (c *counts) give(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of[key]--; c.of[key] == 0 {
		delete(c.of, key)
	}
}

// Connections at a time. Each takes some memory before its client is authenticated.
const (
	allConnections  = 2048
	eachConnections = 512 // from one address
)

// connections counts the connections, and closes at once those beyond a limit.
type connections struct {
	all, each int // each is 0 if all come from a proxy

	mu   sync.Mutex
	open int
	from map[string]int // by address
}

// watch is the hook of an http.Server.
func (c *connections) watch(conn net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		if !c.count(conn, 1) {
			_ = conn.Close() // the server notices when it reads
		}
	case http.StateClosed, http.StateHijacked:
		c.count(conn, -1)
	}
}

// count adds or removes a connection, and reports whether the limits still hold.
func (c *connections) count(conn net.Conn, by int) bool {
	address := hostOf(conn.RemoteAddr().String())
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.from == nil {
		c.from = map[string]int{}
	}
	c.open += by
	if c.from[address] += by; c.from[address] <= 0 {
		delete(c.from, address)
	}
	return c.open <= c.all && (c.each == 0 || c.from[address] <= c.each)
}

// hostOf returns an address without its port.
func hostOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	return host
}
