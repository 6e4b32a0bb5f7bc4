package server

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/nextbatch/nextbatch/campaign"
)

var writeTypes = flag.Bool("write-types", false, "write the types of the dashboard")

// TestTypesOfTheDashboard compares the types that the dashboard is compiled with, with the description
// of the service.
func TestTypesOfTheDashboard(t *testing.T) {
	const path = "web/src/types.ts"
	want := typescript(newService(t).server.api.OpenAPI().Components.Schemas.Map())
	if *writeTypes {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is stale: run make web-types, then make web", path)
	}
}

// TestTypescript checks each form of a schema.
func TestTypescript(t *testing.T) {
	nothing := &huma.Schema{Type: "null"}
	for _, c := range []struct {
		schema *huma.Schema
		want   string
	}{
		{&huma.Schema{}, "unknown"},
		{&huma.Schema{Type: "integer"}, "number"},
		{&huma.Schema{Type: "number", Nullable: true}, "number | null"},
		{&huma.Schema{Type: "string", Enum: []any{"go on", "stop"}}, "'go on' | 'stop'"},
		{&huma.Schema{Ref: "#/components/schemas/Sign-inRequest"}, "SignInRequest"},
		{&huma.Schema{AnyOf: []*huma.Schema{{Ref: "#/components/schemas/Curve"}, nothing}}, "Curve | null"},
		{&huma.Schema{Type: "array", Items: &huma.Schema{Type: "boolean"}}, "boolean[]"},
		{&huma.Schema{Type: "array", Nullable: true, Items: &huma.Schema{Type: "number", Nullable: true}},
			"(number | null)[] | null"},
		{&huma.Schema{Type: "object"}, "Record<string, unknown>"},
		{&huma.Schema{Type: "object", AdditionalProperties: &huma.Schema{Type: "string"}}, "Record<string, string>"},
	} {
		if got := typescriptOf(c.schema); got != c.want {
			t.Errorf("%+v is %s, want %s", c.schema, got, c.want)
		}
	}
}

// typescript returns an interface for each schema, in the order of their names, and the defaults of
// settings.
func typescript(schemas map[string]*huma.Schema) string {
	var b strings.Builder
	b.WriteString("// What the service takes and answers, made from /openapi.json: change the types of Go, then run " +
		"make web-types.\n")
	for _, name := range slices.Sorted(maps.Keys(schemas)) {
		fmt.Fprintf(&b, "\nexport interface %s {\n", identifier(name))
		schema := schemas[name]
		for _, field := range slices.Sorted(maps.Keys(schema.Properties)) {
			property, optional, comment := schema.Properties[field], "?", ""
			if slices.Contains(schema.Required, field) {
				optional = ""
			}
			if property.Description != "" {
				comment = " // " + property.Description
			}
			fmt.Fprintf(&b, "  %s%s: %s%s\n", field, optional, typescriptOf(property), comment)
		}
		b.WriteString("}\n")
	}
	fmt.Fprintf(&b,
		"\n// What settings mean that a campaign does not have.\nexport const defaultBatch = %d\nexport const defaultAudit "+
			"= %v\nexport const defaultLease = '%v'\n", campaign.DefaultBatch, campaign.DefaultAudit, campaign.DefaultLease)
	return b.String()
}

// typescriptOf returns the type of a schema.
func typescriptOf(s *huma.Schema) string {
	text := "unknown"
	items, _ := s.AdditionalProperties.(*huma.Schema)
	switch {
	case s.Ref != "":
		text = identifier(s.Ref[strings.LastIndex(s.Ref, "/")+1:])
	case len(s.AnyOf) > 0:
		text = joined(s.AnyOf, typescriptOf)
	case len(s.Enum) > 0:
		text = joined(s.Enum, func(v any) string { return fmt.Sprintf("'%v'", v) })
	case s.Type == huma.TypeArray:
		text = typescriptOf(s.Items)
		if s.Items.Nullable || len(s.Items.Enum) > 0 {
			text = "(" + text + ")"
		}
		text += "[]"
	case items != nil:
		text = "Record<string, " + typescriptOf(items) + ">"
	case s.Type == huma.TypeObject:
		text = "Record<string, unknown>"
	case s.Type == huma.TypeInteger:
		text = "number"
	case s.Type != "":
		text = s.Type
	}
	if s.Nullable {
		text += " | null"
	}
	return text
}

func joined[T any](list []T, text func(T) string) string {
	var parts []string
	for _, v := range list {
		parts = append(parts, text(v))
	}
	return strings.Join(parts, " | ")
}

// identifier returns the name of a schema as a name of TypeScript.
func identifier(name string) string {
	return regexp.MustCompile(`-\w`).ReplaceAllStringFunc(name, func(s string) string { return strings.ToUpper(s[1:]) })
}
