package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

//go:embed python_api.py
var pythonProgram string

// addPython makes a page of each module of the Python package. Python's own parser reads the source.
func (s *site) addPython() error {
	c := exec.Command("python3", "-c", pythonProgram, filepath.Join(s.root, "python", "src", "nextbatch"))
	c.Stderr = os.Stderr
	text, err := c.Output()
	if err != nil {
		return fmt.Errorf("the Python interface could not be read: %w", err)
	}
	pages := map[string]string{}
	if err := json.Unmarshal(text, &pages); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		s.add("api/python/"+name+".md", "", pages[name])
	}
	return nil
}
