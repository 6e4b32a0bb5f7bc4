// Typecheck checks the types of every package of the module and of its tests for other systems:
//
//	go run ./.ci/typecheck windows/amd64 darwin/arm64
//
// Go vet would first compile all dependencies for each system, which takes minutes. Here they
// are only parsed, and of other modules only the declarations are checked.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// listed is what go list says about a package.
type listed struct {
	ImportPath, Dir string
	GoFiles         []string
	ImportMap       map[string]string
	Module          *struct{ Main bool }
}

func main() {
	failed := false
	for _, system := range os.Args[1:] {
		problems, err := check(system)
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", system, err)
			os.Exit(2)
		}
		for _, problem := range problems {
			fmt.Fprintf(os.Stderr, "%s: %v\n", system, problem)
			failed = true
		}
	}
	if failed {
		os.Exit(1)
	}
}

// check returns what does not type-check for a system, such as windows/amd64.
func check(system string) ([]error, error) {
	goos, goarch, found := strings.Cut(system, "/")
	if !found {
		return nil, errors.New("a system is written as windows/amd64")
	}
	packages, err := list(goos, goarch)
	if err != nil {
		return nil, err
	}
	checked := map[string]*types.Package{"unsafe": types.Unsafe}
	sizes := types.SizesFor("gc", goarch)
	var problems []error
	for _, p := range packages { // dependencies first
		if p.ImportPath == "unsafe" || strings.HasSuffix(p.ImportPath, ".test") {
			continue
		}
		var found []error
		checked[p.ImportPath], found, err = p.check(checked, sizes)
		if err != nil {
			return nil, err
		}
		if p.Module != nil && p.Module.Main {
			problems = append(problems, found...)
		}
	}
	return problems, nil
}

// list asks for the packages of the module with their tests and all that these import.
func list(goos, goarch string) ([]listed, error) {
	command := exec.Command("go", "list", "-deps", "-test", "-json=ImportPath,Dir,GoFiles,ImportMap,Module", "./...")
	command.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0")
	command.Stderr = os.Stderr
	output, err := command.Output()
	if err != nil {
		return nil, err
	}
	var packages []listed
	for decoder := json.NewDecoder(strings.NewReader(string(output))); ; {
		var p listed
		if err := decoder.Decode(&p); err == io.EOF {
			return packages, nil
		} else if err != nil {
			return nil, err
		}
		packages = append(packages, p)
	}
}

func (p listed) check(checked map[string]*types.Package, sizes types.Sizes) (*types.Package, []error, error) {
	files, fset := []*ast.File{}, token.NewFileSet()
	for _, name := range p.GoFiles {
		if !filepath.IsAbs(name) {
			name = filepath.Join(p.Dir, name)
		}
		file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, nil, err
		}
		files = append(files, file)
	}
	var problems []error
	config := types.Config{
		Importer:         imports{p.ImportMap, checked},
		Sizes:            sizes,
		IgnoreFuncBodies: p.Module == nil || !p.Module.Main,
		Error:            func(err error) { problems = append(problems, err) },
	}
	path, _, _ := strings.Cut(p.ImportPath, " ") // without "[of this test]"
	result, _ := config.Check(path, fset, files, nil)
	return result, problems, nil
}

// imports finds what a package imports among the packages checked before it.
type imports struct {
	renamed map[string]string
	checked map[string]*types.Package
}

func (i imports) Import(path string) (*types.Package, error) {
	if renamed, ok := i.renamed[path]; ok {
		path = renamed
	}
	if p := i.checked[path]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("package %s is not among the dependencies", path)
}
