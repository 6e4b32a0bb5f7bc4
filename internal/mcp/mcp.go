// Package mcp is the door for assistants: it offers campaigns and tables as tools and resources of the Model Context
// Protocol. A tool calls an operation of the service or a command of the command line, whose arguments describe it, and
// answers in the words of a person; one table lists all of them. docs/assistants.md is for people who use it.
package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/pflag"

	"github.com/nextbatch/nextbatch/internal/report"
	"github.com/nextbatch/nextbatch/internal/space"
)

// Door is what an assistant reaches.
type Door struct {
	// Operations of the service that the assistant may use, and what answers them. Standing looks at a campaign about
	// which an operation has answered.
	Operations []Operation
	Service    http.Handler
	Standing   func(ctx context.Context, campaign, stop string) (Standing, error)

	// Files are what the commands may read: files, and folders with all that is in them. Of none, there are no commands.
	Files []string
	Flags func(command string) *pflag.FlagSet
	Run   func(ctx context.Context, args []string, out, log io.Writer) (exit int)

	ReadOnly   bool // offer no tool that changes anything
	MayConfirm bool // labels that wait for a second look may be confirmed
	Version    string
	Log        *slog.Logger

	running sync.Mutex // one command at a time, as each limits the memory of the process
}

// Standing is where a campaign stands. It is an interface, so that Go does not compile what is behind it here again.
type Standing interface {
	Words() report.Said
	WritePage(w io.Writer) error
	Curve() (png []byte, err error)
}

// tool is a row of the table of tools.
type tool struct {
	name, about string
	writes      bool // changes a campaign
	confirms    bool // makes labels count that are far from what was expected

	operation string            // of the service
	result    string            // the operation that returns what the job of the first has found
	hidden    []string          // arguments that the assistant does not have
	usually   map[string]any    // arguments that are not given
	prepare   func(*call) error // sets arguments; nil for nothing
	words     func(report.Answer) (report.Said, error)
	standing  bool // the words are those of the standing

	command string                     // of the command line
	first   string                     // argument that is no flag: a file
	flags   []string                   // arguments, which are flags
	files   []string                   // those of them that are files
	tables  func(path string) []string // that the first argument names
}

// aboutTable are the flags that say what is in a table.
var aboutTable = []string{"target", "id", "ignore", "categorical", "keep", "missing", "range", "lod", "sheet", "sep",
	"decimal"}

var table = []tool{
	{name: "campaigns", operation: "list-campaigns", words: report.Answer.Campaigns, about: "Lists the campaigns."},
	{name: "status", operation: "get-standing", standing: true,
		about: "Says where a campaign stands: rows, labels that wait, the error, a forecast, and whether to stop."},
	{name: "ask", operation: "ask", result: "get-ask", writes: true, words: report.Answer.Batch,
		about: "Picks the rows to label next and hands them out. Fits a model first, which may take minutes. Give a " +
			"request id, so that a repeated call hands out the same rows."},
	{name: "queue", operation: "get-queue", words: report.Answer.Queue,
		about: "Lists the rows that are out with the assistant."},
	{name: "rows", operation: "list-rows", usually: map[string]any{"limit": 20}, words: report.Answer.Rows,
		about: "Lists rows with their inputs and labels."},
	{name: "explain", operation: "get-row", hidden: []string{"row"}, prepare: findRow, words: report.Answer.Row,
		about: "Explains a row: why it was picked, what was predicted and what was measured."},
	{name: "tell", operation: "tell", writes: true, hidden: []string{"accept"}, words: report.Answer.Told,
		about: "Tells measured labels. Those far from what was expected wait for a second look by a person. Never tell a " +
			"number that nobody measured."},
	{name: "correct", operation: "correct", writes: true, hidden: []string{"accept", "again"}, words: report.Answer.Told,
		about: "Replaces labels that the assistant told."},
	{name: "confirm", operation: "confirm", writes: true, confirms: true, words: report.Answer.Changed,
		about: "Confirms labels that wait for a second look, once they have been checked."},
	{name: "fail", operation: "fail", writes: true, words: report.Answer.Changed,
		about: "Reports rows that could not be labelled."},
	{name: "return", operation: "return", writes: true, words: report.Answer.Changed,
		about: "Gives rows back that are out."},
	{name: "undo", operation: "undo", writes: true, words: report.Answer.Changed,
		about: "Takes back an event that the assistant caused, by another event."},
	{name: "history", operation: "list-events", usually: map[string]any{"limit": 20}, prepare: lastEvents,
		words: report.Answer.Events, about: "Lists what happened, by default the last 20 events, and who did it."},
	{name: "predict", operation: "predict", result: "get-predictions", usually: map[string]any{"limit": 20},
		words: report.Answer.Predicted, about: "Predicts labels of open rows, with intervals. Fits a model first."},
	{name: "audit", operation: "make-audit", result: "get-audit", words: report.Answer.Audit,
		about: "Looks for labels that look wrong. Fits models first."},

	{name: "select_from_table", command: "select", first: "table",
		flags: slices.Concat(aboutTable, []string{"batch", "train", "pool", "earlier", "targets", "learner", "method", "seed",
			"must", "exclude", "pending", "budget", "cost", "cost-aware", "group", "per-group", "same", "runs", "replicates",
			"plate", "controls"}),
		files: []string{"train", "pool", "earlier", "targets"},
		about: "Picks the rows of a table to label next, with a reason for each, and changes nothing."},
	{name: "advise_on_table", command: "advise", first: "table",
		flags: []string{"target", "id", "ignore", "categorical", "keep", "missing", "sheet", "sep", "decimal", "learner",
			"method", "rounds", "repeats"},
		about: "Finds out from the labels of a table which model suits them, and whether choosing rows is worth it."},
	{name: "audit_table", command: "audit", first: "table",
		flags: slices.Concat(aboutTable, []string{"learner", "most", "level"}),
		about: "Finds labels of a table that look wrong."},
	{name: "predict_table", command: "predict", first: "table",
		flags: []string{"model", "id", "missing", "range", "coverage", "sheet", "sep", "decimal"}, files: []string{"model"},
		about: "Predicts the labels of the rows of a table with a saved model."},
	{name: "candidates_of_space", command: "candidates", first: "space", flags: []string{"describe", "rows", "seed"},
		usually: map[string]any{"rows": 20}, tables: space.Tables,
		about: "Describes a space of factors and counts its candidates, or lists some that fill it."},
}

// instructions are for the assistant, which reads them first.
const instructions = `nextbatch picks the rows of a table whose labels teach a model most. In a campaign: status ` +
	`says where it stands, ask hands out rows, a person or an instrument measures them, and tell records the labels. ` +
	`Labels that wait for a second look are checked by a person. Numbers are in the units of the table.`

// serverOf offers the tools and resources of a door. Like others here it is no method, so that packages that know doors
// do not compile what the protocol is made of again.
func serverOf(d *Door) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "nextbatch", Version: d.Version},
		&sdk.ServerOptions{Instructions: instructions, Capabilities: &sdk.ServerCapabilities{},
			SetCacheable: func(_ context.Context, _ sdk.Request, c *sdk.Cacheable) { c.CacheScope = "private" }})
	for _, t := range table {
		if t.writes && d.ReadOnly || t.confirms && !d.MayConfirm {
			continue
		}
		if d.MayConfirm {
			t.hidden = slices.DeleteFunc(slices.Clone(t.hidden), func(name string) bool { return name == "accept" })
		}
		if arguments := argumentsOf(d, t); arguments != nil {
			add(d, s, t, arguments)
		}
	}
	if len(d.Operations) > 0 {
		addResources(d, s)
	}
	return s
}

// Serve serves one assistant on a pair of streams until the first ends.
func (d *Door) Serve(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	return serverOf(d).Run(ctx, &sdk.IOTransport{Reader: in, Writer: out})
}

// ServeHTTP serves a request that others have checked: its host, its origin and the length of its body.
func (d *Door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s := serverOf(d)
	sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{Stateless: true,
		DisableLocalhostProtection: true, MaxRequestBodyBytes: -1, PropagateRequestCancellation: true}).ServeHTTP(w, r)
}

// argument is an argument of a tool.
type argument struct {
	Name     string
	In       string // path, query, header or body of a request; empty for a flag
	Required bool
	Schema   map[string]any // in JSON
}

// argumentsOf returns what a tool takes, and nil if this door does not have it.
func argumentsOf(d *Door, t tool) []argument {
	if t.command != "" {
		return flagArguments(d, t)
	}
	list := []argument{}
	for _, name := range []string{t.operation, t.result} {
		o := d.operation(name)
		if o == nil && name != "" {
			return nil
		}
		for i := 0; o != nil && i < len(o.Arguments); i++ {
			a := o.Arguments[i]
			known := slices.ContainsFunc(list, func(b argument) bool { return a.Name == b.Name })
			if known || slices.Contains(t.hidden, a.Name) || a.In == "path" && name == t.result {
				continue
			}
			if usual, there := t.usually[a.Name]; there {
				a.Schema = maps.Clone(a.Schema) // others share it
				a.Schema["default"] = usual
			}
			list = append(list, a)
		}
	}
	if t.name == "explain" {
		list = append(list, argument{"id", "", true, map[string]any{"type": "string", "description": "id of the row"}})
	}
	return list
}

// most is how many characters an answer has at most.
const most = 20_000

func add(d *Door, s *sdk.Server, t tool, arguments []argument) {
	schema, required := map[string]any{}, []string{}
	for _, a := range arguments {
		if schema[a.Name] = a.Schema; a.Required {
			required = append(required, a.Name)
		}
	}
	no := false
	s.AddTool(&sdk.Tool{Name: t.name, Description: t.about, InputSchema: map[string]any{"type": "object",
		"properties": schema, "required": required, "additionalProperties": false},
		Annotations: &sdk.ToolAnnotations{ReadOnlyHint: !t.writes, DestructiveHint: &no, OpenWorldHint: &no},
	}, func(ctx context.Context, r *sdk.CallToolRequest) (answer *sdk.CallToolResult, _ error) {
		defer func() {
			if fault := recover(); fault != nil {
				d.Log.Error("a tool panicked", "tool", t.name, "fault", fault, "stack", string(debug.Stack()))
				answer = answerOf("this is a fault of nextbatch; its log has the details", true)
			}
		}()
		c := &call{Context: ctx, door: d, tool: t, request: r, arguments: arguments}
		lines, err := c.perform()
		if err != nil {
			return answerOf(err.Error(), true), nil
		}
		return answerOf(strings.Join(lines, "\n"), false), nil
	})
}

func answerOf(said string, failed bool) *sdk.CallToolResult {
	if len(said) > most {
		end := strings.LastIndexByte(said[:most], '\n')
		if end < 0 {
			end = most
		}
		said = strings.ToValidUTF8(said[:end], "") + "\n… and more, which was cut; ask for less"
	}
	return &sdk.CallToolResult{IsError: failed, Content: []sdk.Content{&sdk.TextContent{Text: said}}}
}

// call is a call of a tool.
type call struct {
	context.Context
	door      *Door
	tool      tool
	request   *sdk.CallToolRequest
	arguments []argument
	given     map[string]json.RawMessage
	said      int                  // reports of progress
	watch     func(written []byte) // sees the answer of an operation that is a stream

	campaign campaign
	about    []byte // what the service says of it
	answer   []byte // of the last operation
}

// perform checks the arguments and does what the tool does.
func (c *call) perform() (report.Said, error) {
	if raw := c.request.Params.Arguments; len(raw) > 0 {
		if err := json.Unmarshal(raw, &c.given); err != nil {
			return nil, fmt.Errorf("the arguments are no JSON object: %w", err)
		}
	}
	for name, value := range c.given {
		known := slices.ContainsFunc(c.arguments, func(a argument) bool { return a.Name == name })
		if !known {
			return nil, fmt.Errorf("%s has no argument %.100q", c.tool.name, name)
		}
		if string(value) == "null" {
			delete(c.given, name)
		}
	}
	for _, a := range c.arguments {
		if _, there := c.given[a.Name]; a.Required && !there && a.Name != campaignArgument {
			return nil, fmt.Errorf("%s takes the argument %s", c.tool.name, a.Name)
		}
	}
	if c.given == nil {
		c.given = map[string]json.RawMessage{}
	}
	if c.tool.command != "" {
		return c.run()
	}
	return c.operate()
}
