// Package web holds the dashboard: its sources, and the files that the service hands to
// browsers. These are built from the sources by make web and committed, so that building
// the program needs Go alone.
package web

import (
	"embed"
	"io/fs"
)

//go:embed dist
var built embed.FS

// Files returns the built page: index.html, and what it loads under assets.
func Files() fs.FS {
	files, err := fs.Sub(built, "dist")
	if err != nil {
		panic(err) // the path is a constant and valid
	}
	return files
}
