package server

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// A browser exchanges a token for a session, which a cookie names: scripts cannot read
// the cookie, and other sites cannot make the browser send it. A session ends with its
// token, or after sessionLasts. Only the SHA-256 of its 256 random bits is kept.

const (
	sessionLasts    = 30 * 24 * time.Hour
	sessionsOfToken = 100 // at a time; one more ends the oldest
)

// Begin starts a session for a token and returns its secret and its end.
func (t *Tokens) Begin(ctx context.Context, token Token, now time.Time) (secret string, ends time.Time, err error) {
	var bits [32]byte
	rand.Read(bits[:]) // never fails
	secret = base64.RawURLEncoding.EncodeToString(bits[:])
	hash := sha256.Sum256([]byte(secret))
	ends = now.UTC().Truncate(time.Second).Add(sessionLasts)
	if token.Expires != nil && token.Expires.Before(ends) {
		ends = *token.Expires
	}
	err = t.file.Write(ctx, func(tx *sql.Tx) error {
		if _, err := tx.Exec("DELETE FROM sessions WHERE expires <= ?", now.Unix()); err != nil {
			return err
		}
		if _, err := tx.Exec(`DELETE FROM sessions WHERE token = ?1 AND hash NOT IN (
			SELECT hash FROM sessions WHERE token = ?1 ORDER BY expires DESC LIMIT ?2)`, token.ID,
			sessionsOfToken-1); err != nil {
			return err
		}
		_, err := tx.Exec("INSERT INTO sessions VALUES (?, ?, ?)", hash[:], token.ID, ends.Unix())
		return err
	})
	return secret, ends, err
}

// End ends a session.
func (t *Tokens) End(ctx context.Context, secret string) error {
	hash := sha256.Sum256([]byte(secret))
	return t.file.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.Exec("DELETE FROM sessions WHERE hash = ?", hash[:])
		return err
	})
}

// findSession returns the token of a session and when the session ends, and false if
// the session or its token has ended. The lookup is by hash, so its time reveals nothing
// about the secrets of others.
func (t *Tokens) findSession(ctx context.Context, secret string,
	now time.Time) (token Token, ends time.Time, found bool, err error) {
	hash := sha256.Sum256([]byte(secret))
	var s scanned
	var expires int64
	err = t.file.Row(ctx, `SELECT tokens.id, person, role, campaign, created, tokens.expires, tokens.hash, sessions.expires
		FROM sessions JOIN tokens ON tokens.id = sessions.token WHERE sessions.hash = ?`, append(s.into(), &expires), hash[:])
	if errors.Is(err, sql.ErrNoRows) {
		return Token{}, ends, false, nil
	}
	token, ends = s.read(), time.Unix(expires, 0).UTC()
	if err != nil || token.expired(now) || !now.Before(ends) {
		return Token{}, ends, false, err
	}
	// it began by a clock that was ahead
	if latest := now.UTC().Truncate(time.Second).Add(sessionLasts); ends.After(latest) {
		ends = latest
		err = t.file.Write(ctx, func(tx *sql.Tx) error {
			_, err := tx.Exec("UPDATE sessions SET expires = ? WHERE hash = ?", ends.Unix(), hash[:])
			return err
		})
	}
	return token, ends, err == nil, err
}

// Session is who has signed in.
type Session struct {
	Person   string     `json:"person" doc:"whom events name"`
	Role     Role       `json:"role" enum:"viewer,labeller,owner"`
	Campaign string     `json:"campaign,omitempty" doc:"the only campaign that the token opens; all if it is absent"`
	Expires  *time.Time `json:"expires,omitempty" doc:"when the token or the session ends; never if it is absent"`
}

// signedIn is an answer that sets the cookie.
type signedIn struct {
	SetCookie string `header:"Set-Cookie" doc:"names the session"`
	Body      Session
}

type signedOut struct {
	SetCookie string `header:"Set-Cookie" doc:"removes the cookie"`
}

func (s *Server) sessionRoutes() {
	const path = "/v1/session"
	route(s, "", huma.Operation{
		OperationID: "sign-in", Method: http.MethodPost, Path: path, Summary: "Trade a token for a session in a cookie",
		MaxBodyBytes: signInBody,
	}, s.signIn)
	route(s, Viewer, huma.Operation{
		OperationID: "get-session", Method: http.MethodGet, Path: path, Summary: "Who has signed in",
	}, func(ctx context.Context, _ *struct{}) (*output[Session], error) {
		c := callerOf(ctx)
		return answer(sessionOf(c.token, c.ends), nil)
	})
	route(s, Viewer, huma.Operation{
		OperationID: "sign-out", Method: http.MethodDelete, Path: path, Summary: "End the session",
	}, s.signOut)
}

func sessionOf(t Token, ends *time.Time) Session {
	if ends == nil {
		ends = t.Expires
	}
	return Session{t.Person, t.Role, t.Campaign, ends}
}

func (s *Server) signIn(ctx context.Context, in *struct {
	Body struct {
		Token string `json:"token" minLength:"1" maxLength:"300" doc:"as 'nextbatch token add' printed it"`
	}
}) (*signedIn, error) {
	token, found, err := s.options.Tokens.find(ctx, in.Body.Token, s.now())
	if err != nil {
		return nil, err
	}
	caller := callerOf(ctx)
	if !found {
		if wait := s.failures.take(caller.address, s.now()); wait > 0 {
			return nil, tooMany(wait, tooManyWrong)
		}
		return nil, huma.Error401Unauthorized(wrongToken)
	}
	caller.token = token
	if wait := s.requests.take(token.ID, s.now()); wait > 0 {
		return nil, tooMany(wait, tooManyRequests)
	}
	secret, ends, err := s.options.Tokens.Begin(ctx, token, s.now())
	if err != nil {
		return nil, err
	}
	return &signedIn{s.cookie(caller, secret, ends), sessionOf(token, &ends)}, nil
}

func (s *Server) signOut(ctx context.Context, _ *struct{}) (*signedOut, error) {
	caller := callerOf(ctx)
	if caller.session != "" {
		if err := s.options.Tokens.End(ctx, caller.session); err != nil {
			return nil, err
		}
	}
	return &signedOut{s.cookie(caller, "", time.Unix(0, 0))}, nil
}

// cookie returns the header that sets the cookie of a session.
func (s *Server) cookie(c *caller, secret string, ends time.Time) string {
	cookie := http.Cookie{
		Name: c.cookie, Value: secret, Path: "/", Expires: ends, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: s.options.Secure,
	}
	if secret == "" {
		cookie.MaxAge = -1
	}
	return cookie.String()
}

// cookieName returns the name of the cookie. Browsers send a cookie to every port of a
// host, so services on different ports need different names.
func cookieName(host string) string {
	if _, port, err := net.SplitHostPort(host); err == nil {
		return "nextbatch-" + port
	}
	return "nextbatch"
}
