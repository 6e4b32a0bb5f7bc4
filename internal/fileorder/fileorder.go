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

// Check reports files of the package in the current folder that use what a later one declares, in the given order,
// which names every file but tests; those that one text names, with blanks between them, may use each other. Methods
// count by their names, if these are not exported, and those that several files declare as of the first of them; a
// method with the name of a field, or of an interface, is ignored.
func Check(t *testing.T, order ...string) {
	t.Helper()
	var places []int
	var names []string
	for place, together := range order {
		for name := range strings.FieldsSeq(together) {
			places, names = append(places, place), append(names, name)
		}
	}
	files := parseFiles(t, names)
	declared, methods := map[string]int{}, map[string]int{}
	for i, file := range files {
		for _, name := range topLevel(file) {
			declared[name] = i
		}
		for _, name := range methodsOf(file) {
			if _, earlier := methods[name]; !earlier {
				methods[name] = i
			}
		}
	}
	for _, file := range files {
		for _, name := range fieldsOf(file) {
			delete(methods, name)
		}
	}
	for i, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			if selected, ok := n.(*ast.SelectorExpr); ok {
				if at, ok := methods[selected.Sel.Name]; ok && places[at] > places[i] {
					t.Errorf("%s uses the method %s from %s", names[i], selected.Sel.Name, names[at])
				}
			}
			return true
		})
		for _, used := range file.Unresolved { // names that the file itself does not declare
			if at, ok := declared[used.Name]; ok && places[at] > places[i] {
				t.Errorf("%s uses %s from %s", names[i], used.Name, names[at])
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

// methodsOf returns the names of the methods of a file that are not exported.
func methodsOf(file *ast.File) (names []string) {
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil && !f.Name.IsExported() {
			names = append(names, f.Name.Name)
		}
	}
	return names
}

// fieldsOf returns the names of the fields of a file's structs, and of the methods of its interfaces.
func fieldsOf(file *ast.File) (names []string) {
	add := func(list *ast.FieldList) {
		for _, field := range list.List {
			for _, name := range field.Names {
				names = append(names, name.Name)
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.StructType:
			add(n.Fields)
		case *ast.InterfaceType:
			add(n.Methods)
		}
		return true
	})
	return names
}
