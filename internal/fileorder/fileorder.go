// Package fileorder checks, for tests, in which order the files of a package build on each other.
package fileorder

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Check reports files of the package in the current folder that use what a later one declares,
// in the given order, which names every file but tests.
func Check(t *testing.T, order ...string) {
	t.Helper()
	files := parseFiles(t, order)
	declared := map[string]int{}
	for i, file := range files {
		for _, name := range topLevel(file) {
			declared[name] = i
		}
	}
	for i, file := range files {
		for _, used := range file.Unresolved { // names that the file itself does not declare
			if at, ok := declared[used.Name]; ok && at > i {
				t.Errorf("%s uses %s from %s", order[i], used.Name, order[at])
			}
		}
	}
}

func parseFiles(t *testing.T, order []string) []*ast.File {
	t.Helper()
	set := token.NewFileSet()
	parsed := make([]*ast.File, len(order))
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		i := slices.Index(order, name)
		if i < 0 {
			t.Fatalf("%s is not in the order", name)
		}
		if parsed[i], err = parser.ParseFile(set, name, nil, 0); err != nil {
			t.Fatal(err)
		}
	}
	if i := slices.Index(parsed, nil); i >= 0 {
		t.Fatalf("%s is missing", order[i])
	}
	return parsed
}

// topLevel returns the names that a file declares for the package. Methods
// belong to their type.
func topLevel(file *ast.File) (names []string) {
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				names = append(names, d.Name.Name)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					names = append(names, s.Name.Name)
				case *ast.ValueSpec:
					for _, n := range s.Names {
						names = append(names, n.Name)
					}
				}
			}
		}
	}
	return names
}
