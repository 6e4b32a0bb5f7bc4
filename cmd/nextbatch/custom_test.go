package main

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// TestCustomProgram builds a program that registers a kernel of its own, and runs
// it as people do.
func TestCustomProgram(t *testing.T) {
	if testing.Short() {
		t.Skip("it links a program")
	}
	program := filepath.Join(t.TempDir(), "custom.exe")
	build := exec.Command("go", "build", "-o", program, "./testdata/custom")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	run(t, "custom", map[string]string{"CUSTOM": program})
}
