package server

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// Who may do what: a request names a token in its header Authorization. Each operation
// says which role it takes; a token for one campaign opens that campaign alone.

// caller is who makes a request. The outer handlers need it after the inner ones have
// found out.
type caller struct{ token Token }

type callerKey struct{}

// callerOf returns who made the request of the context.
func callerOf(ctx context.Context) *caller {
	c, _ := ctx.Value(callerKey{}).(*caller)
	if c == nil {
		return &caller{}
	}
	return c
}

// open are the paths that need no token.
func open(path string) bool { return path == "/health" }

// authenticate finds the token of a request.
func (s *Server) authenticate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if open(r.URL.Path) {
			next.ServeHTTP(w, r)
			return
		}
		secret, given := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		token, found, err := s.options.Tokens.Find(r.Context(), secret, s.now())
		switch {
		case err != nil:
			s.options.Log.Error("tokens cannot be read", "error", err)
			writeProblem(w, http.StatusServiceUnavailable, "tokens cannot be read; the log of the service says why")
		case !found:
			w.Header().Set("WWW-Authenticate", "Bearer")
			text := "the token is wrong, expired or revoked; ask for a new one ('nextbatch token add')"
			if !given {
				text = "this needs a token, in the header 'Authorization: Bearer TOKEN' ('nextbatch token add' makes one)"
			}
			writeProblem(w, http.StatusUnauthorized, text)
		default:
			callerOf(r.Context()).token = token
			next.ServeHTTP(w, r)
		}
	})
}

// allow refuses what the role or the campaign of the caller's token does not cover.
func (s *Server) allow(role Role) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		token := callerOf(ctx.Context()).token
		switch name := ctx.Param("campaign"); {
		case !token.Role.includes(role):
			huma.WriteErr(s.api, ctx, http.StatusForbidden, fmt.Sprintf("this takes the role %s; the token has the role %s", role, token.Role))
		case token.Campaign != "" && name != "" && name != token.Campaign:
			huma.WriteErr(s.api, ctx, http.StatusForbidden, fmt.Sprintf("the token is for another campaign, not for %q", name))
		default:
			next(ctx)
		}
	}
}
