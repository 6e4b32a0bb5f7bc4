package mcp

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// resource is a part of each campaign that an assistant can read.
type resource struct {
	name, about, mime string
	read              func(Standing, *sdk.ResourceContents) error
}

var resources = []resource{
	{"page", "where the campaign stands, as a page with its learning curve and its history", "text/html",
		func(s Standing, c *sdk.ResourceContents) error {
			var page strings.Builder
			err := s.WritePage(&page)
			c.Text = page.String()
			return err
		}},
	{"curve", "the learning curve: the error over the number of labels, as a picture", "image/png",
		func(s Standing, c *sdk.ResourceContents) (err error) {
			c.Blob, err = s.Curve()
			return err
		}},
}

const scheme = "nextbatch://campaigns/"

// addResources offers the resources of all campaigns, which it names when a client lists them.
func addResources(d *Door, s *sdk.Server) {
	for _, r := range resources {
		s.AddResourceTemplate(&sdk.ResourceTemplate{Name: r.name, Description: r.about, MIMEType: r.mime,
			URITemplate: scheme + "{campaign}/" + r.name}, reader(d, r))
	}
	var mu sync.Mutex
	known := map[string]bool{} // names of campaigns
	s.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, request sdk.Request) (sdk.Result, error) {
			if method == "resources/list" {
				c := &call{Context: ctx, door: d, given: map[string]json.RawMessage{}}
				names, err := c.names()
				if err != nil {
					return nil, err
				}
				mu.Lock()
				defer mu.Unlock()
				for _, name := range names {
					if known[name] { // so that clients are told of new ones alone
						continue
					}
					known[name] = true
					for _, r := range resources {
						s.AddResource(&sdk.Resource{Name: name + ": " + r.name, Description: r.about, MIMEType: r.mime,
							URI: scheme + url.PathEscape(name) + "/" + r.name}, reader(d, r))
					}
				}
			}
			return next(ctx, method, request)
		}
	})
}

// reader reads a resource of the campaign that the address names.
func reader(d *Door, r resource) sdk.ResourceHandler {
	return func(ctx context.Context, request *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		uri := request.Params.URI
		name, err := url.PathUnescape(strings.TrimSuffix(strings.TrimPrefix(uri, scheme), "/"+r.name))
		if err != nil {
			return nil, sdk.ResourceNotFoundError(uri)
		}
		c := &call{Context: ctx, door: d, given: map[string]json.RawMessage{}}
		c.set(campaignArgument, name)
		if err := c.chooseCampaign(d.operation("get-campaign")); err != nil {
			return nil, err
		}
		standing, err := d.Standing(ctx, name, "")
		if err != nil {
			return nil, err
		}
		content := &sdk.ResourceContents{URI: uri, MIMEType: r.mime}
		if err := r.read(standing, content); err != nil {
			return nil, err
		}
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{content}}, nil
	}
}
