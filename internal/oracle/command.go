// Package oracle labels the rows of campaigns by supervised programs.
package oracle

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/nextbatch/nextbatch/campaign"
)

// A command as an oracle
//
//	reads   a row as JSON from its standard input (Question.JSON),
//	prints  a number, or an object with a number for each target,
//	exits   with 0 for a label, with 75 for "later, by tell", otherwise for a failure.
//
// No process of it outlives this one: it has a process group of its own (on Windows a job),
// which is killed when the command has ended, when its time is up, when the run ends, and, by a
// keeper (keeper_unix.go) or the system, when this process dies.

// exitLater is the exit code of a command whose label will be told: EX_TEMPFAIL of
// sysexits.h.
const exitLater = 75

const (
	outputLimit = 1 << 20 // bytes of an answer
	reasonLimit = 500     // bytes of a reason
	// termination is how long a command may take to end after it was asked to, before it is killed.
	termination = 2 * time.Second
)

// Command is an oracle that runs a program for each row. Close it after the run.
type Command struct {
	words  []string
	keeper *keeper
}

// NewCommand returns the oracle that runs a command line, in which {id} stands for the id
// of the row. It is split into words as a shell does, with quotes and, except on
// Windows, backslashes; but no shell runs it, so an id can do no harm.
func NewCommand(line string) (*Command, error) {
	words, err := splitWords(line)
	if err != nil {
		return nil, err
	}
	if len(words) == 0 {
		return nil, errors.New("the command is empty")
	}
	if !strings.Contains(words[0], "{id}") {
		if _, err := exec.LookPath(words[0]); err != nil {
			return nil, err
		}
	}
	k, err := newKeeper()
	return &Command{words, k}, err
}

// Close ends all processes that are left.
func (c *Command) Close() error { return c.keeper.close() }

// splitWords splits a command line into words.
func splitWords(line string) (words []string, err error) {
	var word strings.Builder
	inside, quote, escaped := false, rune(0), false
	for _, r := range line {
		switch {
		case escaped:
			if quote == '"' && r != '"' && r != '\\' {
				word.WriteRune('\\')
			}
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'' && runtime.GOOS != "windows":
			inside, escaped = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			inside, quote = true, r
		case unicode.IsSpace(r):
			if inside {
				words = append(words, word.String())
			}
			word.Reset()
			inside = false
		default:
			inside = true
			word.WriteRune(r)
		}
	}
	if quote != 0 || escaped {
		return nil, fmt.Errorf("the command %q ends inside quotes or after a backslash", line)
	}
	if inside {
		words = append(words, word.String())
	}
	return words, nil
}

// Label is a campaign.Oracle.
func (c *Command) Label(ctx context.Context, q campaign.Question) ([]float64, error) {
	words := slices.Clone(c.words)
	for i, word := range words {
		if words[i] = strings.ReplaceAll(word, "{id}", q.ID); strings.ContainsRune(words[i], 0) {
			return nil, fmt.Errorf("the id %q cannot be an argument of a command", q.ID)
		}
	}
	program, err := exec.LookPath(words[0])
	if err != nil {
		return nil, &campaign.BrokenError{Cause: err}
	}
	// On Linux the system kills the command when the thread that started it dies.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := exec.CommandContext(ctx, program, words[1:]...)
	out, log := &head{}, &tail{}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(q.JSON), out, log
	cmd.WaitDelay = termination
	family, err := c.keeper.prepare(cmd)
	if err != nil {
		return nil, &campaign.BrokenError{Cause: err}
	}
	defer family.end()
	if err := cmd.Start(); err != nil {
		return nil, orEnded(ctx, &campaign.BrokenError{Cause: err})
	}
	if err := family.adopt(); err != nil {
		return nil, errors.Join(&campaign.BrokenError{Cause: err}, cmd.Wait())
	}
	err = cmd.Wait()
	exit := (*exec.ExitError)(nil)
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay): // a child of its own had the output open
		return out.answer(q.Targets)
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case !errors.As(err, &exit):
		return nil, err
	case exit.ExitCode() == exitLater:
		return nil, campaign.ErrLater
	}
	reason := exit.String()
	if code := exit.ExitCode(); code >= 0 {
		reason = fmt.Sprintf("exit code %d", code)
	}
	if line := log.lastLine(); line != "" {
		reason += ": " + line
	}
	return nil, errors.New(reason)
}

// orEnded returns the error of the context if it has ended, which explains the other one.
func orEnded(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// head keeps the beginning of what is written to it.
type head struct {
	text bytes.Buffer
	over bool
}

func (h *head) Write(p []byte) (int, error) {
	kept := p[:min(len(p), outputLimit-h.text.Len())]
	h.text.Write(kept)
	h.over = h.over || len(kept) < len(p)
	return len(p), nil
}

// answer reads a number for each target.
func (h *head) answer(targets []string) ([]float64, error) {
	if h.over {
		return nil, fmt.Errorf("standard output has more than %d bytes, not a number", outputLimit)
	}
	text := bytes.TrimSpace(h.text.Bytes())
	if bytes.HasPrefix(text, []byte("{")) {
		return answerObject(text, targets)
	}
	v, err := strconv.ParseFloat(string(text), 64)
	switch {
	case len(text) == 0:
		return nil, errors.New("standard output is empty")
	case err != nil || math.IsNaN(v) || math.IsInf(v, 0):
		return nil, fmt.Errorf("standard output is %q, not a finite number", short(text))
	case len(targets) > 1:
		return nil, fmt.Errorf("standard output is one number, but there are %d targets; print an object such as {%q: 1.2}",
			len(targets), targets[0])
	}
	return []float64{v}, nil
}

// answerObject reads an object such as {"y": 1.2}; null means that a target has no label.
func answerObject(text []byte, targets []string) ([]float64, error) {
	var fields map[string]json.RawMessage
	decoder := json.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(&fields); err != nil {
		return nil, fmt.Errorf("standard output is %q, not a JSON object: %v", short(text), err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("standard output is %q, not one JSON object", short(text))
	}
	values := slices.Repeat([]float64{math.NaN()}, len(targets))
	for name, raw := range fields {
		at := slices.Index(targets, name)
		if at < 0 {
			return nil, fmt.Errorf("standard output has the key %q, but the targets are %q", name, targets)
		}
		var v *float64
		if err := json.Unmarshal(raw, &v); err != nil {
			return nil, fmt.Errorf("standard output has %s for %q, not a number", short(raw), name)
		}
		if v != nil {
			values[at] = *v
		}
	}
	return values, nil
}

// short returns the beginning of a text.
func short(text []byte) string {
	const most = 60
	if len(text) <= most {
		return string(text)
	}
	return string(text[:most]) + "…"
}

// tail keeps the end of what is written to it.
type tail struct{ text []byte }

func (t *tail) Write(p []byte) (int, error) {
	const most = 16 * reasonLimit
	if t.text = append(t.text, p...); len(t.text) > most {
		t.text = slices.Clone(t.text[len(t.text)-most:])
	}
	return len(p), nil
}

// lastLine returns the last line that is not blank.
func (t *tail) lastLine() string {
	text := bytes.TrimSpace(t.text)
	line := bytes.TrimSpace(text[bytes.LastIndexAny(text, "\r\n")+1:])
	return strings.ToValidUTF8(string(line[:min(len(line), reasonLimit)]), "\uFFFD")
}
