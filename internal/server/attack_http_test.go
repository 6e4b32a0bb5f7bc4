package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/internal/wire"
)

// Attacks over HTTP, against a service that listens. Each is bounded in number and time.

// send opens a connection and writes to it. The test closes it.
func (v *service) send(t *testing.T, text string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", v.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	_, _ = io.WriteString(c, text) // the service may have closed it
	return c
}

// live returns the bytes of the heap that are in use.
func live() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Signing in, which takes no token, reads a few kilobytes, whatever a stranger sends.
func TestStrangersCannotFillTheMemory(t *testing.T) {
	v := newService(t)
	before := live()
	const clients, sent = 60, 1 << 20
	body := strings.Repeat(" ", sent)
	for range clients {
		c := v.send(t,
			fmt.Sprintf(
				"POST /v1/session HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n",
				32<<20))
		_ = c.SetWriteDeadline(time.Now().Add(5 * time.Second))
		_, _ = io.WriteString(c, body)
	}
	if held := live() - before; held > clients*sent/4 {
		t.Errorf("%d clients hold %d bytes", clients, held)
	}
	if statuses := v.raw(t,
		fmt.Sprintf(
			"POST /v1/session HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
			signInBody+1, body[:signInBody+1])); len(statuses) != 1 || statuses[0] != http.StatusRequestEntityTooLarge {
		t.Errorf("a large sign-in: %v", statuses)
	}
}

// A body that comes byte by byte does not outlast the time that its length allows, nor does one
// that never begins.
func TestTricklesEnd(t *testing.T) {
	t.Parallel()
	v := newService(t)
	v.server.patience = 200 * time.Millisecond
	for name, trickle := range map[string]bool{"a trickle": true, "silence": false} {
		c := v.send(t,
			"POST /v1/session HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 4000\r\n\r\n")
		if trickle {
			go func() {
				for err := error(nil); err == nil; time.Sleep(time.Millisecond) { // faster than the slowest that is allowed
					_, err = io.WriteString(c, strings.Repeat(" ", 11))
				}
			}()
		}
		_ = c.SetReadDeadline(time.Now().Add(30 * time.Second))
		answer, err := io.ReadAll(c) // ends when the service closes the connection
		if ended := (net.Error)(nil); errors.As(err, &ended) && ended.Timeout() {
			t.Errorf("%s: the connection stays", name)
		}
		if text := string(answer); text != "" && !strings.HasPrefix(text, "HTTP/1.1 4") {
			t.Errorf("%s: %.200s", name, text)
		}
	}
}

// deadlines records those of a connection.
type deadlines struct {
	http.ResponseWriter
	last time.Time
}

func (d *deadlines) SetReadDeadline(t time.Time) error { d.last = t; return nil }

// However many bytes come, the deadline stays before the end; and it is there before the first
// byte, even if somebody has lifted it.
func TestBytesDoNotMoveTheEnd(t *testing.T) {
	t.Parallel()
	d, begin := &deadlines{}, time.Now()
	end := begin.Add(2 * time.Second)
	b := &steadyBody{io.NopCloser(strings.NewReader(strings.Repeat(" ", 100*slowest))), http.NewResponseController(d),
		begin.Add(time.Second), end}
	for i := range 99 {
		if _, err := io.ReadFull(b, make([]byte, slowest)); err != nil || d.last.IsZero() || d.last.After(end) {
			t.Fatalf("read %d: the deadline is %v after the end, %v", i, d.last.Sub(end), err)
		}
	}
}

// Allowances follow from the length of a body, and no byte moves their end.
func TestAllowances(t *testing.T) {
	t.Parallel()
	v := newService(t)
	begin := time.Unix(0, 0)
	for pattern, want := range map[string]allowance{
		"POST /v1/session":                   {signInBody, longestBody},
		"POST /v1/campaigns/{campaign}/asks": {listBody, longestBody},
		"POST /v1/campaigns/{campaign}/undo": {plainBody, longestBody},
		"POST /v1/campaigns":                 {v.server.options.MaxUpload, longestUpload},
		"POST /v1/previews":                  {v.server.options.MaxUpload, longestUpload},
	} {
		if got := v.server.allowances[pattern]; got != want {
			t.Errorf("%s: %+v", pattern, got)
		}
	}
	for _, c := range []struct {
		a      allowance
		length int64
		want   time.Duration
	}{
		{allowance{}, 0, patience},
		{allowance{signInBody, longestBody}, signInBody, patience},
		{allowance{listBody, longestBody}, listBody, longestBody},
		{allowance{4 << 30, longestUpload}, 10 * slowest, patience + 10*time.Second},
		{allowance{4 << 30, longestUpload}, 4 << 30, longestUpload},
	} {
		if got := c.a.until(begin, patience, c.length).Sub(begin); got != c.want {
			t.Errorf("%+v with %d bytes: %v", c.a, c.length, got)
		}
	}
}

// Large bodies share a budget; small ones always go through.
func TestLargeBodiesShareABudget(t *testing.T) {
	t.Parallel()
	v := newService(t)
	must[Campaign](t, v, "owner", "POST", small, sample(20))
	if !v.server.bodies.take(allBodies - largeBody) {
		t.Fatal("there is no room")
	}
	large := map[string]any{"ids": []string{strings.Repeat("a", 2*largeBody)}}
	a, _ := v.ask(t, "POST", "/v1/campaigns/small/returns", fmt.Sprintf(`{"ids":["%s"]}`,
		strings.Repeat("a", 2*largeBody)), "Authorization", "Bearer "+v.secrets["owner"], "Content-Type", "application/json")
	if a.StatusCode != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "" {
		t.Errorf("beside other large bodies: %d %v", a.StatusCode, a.Header)
	}
	if status, _ := v.do(t, "owner", "POST", "/v1/campaigns/small/returns",
		map[string]any{"ids": []string{"nobody"}}); status != http.StatusUnprocessableEntity {
		t.Errorf("a small body: %d", status)
	}
	v.server.bodies.give(allBodies - largeBody)
	if status, _ := v.do(t, "owner", "POST", "/v1/campaigns/small/returns",
		large); status != http.StatusUnprocessableEntity {
		t.Errorf("a large body alone: %d", status)
	}
	if left := v.server.bodies.taken(); left != 0 {
		t.Errorf("%d bytes are still reserved", left)
	}
}

// Who sends large bodies slowly keeps none of others from being read, and without a token takes nothing.
func TestSlowLargeBodiesHoldUpNobodyElse(t *testing.T) {
	t.Parallel()
	v := newService(t)
	must[Campaign](t, v, "owner", "POST", small, sample(20))
	begin := func(header string) net.Conn {
		return v.send(t,
			fmt.Sprintf("POST /v1/campaigns/small/returns HTTP/1.1\r\nHost: localhost\r\n%sContent-Type: "+
				"application/json\r\nContent-Length: %d\r\n\r\n{", header, listBody))
	}
	for range allBodies/listBody + 1 {
		if a, err := http.ReadResponse(bufio.NewReader(begin("")), nil); err != nil ||
			a.StatusCode != http.StatusUnauthorized {
			t.Fatalf("without a token: %v, %v", a, err)
		}
	}
	for range eachBodies {
		begin("Authorization: Bearer " + v.secrets["owner"] + "\r\n")
	}
	for v.server.bodies.taken() < eachBodies*listBody { // until they are being read
		time.Sleep(time.Millisecond)
	}
	large := fmt.Sprintf(`{"ids":["%s"]}`, strings.Repeat("a", 2*largeBody))
	for who, want := range map[string]int{"owner": http.StatusTooManyRequests,
		"labeller": http.StatusUnprocessableEntity} {
		a, text := v.ask(t, "POST", "/v1/campaigns/small/returns", large, "Authorization", "Bearer "+v.secrets[who],
			"Content-Type", "application/json")
		if a.StatusCode != want || (want == http.StatusTooManyRequests) != (a.Header.Get("Retry-After") != "") {
			t.Errorf("%s: %d %v %.200s", who, a.StatusCode, a.Header, text)
		}
	}
}

// Connections are bounded, and free ones can be had again.
func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	v := newService(t)
	v.server.connections.mu.Lock()
	v.server.connections.each = 5
	v.server.connections.mu.Unlock()
	const request = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
	answers := func(c net.Conn) bool {
		_ = c.SetReadDeadline(time.Now().Add(30 * time.Second))
		_, err := c.Read(make([]byte, 1))
		return err == nil
	}
	var open []net.Conn
	for range 5 {
		c := v.send(t, request)
		if !answers(c) {
			t.Fatal("a connection within the limit is closed")
		}
		open = append(open, c)
	}
	if answers(v.send(t, request)) {
		t.Error("a connection beyond the limit is served")
	}
	for _, c := range open {
		c.Close()
	}
	for !answers(v.send(t, request)) { // the service notices the ends in a moment
		time.Sleep(time.Millisecond)
	}
	c := connections{all: 1}
	first, second := net.Pipe()
	defer first.Close()
	defer second.Close()
	if !c.count(first, 1) || c.count(second, 1) || c.count(second, -1) == false || c.open != 1 {
		t.Errorf("connections in all: %d", c.open)
	}
}

// Sessions of one token are bounded: the oldest end.
func TestSessionsOfATokenAreBounded(t *testing.T) {
	t.Parallel()
	v := newService(t)
	tokens, now := v.server.options.Tokens, time.Now()
	token, found, err := tokens.find(t.Context(), v.secrets["viewer"], now)
	if err != nil || !found {
		t.Fatal(err)
	}
	var secrets []string
	for i := range sessionsOfToken + 2 {
		secret, _, err := tokens.Begin(t.Context(), token, now.Add(time.Duration(i)*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		secrets = append(secrets, secret)
	}
	for i, want := range map[int]bool{0: false, 1: false, 2: true, sessionsOfToken + 1: true} {
		if _, _, found, err := tokens.findSession(t.Context(), secrets[i], now); err != nil || found != want {
			t.Errorf("session %d: %v %v", i, found, err)
		}
	}
}

// Lists that are kept for queries count their keys, and conditions have a limit.
func TestLongConditionsCannotFillTheMemory(t *testing.T) {
	t.Parallel()
	v := newService(t)
	must[Campaign](t, v, "owner", "POST", small, sample(20))
	if status, text := v.do(t, "viewer", "GET", "/v1/campaigns/small/rows?where=colour="+
		strings.Repeat("a", longestCondition), nil); status != http.StatusUnprocessableEntity ||
		!strings.Contains(string(text), "at most 1000 characters") {
		t.Errorf("a long condition: %d %s", status, text)
	}
	const most = 100000
	v.server.lists.most = most
	for i := range 300 {
		must[RowPage](t, v, "viewer", "GET", fmt.Sprintf("/v1/campaigns/small/rows?where=colour=%d%s", i,
			strings.Repeat("a", 900)), nil)
	}
	kept := int64(0)
	for _, g := range v.server.lists.groups {
		for text := range g.byText {
			kept += int64(len(text))
		}
	}
	if kept > most || v.server.lists.bytes > most {
		t.Errorf("keys of %d bytes are kept, counted as %d", kept, v.server.lists.bytes)
	}
}

// Lists of rows that have changed are dropped, and so are tables that are out of use.
func TestOldListsAreDropped(t *testing.T) {
	t.Parallel()
	v := newService(t)
	must[Campaign](t, v, "owner", "POST", small, sample(20))
	look := func() {
		for i := range 10 {
			must[RowPage](t, v, "viewer", "GET", fmt.Sprintf("/v1/campaigns/small/rows?status=open&where=a>=0.%d", i), nil)
		}
	}
	entries := func() (n int) {
		v.server.lists.mu.Lock()
		defer v.server.lists.mu.Unlock()
		for _, g := range v.server.lists.groups {
			n += len(g.byText)
		}
		if n != v.server.lists.order.Len() {
			t.Errorf("%d entries in groups, %d in order", n, v.server.lists.order.Len())
		}
		return n
	}
	look()
	first := entries()
	for i := range 5 {
		must[Told](t, v, "owner", "POST", "/v1/campaigns/small/tells",
			map[string]any{"rows": []any{map[string]any{"id": fmt.Sprintf("s%d", 12+i), "values": map[string]float64{"y": 1}}}})
		look()
	}
	must[wire.Added](t, v, "owner", "POST", "/v1/campaigns/small/rows", strings.ReplaceAll(sample(20), "\ns", "\nt"))
	look()
	if last := entries(); last > first {
		t.Errorf("%d lists are kept, at first %d", last, first)
	}
}

// Who waits for a value whose computation panics gets an error, and the next one a value.
func TestCacheAfterAPanic(t *testing.T) {
	t.Parallel()
	c := &cache{most: 1000}
	key := cacheKey{group: "g", text: "k"}
	begun := make(chan struct{})
	var waiting sync.WaitGroup
	waiting.Go(func() {
		<-begun
		if v, err := cacheGet(c, key, func() (int, int64, error) { return 7, 0, nil }); err == nil && v != 7 {
			t.Errorf("a zero value was handed out: %d", v)
		}
	})
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic is lost")
			}
		}()
		_, _ = cacheGet(c, key, func() (int, int64, error) {
			close(begun)
			time.Sleep(10 * time.Millisecond) // so that the other one likely waits
			panic("a fault")
		})
	}()
	waiting.Wait()
	if v, err := cacheGet(c, key, func() (int, int64, error) { return 7, 0, nil }); v != 7 || err != nil {
		t.Errorf("afterwards: %d %v", v, err)
	}
}

// The same key with another body, by another person or for another operation is a conflict
// that changes nothing. Repeating a request answers as the first time.
func TestKeysStandForOneRequest(t *testing.T) {
	t.Parallel()
	v := newService(t)
	first := must[Campaign](t, v, "owner", "POST", small, sample(40), "Idempotency-Key", "create")
	tell := func(y float64) map[string]any {
		return map[string]any{"rows": []any{map[string]any{"id": "s20", "values": map[string]float64{"y": y}}}}
	}
	told := must[Told](t, v, "labeller", "POST", "/v1/campaigns/small/tells", tell(1), "Idempotency-Key", "k")
	if again := must[Told](t, v, "labeller", "POST", "/v1/campaigns/small/tells", tell(1), "Idempotency-Key",
		"k"); !again.Repeated || again.Event != told.Event {
		t.Errorf("repeated: %+v", again)
	}
	if again := must[Campaign](t, v, "owner", "POST", small, sample(40), "Idempotency-Key", "create"); fmt.Sprintf("%+v",
		again) != fmt.Sprintf("%+v", first) {
		t.Errorf("created again: %+v, at first %+v", again, first)
	}
	slow := map[string]any{"network": map[string]any{"architecture": map[string]any{"hidden": []int{8}},
		"training": map[string]any{"epochs": 100000}}, "seed": 1}
	must[wire.Changed](t, v, "owner", "PUT", "/v1/campaigns/small/settings", slow)
	j := must[wire.Job](t, v, "labeller", "POST", "/v1/campaigns/small/asks",
		map[string]any{"rows": 3, "must": []string{}}, "Idempotency-Key", "running")
	if again := must[wire.Job](t, v, "labeller", "POST", "/v1/campaigns/small/asks", map[string]any{"rows": 3},
		"Idempotency-Key", "running"); again.ID != j.ID {
		t.Errorf("asked again: %+v", again)
	}
	before := must[Campaign](t, v, "owner", "GET", "/v1/campaigns/small", nil)
	for _, c := range []struct {
		who, method, path, key string
		body                   any
	}{
		{"labeller", "POST", "/v1/campaigns/small/tells", "k", tell(2)},
		{"owner", "POST", "/v1/campaigns/small/tells", "k", tell(1)},
		{"labeller", "POST", "/v1/campaigns/small/failures", "k", map[string]any{"ids": []string{"s21"}}},
		{"labeller", "POST", "/v1/campaigns/small/asks", "k", map[string]any{"rows": 2}},
		{"labeller", "POST", "/v1/campaigns/small/asks", "running", map[string]any{"rows": 4}},
		{"owner", "POST", "/v1/campaigns/small/asks", "running", map[string]any{"rows": 3}},
		{"owner", "POST", small, "create", sample(41)},
		{"other", "POST", "/v1/campaigns?name=small&target=y&id=name", "create", sample(40)},
		{"owner", "POST", small, "another", sample(40)},
	} {
		want := http.StatusConflict
		if c.who == "other" {
			want = http.StatusForbidden
		}
		if status, text := v.do(t, c.who, c.method, c.path, c.body, "Idempotency-Key", c.key); status != want {
			t.Errorf("%s %s with key %s: %d %s", c.who, c.path, c.key, status, text)
		}
	}
	if after := must[Campaign](t, v, "owner", "GET", "/v1/campaigns/small", nil); after.Event != before.Event {
		t.Errorf("there are %d events, before %d", after.Event, before.Event)
	}
	v.do(t, "labeller", "DELETE", "/v1/campaigns/small/jobs/"+j.ID, nil)
}

// faultyStore is a store whose calls fail as long as there is an error.
type faultyStore struct {
	campaign.Store
	fault atomic.Pointer[error]
}

func (s *faultyStore) err() error {
	if e := s.fault.Load(); e != nil {
		return *e
	}
	return nil
}

func (s *faultyStore) Events(ctx context.Context, name string, after int64) ([]campaign.Event, error) {
	if err := s.err(); err != nil {
		return nil, err
	}
	return s.Store.Events(ctx, name, after)
}

func (s *faultyStore) Append(ctx context.Context, name string, after int64, events []campaign.Event,
	blobs []campaign.Blob) error {
	if err := s.err(); err != nil {
		return err
	}
	return s.Store.Append(ctx, name, after, events, blobs)
}

// A database that is away is a matter of waiting, for requests and for jobs, and a full disk has a
// status of its own. Nobody learns where the database is.
func TestStoresThatFail(t *testing.T) {
	t.Parallel()
	v := newService(t)
	store := &faultyStore{Store: v.server.options.Store}
	v.server.options.Store = store
	must[Campaign](t, v, "owner", "POST", small, sample(20))
	must[wire.Changed](t, v, "owner", "PUT", "/v1/campaigns/small/settings", settings)
	secrets := func(e *campaign.StoreError) *error {
		e.Store, e.Reason = "PostgreSQL database quartz at db.internal", "failed to connect to `user=zoe host=10.1.2.3:5433`"
		err := fmt.Errorf("campaign %q: %w", "small", error(e))
		return &err
	}
	leaks := func(text string) bool {
		for _, secret := range []string{"db.internal", "zoe", "10.1.2.3", "5433", "quartz"} {
			if strings.Contains(text, secret) {
				return true
			}
		}
		return false
	}
	tell := `{"rows":[{"id":"s15","values":{"y":1}}]}`
	for _, c := range []struct {
		fault campaign.StoreError
		want  int
	}{
		{campaign.StoreError{Away: true}, http.StatusServiceUnavailable},
		{campaign.StoreError{Cause: syscall.ENOSPC}, http.StatusInsufficientStorage},
		{campaign.StoreError{}, http.StatusInternalServerError},
	} {
		store.fault.Store(secrets(&c.fault))
		for _, path := range []string{"GET /v1/campaigns/small", "GET /v1/campaigns/small/rows",
			"POST /v1/campaigns/small/tells"} {
			method, path, _ := strings.Cut(path, " ")
			body := ""
			if method == "POST" {
				body = tell
			}
			a, text := v.ask(t, method, path, body, "Authorization", "Bearer "+v.secrets["owner"],
				"Content-Type", "application/json")
			if a.StatusCode != c.want || leaks(text) ||
				(c.want == http.StatusServiceUnavailable) != (a.Header.Get("Retry-After") != "") {
				t.Errorf("%+v: %s %s: %d %v %s", c.fault, method, path, a.StatusCode, a.Header, text)
			}
		}
		store.fault.Store(nil)
		j := must[wire.Job](t, v, "labeller", "POST", "/v1/campaigns/small/asks", map[string]any{"rows": 2})
		if c.fault.Away {
			store.fault.Store(secrets(&c.fault))
			time.Sleep(50 * time.Millisecond)
			store.fault.Store(nil)
		}
		if done := v.finish(t, "labeller", j); done.State != wire.Done {
			t.Errorf("the job ended as %+v", done)
		}
	}
	some := &job{changed: make(chan struct{})}
	_, err := v.server.patiently(t.Context(), some, func(context.Context, *job) (jobResult, error) {
		return jobResult{}, *secrets(&campaign.StoreError{})
	})
	if text := toClients(err); leaks(text) {
		t.Errorf("the problem of a job says %s", text)
	}
	tries := 0
	left, err := v.server.patiently(t.Context(), some, func(context.Context, *job) (jobResult, error) {
		if tries++; tries == 1 {
			return jobResult{}, *secrets(&campaign.StoreError{Away: true})
		}
		return jobResult{ask: 5}, nil
	})
	if left.ask != 5 || err != nil || tries != 2 {
		t.Errorf("after %d tries: %+v %v", tries, left, err)
	}
	if got := toClients(&os.PathError{Op: "write", Path: "/srv/lab", Err: syscall.ENOSPC}); got != diskIsFull {
		t.Errorf("a full disk: %s", got)
	}
}

// Names that mean something else in paths, or cannot be shown, are refused.
func TestNamesThatAreRefused(t *testing.T) {
	t.Parallel()
	v := newService(t)
	for _, name := range []string{".", "..", "%2e", "%2e%2e", "a%00b", "a%0ab", "%7f", strings.Repeat("%C3%A4", 101),
		strings.Repeat("a", 201)} {
		if status, text := v.do(t, "owner", "POST", "/v1/campaigns?target=y&id=name&name="+name,
			sample(20)); status != http.StatusUnprocessableEntity {
			t.Errorf("creating %s: %d %s", name, status, text)
		}
		if name == "." || name == ".." {
			continue // clients shorten such paths themselves
		}
		if status, text := v.do(t, "owner", "GET", "/v1/campaigns/"+name, nil); status != http.StatusUnprocessableEntity {
			t.Errorf("looking at %s: %d %s", name, status, text)
		}
	}
}

func TestWatchingAnUnknownJob(t *testing.T) {
	t.Parallel()
	v := newService(t)
	must[Campaign](t, v, "owner", "POST", small, sample(20))
	a, text := v.ask(t, "GET", "/v1/campaigns/small/jobs/nothing/events", "", "Authorization",
		"Bearer "+v.secrets["viewer"])
	if a.StatusCode != http.StatusNotFound || !strings.Contains(text, "no such job") {
		t.Errorf("%d %s", a.StatusCode, text)
	}
}

// A service on this machine alone answers to its own names alone, so that no other site can make
// itself its origin.
func TestOtherHostsAreRefused(t *testing.T) {
	t.Parallel()
	v := newService(t)
	_, port, _ := net.SplitHostPort(v.Listener.Addr().String())
	status := func(host string) int {
		list := v.raw(t, "GET / HTTP/1.1\r\nHost: "+host+"\r\n\r\n")
		if len(list) != 1 {
			t.Fatal(list)
		}
		return list[0]
	}
	for _, host := range []string{"localhost", "LOCALHOST:" + port, "127.0.0.1", "127.0.0.1:" + port,
		"[::1]:" + port, "[::1]"} {
		if got := status(host); got != http.StatusOK {
			t.Errorf("%s: %d", host, got)
		}
	}
	for _, host := range []string{"evil.example", "evil.example:" + port, "127.0.0.1.evil.example",
		"localhost.evil.example", "10.0.0.1"} {
		if got := status(host); got != http.StatusMisdirectedRequest {
			t.Errorf("%s: %d", host, got)
		}
	}
	for request, want := range map[string]int{"GET /health HTTP/1.0\r\n\r\n": http.StatusOK,
		"GET / HTTP/1.0\r\n\r\n": http.StatusMisdirectedRequest} {
		if list := v.raw(t, request); len(list) != 1 || list[0] != want {
			t.Errorf("%q: %v", request, list)
		}
	}
	v.server.options.BehindProxy = true
	if got := status("lab.example"); got != http.StatusOK {
		t.Errorf("behind a proxy: %d", got)
	}
}

// Who has too many jobs hears when to try again.
func TestTooManyJobsSayWhenToRetry(t *testing.T) {
	t.Parallel()
	v := newService(t)
	err := v.server.problem(t.Context(), errTooManyOne)
	status, headers := huma.StatusError(nil), huma.HeadersError(nil)
	if !errors.As(err, &status) || status.GetStatus() != http.StatusTooManyRequests || !errors.As(err, &headers) ||
		headers.GetHeaders().Get("Retry-After") == "" {
		t.Errorf("%#v", err)
	}
}

func TestSchemesOfTokens(t *testing.T) {
	t.Parallel()
	v := newService(t)
	token := v.secrets["viewer"]
	for header, want := range map[string]int{
		"Bearer " + token: 200, "bearer " + token: 200, "BEARER " + token: 200,
		token: 401, "Basic " + token: 401, "Bearer" + token: 401, "Bearer": 401,
	} {
		if a, text := v.ask(t, "GET", "/v1/campaigns", "", "Authorization", header); a.StatusCode != want {
			t.Errorf("%s: %d %s", strings.ReplaceAll(header, token, "TOKEN"), a.StatusCode, text)
		}
	}
	for header, want := range map[string]int{"Basic YWRhOnNlY3JldA==": 200, token: 401, "Bearer wrong": 401} {
		if a, text := v.ask(t, "GET", "/v1/campaigns", "", "Authorization", header, "Cookie",
			v.session("viewer")); a.StatusCode != want {
			t.Errorf("%s beside a session: %d %s", strings.ReplaceAll(header, token, "TOKEN"), a.StatusCode, text)
		}
	}
}

// Tables that are read at the same time share the memory.
func TestUploadsShareTheMemory(t *testing.T) {
	t.Parallel()
	v := newService(t)
	v.server.memory.most = 16 << 20
	if !v.server.memory.take(15 << 20) {
		t.Fatal("there is no room")
	}
	a, text := v.ask(t, "POST", small, sample(20), "Authorization", "Bearer "+v.secrets["owner"])
	if a.StatusCode != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "" {
		t.Errorf("beside other tables: %d %s", a.StatusCode, text)
	}
	v.server.memory.give(15 << 20)
	must[Campaign](t, v, "owner", "POST", small, sample(20))
	// Compressed, a table may need more than its first share.
	path := filepath.Join(t.TempDir(), "t.csv.gz")
	table := gzipped("a,b,y\n", "1,2,3\n", 1<<20)
	if err := os.WriteFile(path, []byte(table), 0o600); err != nil {
		t.Fatal(err)
	}
	read, done, err := v.server.readWithin(t.Context(), path, int64(len(table)), source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if held := v.server.memory.taken(); held < read.Bytes() || held > 16<<20 {
		t.Errorf("a table of %d bytes holds %d", read.Bytes(), held)
	}
	done()
	if left := v.server.memory.taken(); left != 0 {
		t.Errorf("%d bytes are still reserved", left)
	}
	if left, _ := filepath.Glob(filepath.Join(v.server.uploads.folder, "*")); len(left) > 0 {
		t.Errorf("files are left: %v", left)
	}
}

// taken returns how many bytes are reserved.
func (b *budget) taken() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.bytes
}
