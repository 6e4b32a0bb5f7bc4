package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/internal/server"
)

// running is a service that a test has started.
type running struct {
	url, secret string
	stop        func() string // what it logged
}

var announced = regexp.MustCompile(`listening on (\S+)`)

// startService runs the command serve. With first, it prints its first token.
func startService(t *testing.T, first bool, args ...string) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	from, to := io.Pipe()
	root := newRoot(io.Discard, to)
	root.SetArgs(append([]string{"serve", "--listen", "127.0.0.1:0"}, args...))
	ended := make(chan error, 1)
	go func() {
		err := root.ExecuteContext(ctx)
		to.CloseWithError(err)
		ended <- err
	}()
	log, lines := &bytes.Buffer{}, bufio.NewReader(from)
	r := &running{}
	for r.url == "" {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("the service did not start: %v %s", err, log)
		}
		log.WriteString(line)
		if m := announced.FindStringSubmatch(line); m != nil {
			r.url = m[1]
		}
	}
	rest := make(chan struct{})
	secret := make(chan string, 1)
	go func() {
		defer close(rest)
		for {
			line, err := lines.ReadString('\n')
			log.WriteString(line)
			if _, s, found := strings.Cut(strings.TrimSpace(line), "/#token=nb_"); found {
				secret <- "nb_" + s
			}
			if err != nil {
				return
			}
		}
	}()
	r.stop = func() string {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the service ended with %v", err)
		}
		<-rest
		return log.String()
	}
	if first {
		r.secret = <-secret
	}
	return r
}

func (r *running) get(t *testing.T, secret, path string) (int, string) {
	t.Helper()
	q, err := http.NewRequest(http.MethodGet, r.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Authorization", "Bearer "+secret)
	a, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	body, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return a.StatusCode, string(body)
}

func TestServe(t *testing.T) {
	folder := t.TempDir()
	store := filepath.Join(folder, "c.db")
	table := filepath.Join(folder, "t.csv")
	if err := os.WriteFile(table, []byte("id,a,y\nr1,1,2\nr2,2,\nr3,3,\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	r := startService(t, true, store, "-q")
	if status, body := r.get(t, r.secret, "/v1/campaigns"); status != 200 || body != "[]\n" {
		t.Errorf("an empty store: %d %s", status, body)
	}
	// Another process adds a campaign and a token while the service runs.
	var out, log bytes.Buffer
	if code := Run([]string{"campaign", "new", store, table, "--target", "y", "--id", "id"}, &out, &log); code != 0 {
		t.Fatalf("campaign new: %d %s", code, &log)
	}
	tokens := filepath.Join(folder, "tokens.db")
	if code := Run([]string{"token", "add", "ada", "--role", "viewer", "--lasts", "1d", "--json", "--tokens", tokens},
		&out, &log); code != 0 {
		t.Fatalf("token add: %d %s", code, &log)
	}
	var added struct {
		server.Token
		Secret string `json:"secret"`
	}
	if err := json.Unmarshal(out.Bytes(), &added); err != nil {
		t.Fatalf("%v in %s", err, &out)
	}
	if status, body := r.get(t, added.Secret, "/v1/campaigns/t"); status != 200 || !strings.Contains(body, `"open":2`) {
		t.Errorf("the campaign: %d %s", status, body)
	}
	if info, err := os.Stat(tokens); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file of tokens has the mode %v (%v)", info.Mode(), err)
	}
	out.Reset()
	if Run([]string{"token", "list", "--tokens", tokens}, &out, &log); !strings.Contains(out.String(), "ada") ||
		strings.Contains(out.String(), "nb_") {
		t.Errorf("token list: %s", &out)
	}
	if code := Run([]string{"token", "revoke", added.ID, "--tokens", tokens}, &out, &log); code != 0 {
		t.Errorf("token revoke: %d %s", code, &log)
	}
	if status, _ := r.get(t, added.Secret, "/v1/campaigns/t"); status != http.StatusUnauthorized {
		t.Errorf("with a revoked token: %d", status)
	}
	first := r.secret
	r.stop()
	again := startService(t, false, store, "-q")
	if status, body := again.get(t, first, "/v1/campaigns/t"); status != 200 {
		t.Errorf("after a restart: %d %s", status, body)
	}
	if log := again.stop(); strings.Contains(log, "nb_") || !strings.Contains(log, "nextbatch token add") {
		t.Errorf("the second start prints a token, or not how to get one: %s", log)
	}
}

func TestServeRefuses(t *testing.T) {
	store := filepath.Join(t.TempDir(), "c.db")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--listen", ":8080"}, exitUsage, "--behind-proxy"},
		{[]string{"--listen", "0.0.0.0:8080"}, exitUsage, "read the tokens"},
		{[]string{"--listen", "8080"}, exitUsage, "HOST:PORT"},
		{[]string{"--tls-cert", "x.pem"}, exitUsage, "go together"},
		{[]string{"--tls-cert", "x.pem", "--tls-key", "x.pem", "--listen", "127.0.0.1:0"}, exitData, "x.pem"},
		{[]string{"--max-upload", "much"}, exitUsage, "--max-upload"},
		{[]string{"--rate", "0"}, exitUsage, "--rate"},
	} {
		var log bytes.Buffer
		if code := Run(append([]string{"serve", store}, c.args...), io.Discard, &log); code != c.code ||
			!strings.Contains(log.String(), c.want) {
			t.Errorf("serve %v: %d %s", c.args, code, &log)
		}
	}
	var log bytes.Buffer
	tokens := filepath.Join(t.TempDir(), "t.db")
	for _, args := range [][]string{{"add", "ada", "--role", "boss"}, {"add", ""},
		{"add", "ada", "--lasts", "long"}, {"revoke", "none"}} {
		if code := Run(append(append([]string{"token"}, args...), "--tokens", tokens), io.Discard, &log); code == 0 {
			t.Errorf("token %v is taken", args)
		}
	}
}
