//go:build unix

package oracle_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/internal/oracle"
)

// label runs a command on a row of a campaign with these targets.
func label(t *testing.T, line string, targets ...string) ([]float64, error) {
	t.Helper()
	c, err := oracle.NewCommand(line)
	if err != nil {
		t.Fatal(err)
	}
	values, err := c.Label(t.Context(), campaign.Question{RowRef: campaign.RowRef{Row: 3, ID: "a'; echo 1"},
		Targets: targets, JSON: []byte(`{"id":"a","x":2.5}` + "\n")})
	return values, errors.Join(err, c.Close())
}

func TestCommandAnswers(t *testing.T) {
	for _, test := range []struct {
		line, targets, want, fault string
	}{
		{"printf 1.5", "y", "[1.5]", ""},
		{`sh -c 'echo " -2e3 "'`, "y", "[-2000]", ""},
		{`printf '{"y": 2.5}'`, "y", "[2.5]", ""},
		{`printf '{"z": 1, "y": null}'`, "y z", "[NaN 1]", ""},
		{`sed 's/.*"x":\(.*\)}/\1/'`, "y", "[2.5]", ""},
		{`sh -c 'test "$1" = "a'\''; echo 1" && echo 7' sh {id}`, "y", "[7]", ""},
		{`sh -c 'echo 8; exec >&-; sleep 60 &'`, "y", "[8]", ""},
		{"true", "y", "", "standard output is empty"},
		{"echo hello", "y", "", `standard output is "hello", not a finite number`},
		{"echo nan", "y", "", `standard output is "nan", not a finite number`},
		{"echo 1 2", "y", "", `standard output is "1 2", not a finite number`},
		{"echo 1", "y z", "", `there are 2 targets; print an object such as {"y": 1.2}`},
		{`printf '{"y": "1"}'`, "y", "", `standard output has "1" for "y", not a number`},
		{`printf '{"x": 1}'`, "y", "", `standard output has the key "x", but the targets are ["y"]`},
		{`printf '{"y": 1'`, "y", "", "not a JSON object"},
		{`printf '{"y": 1} 2'`, "y", "", "not one JSON object"},
		{"head -c 2000000 /dev/zero", "y", "", "more than 1048576 bytes"},
		{`sh -c 'echo first >&2; echo "no licence" >&2; echo >&2; exit 3'`, "y", "", "exit code 3: no licence"},
		{"false", "y", "", "exit code 1"},
		{"sh -c 'kill -9 $$'", "y", "", "signal: killed"},
		{"sh -c 'exit 75'", "y", "", campaign.ErrLater.Error()},
	} {
		values, err := label(t, test.line, strings.Fields(test.targets)...)
		switch {
		case test.fault == "" && (err != nil || fmt.Sprint(values) != test.want):
			t.Errorf("%s: %v, %v", test.line, values, err)
		case test.fault != "" && (err == nil || !strings.Contains(err.Error(), test.fault)):
			t.Errorf("%s: %v, %v", test.line, values, err)
		}
	}
}

func TestCommandRefuses(t *testing.T) {
	for line, want := range map[string]string{
		"": "the command is empty", "  ": "the command is empty", "'a": "ends inside quotes", `a\`: "after a backslash",
		"no-such-program-anywhere {id}": "no-such-program-anywhere", "/": "/",
	} {
		if _, err := oracle.NewCommand(line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", line, err)
		}
	}
	program := filepath.Join(t.TempDir(), "gone")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	c, err := oracle.NewCommand(program)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := os.Remove(program); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Label(t.Context(), campaign.Question{Targets: []string{"y"}}); !errors.As(err,
		new(*campaign.BrokenError)) {
		t.Errorf("a program that is gone: %v", err)
	}
}

// offspring is a command that writes its process id and that of a child to a file, and waits.
const offspring = `sh -c '%s sleep 600 & echo $$ $! >"$1.new"; mv "$1.new" "$1"; wait' sh %s`

func TestCommandLeavesNothingBehind(t *testing.T) {
	for name, trap := range map[string]string{"plain": "", "deaf": `trap "" TERM;`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "pids")
			c, err := oracle.NewCommand(fmt.Sprintf(offspring, trap, file))
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				pids(t, file)
				cancel()
			}()
			if _, err := c.Label(ctx, campaign.Question{Targets: []string{"y"}}); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			wantGone(t, pids(t, file))
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// pids waits for the process ids in a file.
func pids(t *testing.T, file string) (list []int) {
	for {
		text, err := os.ReadFile(file)
		if err != nil {
			time.Sleep(time.Millisecond)
			continue
		}
		for _, word := range strings.Fields(string(text)) {
			pid, err := strconv.Atoi(word)
			if err != nil {
				t.Error(err)
			}
			list = append(list, pid)
		}
		return list
	}
}

// wantGone waits for processes to end, which takes a moment after they were killed.
func wantGone(t *testing.T, list []int) {
	t.Helper()
	if len(list) != 2 {
		t.Errorf("there are the processes %v", list)
	}
	for _, pid := range list {
		for begin := time.Now(); lives(pid); time.Sleep(time.Millisecond) {
			if time.Since(begin) > time.Minute {
				t.Errorf("process %d is left behind", pid)
				return
			}
		}
	}
}

// lives reports whether a process is more than an entry in the table that its parent has not read yet.
func lives(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	state, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && !bytes.HasPrefix(bytes.TrimSpace(state), []byte("Z"))
}

// TestCommandDiesWithItsParent: kill -9 of the process that runs the oracle leaves neither the
// command nor a child of it.
func TestCommandDiesWithItsParent(t *testing.T) {
	if file := os.Getenv("NEXTBATCH_TEST_OFFSPRING"); file != "" {
		c, err := oracle.NewCommand(fmt.Sprintf(offspring, "", file))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println("ready")
		_, err = c.Label(t.Context(), campaign.Question{Targets: []string{"y"}})
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "pids")
	parent := exec.Command(os.Args[0], "-test.run=^TestCommandDiesWithItsParent$")
	parent.Env = append(os.Environ(), "NEXTBATCH_TEST_OFFSPRING="+file)
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	list := pids(t, file)
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	wantGone(t, list)
}
