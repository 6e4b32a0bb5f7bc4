package nextbatch_test

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/nextbatch/nextbatch"
)

// TestHouseStaysSmall holds what makes this package readable, and what a version promises: a change that adds takes
// something away.
func TestHouseStaysSmall(t *testing.T) {
	t.Parallel()
	files, lines := 0, 0
	for _, path := range sourcesOf(t, ".") {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files++
		lines += strings.Count(string(raw), "\n")
	}
	names, packages := 0, 0
	for _, pkg := range promised(t) {
		packages++
		names += exportedNames(t, pkg)
	}
	for _, count := range []struct {
		what      string
		got, most int
	}{
		{"files of the root", files, 10},
		{"lines of the root", lines, 2393},
		{"fields of Request", reflect.TypeFor[nextbatch.Request]().NumField(), 15},
		{"methods of Plan", methodsOf(t, ".", "Plan"), 25},
		{"methods of Campaign", methodsOf(t, "campaign", "Campaign"), 63},
		{"methods of State", methodsOf(t, "campaign", "State"), 51},
		{"packages that a version promises", packages, 17},
		{"exported names of these packages, with methods", names, 998},
		{"lines of Go over 120 columns", wideLines(t, ".go", fieldTag), 0},
		{"lines of prose over 120 columns", wideLines(t, ".md", notProse), 0},
		{"words of docs", wordsOfDocs(t), 41_050},
	} {
		if count.got > count.most {
			t.Errorf("there are %d %s, and at most %d are allowed", count.got, count.what, count.most)
		}
		t.Logf("%s: %d of %d", count.what, count.got, count.most)
	}
}

// sourcesOf lists the Go files of a folder that are not tests.
func sourcesOf(t *testing.T, folder string) (list []string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if !strings.HasSuffix(path, "_test.go") {
			list = append(list, path)
		}
	}
	return list
}

// promised lists the packages that docs/stability.md promises: all that others can import but test suites.
func promised(t *testing.T) (list []string) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("docs", "stability.md"))
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`(?m)^\| Go \| (.*)$`).FindString(string(raw))
	closed := regexp.MustCompile(`(^|/)internal/|^cmd(/|$)|storetest$|kerneltest$|selectiontest$`)
	for _, pkg := range slices.Sorted(maps.Keys(table)) {
		if closed.MatchString(pkg) {
			continue
		}
		list = append(list, pkg)
		if name := cmp.Or(strings.TrimPrefix(pkg, root), "nextbatch"); !strings.Contains(row, "`"+name+"`") {
			t.Errorf("docs/stability.md does not list %s", name)
		}
	}
	if said := strings.Count(row, "`") / 2; said != len(list) {
		t.Errorf("docs/stability.md lists %d packages, and there are %d", said, len(list))
	}
	return list
}

// declarations visits what the files of a package declare at their top.
func declarations(t *testing.T, pkg string, visit func(ast.Decl)) {
	t.Helper()
	for _, path := range sourcesOf(t, filepath.FromSlash(pkg)) {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			visit(d)
		}
	}
}

// exportedNames counts the exported names of a package: types, functions, values, and methods of exported types.
func exportedNames(t *testing.T, pkg string) (count int) {
	t.Helper()
	add := func(name *ast.Ident) {
		if name.IsExported() {
			count++
		}
	}
	declarations(t, pkg, func(d ast.Decl) {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil || ast.IsExported(receiver(d)) {
				add(d.Name)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					add(s.Name)
				case *ast.ValueSpec:
					for _, name := range s.Names {
						add(name)
					}
				}
			}
		}
	})
	return count
}

// methodsOf counts the methods of a type, exported or not.
func methodsOf(t *testing.T, pkg, name string) (count int) {
	t.Helper()
	declarations(t, pkg, func(d ast.Decl) {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil && receiver(f) == name {
			count++
		}
	})
	return count
}

// receiver returns the name of the type that a method belongs to.
func receiver(f *ast.FuncDecl) string {
	of := f.Recv.List[0].Type
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	switch generic := of.(type) {
	case *ast.IndexExpr:
		of = generic.X
	case *ast.IndexListExpr:
		of = generic.X
	}
	if name, ok := of.(*ast.Ident); ok {
		return name.Name
	}
	return ""
}

// What cannot be folded: the tag of a field in Go; in Markdown rows of tables, pictures and what code blocks hold.
var (
	fieldTag  = regexp.MustCompile("`(json|query|header|doc):\".*`$")
	notProse  = regexp.MustCompile(`^ *(\||!\[|<img )`)
	codeBlock = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
)

// wideLines counts the lines that are wider than a page in files with an ending, but for those that cannot be folded.
func wideLines(t *testing.T, ending string, unfoldable *regexp.Regexp) (count int) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || path != "." && strings.HasPrefix(d.Name(), ".")):
			return filepath.SkipDir
		case !strings.HasSuffix(path, ending):
			return nil
		}
		raw, err := os.ReadFile(path)
		if ending == ".md" {
			raw = codeBlock.ReplaceAll(raw, nil)
		}
		for _, line := range strings.Split(string(raw), "\n") {
			if utf8.RuneCountInString(line) > 120 && !unfoldable.MatchString(line) {
				t.Logf("too wide: %s: %s", path, line)
				count++
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return count
}

// wordsOfDocs counts the words of the pages in docs.
func wordsOfDocs(t *testing.T) (count int) {
	t.Helper()
	pages, err := filepath.Glob(filepath.Join("docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		raw, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		count += len(strings.Fields(string(raw)))
	}
	return count
}
