package main

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"sort"
)

// sourceSum is a checksum over the generator's sources and pinned versions.
func sourceSum(dir string) (string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return "", err
	}
	sort.Strings(files)
	files = append(files, filepath.Join(dir, "go.mod"), filepath.Join(dir, "go.sum"))
	h := sha256.New()
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return "", err
		}
		h.Write([]byte(filepath.Base(f)))
		h.Write([]byte{0})
		h.Write(text)
	}
	return hex.EncodeToString(h.Sum(nil)[:12]), nil
}

func sum(text []byte) string {
	h := sha256.Sum256(text)
	return hex.EncodeToString(h[:12])
}
