package main

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestContainer starts the service as deploy/Containerfile does: a folder with the static program and
// nothing else as the root of all files, a user without a name, and no environment.
func TestContainer(t *testing.T) {
	t.Parallel()
	needRelease(t)
	if os.Getuid() != 0 {
		t.Skip("only root can change the root of all files")
	}
	const nobody = 65532
	box := t.TempDir()
	if err := os.Chmod(box, 0o755); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", filepath.Join(box, "nextbatch"), ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, folder := range []string{"data", "tmp"} {
		path := filepath.Join(box, folder)
		if err := os.Mkdir(path, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(path, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	words := append(instruction(t, "ENTRYPOINT"), instruction(t, "CMD")...)
	for i := range words {
		words[i] = strings.ReplaceAll(words[i], ":8080", "127.0.0.1:0")
	}
	c := &exec.Cmd{Path: words[0], Args: words, Dir: "/data", Env: []string{},
		SysProcAttr: &syscall.SysProcAttr{Chroot: box, Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}}
	log, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	defer time.AfterFunc(time.Minute, func() { _ = c.Process.Kill() }).Stop()
	var all strings.Builder
	for lines := bufio.NewScanner(log); lines.Scan(); {
		all.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), "/#token=nb_") {
			return
		}
	}
	t.Errorf("%q prints no link:\n%s", words, &all)
}

// instruction returns the words of a line of the Containerfile.
func instruction(t *testing.T, name string) (words []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "deploy", "Containerfile"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "\n"+name+" ")
	line, _, _ := strings.Cut(rest, "\n")
	if err := json.Unmarshal([]byte(line), &words); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return words
}
