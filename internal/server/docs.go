package server

import (
	"bytes"
	_ "embed"
	"html/template"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// The page that documents the API is made from the same description as /openapi.json, when
// the service starts. It needs no script, and loads nothing.

//go:embed docs.html
var docsHTML string

// docsCSS is a separate file, because the policy of the service allows no styles in pages.
//
//go:embed docs.css
var docsCSS []byte

var docsTemplate = template.Must(template.New("docs").Parse(docsHTML))

type docsPage struct {
	Title, Version, Text string
	Groups               []docsGroup
}

type docsGroup struct {
	Name       string
	Operations []docsOperation
}

type docsOperation struct {
	ID, Method, Path, Summary, Description string
	Parameters                             []docsField
	Body                                   []docsField
	Uploads                                bool
	Answer                                 []docsField
	Statuses                               string
}

type docsField struct {
	Name, In, Type, Text string
	Required             bool
}

// docs returns the page.
func (s *Server) docs() ([]byte, error) {
	api := s.api.OpenAPI()
	p := docsPage{Title: api.Info.Title, Version: api.Info.Version, Text: api.Info.Description}
	groups := map[string][]docsOperation{}
	var names []string
	var paths []string
	for path := range api.Paths {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	for _, path := range paths {
		item := api.Paths[path]
		name := groupOf(path)
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
		for _, op := range []*huma.Operation{item.Get, item.Post, item.Put, item.Delete} {
			if op != nil {
				groups[name] = append(groups[name], s.document(op))
			}
		}
	}
	for _, name := range names {
		p.Groups = append(p.Groups, docsGroup{name, groups[name]})
	}
	var page bytes.Buffer
	err := docsTemplate.Execute(&page, p)
	return page.Bytes(), err
}

// groupOf returns the heading of a path: what comes after the campaign.
func groupOf(path string) string {
	rest, inCampaign := strings.CutPrefix(path, "/v1/campaigns/{campaign}")
	if !inCampaign {
		rest = strings.TrimPrefix(path, "/v1")
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(rest, "/"), "/")
	if name == "" {
		return "campaigns"
	}
	return name
}

func (s *Server) document(op *huma.Operation) docsOperation {
	d := docsOperation{ID: op.OperationID, Method: op.Method, Path: op.Path, Summary: op.Summary,
		Description: op.Description}
	for _, p := range op.Parameters {
		d.Parameters = append(d.Parameters, docsField{p.Name, p.In, typeText(p.Schema), p.Description, p.Required})
	}
	if op.RequestBody != nil {
		if body := op.RequestBody.Content["application/json"]; body != nil {
			d.Body = s.fields(body.Schema)
		} else {
			d.Uploads = true
		}
	}
	var statuses []string
	for status, answer := range op.Responses {
		statuses = append(statuses, status)
		if body := answer.Content["application/json"]; body != nil && strings.HasPrefix(status, "2") {
			d.Answer = s.fields(body.Schema)
		}
	}
	slices.Sort(statuses)
	d.Statuses = strings.Join(statuses, ", ")
	return d
}

// fields lists the fields of an object, or of the objects of a list.
func (s *Server) fields(schema *huma.Schema) (list []docsField) {
	for range 3 { // references and lists within each other
		if schema.Ref != "" {
			schema = s.api.OpenAPI().Components.Schemas.SchemaFromRef(schema.Ref)
		} else if schema.Items != nil {
			schema = schema.Items
		}
	}
	var names []string
	for name := range schema.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		f := schema.Properties[name]
		list = append(list, docsField{Name: name, Type: typeText(f), Text: f.Description,
			Required: slices.Contains(schema.Required, name)})
	}
	return list
}

// typeText puts the type of a value into words.
func typeText(s *huma.Schema) string {
	switch {
	case s == nil:
		return ""
	case s.Ref != "":
		return s.Ref[strings.LastIndex(s.Ref, "/")+1:]
	case s.Items != nil:
		return "list of " + typeText(s.Items)
	case len(s.AnyOf) > 0:
		var kinds []string
		for _, one := range s.AnyOf {
			kinds = append(kinds, typeText(one))
		}
		return strings.Join(kinds, " | ")
	case len(s.Enum) > 0:
		var words []string
		for _, v := range s.Enum {
			if text, ok := v.(string); ok {
				words = append(words, text)
			}
		}
		return strings.Join(words, " | ")
	}
	return s.Type
}

// serveDocs answers with a part of the documentation.
func serveDocs(kind string, content []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.Write(content)
	}
}
