package server

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
)

// described compares an answer with the description of the service. All tests that make requests do so.
func (v *service) described(t testing.TB, r *http.Request, status int, body []byte) {
	t.Helper()
	_, pattern := v.server.mux.Handler(r)
	_, path, _ := strings.Cut(pattern, " ")
	api := v.server.api.OpenAPI()
	item := api.Paths[path]
	if item == nil {
		return // a page, or nothing
	}
	op := map[string]*huma.Operation{http.MethodGet: item.Get, http.MethodPost: item.Post, http.MethodPut: item.Put,
		http.MethodDelete: item.Delete}[r.Method]
	if op == nil || op.Responses[strconv.Itoa(status)] == nil {
		return
	}
	content := op.Responses[strconv.Itoa(status)].Content["application/json"]
	if content == nil {
		return
	}
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		t.Errorf("%s: %v", pattern, err)
	}
	found := huma.ValidateResult{}
	huma.Validate(api.Components.Schemas, content.Schema, huma.NewPathBuffer([]byte{}, 0),
		huma.ModeReadFromServer, value, &found)
	for _, fault := range found.Errors {
		t.Errorf("%s answers with what the description does not allow: %v", pattern, fault)
	}
}
