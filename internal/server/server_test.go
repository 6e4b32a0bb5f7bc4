package server

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/campaign/storetest"
	"github.com/nextbatch/nextbatch/internal/device"
	"github.com/nextbatch/nextbatch/internal/estimate"
	"github.com/nextbatch/nextbatch/internal/wire"
)

// service is a server with a token of each role.
type service struct {
	*httptest.Server
	server  *Server
	secrets map[string]string
	log     *bytes.Buffer
}

func newService(t testing.TB) *service { return newServiceOn(t, nil) }

func newServiceOn(t testing.TB, on device.Device) *service {
	t.Helper()
	ctx := context.Background()
	tokens, err := OpenTokens(ctx, filepath.Join(t.TempDir(), "tokens.db"))
	if err != nil {
		t.Fatal(err)
	}
	log := &bytes.Buffer{}
	s := New(Options{Store: &storetest.Memory{}, Tokens: tokens,
		Log: slog.New(slog.NewJSONHandler(&lockedWriter{to: log}, nil)), Scratch: t.TempDir(),
		MaxUpload: 1 << 20, Device: on})
	s.measuring = time.Minute // machines of tests may be slow
	listening := httptest.NewUnstartedServer(nil)
	listening.Config = s.HTTP()
	listening.Start()
	v := &service{listening, s, map[string]string{"none": "", "wrong": "nb_abc_def"}, log}
	t.Cleanup(func() { v.Close(); s.Close(); tokens.Close() })
	grants := map[string]Grant{
		"viewer": {"vera", Viewer, "", 0}, "labeller": {"leo", Labeller, "", 0}, "owner": {"olga", Owner, "", time.Hour},
		"other": {"otto", Owner, "elsewhere", 0}, "expired": {"eve", Owner, "", time.Second},
	}
	for name, g := range grants {
		now := time.Now()
		if name == "expired" {
			now = now.Add(-time.Hour)
		}
		_, secret, err := tokens.Add(ctx, g, now)
		if err != nil {
			t.Fatal(err)
		}
		v.secrets[name] = secret
	}
	return v
}

type lockedWriter struct {
	mu sync.Mutex
	to io.Writer
}

func (w *lockedWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(b)
}

// do makes a request, and returns the status and the body of the answer.
func (v *service) do(t testing.TB, who, method, path string, body any, headers ...string) (int, []byte) {
	t.Helper()
	var content io.Reader
	kind := "application/json"
	switch b := body.(type) {
	case nil:
	case string:
		content, kind = strings.NewReader(b), "text/csv"
	default:
		raw, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		content = bytes.NewReader(raw)
	}
	r, err := http.NewRequest(method, v.URL+path, content)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", kind)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	if secret := v.secrets[who]; secret != "" {
		r.Header.Set("Authorization", "Bearer "+secret)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	v.described(t, r, answer.StatusCode, raw)
	return answer.StatusCode, raw
}

// must makes a request that succeeds, and reads its answer.
func must[T any](t testing.TB, v *service, who, method, path string, body any, headers ...string) (answer T) {
	t.Helper()
	status, raw := v.do(t, who, method, path, body, headers...)
	if status/100 != 2 {
		t.Fatalf("%s %s: %d %s", method, path, status, raw)
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		t.Fatalf("%s %s: %v in %s", method, path, err, raw)
	}
	return answer
}

// sample is a table of rows whose label is a smooth function of two inputs.
func sample(rows int) string {
	r := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	b.WriteString("name,a,b,colour,y\n")
	for i := range rows {
		a, c := r.Float64(), r.Float64()
		fmt.Fprintf(&b, "s%d,%.4f,%.4f,%s,", i, a, c, []string{"red", "blue"}[i%2])
		if i < 12 {
			fmt.Fprintf(&b, "%.4f", a+2*c)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// small is a campaign of networks, whose training jobs report epoch by epoch.
const small = "/v1/campaigns?name=small&target=y&id=name&learner=network"

// settings make asks fast.
var settings = map[string]any{"network": map[string]any{"architecture": map[string]any{"hidden": []int{8}},
	"training": map[string]any{"epochs": 4}}, "seed": 1}

// trains returns when a job has reported some steps, and fails if it ends before.
func (v *service) trains(t *testing.T, j wire.Job, steps int) {
	t.Helper()
	for {
		now := must[wire.Job](t, v, "viewer", "GET", "/v1/campaigns/"+j.Campaign+"/jobs/"+j.ID, nil)
		switch {
		case now.Progress.Done >= steps:
			return
		case now.State != wire.Running:
			t.Fatalf("the job ended: %+v", now)
		}
		time.Sleep(time.Millisecond)
	}
}

func (v *service) finish(t *testing.T, who string, j wire.Job) wire.Job {
	t.Helper()
	for j.State == wire.Running {
		time.Sleep(5 * time.Millisecond)
		j = must[wire.Job](t, v, who, "GET", "/v1/campaigns/"+j.Campaign+"/jobs/"+j.ID, nil)
	}
	return j
}

// Every operation is tried without a token, with a wrong and an expired one, with one
// of another campaign, and with each role; by header and by cookie.
func TestWhoMayDoWhat(t *testing.T) {
	t.Parallel()
	v := newService(t)
	v.server.failures.burst = 1e6
	v.do(t, "owner", "POST", small, sample(20))
	operations, sessions := 0, map[string]string{}
	for who := range v.secrets {
		sessions[who] = v.session(who)
	}
	for path, item := range v.server.api.OpenAPI().Paths {
		concrete := strings.NewReplacer("{campaign}", "small", "{job}", "x", "{ask}", "7", "{row}", "3",
			"{name}", "x").Replace(path)
		for method, op := range map[string]*huma.Operation{"GET": item.Get, "POST": item.Post, "PUT": item.Put,
			"DELETE": item.Delete} {
			if op == nil {
				continue
			}
			operations++
			for _, who := range []string{"none", "wrong", "expired", "other", "viewer", "labeller", "owner"} {
				want := wantedRefusal(who, op.Metadata["role"].(Role), strings.Contains(path, "{campaign}"))
				status, body := v.do(t, who, method, concrete, nil)
				checkRefusal(t, method+" "+path+" as "+who, want, status, body)
				status, body = v.do(t, "none", method, concrete, nil, "Cookie", sessions[who], "Sec-Fetch-Site", "same-origin")
				checkRefusal(t, method+" "+path+" by cookie as "+who, want, status, body)
				if op.OperationID == "sign-out" {
					sessions[who] = v.session(who)
				}
			}
		}
	}
	if operations < 18 {
		t.Errorf("only %d operations were tried", operations)
	}
	for _, path := range []string{"/openapi.json", "/metrics", "/docs", "/v1/nothing", "/v1/session"} {
		if status, _ := v.do(t, "none", "GET", path, nil); status != http.StatusUnauthorized {
			t.Errorf("%s without a token: %d", path, status)
		}
	}
	if status, body := v.do(t, "none", "GET", "/health", nil); status != 200 || string(body) != "ok\n" {
		t.Errorf("/health: %d %s", status, body)
	}
	log := v.log.String()
	for who := range v.secrets {
		if secret := v.secrets[who]; secret != "" && strings.Contains(log, secret) || strings.Contains(log, sessions[who]) {
			t.Errorf("the log has the secret of %s", who)
		}
	}
}

// wantedRefusal returns the status that a request is refused with, or 0.
func wantedRefusal(who string, needed Role, aboutCampaign bool) int {
	switch {
	case needed == "":
		return 0
	case slices.Contains([]string{"none", "wrong", "expired"}, who):
		return http.StatusUnauthorized
	case who == "other" && aboutCampaign, who != "other" && !Role(who).includes(needed):
		return http.StatusForbidden
	}
	return 0
}

func checkRefusal(t *testing.T, what string, want, status int, body []byte) {
	t.Helper()
	refused := status == http.StatusUnauthorized || status == http.StatusForbidden
	if want != 0 && status != want || want == 0 && refused || status >= 500 {
		t.Errorf("%s: %d, wanted %d: %s", what, status, want, body)
	}
	if want != 0 && !bytes.Contains(body, []byte(`"detail"`)) {
		t.Errorf("%s is not a problem document: %s", what, body)
	}
}

// session returns a cookie with a new session. It is one of a token that is wrong if the token is.
func (v *service) session(who string) string {
	name := cookieName(strings.TrimPrefix(v.URL, "http://")) + "="
	if who == "none" || who == "wrong" {
		return name + "AAAA"
	}
	id, _ := tokenID(v.secrets[who])
	secret, _, err := v.server.options.Tokens.Begin(context.Background(), Token{ID: id}, v.server.now())
	if err != nil {
		panic(err)
	}
	return name + secret
}

func TestCampaignOverHTTP(t *testing.T) {
	t.Parallel()
	v := newService(t)
	created := must[Campaign](t, v, "owner", "POST", small, sample(60))
	if created.Rows != 60 || created.Labelled != 12 || created.Open != 48 ||
		!slices.Equal(created.Targets, []string{"y"}) {
		t.Fatalf("created %+v", created)
	}
	must[wire.Changed](t, v, "owner", "PUT", "/v1/campaigns/small/settings", settings)

	j := v.finish(t, "labeller", must[wire.Job](t, v, "labeller", "POST", "/v1/campaigns/small/asks",
		map[string]any{"rows": 4}, "Idempotency-Key", "first"))
	if j.State != wire.Done || j.Ask != 1 {
		t.Fatalf("the job ended as %+v", j)
	}
	batch := must[Batch](t, v, "viewer", "GET", "/v1/campaigns/small/asks/1", nil)
	if len(batch.Rows) != 4 || batch.Person != "leo" || batch.LeaseEnd == nil || batch.Trained != 12 {
		t.Fatalf("batch %+v", batch)
	}
	for _, r := range batch.Rows {
		if r.Reason == "" || r.Status != "asked" || r.Inputs["colour"] == nil || r.Predictions["y"] == nil {
			t.Errorf("row %+v", r)
		}
	}
	again := v.finish(t, "labeller", must[wire.Job](t, v, "labeller", "POST", "/v1/campaigns/small/asks",
		map[string]any{"rows": 4}, "Idempotency-Key", "first"))
	if again.Ask != 1 {
		t.Errorf("a repeated ask made ask %d", again.Ask)
	}

	tell := map[string]any{"rows": []any{
		map[string]any{"id": batch.Rows[0].ID, "values": map[string]float64{"y": 1.5}},
		map[string]any{"id": batch.Rows[1].ID, "values": map[string]float64{"y": 2.5}},
	}}
	told := must[Told](t, v, "labeller", "POST", "/v1/campaigns/small/tells", tell)
	if len(told.Rows) != 2 || told.Known != 0 {
		t.Errorf("told %+v", told)
	}
	if repeat := must[Told](t, v, "labeller", "POST", "/v1/campaigns/small/tells", tell); repeat.Known != 2 ||
		len(repeat.Rows) != 0 {
		t.Errorf("told again %+v", repeat)
	}
	must[wire.Changed](t, v, "labeller", "POST", "/v1/campaigns/small/failures",
		map[string]any{"ids": []string{batch.Rows[2].ID}, "reason": "broke"})
	must[wire.Changed](t, v, "labeller", "POST", "/v1/campaigns/small/returns",
		map[string]any{"ids": []string{batch.Rows[3].ID}})
	if s := must[Campaign](t, v, "viewer", "GET", "/v1/campaigns/small", nil); s.Labelled != 14 || s.Failed != 1 ||
		s.Asked != 0 || s.Open != 45 {
		t.Errorf("status %+v", s)
	}
	must[wire.Changed](t, v, "owner", "POST", "/v1/campaigns/small/undo", map[string]any{"event": told.Event})
	events := must[[]wire.LogEvent](t, v, "viewer", "GET", "/v1/campaigns/small/events?after=3", nil)
	if last := events[len(events)-1]; last.Kind != "undone" || last.Person == nil || *last.Person != "olga" {
		t.Errorf("the last event is %+v", last)
	}
	labelled := must[RowPage](t, v, "viewer", "GET", "/v1/campaigns/small/rows?status=labelled&limit=5&offset=10", nil)
	if labelled.Total != 12 || len(labelled.Rows) != 2 || labelled.Rows[0].ID != "s10" ||
		labelled.Rows[0].Labels["y"] == nil {
		t.Errorf("labelled rows %+v", labelled)
	}
	open := must[RowPage](t, v, "viewer", "GET", "/v1/campaigns/small/rows?status=open&limit=3", nil)
	if open.Total != 45 || open.Rows[0].Labels["y"] != nil {
		t.Errorf("open rows %+v", open)
	}

	standing := must[campaign.Standing](t, v, "viewer", "GET", "/v1/campaigns/small/standing?stop=rmse%3C0.5", nil)
	if standing.Labelled != 12 || len(standing.Targets) != 1 || standing.Advice.Verdict != estimate.TooEarly {
		t.Errorf("standing %+v", standing)
	}

	p := v.finish(t, "labeller", must[wire.Job](t, v, "labeller", "POST", "/v1/campaigns/small/predictions", nil))
	predicted := must[Predicted](t, v, "viewer", "GET", "/v1/campaigns/small/jobs/"+p.ID+"/predictions?limit=5", nil)
	if predicted.Total != 45 || len(predicted.Rows) != 5 || predicted.Rows[0].Predictions["y"] == nil {
		t.Errorf("predictions %+v", predicted)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	v := newService(t)
	must[Campaign](t, v, "owner", "POST", small, sample(20))
	for _, c := range []struct {
		name, method, path string
		body               any
		status             int
		detail             string
	}{
		{"the name is taken", "POST", small, sample(20), 409, "exists"},
		{"not a table", "POST", "/v1/campaigns?name=x&target=y", "a,b\n1\n", 422, "fields"},
		{"no such id column", "POST", "/v1/campaigns?name=x&target=y&id=none", sample(20), 422, "none"},
		{"no target", "POST", "/v1/campaigns?name=x", sample(20), 422, "target"},
		{"too large", "POST", "/v1/campaigns?name=x&target=y", strings.Repeat("a,y\n", 1<<19), 413, "larger"},
		{"an unknown id", "POST", "/v1/campaigns/small/tells",
			map[string]any{"rows": []any{map[string]any{"id": "<script>", "values": map[string]float64{"y": 1}}}}, 422,
			"body.rows[0]"},
		{"an unknown target", "POST", "/v1/campaigns/small/tells",
			map[string]any{"rows": []any{map[string]any{"id": "s15", "values": map[string]float64{"z": 1}}}}, 422,
			"not a target"},
		{"text as label", "POST", "/v1/campaigns/small/tells",
			map[string]any{"rows": []any{map[string]any{"id": "s15", "values": map[string]string{"y": "high"}}}},
			422, "expected number"},
		{"an event that is not there", "POST", "/v1/campaigns/small/undo", map[string]any{"event": 99}, 409, "99"},
		{"the event that began it", "POST", "/v1/campaigns/small/undo", map[string]any{"event": 1}, 409, "created"},
		{"settings that do not exist", "PUT", "/v1/campaigns/small/settings", map[string]any{"color": 1}, 422, "color"},
		{"a method that does not exist", "PUT", "/v1/campaigns/small/settings", map[string]any{"spec": "best"}, 422, "best"},
		{"a stop rule that cannot be read", "GET", "/v1/campaigns/small/standing?stop=soon", nil, 422, "soon"},
		{"no such campaign", "GET", "/v1/campaigns/none", nil, 404, "none"},
		{"no such ask", "GET", "/v1/campaigns/small/asks/3", nil, 404, "3"},
		{"no such job", "GET", "/v1/campaigns/small/jobs/x", nil, 404, "job"},
		{"a lease that cannot be read", "POST", "/v1/campaigns/small/asks", map[string]any{"lease": "a week"}, 422,
			"or never"},
		{"a wrong parameter", "GET", "/v1/campaigns/small/rows?limt=5", nil, 422, "limt"},
		{"a path outside", "GET", "/v1/campaigns/..%2f..%2fetc", nil, 404, "etc"},
	} {
		status, body := v.do(t, "owner", c.method, c.path, c.body)
		if status != c.status || !strings.Contains(string(body), c.detail) {
			t.Errorf("%s: %d %s; wanted %d with %q", c.name, status, body, c.status, c.detail)
		}
	}
	if s := must[Campaign](t, v, "owner", "GET", "/v1/campaigns/small", nil); s.Event != 3 {
		t.Errorf("refused requests changed the campaign: %+v", s)
	}
}

// Browsers send cross-site requests with an Origin; programs do not.
func TestRequestsOfOtherSitesAreRefused(t *testing.T) {
	t.Parallel()
	v := newService(t)
	if status, body := v.do(t, "owner", "POST", small, sample(20), "Sec-Fetch-Site",
		"cross-site"); status != http.StatusForbidden {
		t.Errorf("%d %s", status, body)
	}
}

// Many labellers at once never get the same row.
func TestManyLabellers(t *testing.T) {
	t.Parallel()
	v := newService(t)
	must[Campaign](t, v, "owner", "POST", small, sample(200))
	must[wire.Changed](t, v, "owner", "PUT", "/v1/campaigns/small/settings", settings)
	var wait sync.WaitGroup
	var mu sync.Mutex
	seen := map[string]int{}
	for i := range 8 {
		wait.Go(func() {
			j := must[wire.Job](t, v, "labeller", "POST", "/v1/campaigns/small/asks", map[string]any{"rows": 3},
				"Idempotency-Key", fmt.Sprint("ask-", i))
			j = v.finish(t, "labeller", j)
			batch := must[Batch](t, v, "labeller", "GET", fmt.Sprint("/v1/campaigns/small/asks/", j.Ask), nil)
			for _, r := range batch.Rows {
				mu.Lock()
				seen[r.ID]++
				mu.Unlock()
				must[Told](t, v, "labeller", "POST", "/v1/campaigns/small/tells",
					map[string]any{"rows": []any{map[string]any{"id": r.ID, "values": map[string]float64{"y": float64(i)}}}})
			}
		})
	}
	wait.Wait()
	for id, n := range seen {
		if n > 1 {
			t.Errorf("row %s was handed out %d times", id, n)
		}
	}
	if s := must[Campaign](t, v, "viewer", "GET", "/v1/campaigns/small", nil); len(seen) != 24 || s.Labelled != 36 {
		t.Errorf("%d rows handed out, status %+v", len(seen), s)
	}
}

// An ask that is repeated while it runs, as after a lost connection, does not start a second job.
func TestRepeatedAskIsTheRunningJob(t *testing.T) {
	t.Parallel()
	v := newService(t)
	must[Campaign](t, v, "owner", "POST", small, sample(60))
	slow := map[string]any{"network": map[string]any{"training": map[string]any{"epochs": 100000}}, "seed": 1}
	must[wire.Changed](t, v, "owner", "PUT", "/v1/campaigns/small/settings", slow)
	ask := func(key string) wire.Job {
		return must[wire.Job](t, v, "labeller", "POST", "/v1/campaigns/small/asks", map[string]any{"rows": 2},
			"Idempotency-Key", key)
	}
	first, second, other := ask("a"), ask("a"), ask("b")
	if first.ID != second.ID || first.ID == other.ID || v.server.jobs.running() != 2 {
		t.Errorf("jobs %s, %s and %s, of which %d run", first.ID, second.ID, other.ID, v.server.jobs.running())
	}
	must[wire.Job](t, v, "labeller", "DELETE", "/v1/campaigns/small/jobs/"+first.ID, nil)
	if again := ask("a"); again.ID == first.ID { // which may not have ended yet
		t.Error("a job that was cancelled is still the answer")
	}
}

// Of asks with one request id that arrive together, one starts a job.
func TestAsksTogetherAreOneJob(t *testing.T) {
	t.Parallel()
	v := newService(t)
	must[Campaign](t, v, "owner", "POST", small, sample(60))
	slow := map[string]any{"network": map[string]any{"training": map[string]any{"epochs": 100000}}, "seed": 1}
	must[wire.Changed](t, v, "owner", "PUT", "/v1/campaigns/small/settings", slow)
	var status [4]int
	var answers [4][]byte
	var wait sync.WaitGroup
	err := v.server.options.Tokens.file.Write(t.Context(), func(*sql.Tx) error { // no job can be written down meanwhile
		for i := range answers {
			wait.Go(func() {
				status[i], answers[i] = v.do(t, "labeller", "POST", "/v1/campaigns/small/asks", map[string]any{"rows": 2},
					"Idempotency-Key", "a")
			})
		}
		time.Sleep(200 * time.Millisecond)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	wait.Wait()
	var jobs [4]wire.Job
	for i, raw := range answers {
		if err := json.Unmarshal(raw, &jobs[i]); status[i]/100 != 2 || err != nil {
			t.Fatalf("%d %s", status[i], raw)
		}
		if jobs[i].ID != jobs[0].ID {
			t.Errorf("jobs %s and %s, of which %d run", jobs[0].ID, jobs[i].ID, v.server.jobs.running())
		}
	}
}

func TestWatchAndCancel(t *testing.T) {
	t.Parallel()
	v := newService(t)
	must[Campaign](t, v, "owner", "POST", small, sample(60))
	slow := map[string]any{"network": map[string]any{"training": map[string]any{"epochs": 100000}}, "seed": 1}
	must[wire.Changed](t, v, "owner", "PUT", "/v1/campaigns/small/settings", slow)
	j := must[wire.Job](t, v, "labeller", "POST", "/v1/campaigns/small/asks", map[string]any{"rows": 2})
	done := make(chan string)
	go func() {
		_, body := v.do(t, "viewer", "GET", "/v1/campaigns/small/jobs/"+j.ID+"/events", nil)
		done <- string(body)
	}()
	v.trains(t, j, 3)
	must[wire.Job](t, v, "labeller", "DELETE", "/v1/campaigns/small/jobs/"+j.ID, nil)
	events := <-done
	if !strings.Contains(events, "event: job") || !strings.Contains(events, `"stage":"training"`) ||
		!strings.Contains(events, `"state":"cancelled"`) {
		t.Errorf("events %.400s … %s", events, events[max(0, len(events)-300):])
	}
	if s := must[Campaign](t, v, "viewer", "GET", "/v1/campaigns/small", nil); s.Asked != 0 {
		t.Errorf("a cancelled ask handed out rows: %+v", s)
	}
}
