package server

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/nextbatch/nextbatch/internal/mcp"
	"github.com/nextbatch/nextbatch/internal/report"
)

// mcpRoute offers the operations to assistants, as far as the token of the request reaches. They confirm nothing.
func (s *Server) mcpRoute() {
	const path = "/mcp"
	s.allowances[path] = allowance{listBody, longestBody}
	s.mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		t := callerOf(r.Context()).token
		s.Assistant(Grant{Person: t.Person, Role: t.Role, Campaign: t.Campaign}).ServeHTTP(w, r)
	})
}

// Assistant returns the door for an assistant to whom somebody lends what a grant allows. The history names both, so
// that the assistant corrects and takes back only what it did itself. It does what a labeller may do at most.
func (s *Server) Assistant(g Grant) *mcp.Door {
	if g.Role.includes(Labeller) {
		g.Role = Labeller
	}
	token := Token{Person: g.Person + " (assistant)", Role: g.Role, Campaign: g.Campaign}
	d := &mcp.Door{Version: s.options.Version, Log: s.options.Log}
	d.Standing = func(ctx context.Context, name, stop string) (mcp.Standing, error) {
		c, err := s.campaign(ctx, name)
		if err != nil {
			return nil, err
		}
		return report.StandingOf(ctx, c, stop, s.options.Version)
	}
	for _, o := range s.operations() {
		if g.Role.includes(o.role) {
			d.Operations = append(d.Operations, o.Operation)
		}
	}
	d.Service = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mux.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, &caller{token: token})))
	})
	return d
}

// operation is an operation, and the role that it takes.
type operation struct {
	mcp.Operation
	role Role
}

// describeOperations describes the operations that take JSON.
func (s *Server) describeOperations() (list []operation) {
	for path, item := range s.api.OpenAPI().Paths {
		for _, op := range []*huma.Operation{item.Get, item.Post, item.Put, item.Delete} {
			if op == nil || op.Metadata["role"] == Role("") ||
				op.RequestBody != nil && op.RequestBody.Content["application/json"] == nil {
				continue
			}
			o := mcp.Operation{ID: op.OperationID, Method: op.Method, Path: path}
			for _, p := range op.Parameters {
				schema := s.plain(p.Schema)
				schema["description"] = p.Description
				o.Take(p.Name, p.In, p.Required, schema)
			}
			if op.RequestBody != nil {
				body := s.plain(op.RequestBody.Content["application/json"].Schema)
				fields, _ := body["properties"].(map[string]any)
				required, _ := body["required"].([]any)
				for name, schema := range fields {
					o.Take(name, "body", slices.Contains(required, any(name)), schema.(map[string]any))
				}
			}
			list = append(list, operation{o, op.Metadata["role"].(Role)})
		}
	}
	return list
}

// plain returns a schema in JSON, in which the schemas that it refers to are in their places.
func (s *Server) plain(schema *huma.Schema) map[string]any {
	raw, err := json.Marshal(schema)
	var plain map[string]any
	if err == nil {
		err = json.Unmarshal(raw, &plain)
	}
	if err != nil {
		panic(err) // /openapi.json could not be sent, either
	}
	return s.resolve(plain).(map[string]any)
}

func (s *Server) resolve(schema any) any {
	switch v := schema.(type) {
	case []any:
		for i := range v {
			v[i] = s.resolve(v[i])
		}
	case map[string]any:
		if ref, refers := v["$ref"].(string); refers {
			return s.plain(s.api.OpenAPI().Components.Schemas.SchemaFromRef(ref))
		}
		for name := range v {
			v[name] = s.resolve(v[name])
		}
	}
	return schema
}
