package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/nextbatch/nextbatch/cmd/nextbatch/cli"
	"github.com/nextbatch/nextbatch/internal/golden"
)

// The scripts of testdata run the program as people do. Beside the
// commands of package testscript they know:
//
//	code N PROGRAM …               run, and want this exit code
//	windows FILE FROM              a text file as programs on Windows write it
//	table FILE ROWS LABELLED       a table with ids, in which one in LABELLED rows has a label
//	shifted FILE ROWS OFFSET       a table with ids and y = 3a + 0.1b, of which a is moved by the offset
//	kinds FILE ROWS                a table on which active learning has a gain
//	noise FILE ROWS                a table with labels that are pure noise
//	numbers FILE ROWS COLUMNS [FIRST]     a matrix, or its rows from FIRST on: .npy, .npz (array "a"),
//	                                      .mat (variable "a") or .parquet
//	blanked FILE SET COLUMN        a data set beside the checkout, with the labels of 256 rows
//	signal NAME PATTERN CODE PROGRAM …    send a signal once standard error matches, and want this exit code
//	reading NAME PIPE CODE PROGRAM …      send a signal while the program reads the pipe, and want this exit code
//	kill-writing FILE PROGRAM …    kill the program while it writes the file
//	tmpfs FOLDER SIZE [ro]         a small file system, or one that cannot be written; see the condition [mount]
//	no-other-files FOLDER NAME …   the folder has just these files
//	damage FILE                    changes a byte of an event in a campaign file
//	scribble FILE                  overwrites pages in the middle of a database
//	newer FILE                     marks a campaign file as one of a later version

var full = flag.Bool("full", false, "train for all epochs on the real data sets")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"nextbatch": main, "nextbatch-peak": peak})
}

// peak is the program, which then writes what Linux says about its memory to the
// file that PEAK names.
func peak() {
	code := cli.Run(os.Args[1:], os.Stdout, os.Stderr)
	status, err := os.ReadFile("/proc/self/status")
	if err := errors.Join(err, os.WriteFile(os.Getenv("PEAK"), status, 0o600)); err != nil {
		panic(err)
	}
	os.Exit(code)
}

func TestScripts(t *testing.T) {
	tables, err := filepath.Abs("../../internal/source/formats/testdata/tables")
	if err != nil {
		t.Fatal(err)
	}
	networks, err := filepath.Abs("../../network/onnx/testdata")
	if err != nil {
		t.Fatal(err)
	}
	run(t, "script", map[string]string{"TABLES": tables, "NETWORKS": networks})
}

// TestRealData takes the data sets beside the checkout through select, from
// their raw files.
func TestRealData(t *testing.T) {
	if testing.Short() {
		t.Skip("reads real data sets")
	}
	env := map[string]string{"DATA": golden.Data(t), "EPOCHS": "2", "HIDDEN": "64"}
	if *full {
		env["EPOCHS"], env["HIDDEN"] = "256", "512,512"
	}
	run(t, "real", env)
}

func run(t *testing.T, dir string, env map[string]string) {
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", dir),
		Setup: func(e *testscript.Env) error {
			for name, value := range env {
				e.Setenv(name, value)
			}
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"code": code, "says": says, "windows": windows, "excel": excel, "table": table, "shifted": shifted, "kinds": kinds,
			"noise": noise, "planted": planted, "twotargets": twoTargets, "numbers": numbers, "blanked": blanked,
			"signal": signal, "reading": reading,
			"kill-writing": killWriting, "tmpfs": tmpfs, "no-other-files": noOtherFiles, "damage": damage,
			"scribble": scribble, "newer": newer,
		},
		Condition:           condition(t),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}

// TestScriptsNameEveryCommand: no command is without a script.
func TestScriptsNameEveryCommand(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "script", "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %d scripts", err, len(files))
	}
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	help, err := nextbatch("help").Output()
	if err != nil {
		t.Fatal(err)
	}
	list := regexp.MustCompile(`(?s)Available Commands:\n(.*?)\n\n`).FindSubmatch(help)
	if list == nil {
		t.Fatalf("no commands in %s", help)
	}
	for line := range strings.Lines(string(list[1])) {
		if name := strings.Fields(line)[0]; !strings.Contains(all.String(), "nextbatch "+name) {
			t.Errorf("no script runs nextbatch %s", name)
		}
	}
}

// nextbatch is a run of the program outside of a script.
func nextbatch(args ...string) *exec.Cmd { return exec.Command("nextbatch", args...) }

func must(ts *testscript.TestScript, neg bool, args []string, least int) {
	if neg || len(args) < least {
		ts.Fatalf("wrong arguments %q", args)
	}
}

func code(ts *testscript.TestScript, neg bool, args []string) {
	must(ts, neg, args, 2)
	wantCode(ts, args[0], ts.Exec(args[1], args[2:]...))
}

// says searches what the last command printed for a regular expression, with one space between words, wherever
// lines were wrapped and columns aligned.
func says(ts *testscript.TestScript, neg bool, args []string) {
	must(ts, neg, args, 1)
	text := strings.Join(strings.Fields(ts.ReadFile("stdout")), " ")
	if !regexp.MustCompile(args[0]).MatchString(text) {
		ts.Fatalf("no match for %q in %q", args[0], text)
	}
}

func windows(ts *testscript.TestScript, neg bool, args []string) {
	must(ts, neg, args, 2)
	text := "\ufeff" + strings.ReplaceAll(ts.ReadFile(args[1]), "\n", "\r\n")
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}

// excel writes a text as Excel in Western Europe saves it, in windows-1252, with further arguments at the ends of the
// lines after the header.
func excel(ts *testscript.TestScript, neg bool, args []string) {
	must(ts, neg, args[:2], 2)
	lines := strings.Split(strings.TrimSpace(strings.TrimPrefix(ts.ReadFile(args[1]), "\ufeff")), "\n")
	for i, label := range args[2:] {
		lines[i+1] += label
	}
	var saved []byte
	for _, r := range strings.Join(lines, "\r\n") + "\r\n" {
		saved = append(saved, byte(r)) // the letters of the scripts have the same codes there
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), saved, 0o600))
}

func wantCode(ts *testscript.TestScript, want string, err error) {
	got := 0
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if strconv.Itoa(got) != want {
		ts.Fatalf("exit code %d, not %s", got, want)
	}
}

// longest is how long a program may be at it that waits for a signal.
const longest = 2 * time.Minute

// start begins a program in the folder and with the environment of the script.
// What it says on standard error comes line by line.
func start(ts *testscript.TestScript, args []string) (*exec.Cmd, *bufio.Reader) {
	path, err := exec.LookPath(args[0])
	ts.Check(err)
	c := exec.Command(path, args[1:]...)
	c.Dir = ts.MkAbs(".")
	pipe, err := c.StderrPipe()
	ts.Check(err)
	ts.Check(c.Start())
	late := time.AfterFunc(longest, func() { _ = c.Process.Kill() })
	ts.Defer(func() { late.Stop(); _ = c.Process.Kill() })
	return c, bufio.NewReader(pipe)
}

var signals = map[string]os.Signal{"INT": os.Interrupt, "TERM": syscall.SIGTERM, "KILL": os.Kill}

func signal(ts *testscript.TestScript, neg bool, args []string) {
	must(ts, neg, args, 4)
	pattern := regexp.MustCompile(args[1])
	c, log := start(ts, args[3:])
	var said strings.Builder
	for {
		line, err := log.ReadString('\n')
		said.WriteString(line)
		if pattern.MatchString(line) {
			break
		}
		if err != nil {
			ts.Fatalf("%q does not come: %s", args[1], said.String())
		}
	}
	ts.Check(c.Process.Signal(signals[args[0]]))
	rest, _ := io.ReadAll(log)
	said.Write(rest)
	err := c.Wait()
	_, _ = io.WriteString(ts.Stderr(), said.String())
	wantCode(ts, args[2], err)
}

// reading writes the first two bytes of a file to the pipe, and then nothing more.
func reading(ts *testscript.TestScript, neg bool, args []string) {
	must(ts, neg, args, 4)
	c, log := start(ts, args[3:])
	said, opened := make(chan string, 1), make(chan *os.File, 1)
	go func() {
		text, _ := io.ReadAll(log)
		said <- string(text)
	}()
	go func() {
		pipe, err := os.OpenFile(ts.MkAbs(args[1]), os.O_WRONLY, 0) // waits for the program
		if err == nil {
			_, err = io.WriteString(pipe, "id")
		}
		if err == nil {
			opened <- pipe
		}
	}()
	var text string
	select {
	case text = <-said:
		ts.Fatalf("the program ends before it reads: %s", text)
	case pipe := <-opened:
		defer pipe.Close()
		ts.Check(c.Process.Signal(signals[args[0]]))
		text = <-said
	}
	_, _ = io.WriteString(ts.Stderr(), text)
	wantCode(ts, args[2], c.Wait())
}

// killWriting waits for the temporary file beside the output and kills the
// program before that is complete. If the program is quicker, it tries again.
func killWriting(ts *testscript.TestScript, neg bool, args []string) {
	must(ts, neg, args, 2)
	for range 20 {
		c, _ := start(ts, args[1:])
		end := make(chan struct{})
		go func() { _ = c.Wait(); close(end) }()
		if waitForPart(ts.MkAbs(args[0]), end) {
			_ = c.Process.Kill()
		}
		<-end
		if c.ProcessState.ExitCode() == -1 { // killed
			return
		}
	}
	ts.Fatalf("the program was never seen writing")
}

// waitForPart reports whether part of the file existed before the end.
func waitForPart(path string, end <-chan struct{}) bool {
	pattern := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".*.tmp")
	for {
		select {
		case <-end:
			return false
		default:
		}
		names, _ := filepath.Glob(pattern)
		for _, name := range names {
			if info, err := os.Stat(name); err == nil && info.Size() > 0 {
				return true
			}
		}
		time.Sleep(100 * time.Microsecond)
	}
}

// tmpfs mounts a file system until the script ends.
func tmpfs(ts *testscript.TestScript, neg bool, args []string) {
	must(ts, neg, args, 2)
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(dir, 0o755))
	unmount, err := mount(dir, strings.Join(append([]string{"size=" + args[1]}, args[2:]...), ","))
	ts.Check(err)
	ts.Defer(unmount)
}

func mount(dir, options string) (unmount func(), err error) {
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", options, "nextbatch-test",
		dir).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	return func() { _ = exec.Command("umount", dir).Run() }, nil
}

// condition knows "mount": whether this user may mount a file system.
func condition(t *testing.T) func(name string) (bool, error) {
	mayMount := sync.OnceValue(func() bool {
		unmount, err := mount(t.TempDir(), "size=4k")
		if err == nil {
			unmount()
		}
		return err == nil
	})
	return func(name string) (bool, error) {
		if name != "mount" {
			return false, fmt.Errorf("there is no condition %q", name)
		}
		return mayMount(), nil
	}
}

func noOtherFiles(ts *testscript.TestScript, neg bool, args []string) {
	must(ts, neg, args, 1)
	entries, err := os.ReadDir(ts.MkAbs(args[0]))
	ts.Check(err)
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if strings.Join(got, " ") != strings.Join(args[1:], " ") {
		ts.Fatalf("%s has %q, not %q", args[0], got, args[1:])
	}
}
