package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const modulePath = "github.com/nextbatch/nextbatch"

// TestGoExamples compiles the Go code that comments and pages show. It stands alone there, so
// variables may come from elsewhere; the types, fields and functions of packages must exist.
func TestGoExamples(t *testing.T) {
	packages, snippets := goSources(t)
	if len(packages["campaign"]) == 0 {
		t.Fatalf("the packages were not found: %v", packages)
	}
	for path, text := range pages(t) {
		snippets[path] = blocks(text, "go")
	}
	contributing, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	snippets["CONTRIBUTING.md"] = blocks(string(contributing), "go")
	files := map[string]string{} // by where the code is
	for where, list := range snippets {
		for i, code := range list {
			if file := asFile(code, packages); file != "" {
				files[fmt.Sprintf("%s, example %d", where, i+1)] = file
			}
		}
	}
	if len(files) < 6 {
		t.Errorf("only %d examples were found", len(files))
	}
	compile(t, files)
}

// Names of fields that do not exist are noticed, and variables from elsewhere are not.
func TestGoExamplesAreChecked(t *testing.T) {
	packages, _ := goSources(t)
	file := asFile("told, err := c.Tell(ctx, campaign.By{}, campaign.Tell{Measurements: list})\n", packages)
	faults := faultsOf(t, map[string]string{"here": file})
	if len(faults) != 1 || !strings.Contains(faults[0], "unknown field Measurements") {
		t.Errorf("%q", faults)
	}
	for _, formula := range []string{"v = b*v + (1-b)*g\n", "lcmd-tp:grad>sketch(512)\n",
		"at most 500000 rows are kept\n"} {
		if file := asFile(formula, packages); file != "" {
			t.Errorf("%q counts as code", formula)
		}
	}
}

// goSources returns the import paths of our packages and of those that they import, by name,
// and the indented text in the comments of each file.
func goSources(t *testing.T) (packages map[string]string, snippets map[string][]string) {
	t.Helper()
	packages, snippets = map[string]string{}, map[string][]string{}
	imported := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(name, ".") || name == "testdata" ||
			name == "node_modules" || name == "gen"):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		folder, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		if name := file.Name.Name; name != "main" {
			packages[name] = strings.TrimSuffix(modulePath+"/"+filepath.ToSlash(folder), "/.")
		}
		for _, spec := range file.Imports {
			if path, err := strconv.Unquote(spec.Path.Value); err == nil && spec.Name == nil {
				imported[path[strings.LastIndex(path, "/")+1:]] = path
			}
		}
		for _, group := range file.Comments {
			for _, block := range new(comment.Parser).Parse(group.Text()).Content {
				if code, ok := block.(*comment.Code); ok {
					snippets[path] = append(snippets[path], code.Text)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, path := range imported {
		if packages[name] == "" {
			packages[name] = path
		}
	}
	return packages, snippets
}

// asFile returns a Go file with some code, and nothing for a text that is not Go, or names no
// package of ours: a formula.
func asFile(code string, packages map[string]string) string {
	const inside = "\nfunc _() error {\n%s\npanic(0)\n}\n"
	body := code
	if _, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+body, 0); err != nil {
		body = fmt.Sprintf(inside, code)
	}
	file, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+body, 0)
	if err != nil {
		return ""
	}
	imports, ours := map[string]bool{}, false
	ast.Inspect(file, func(n ast.Node) bool {
		if at, ok := n.(*ast.SelectorExpr); ok {
			if name, ok := at.X.(*ast.Ident); ok && packages[name.Name] != "" {
				imports[packages[name.Name]] = true
				ours = ours || strings.HasPrefix(packages[name.Name], modulePath)
			}
		}
		return true
	})
	if !ours {
		return ""
	}
	text := "package p\n"
	for _, path := range slices.Sorted(maps.Keys(imports)) {
		text += fmt.Sprintf("import %q\n", path)
	}
	return text + body
}

func compile(t *testing.T, files map[string]string) {
	t.Helper()
	for _, fault := range faultsOf(t, files) {
		t.Error(fault)
	}
}

// fromElsewhere are the faults of code whose variables are declared, or used, elsewhere.
var fromElsewhere = regexp.MustCompile(`undefined: [a-z]\w*$|declared and not used|imported and not used`)

// faultsOf compiles files, each as a package of its own that lies in the module for the compiler alone.
func faultsOf(t *testing.T, files map[string]string) (faults []string) {
	t.Helper()
	top, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	where := map[string]string{} // by package
	args := []string{"build", "-gcflags=-e", "-overlay", filepath.Join(dir, "overlay.json")}
	for i, name := range slices.Sorted(maps.Keys(files)) {
		folder := fmt.Sprintf("example%d", i)
		written := filepath.Join(dir, folder+".go")
		if err := os.WriteFile(written, []byte(files[name]), 0o600); err != nil {
			t.Fatal(err)
		}
		overlay.Replace[filepath.Join(top, "internal", folder, "p.go")] = written
		where[folder] = name
		args = append(args, "./internal/"+folder)
	}
	raw, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), raw, 0o600); err != nil {
		t.Fatal(err)
	}
	c := exec.Command("go", args...)
	c.Dir = top
	out, err := c.CombinedOutput()
	if err == nil {
		return nil
	}
	said := regexp.MustCompile(`(?m)^.*?(example\d+)\b.*?\.go:\d+:\d+: (.*)$`).FindAllStringSubmatch(string(out), -1)
	if len(said) == 0 {
		return []string{fmt.Sprintf("%v: %s", err, out)}
	}
	for _, m := range said {
		if !fromElsewhere.MatchString(m[2]) {
			faults = append(faults, where[m[1]]+": "+m[2])
		}
	}
	return faults
}

// TestDocsGoNames: what pages call `package.Name` is there, in Go or, of nextbatch, in Python.
func TestDocsGoNames(t *testing.T) {
	declared := goNames(t)
	python, err := os.ReadFile(filepath.Join(root, "python", "src", "nextbatch", "__init__.py"))
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for path, text := range pages(t) {
		for _, m := range regexp.MustCompile("`\\*?([a-z]+)\\.([A-Z]\\w*)(?:\\.\\w+)?`").FindAllStringSubmatch(text, -1) {
			first, name := m[1], m[2]
			if declared[first] == nil || first == "nextbatch" && strings.Contains(string(python), `"`+name+`"`) {
				continue
			}
			count++
			if !declared[first][name] {
				t.Errorf("%s: there is no %s.%s", path, first, name)
			}
		}
	}
	if count < 15 {
		t.Errorf("only %d names were found", count)
	}
}

// goNames returns the names that our packages declare, by package.
func goNames(t *testing.T) map[string]map[string]bool {
	t.Helper()
	names := map[string]map[string]bool{}
	for _, file := range readCode(t).files {
		in := names[file.Name.Name]
		if in == nil {
			in = map[string]bool{}
			names[file.Name.Name] = in
		}
		for _, decl := range file.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				in[decl.Name.Name] = in[decl.Name.Name] || decl.Recv == nil
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						in[spec.Name.Name] = true
					case *ast.ValueSpec:
						for _, name := range spec.Names {
							in[name.Name] = true
						}
					}
				}
			}
		}
	}
	return names
}
