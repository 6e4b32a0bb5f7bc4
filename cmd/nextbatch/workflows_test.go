package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestWorkflowsCallMake: what the workflows run can be run anywhere, because it is a target of the Makefile. Only
// the release itself is published by a program of GitHub.
func TestWorkflowsCallMake(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(root, ".github", "workflows", "*.yml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %d workflows", err, len(files))
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^ *- run: (.*)$`).FindAllStringSubmatch(string(text), -1) {
			if strings.HasPrefix(m[1], "gh release create ") {
				continue
			}
			call := regexp.MustCompile(`^make (?:-s )?([a-z-]+)( |$)`).FindStringSubmatch(m[1])
			if call == nil || !strings.Contains(string(makefile), "\n"+call[1]+":") {
				t.Errorf("%s runs %q, which is not a target of the Makefile", file, m[1])
			}
		}
	}
}
