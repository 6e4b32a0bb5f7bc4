package server

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/nextbatch/nextbatch/internal/wire"
)

// client is an assistant.
type client struct {
	*sdk.ClientSession
	t *testing.T
}

func connect(t *testing.T, through sdk.Transport) *client {
	t.Helper()
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test"}, nil).Connect(t.Context(), through, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return &client{session, t}
}

// overHTTP connects an assistant with the token of somebody.
func (v *service) overHTTP(t *testing.T, who string) *client {
	t.Helper()
	return connect(t, &sdk.StreamableClientTransport{Endpoint: v.URL + "/mcp", DisableStandaloneSSE: true,
		HTTPClient: &http.Client{Transport: bearer(v.secrets[who])}})
}

// inMemory connects an assistant to a door.
func inMemory(t *testing.T, door interface {
	Serve(context.Context, io.ReadCloser, io.WriteCloser) error
}) *client {
	t.Helper()
	requests, in := io.Pipe()
	out, answers := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- door.Serve(context.WithoutCancel(t.Context()), requests, answers) }()
	t.Cleanup(func() {
		in.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return connect(t, &sdk.IOTransport{Reader: out, Writer: in})
}

type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// call calls a tool, and returns what it answers and whether it failed.
func (c *client) call(tool string, arguments any) (said string, failed bool) {
	c.t.Helper()
	r, err := c.CallTool(c.t.Context(), &sdk.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		return err.Error(), true
	}
	return r.Content[0].(*sdk.TextContent).Text, r.IsError
}

// says calls a tool that must not fail, and wants each of some texts in the answer.
func (c *client) says(tool string, arguments any, want ...string) string {
	c.t.Helper()
	said, failed := c.call(tool, arguments)
	for _, text := range want {
		failed = failed || !strings.Contains(said, text)
	}
	if failed {
		c.t.Errorf("%s %v says %q, not %q", tool, arguments, said, want)
	}
	return said
}

// refuses calls a tool that must fail with a text.
func (c *client) refuses(tool string, arguments any, want string) {
	c.t.Helper()
	if said, failed := c.call(tool, arguments); !failed || !strings.Contains(said, want) {
		c.t.Errorf("%s %v says %q, not %q", tool, arguments, said, want)
	}
}

func (c *client) tools() (names []string) {
	c.t.Helper()
	for tool, err := range c.Tools(c.t.Context(), nil) {
		if err != nil {
			c.t.Fatal(err)
		}
		names = append(names, tool.Name)
	}
	return names
}

type args = map[string]any

func measured(id string, value float64) []args {
	return []args{{"id": id, "values": args{"y": value}}}
}

// TestAssistantsHaveTheRoleOfTheirToken: a tool is offered if the token may use its operation, and confirms nothing.
func TestAssistantsHaveTheRoleOfTheirToken(t *testing.T) {
	t.Parallel()
	v := newService(t)
	must[Campaign](t, v, "owner", "POST", small, sample(20))
	reading := []string{"campaigns", "explain", "history", "rows", "status"}
	labelling := slices.Sorted(slices.Values(append([]string{"ask", "audit", "correct", "fail", "predict", "queue",
		"return", "tell", "undo"}, reading...)))
	for who, want := range map[string][]string{"viewer": reading, "labeller": labelling, "owner": labelling} {
		if got := v.overHTTP(t, who).tools(); !slices.Equal(got, want) {
			t.Errorf("%s has %q", who, got)
		}
	}
	v.overHTTP(t, "viewer").refuses("tell", args{"rows": measured("s15", 1)}, "unknown tool")
	elsewhere := v.overHTTP(t, "other")
	elsewhere.says("campaigns", nil, "There is no campaign.")
	elsewhere.refuses("status", nil, "there are 0 campaigns")
	elsewhere.refuses("status", args{"campaign": "small"}, "the token is for another campaign")
	for _, who := range []string{"none", "wrong", "expired"} {
		if status, _ := v.do(t, who, "POST", "/mcp", args{}); status != http.StatusUnauthorized {
			t.Errorf("%s token: %d", who, status)
		}
	}
}

// TestAssistantLabels: the history names the assistant, which changes only what is its own, and what it tells waits by
// the rule for everybody.
func TestAssistantLabels(t *testing.T) {
	t.Parallel()
	v := newService(t)
	must[Campaign](t, v, "owner", "POST", small, sample(60))
	must[wire.Changed](t, v, "owner", "PUT", "/v1/campaigns/small/settings", settings)
	c := v.overHTTP(t, "owner")
	batch := c.says("ask", args{"rows": 2, "request": "first"}, "2 measurements are out with olga (assistant)")
	if again := c.says("ask", args{"rows": 2, "request": "first"}); again != batch {
		t.Errorf("a repeated request answers %q after %q", again, batch)
	}
	c.refuses("ask", args{"rows": 3, "request": "first"}, "first")
	c.says("queue", nil, "2 measurements are out with you")
	usual := []args{}
	for i := 12; i < 40; i++ {
		usual = append(usual, measured(fmt.Sprint("s", i), 1+float64(i%9)/4)...)
	}
	c.says("tell", args{"rows": usual, "request": "plate"}, "Event 6: s12, s13")
	c.says("tell", args{"rows": usual, "request": "plate"}, "Event 6", "had been made before")
	c.says("tell", args{"rows": measured("s50", 210)}, "s50 waits for a second look", "210; expected")
	c.says("correct", args{"rows": measured("s50", 211)}, "s50 waits for a second look", "211; expected")
	c.says("status", nil, "told a minute ago by olga (assistant)")
	c.refuses("tell", args{"rows": measured("s51", 210), "accept": true}, "no argument \"accept\"")
	c.refuses("confirm", args{"ids": []string{"s50"}}, "unknown tool")
	c.refuses("correct", args{"rows": measured("s0", 1)}, "not yours")
	c.refuses("undo", args{"event": 3}, "not yours")
	c.says("explain", args{"id": "s50"}, "s50 is waiting", "Measured", "by olga (assistant)", "waits for a second look")
	c.says("history", args{"limit": 2}, "7, ", "olga (assistant): 1 label told: s50", "8, ")
	c.says("undo", args{"event": 8, "reason": "a slip"}, "Event 9")
	c.says("rows", args{"status": "waiting"}, "1 row of 1", "s50")
	c.says("predict", args{"limit": 1}, "Predictions of 1 of ", ": y ")
	c.says("audit", nil, "y: ")

	confirming := v.server.Assistant(Grant{Person: "olga", Role: Owner})
	confirming.MayConfirm = true
	inMemory(t, confirming).says("confirm", args{"ids": []string{"s50"}}, "Event 10: s50")
	if status, raw := v.do(t, "owner", "POST", "/mcp", args{}, "Origin", "https://evil.example", "Sec-Fetch-Site",
		"cross-site"); status != http.StatusForbidden {
		t.Errorf("another site: %d %s", status, raw)
	}
}

// TestReadOnlyAssistant: none of the tools that are left changes anything, which they say.
func TestReadOnlyAssistant(t *testing.T) {
	t.Parallel()
	v := newService(t)
	must[Campaign](t, v, "owner", "POST", small, sample(20))
	door := v.server.Assistant(Grant{Person: "leo", Role: Labeller})
	door.ReadOnly = true
	c := inMemory(t, door)
	want := []string{"audit", "campaigns", "explain", "history", "predict", "queue", "rows", "status"}
	if got := c.tools(); !slices.Equal(got, want) {
		t.Errorf("it has %q", got)
	}
	for tool, err := range c.Tools(t.Context(), nil) {
		if err != nil || !tool.Annotations.ReadOnlyHint {
			t.Errorf("%v, %+v", err, tool)
		}
	}
}

// TestAssistantLooksAtCampaigns: a page and a picture of each campaign.
func TestAssistantLooksAtCampaigns(t *testing.T) {
	t.Parallel()
	v := newService(t)
	must[Campaign](t, v, "owner", "POST", strings.Replace(small, "small", "a%2Fb", 1), sample(20))
	c := v.overHTTP(t, "viewer")
	list, err := c.ListResources(t.Context(), nil)
	if err != nil || len(list.Resources) != 2 || list.CacheScope != "private" {
		t.Fatalf("%v, %+v", err, list)
	}
	page, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "nextbatch://campaigns/a%2Fb/page"})
	if err != nil || !strings.Contains(page.Contents[0].Text, "Where does the campaign a/b stand?") {
		t.Errorf("%v, %+v", err, page)
	}
	for uri, want := range map[string]string{"nextbatch://campaigns/a%2Fb/curve": "no learning curve yet",
		"nextbatch://campaigns/c/page": "no such campaign", "nextbatch://campaigns/../page": "", "file:///etc/passwd": ""} {
		if _, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", uri, err)
		}
	}
}

// TestCancelledCallCancelsItsJob: and reports its progress before.
func TestCancelledCallCancelsItsJob(t *testing.T) {
	t.Parallel()
	v := newService(t)
	must[Campaign](t, v, "owner", "POST", small, sample(20))
	endless := maps.Clone(settings)
	endless["network"] = args{"training": args{"epochs": 1_000_000}}
	must[wire.Changed](t, v, "owner", "PUT", "/v1/campaigns/small/settings", endless)
	c := inMemory(t, v.server.Assistant(Grant{Person: "leo", Role: Labeller}))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for {
			for _, j := range must[[]wire.Job](t, v, "viewer", "GET", "/v1/campaigns/small/jobs", nil) {
				v.trains(t, j, 2)
				cancel()
				return
			}
		}
	}()
	if r, err := c.CallTool(ctx, &sdk.CallToolParams{Name: "ask", Arguments: args{"rows": 2}}); err == nil {
		t.Fatalf("it answers %+v", r)
	}
	job := must[[]wire.Job](t, v, "viewer", "GET", "/v1/campaigns/small/jobs", nil)[0]
	if job = v.finish(t, "viewer", job); job.State != wire.Cancelled {
		t.Errorf("the job is %+v", job)
	}
}

// TestHostileArguments: whatever comes instead of an argument is an error, and nothing panics.
func TestHostileArguments(t *testing.T) {
	t.Parallel()
	v := newService(t)
	must[Campaign](t, v, "owner", "POST", small, sample(20))
	must[wire.Changed](t, v, "owner", "PUT", "/v1/campaigns/small/settings", settings)
	c := inMemory(t, v.server.Assistant(Grant{Person: "leo", Role: Labeller}))
	c.refuses("rows", args{"search": strings.Repeat("é", 1<<20)}, "query.search")
	hostile := []any{-1, 1e300, 0.5, true, "", "\x00", "../../etc/passwd", "x=y&limit=1000", strings.Repeat("é", 1<<15),
		[]any{}, []any{nil}, []any{[]any{}}, args{}, args{"": nil}, []any{args{"id": 1}}, json.RawMessage(strings.Repeat("[",
			900) + strings.Repeat("]", 900))}
	var names []string
	for tool, err := range c.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, tool.Name)
		fields := tool.InputSchema.(map[string]any)["properties"].(map[string]any)
		c.refuses(tool.Name, args{"nonsense": 1}, "no argument")
		if fields["campaign"] != nil {
			c.refuses(tool.Name, args{"campaign": "gone", "id": "s1", "event": 1, "ids": []string{"s1"},
				"rows": measured("s1", 1)}, "")
		}
		for name := range fields {
			for _, value := range hostile {
				said, _ := c.call(tool.Name, args{name: value})
				if strings.Contains(said, "fault of nextbatch") || len(said) > 25_000 {
					t.Errorf("%s with %s %.60v: %.300s", tool.Name, name, value, said)
				}
			}
		}
	}
	for _, arguments := range []any{nil, 1, "x", []int{1}, json.RawMessage(`{"a":1,"a":2}`)} {
		for _, name := range names {
			if said, _ := c.call(name, arguments); strings.Contains(said, "fault of nextbatch") {
				t.Errorf("%s with %v: %s", name, arguments, said)
			}
		}
	}
	if strings.Contains(v.log.String(), "panicked") {
		t.Error(v.log)
	}
}
