package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/nextbatch/nextbatch/internal/wire"
)

// service is a service in a process of its own.
type service struct {
	folder, address string
	owner           string // token
	command         *exec.Cmd
}

// startService starts a service on an empty folder.
func startService(folder string) (*service, error) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &service{folder: folder, address: free.Addr().String()}
	if err := free.Close(); err != nil {
		return nil, err
	}
	return s, s.begin()
}

// self returns this program as the command nextbatch.
func (s *service) self(args ...string) (*exec.Cmd, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := exec.Command(program, args...)
	c.Env, c.Dir = append(os.Environ(), asService+"=1"), s.folder
	return c, nil
}

// begin starts the process, and waits until it listens.
func (s *service) begin() error {
	c, err := s.self("serve", "--listen", s.address, "--quiet", "--rate", "100000")
	if err != nil {
		return err
	}
	log, err := c.StderrPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	s.command = c
	lines, said := bufio.NewScanner(log), ""
	for lines.Scan() {
		said += lines.Text() + "\n"
		if _, token, found := strings.Cut(lines.Text(), "/#token="); found {
			if s.owner == "" {
				s.owner = token
			}
			go io.Copy(os.Stderr, log)
			return s.await()
		}
	}
	return fmt.Errorf("the service did not start: %s", said)
}

// await waits until the service answers.
func (s *service) await() error {
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		a, err := client.Get("http://" + s.address + "/health")
		if err == nil {
			return a.Body.Close()
		}
		if time.Now().After(end) {
			return err
		}
	}
}

// kill ends the process at once.
func (s *service) kill() {
	_ = s.command.Process.Kill()
	_ = s.command.Wait()
}

// addToken makes a token for a labeller, in another process.
func (s *service) addToken(person string) (string, error) {
	c, err := s.self("token", "add", person, "--tokens", filepath.Join(s.folder, "tokens.db"))
	if err != nil {
		return "", err
	}
	out, err := c.Output()
	return strings.TrimSpace(string(out)), err
}

// refusal is an answer that is not a success.
type refusal struct {
	status int
	text   string
}

func (r *refusal) Error() string { return fmt.Sprintf("%d %s", r.status, r.text) }

// passing reports whether the refusal is about a service that is ending.
func (r *refusal) passing() bool { return r.status == http.StatusServiceUnavailable }

// later reports whether the service is too busy for the request at the moment.
func (r *refusal) later() bool { return r.passing() || r.status == http.StatusTooManyRequests }

// do makes a request.
func (s *service) do(ctx context.Context, token, method, path, kind, body, key string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, "http://"+s.address+path, bytes.NewReader([]byte(body)))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	a, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer a.Body.Close()
	raw, err := io.ReadAll(a.Body)
	if err == nil && a.StatusCode/100 != 2 {
		err = &refusal{a.StatusCode, string(raw)}
	}
	return raw, err
}

// job starts a job and waits for its end.
func (s *service) job(ctx context.Context, token, campaign, verb, body, key string) (ask int64, err error) {
	path := "/v1/campaigns/" + campaign
	raw, err := s.do(ctx, token, "POST", path+"/"+verb, "application/json", body, key)
	for {
		if err != nil {
			return 0, err
		}
		var j wire.Job
		if err := json.Unmarshal(raw, &j); err != nil {
			return 0, err
		}
		switch j.State {
		case wire.Done:
			return j.Ask, nil
		case wire.Running:
		default:
			return 0, errors.New("the job ended as " + string(j.State) + ": " + j.Problem)
		}
		time.Sleep(20 * time.Millisecond)
		var gone *refusal
		next, fault := s.do(ctx, token, "GET", path+"/jobs/"+j.ID, "", "", "")
		if errors.As(fault, &gone) && gone.status == http.StatusNotFound && key != "" { // it ended just before a restart
			next, fault = s.do(ctx, token, "POST", path+"/"+verb, "application/json", body, key)
		}
		raw, err = next, fault
	}
}
