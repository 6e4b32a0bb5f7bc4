package server

import (
	"compress/gzip"
	"context"
	"database/sql"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// ask makes a request and returns the answer with its body.
func (v *service) ask(t *testing.T, method, path, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequest(method, v.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := (&http.Transport{DisableCompression: true}).RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(text)
}

func TestSession(t *testing.T) {
	t.Parallel()
	v := newService(t)
	signIn := func(secret string) (*http.Response, string) {
		return v.ask(t, "POST", "/v1/session", `{"token":"`+secret+`"}`, "Content-Type", "application/json")
	}
	if a, body := signIn("nb_x_wrong"); a.StatusCode != http.StatusUnauthorized || len(a.Cookies()) > 0 {
		t.Errorf("a wrong token: %d %s", a.StatusCode, body)
	}
	a, body := signIn(v.secrets["owner"])
	if a.StatusCode != 200 || !strings.Contains(body, `"person":"olga","role":"owner"`) ||
		strings.Contains(body, v.secrets["owner"]) {
		t.Fatalf("sign in: %d %s", a.StatusCode, body)
	}
	cookie := a.Cookies()[0]
	if !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || cookie.Path != "/" || cookie.Secure {
		t.Errorf("cookie %+v", cookie)
	}
	if cookie.Expires.After(time.Now().Add(time.Hour)) {
		t.Errorf("the session outlives its token: %v", cookie.Expires)
	}
	header := cookie.Name + "=" + cookie.Value
	if a, body := v.ask(t, "GET", "/v1/session", "", "Cookie", header); a.StatusCode != 200 ||
		!strings.Contains(body, "olga") {
		t.Errorf("who is there: %d %s", a.StatusCode, body)
	}
	if a, body := v.ask(t, "DELETE", "/v1/session", "", "Cookie", header); a.StatusCode/100 != 2 ||
		a.Cookies()[0].MaxAge >= 0 {
		t.Errorf("sign out: %d %s %v", a.StatusCode, body, a.Cookies())
	}
	if a, _ := v.ask(t, "GET", "/v1/session", "", "Cookie", header); a.StatusCode != http.StatusUnauthorized {
		t.Errorf("after signing out: %d", a.StatusCode)
	}
}

// A session ends at once when its token is revoked or expires.
func TestSessionEndsWithItsToken(t *testing.T) {
	t.Parallel()
	v := newService(t)
	header := v.session("viewer")
	if a, body := v.ask(t, "GET", "/v1/campaigns", "", "Cookie", header); a.StatusCode != 200 {
		t.Fatalf("before: %d %s", a.StatusCode, body)
	}
	id, _ := tokenID(v.secrets["viewer"])
	if err := v.server.options.Tokens.Revoke(context.Background(), id); err != nil {
		t.Fatal(err)
	}
	if a, _ := v.ask(t, "GET", "/v1/campaigns", "", "Cookie", header); a.StatusCode != http.StatusUnauthorized {
		t.Errorf("after the token was revoked: %d", a.StatusCode)
	}
	header = v.session("labeller") // has no end
	v.server.now = func() time.Time { return time.Now().Add(sessionLasts) }
	if a, _ := v.ask(t, "GET", "/v1/campaigns", "", "Cookie", header); a.StatusCode != http.StatusUnauthorized {
		t.Errorf("after %v: %d", sessionLasts, a.StatusCode)
	}
}

// A cookie is secure behind a proxy that encrypts.
func TestSecureCookie(t *testing.T) {
	t.Parallel()
	v := newService(t)
	v.server.options.Secure = true
	a, _ := v.ask(t, "POST", "/v1/session", `{"token":"`+v.secrets["owner"]+`"}`, "Content-Type", "application/json")
	if cookies := a.Cookies(); len(cookies) != 1 || !cookies[0].Secure {
		t.Errorf("cookies %v", cookies)
	}
}

// Other sites cannot make a browser change anything, even if it sent the cookie.
func TestChangesByCookieFromOtherSites(t *testing.T) {
	t.Parallel()
	v := newService(t)
	header := v.session("owner")
	host := strings.TrimPrefix(v.URL, "http://")
	for _, c := range []struct {
		name, value string
		refused     bool
	}{
		{"Sec-Fetch-Site", "cross-site", true},
		{"Sec-Fetch-Site", "same-site", true},
		{"Origin", "https://evil.example", true},
		{"Origin", "null", true},
		{"Origin", "http://" + host + ".evil.example", true},
		{"Sec-Fetch-Site", "same-origin", false},
		{"Origin", "http://" + host, false},
	} {
		a, body := v.ask(t, "POST", "/v1/campaigns/none/undo", `{"event":1}`, "Cookie", header, "Content-Type",
			"application/json", c.name, c.value)
		if refused := a.StatusCode == http.StatusForbidden; refused != c.refused || !refused &&
			a.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %s: %d %s", c.name, c.value, a.StatusCode, body)
		}
		if a.StatusCode == http.StatusForbidden && !strings.Contains(a.Header.Get("Content-Type"), "problem+json") {
			t.Errorf("%s: %s is refused with %q", c.name, c.value, body)
		}
	}
}

func TestWrongTokensAreLimited(t *testing.T) {
	t.Parallel()
	v := newService(t)
	now := time.Now()
	v.server.now = func() time.Time { return now }
	try := func() *http.Response {
		a, _ := v.ask(t, "POST", "/v1/session", `{"token":"nb_a_b"}`, "Content-Type", "application/json")
		return a
	}
	for range failuresBurst {
		if a := try(); a.StatusCode != http.StatusUnauthorized {
			t.Fatalf("refused too early: %d", a.StatusCode)
		}
	}
	a := try()
	if a.StatusCode != http.StatusTooManyRequests || a.Header.Get("Retry-After") != "5" {
		t.Errorf("%d, Retry-After %q", a.StatusCode, a.Header.Get("Retry-After"))
	}
	if a, _ := v.ask(t, "GET", "/v1/campaigns", "", "Authorization",
		"Bearer nb_a_b"); a.StatusCode != http.StatusTooManyRequests {
		t.Errorf("by header: %d", a.StatusCode)
	}
	if status, _ := v.do(t, "viewer", "GET", "/v1/campaigns", nil); status != 200 {
		t.Errorf("a right token from the same address: %d", status)
	}
	now = now.Add(5 * time.Second)
	if a := try(); a.StatusCode != http.StatusUnauthorized {
		t.Errorf("after a while: %d", a.StatusCode)
	}
}

func TestRequestsOfATokenAreLimited(t *testing.T) {
	t.Parallel()
	v := newService(t)
	now := time.Now()
	v.server.now = func() time.Time { return now }
	v.server.requests = buckets{rate: 2, burst: 4}
	for i := range 5 {
		a, _ := v.ask(t, "GET", "/v1/campaigns", "", "Authorization", "Bearer "+v.secrets["viewer"])
		if refused := a.StatusCode == http.StatusTooManyRequests; refused != (i == 4) {
			t.Errorf("request %d: %d", i, a.StatusCode)
		}
	}
	if status, _ := v.do(t, "owner", "GET", "/v1/campaigns", nil); status != 200 {
		t.Errorf("another token: %d", status)
	}
}

// Strangers cannot fill the memory with their addresses.
func TestBucketsAreBounded(t *testing.T) {
	t.Parallel()
	b := buckets{rate: 1, burst: 3}
	now := time.Now()
	for i := range 3 * manyBuckets {
		b.take(string(rune(i)), now)
		if len(b.left) > manyBuckets {
			t.Fatalf("%d buckets", len(b.left))
		}
	}
}

// Files of every version that was released are brought up to date.
func TestTokensOfEarlierVersions(t *testing.T) {
	t.Parallel()
	ctx, path := context.Background(), filepath.Join(t.TempDir(), "tokens.db")
	dump, err := os.ReadFile("testdata/tokens1.sql")
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Exec(string(dump))
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	secret := "nb_k3m9x2q7ab_" + strings.Repeat("A", 43)
	for range 2 { // the second time, it is up to date
		tokens, err := OpenTokens(ctx, path)
		if err != nil {
			t.Fatal(err)
		}
		token, ok, err := tokens.find(ctx, secret, time.Now())
		if err != nil || !ok || token.Person != "ada" || token.Role != Owner {
			t.Errorf("the token after the upgrade: %+v %v %v", token, ok, err)
		}
		if _, _, err := tokens.Begin(ctx, token, time.Now()); err != nil {
			t.Error(err)
		}
		if err := tokens.Close(); err != nil {
			t.Fatal(err)
		}
	}
	old := tokenFormat
	old.Later = nil
	if _, err := old.Open(ctx, path, true); err == nil || !strings.Contains(err.Error(), "version 2") {
		t.Errorf("an earlier program opens a later file: %v", err)
	}
}

func TestPageFiles(t *testing.T) {
	t.Parallel()
	v := newService(t)
	v.server.files["/assets/app-abc.js"] = pageFile{kind: "text/javascript", tag: `"x"`,
		plain: []byte("1"), immutable: true}
	for _, path := range []string{"/", "/campaigns/small/label", "/index.html"} {
		a, body := v.ask(t, "GET", path, "")
		if a.StatusCode != 200 || !strings.HasPrefix(a.Header.Get("Content-Type"), "text/html") ||
			!strings.Contains(body, "<html") || a.Header.Get("Cache-Control") != "no-cache" {
			t.Errorf("%s: %d %v %s", path, a.StatusCode, a.Header, body)
		}
		if policy := a.Header.Get("Content-Security-Policy"); strings.Contains(policy, "unsafe") ||
			!strings.Contains(policy, "script-src 'self'") {
			t.Errorf("%s: %s", path, policy)
		}
		again, _ := v.ask(t, "GET", path, "", "If-None-Match", a.Header.Get("ETag"))
		if again.StatusCode != http.StatusNotModified {
			t.Errorf("%s again: %d", path, again.StatusCode)
		}
	}
	a, body := v.ask(t, "GET", "/", "", "Accept-Encoding", "br, gzip")
	unpacked, err := gzip.NewReader(strings.NewReader(body))
	if err != nil || a.Header.Get("Content-Encoding") != "gzip" {
		t.Fatalf("gzip: %v %v", err, a.Header)
	}
	if text, err := io.ReadAll(unpacked); err != nil || !strings.Contains(string(text), "<html") {
		t.Errorf("unpacked: %s %v", text, err)
	}
	if a, _ := v.ask(t, "GET", "/assets/app-abc.js", ""); a.StatusCode != 200 ||
		!strings.Contains(a.Header.Get("Cache-Control"), "immutable") {
		t.Errorf("a hashed file: %d %v", a.StatusCode, a.Header)
	}
	for _, path := range []string{"/none.js", "/assets/none.js", "/embed.go", "/%2e%2e/embed.go",
		"/assets/..%2f..%2fembed.go", "/..%5cembed.go"} {
		if a, body := v.ask(t, "GET", path, ""); a.StatusCode != http.StatusNotFound ||
			strings.Contains(body, "package web") {
			t.Errorf("%s: %d %s", path, a.StatusCode, body)
		}
	}
}

// An address that exists names the methods that it takes.
func TestOtherMethods(t *testing.T) {
	t.Parallel()
	v := newService(t)
	for address, allowed := range map[string]string{
		"/": "GET, HEAD", "/index.html": "GET, HEAD", "/health": "GET, HEAD", "/openapi.json": "GET, HEAD",
		"/v1/campaigns": "GET, HEAD, POST", "/v1/campaigns/x/settings": "PUT", "/v1/none": "",
	} {
		for _, method := range []string{"TRACE", "PATCH", "OPTIONS", "DELETE"} {
			want := http.StatusMethodNotAllowed
			if allowed == "" {
				want = http.StatusNotFound
			}
			a, body := v.ask(t, method, address, "", "Authorization", "Bearer "+v.secrets["owner"])
			if a.StatusCode != want || a.Header.Get("Allow") != allowed {
				t.Errorf("%s %s: %d, allowed %q: %s", method, address, a.StatusCode, a.Header.Get("Allow"), body)
			}
		}
	}
}
