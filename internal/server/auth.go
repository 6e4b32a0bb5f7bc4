package server

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/nextbatch/nextbatch/campaign"
)

// Who may do what: a request names a token in its header Authorization, or a session in
// a cookie. Each operation requires a role; a token for one campaign gives access to that
// campaign only.

// caller is who makes a request. The outer handlers need it after the inner ones have
// found out.
type caller struct {
	address string
	cookie  string // the name of the cookie
	token   Token
	session string     // secret of the session, if there is one
	ends    *time.Time // when the session ends
}

type callerKey struct{}

// callerOf returns who made the request of the context.
func callerOf(ctx context.Context) *caller {
	c, _ := ctx.Value(callerKey{}).(*caller)
	if c == nil {
		return &caller{}
	}
	return c
}

const (
	wrongToken = "the token is wrong, expired or revoked; ask for a new one ('nextbatch token add')"
	noToken    = "this needs a token, in the header 'Authorization: Bearer TOKEN' ('nextbatch token add' makes one), or " +
		"a session of a browser"

	tooManyRequests = "too many requests with this token; wait a little"
	tooManyWrong    = "too many wrong tokens came from this address; wait a little"
)

// open reports whether a request needs no token: health, the files of the page, and
// signing in, which has the token in its body.
func (s *Server) open(r *http.Request) bool {
	switch _, pattern := s.mux.Handler(r); pattern {
	case "GET /health", "POST /v1/session":
		return true
	case "/":
		return !strings.HasPrefix(r.URL.Path, "/v1/")
	}
	return false
}

// authenticate finds the token of a request.
func (s *Server) authenticate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := callerOf(r.Context())
		c.address, c.cookie = s.addressOf(r), cookieName(r.Host)
		if s.open(r) {
			next.ServeHTTP(w, r)
			return
		}
		found, given, err := s.identify(r, c)
		switch {
		case err != nil:
			s.options.Log.Error("tokens cannot be read", "error", err)
			writeBusy(w, "tokens cannot be read; the log of the service says why")
		case !found && given:
			if wait := s.failures.take(c.address, s.now()); wait > 0 {
				writeTooMany(w, wait, tooManyWrong)
				return
			}
			unauthorized(w, wrongToken)
		case !found:
			unauthorized(w, noToken)
		default:
			if wait := s.requests.take(c.token.ID, s.now()); wait > 0 {
				writeTooMany(w, wait, tooManyRequests)
				return
			}
			next.ServeHTTP(w, r)
		}
	})
}

func unauthorized(w http.ResponseWriter, text string) {
	w.Header().Set("WWW-Authenticate", "Bearer")
	writeProblem(w, http.StatusUnauthorized, text)
}

// identify determines who makes a request, and whether the request named anybody.
func (s *Server) identify(r *http.Request, c *caller) (found, given bool, err error) {
	ctx := r.Context()
	if header := r.Header.Get("Authorization"); header != "" {
		scheme, secret, others := strings.Cut(header, " ")
		switch {
		case strings.EqualFold(scheme, "Bearer"): // names of schemes have no case
			c.token, found, err = s.options.Tokens.find(ctx, secret, s.now())
			return found, true, err
		case !others: // a bare token has no scheme
			return false, false, nil
		}
		// Another scheme, such as Basic, is meant for a proxy in front.
	}
	cookie, err := r.Cookie(c.cookie)
	if err != nil || cookie.Value == "" {
		return false, false, nil
	}
	token, ends, found, err := s.options.Tokens.findSession(ctx, cookie.Value, s.now())
	if found {
		c.token, c.session, c.ends = token, cookie.Value, &ends
	}
	return found, true, err
}

// allow rejects requests that the role or the campaign of the caller's token does not cover.
func (s *Server) allow(role Role) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		token := callerOf(ctx.Context()).token
		switch name := ctx.Param("campaign"); {
		case !token.Role.includes(role):
			huma.WriteErr(s.api, ctx, http.StatusForbidden,
				fmt.Sprintf("this takes the role %s; the token has the role %s", role, token.Role))
		case token.Campaign != "" && name != "" && name != token.Campaign:
			huma.WriteErr(s.api, ctx, http.StatusForbidden, fmt.Sprintf("the token is for another campaign, not for %q", name))
		case name != "" && campaign.CheckExisting(name) != nil:
			huma.WriteErr(s.api, ctx, http.StatusUnprocessableEntity, campaign.CheckExisting(name).Error())
		default:
			next(ctx)
		}
	}
}
