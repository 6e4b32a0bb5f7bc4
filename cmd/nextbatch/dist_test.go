package main

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// needRelease skips a test that builds the program as releases are built: with other flags than those of
// the tests, so that Go compiles everything again.
func needRelease(t *testing.T) {
	t.Helper()
	if os.Getenv("NEXTBATCH_RELEASE") != "1" {
		t.Skip("builds a release, which takes a minute: NEXTBATCH_RELEASE=1 runs it")
	}
}

// TestDistIsStatic: a released binary runs on a machine without a C library, even
// if the machine that built it has one.
func TestDistIsStatic(t *testing.T) {
	needRelease(t)
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("make is not installed")
	}
	platforms := map[string]elf.Machine{"linux/amd64": elf.EM_X86_64, "linux/arm64": elf.EM_AARCH64}
	for platform, machine := range platforms {
		if platform != runtime.GOOS+"/"+runtime.GOARCH && os.Getenv("NEXTBATCH_SOAK") == "" {
			continue // compiling everything for another machine takes minutes
		}
		dir := t.TempDir()
		c := exec.Command("make", "-C", root, "dist", "RELEASES="+platform, "DIST="+dir)
		c.Env = append(os.Environ(), "CGO_ENABLED=1")
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		name := strings.ReplaceAll(platform, "/", "-")
		path := filepath.Join(dir, "nextbatch-"+name)
		mustBeStatic(t, path, machine)
		sums, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
		if err != nil || !strings.Contains(string(sums), "nextbatch-"+name) ||
			!strings.Contains(string(sums), "nextbatch-hpc-"+name) {
			t.Errorf("%v, checksums %q", err, sums)
		}
		if platform != runtime.GOOS+"/"+runtime.GOARCH {
			continue
		}
		if out, err := exec.Command(path, "--version").Output(); err != nil || !strings.HasPrefix(string(out), "nextbatch ") {
			t.Errorf("%v, %q", err, out)
		}
	}
}

// mustBeStatic fails if the file asks for a loader or for shared libraries.
func mustBeStatic(t *testing.T, path string, machine elf.Machine) {
	t.Helper()
	file, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if file.Machine != machine {
		t.Errorf("%s is for %v", path, file.Machine)
	}
	for _, p := range file.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			t.Errorf("%s has a segment %v", path, p.Type)
		}
	}
}
