package server

import (
	"io"
	"math"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// buckets limits how often something may happen to each of many keys: a bucket holds
// burst drops and gains rate drops a second, and each time takes one.
type buckets struct {
	rate, burst float64

	mu   sync.Mutex
	left map[string]bucket
}

// bucket is how much is left at a time.
type bucket struct {
	drops float64
	at    time.Time
}

// manyBuckets is when full buckets, which say nothing, are dropped.
const manyBuckets = 10000

// take takes a drop. Without one, it returns how long to wait for it.
func (b *buckets) take(key string, now time.Time) (wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.left) >= manyBuckets {
		b.sweep(now)
	}
	if b.left == nil {
		b.left = map[string]bucket{}
	}
	drops := b.level(key, now)
	if drops < 1 {
		return time.Duration(math.Ceil((1-drops)/b.rate)) * time.Second
	}
	b.left[key] = bucket{drops - 1, now}
	return 0
}

// level returns how many drops a bucket has.
func (b *buckets) level(key string, now time.Time) float64 {
	one, there := b.left[key]
	if !there {
		return b.burst
	}
	return min(b.burst, one.drops+max(0, now.Sub(one.at).Seconds())*b.rate)
}

// sweep drops full buckets, and all of them if that does not help: rather that than to
// let strangers fill the memory.
func (b *buckets) sweep(now time.Time) {
	for key := range b.left {
		if b.level(key, now) >= b.burst {
			delete(b.left, key)
		}
	}
	if len(b.left) >= manyBuckets {
		clear(b.left)
	}
}

// Failed attempts to sign in, for each address. A token has 256 random bits, so guessing
// is hopeless anyway; the limit keeps guessers from wearing out the service.
const (
	failuresBurst = 20
	failuresRate  = 0.2
)

// writeTooMany answers a request that comes too early.
func writeTooMany(w http.ResponseWriter, wait time.Duration, detail string) {
	w.Header().Set("Retry-After", strconv.Itoa(max(1, int(wait.Seconds()))))
	writeProblem(w, http.StatusTooManyRequests, detail)
}

// addressOf returns who made a request, as the proxy in front says if there is one: it
// appends the address that it saw to those that the client claims.
func (s *Server) addressOf(r *http.Request) string {
	if s.options.BehindProxy {
		claimed := strings.Join(r.Header.Values("X-Forwarded-For"), ",")
		if last := strings.TrimSpace(claimed[strings.LastIndex(claimed, ",")+1:]); last != "" {
			return last
		}
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// Bodies must keep coming, and answers must keep being read: who stops, or is slower than
// slowest bytes a second after a while, loses the connection.
const (
	patience = 30 * time.Second
	slowest  = 10 << 10
)

// steady sets deadlines for the body of a request and for writing the answer.
func (s *Server) steady(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		if r.Body != nil && r.Body != http.NoBody {
			body := &steadyBody{ReadCloser: r.Body, control: control, until: time.Now().Add(s.patience)}
			_ = control.SetReadDeadline(body.until) // a connection without deadlines is one of a test
			r.Body = body
		}
		next.ServeHTTP(&steadyWriter{w, control, s.patience}, r)
	})
}

// steadyBody moves the deadline with every byte that comes.
type steadyBody struct {
	io.ReadCloser
	control *http.ResponseController
	until   time.Time
}

func (b *steadyBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.until = b.until.Add(time.Duration(n) * time.Second / slowest)
	switch {
	case err == nil:
		_ = b.control.SetReadDeadline(b.until)
	case err == io.EOF: // from here on, reading only notices that the client has gone
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
