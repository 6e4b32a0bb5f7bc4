package server

import (
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/internal/wire"
	"github.com/nextbatch/nextbatch/learner"
)

// The description at /openapi.json follows from the types of inputs and answers, and from the
// additions here. The types of the dashboard are generated from it: see typescript_test.go.

// Lists are never null, unless a tag says so.
func init() { huma.DefaultArrayNullable = false }

// describeTypes describes types whose JSON is not that of their kind.
func describeTypes(r huma.Registry) {
	r.RegisterTypeAlias(reflect.TypeFor[fitted.Float](), reflect.TypeFor[number]())
	r.RegisterTypeAlias(reflect.TypeFor[campaign.Duration](), reflect.TypeFor[string]())
	r.RegisterTypeAlias(reflect.TypeFor[campaign.Share](), reflect.TypeFor[share]())
	r.RegisterTypeAlias(reflect.TypeFor[wire.Value](), reflect.TypeFor[described]())
}

// described is the description of a wire.Value.
type described struct{}

// Schema implements huma.SchemaProvider.
func (described) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{AnyOf: []*huma.Schema{{Type: huma.TypeNumber}, {Type: huma.TypeString}, {Type: "null"}}}
}

// share is the description of a campaign.Share.
type share struct{}

// Schema implements huma.SchemaProvider.
func (share) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{AnyOf: []*huma.Schema{{Type: huma.TypeNumber}, {Type: huma.TypeString}}}
}

// refine completes the description once all operations are registered.
func refine(r huma.Registry) {
	for name, schema := range r.Map() {
		if t := r.TypeFromRef("#/components/schemas/" + name); t != nil && t.Kind() == reflect.Struct {
			describeNil(t, schema)
		}
	}
	of := func(name, field string) *huma.Schema { return r.Map()[name].Properties[field] }
	of("Prediction", "value").Nullable = false // others are left out
	of("Architecture", "hidden").Nullable = true
	of("LogEvent", "detail").Type = huma.TypeObject
	for _, kind := range learner.Kinds() {
		of("Settings", "learner").Enum = append(of("Settings", "learner").Enum, string(kind))
	}
}

// describeNil adds null to the fields that are pointers to objects, which huma describes as
// the objects alone.
func describeNil(t reflect.Type, schema *huma.Schema) {
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		described := schema.Properties[name]
		if f.Type.Kind() == reflect.Pointer && described != nil && described.Ref != "" &&
			!strings.Contains(options, "omitempty") {
			schema.Properties[name] = &huma.Schema{AnyOf: []*huma.Schema{described, {Type: "null"}},
				Description: described.Description}
		}
	}
}
