package server

import (
	"context"
	"net/http"
	"testing"
	"time"
)

// A session that began while the clock was ahead lasts no longer than others once the clock is
// right, and tokens are neither lost nor prolonged by a clock that jumps.
func TestSessionsAndTokensOutliveClocks(t *testing.T) {
	t.Parallel()
	v := newService(t)
	now := time.Now()
	v.server.now = func() time.Time { return now }
	token, secret, err := v.server.options.Tokens.Add(context.Background(),
		Grant{Person: "eve", Role: Viewer, Lasts: 48 * time.Hour}, now)
	if err != nil {
		t.Fatal(err)
	}
	early := v.session("labeller")
	want := func(when, header, value string, status int) {
		t.Helper()
		if a, body := v.ask(t, "GET", "/v1/campaigns", "", header, value); a.StatusCode != status {
			t.Errorf("%s: %d %s, want %d", when, a.StatusCode, body, status)
		}
	}
	const year = 365 * 24 * time.Hour
	now = now.Add(year)
	want("a session, a year ahead", "Cookie", early, http.StatusUnauthorized)
	want("a token that lasts two days, a year ahead", "Authorization", "Bearer "+secret, http.StatusUnauthorized)
	ahead := v.session("viewer")
	want("a session of that year", "Cookie", ahead, http.StatusOK)

	now = now.Add(-year)
	want("the token, with the right clock", "Authorization", "Bearer "+secret, http.StatusOK)
	want("the session that began ahead", "Cookie", ahead, http.StatusOK)
	now = now.Add(sessionLasts)
	want("the session that began ahead, after its time", "Cookie", ahead, http.StatusUnauthorized)

	now = token.Created.Add(-5 * time.Hour) // set back to before the token was made
	want("the token, hours before it was made", "Authorization", "Bearer "+secret, http.StatusOK)
	late := v.session("labeller")
	now = token.Expires.Add(time.Second)
	want("the token, after its time", "Authorization", "Bearer "+secret, http.StatusUnauthorized)
	want("a session that began hours before", "Cookie", late, http.StatusOK)
}

// Limits of requests go by a clock that nobody sets: that of the process.
func TestLimitsOutliveClocks(t *testing.T) {
	b := buckets{rate: 1, burst: 2}
	now := time.Now()
	for range 2 {
		if wait := b.take("ada", now); wait != 0 {
			t.Fatalf("waits %v", wait)
		}
	}
	for _, jump := range []time.Duration{-5 * time.Hour, 0} {
		if wait := b.take("ada", now.Add(jump)); wait != time.Second {
			t.Errorf("after a jump of %v one waits %v", jump, wait)
		}
	}
	if wait := b.take("ada", now.Add(1000*time.Hour)); wait != 0 {
		t.Errorf("hours later one waits %v", wait)
	}
	if level := b.left["ada"].TokensAt(now.Add(1001 * time.Hour)); level > float64(b.burst) {
		t.Errorf("%v drops were saved", level)
	}
}
