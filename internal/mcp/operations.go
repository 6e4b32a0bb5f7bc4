package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/nextbatch/nextbatch/internal/report"
	"github.com/nextbatch/nextbatch/internal/wire"
)

// Operation is an operation of the service.
type Operation struct {
	ID, Method, Path string
	Arguments        []argument
}

// Take adds an argument. Schema is that of the service, in which nothing refers to anything else.
func (o *Operation) Take(name, in string, required bool, schema map[string]any) {
	if name == keyHeader {
		name = "request"
	}
	if name == campaignArgument && in == "path" {
		required, schema["description"] = false, "name of the campaign; not needed where there is one"
	}
	o.Arguments = append(o.Arguments, argument{name, in, required, schema})
}

const (
	mostProblems     = 100 // of a request are listed
	campaignArgument = "campaign"
	keyHeader        = "Idempotency-Key"
)

// operation returns an operation by its id; nil if there is none.
func (d *Door) operation(id string) *Operation {
	i := slices.IndexFunc(d.Operations, func(o Operation) bool { return o.ID == id })
	if i < 0 {
		return nil
	}
	return &d.Operations[i]
}

// operate calls the operation of the tool, waits for its job, and puts the answer into words.
func (c *call) operate() (report.Said, error) {
	for name, usual := range c.tool.usually {
		if _, there := c.given[name]; !there {
			c.set(name, usual)
		}
	}
	o := c.door.operation(c.tool.operation)
	if err := c.chooseCampaign(o); err != nil {
		return nil, err
	}
	if c.tool.prepare != nil {
		if err := c.tool.prepare(c); err != nil {
			return nil, err
		}
	}
	status, err := c.do(c.tool.operation)
	if err != nil {
		return nil, err
	}
	if status == http.StatusAccepted {
		if err := c.await(); err != nil {
			return nil, err
		}
		if _, err := c.do(c.tool.result); err != nil {
			return nil, err
		}
	}
	if !c.tool.standing {
		return c.tool.words(report.Answer{About: c.about, Body: c.answer})
	}
	stop, err := c.argument("stop")
	if err != nil {
		return nil, err
	}
	standing, err := c.door.Standing(c, c.campaign.Name, stop)
	if err != nil {
		return nil, err
	}
	return standing.Words(), nil
}

// argument returns an argument that is a text; empty without it.
func (c *call) argument(name string) (said string, err error) {
	if raw, there := c.given[name]; there {
		err = json.Unmarshal(raw, &said)
	}
	return said, err
}

// campaign is what the service says of a campaign, as far as calls depend on it.
type campaign struct {
	Name  string
	Event int64
}

// findRow finds the number of the row that the argument id names.
func findRow(c *call) error {
	id, err := c.argument("id")
	if err != nil {
		return fmt.Errorf("id takes a text: %w", err)
	}
	c.set("where", "id="+id)
	if _, err := c.do("list-rows"); err != nil {
		return err
	}
	var page struct {
		Rows []struct {
			Row int64
			ID  string
		}
	}
	if err := json.Unmarshal(c.answer, &page); err != nil {
		return err
	}
	for _, r := range page.Rows {
		if r.ID == id {
			c.set("row", r.Row)
			return nil
		}
	}
	return fmt.Errorf("the campaign has no row with the id %.200q", id)
}

// lastEvents begins with the last events, unless the call says where.
func lastEvents(c *call) error {
	if _, there := c.given["after"]; there {
		return nil
	}
	last := int64(0)
	err := json.Unmarshal(c.given["limit"], &last)
	c.set("after", max(0, c.campaign.Event-last))
	return err
}

// set sets an argument.
func (c *call) set(name string, value any) {
	c.given[name], _ = json.Marshal(value) // numbers and strings
}

// chooseCampaign names the campaign, which need not be named if there is only one.
func (c *call) chooseCampaign(o *Operation) error {
	if !strings.Contains(o.Path, "{"+campaignArgument+"}") {
		return nil
	}
	if _, there := c.given[campaignArgument]; !there {
		names, err := c.names()
		switch {
		case err != nil:
			return err
		case len(names) != 1:
			return fmt.Errorf("there are %d campaigns: name one of them as campaign: %.1000q", len(names), names)
		}
		c.set(campaignArgument, names[0])
	}
	_, err := c.do("get-campaign")
	if err == nil {
		c.about = c.answer
		err = json.Unmarshal(c.about, &c.campaign)
	}
	return err
}

// names lists the campaigns.
func (c *call) names() (names []string, err error) {
	if _, err := c.do("list-campaigns"); err != nil {
		return nil, err
	}
	var list []campaign
	err = json.Unmarshal(c.answer, &list)
	for _, one := range list {
		names = append(names, one.Name)
	}
	return names, err
}

// do calls an operation with those of the arguments that it takes.
func (c *call) do(id string) (status int, err error) {
	o := c.door.operation(id)
	if o == nil {
		return 0, fmt.Errorf("this door has no operation %s", id)
	}
	path, query, body := o.Path, url.Values{}, map[string]json.RawMessage{}
	key, hasBody := "", false
	for _, a := range o.Arguments {
		hasBody = hasBody || a.In == "body"
		raw, there := c.given[a.Name]
		if !there {
			continue
		}
		if a.In == "body" {
			body[a.Name] = raw
			continue
		}
		values, err := scalars(raw)
		if err != nil || len(values) != 1 && a.In != "query" {
			return 0, fmt.Errorf("%s takes a text or a number", a.Name)
		}
		switch a.In {
		case "path":
			path = strings.Replace(path, "{"+a.Name+"}", url.PathEscape(values[0]), 1)
		case "header":
			key = values[0]
		default:
			query[a.Name] = values
		}
	}
	var content io.Reader = http.NoBody
	if hasBody {
		raw, err := json.Marshal(body)
		if err != nil {
			return 0, err
		}
		content = bytes.NewReader(raw)
	}
	r, err := http.NewRequestWithContext(c, o.Method, path+"?"+query.Encode(), content)
	if err != nil {
		return 0, fmt.Errorf("this cannot be asked for: %.200q", path)
	}
	if hasBody {
		r.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		r.Header.Set(keyHeader, key)
	}
	a := &answer{header: http.Header{}, status: http.StatusOK, watch: c.watch}
	c.door.Service.ServeHTTP(a, r)
	c.answer = a.body.Bytes()
	if a.status >= http.StatusBadRequest {
		return a.status, problem(c.answer)
	}
	return a.status, nil
}

// scalars returns the texts of a JSON value that is a text, a number, a truth value, or a list of them.
func scalars(raw json.RawMessage) (list []string, err error) {
	var many []json.RawMessage
	if json.Unmarshal(raw, &many) != nil {
		many = []json.RawMessage{raw}
	}
	for _, one := range many {
		var said string
		switch {
		case json.Unmarshal(one, &said) == nil:
		case one[0] == '{' || one[0] == '[':
			return nil, errors.New("not a text or a number")
		default:
			said = string(one)
		}
		list = append(list, said)
	}
	return list, nil
}

// problem returns the error that the service describes.
func problem(raw []byte) error {
	var p wire.Problem
	if err := json.Unmarshal(raw, &p); err != nil || p.Detail+p.Title == "" {
		return fmt.Errorf("the service answered %.300q", raw)
	}
	lines := []string{p.Detail}
	if p.Detail == "" {
		lines[0] = p.Title
	}
	for _, e := range p.Errors[:min(len(p.Errors), mostProblems)] {
		lines = append(lines, strings.TrimPrefix(e.Location+": "+e.Message, "body."))
	}
	return errors.New(strings.Join(lines, "\n"))
}

// await waits for the job that the last operation started, and reports its progress. The job of a call that is
// cancelled is cancelled, too.
func (c *call) await() error {
	var j wire.Job
	if err := json.Unmarshal(c.answer, &j); err != nil {
		return err
	}
	c.set("job", j.ID)
	c.watch = func(written []byte) {
		if json.Unmarshal(written, &j) == nil {
			c.report(j.Progress)
		}
	}
	_, err := c.do("watch-job")
	c.watch = nil
	switch {
	case c.Err() != nil:
		c.Context = context.WithoutCancel(c.Context)
		_, err := c.do("cancel-job")
		return errors.Join(errors.New("the call was cancelled, and so is what it began"), err)
	case err != nil:
		return err
	case j.State == wire.Running:
		return errors.New("the service ends, and goes on with this after its next start: call again with the same request")
	case j.State != wire.Done:
		return errors.New(j.Problem)
	}
	c.set("ask", j.Ask)
	return nil
}

// report tells the assistant how far a job is, if it wants to know.
func (c *call) report(p wire.Progress) {
	token := c.request.Params.GetProgressToken()
	if token == nil {
		return
	}
	c.said++
	// No answer depends on it.
	_ = c.request.Session.NotifyProgress(c, &sdk.ProgressNotificationParams{ProgressToken: token,
		Progress: float64(c.said), Message: fmt.Sprintf("%s: %d of %d", p.Stage, p.Done, p.Of)})
}

// answer is the answer of an operation.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
	watch  func(written []byte) // sees each part instead, unless nil
}

func (a *answer) Header() http.Header    { return a.header }
func (a *answer) WriteHeader(status int) { a.status = status }

func (a *answer) Write(p []byte) (int, error) {
	if a.watch != nil && a.status == http.StatusOK {
		a.watch(p)
		return len(p), nil
	}
	return a.body.Write(p)
}

// Flush and SetWriteDeadline are what a stream of events asks for.
func (a *answer) Flush()                           {}
func (a *answer) SetWriteDeadline(time.Time) error { return nil }
