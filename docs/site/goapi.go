package main

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/build"
	"go/doc"
	"go/doc/comment"
	"go/format"
	"go/parser"
	"go/printer"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

const modulePath = "github.com/nextbatch/nextbatch"

// goPackage is a package that docs/stability.md promises to keep.
type goPackage struct {
	*doc.Package
	folder string
	files  *token.FileSet
	names  map[string]bool // anchors of its page
}

// source is the page of a package.
func (p *goPackage) source() string { return goSource(p.folder) }

func goSource(folder string) string {
	if folder == "." {
		return "api/go/nextbatch.md"
	}
	return "api/go/" + folder + ".md"
}

// addGo makes a page of each public package.
func (s *site) addGo() error {
	packages, err := s.goPackages()
	if err != nil {
		return err
	}
	byPath := map[string]*goPackage{}
	for _, p := range packages {
		byPath[p.ImportPath] = p
	}
	var index strings.Builder
	index.WriteString("# The Go packages\n\n[What a version promises](../../docs/stability.md) for them; [a first " +
		"program](../../docs/quickstart-go.md).\n\n| package | what it does |\n|---|---|\n")
	for _, p := range packages {
		about := p.Synopsis(p.Doc)
		label := cmp.Or(strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, modulePath), "/"), "nextbatch")
		fmt.Fprintf(&index, "| [%s](%s) | %s |\n", label, strings.TrimPrefix(p.source(), "api/go/"), escaped(about))
		text, err := p.markdown(byPath)
		if err != nil {
			return err
		}
		s.add(p.source(), label, text)
	}
	s.add("api/go/README.md", "All packages", index.String())
	return nil
}

func (s *site) goPackages() (list []*goPackage, err error) {
	// The declarations are the same everywhere; the platform decides only which files are read.
	context := build.Default
	context.GOOS, context.GOARCH, context.CgoEnabled = "linux", "amd64", false
	err = filepath.WalkDir(s.root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		folder, err := filepath.Rel(s.root, file)
		if err != nil {
			return err
		}
		if folder != "." && hidden(entry.Name()) {
			return fs.SkipDir
		}
		folder = filepath.ToSlash(folder)
		found, err := context.ImportDir(file, 0)
		if _, none := err.(*build.NoGoError); none {
			return nil
		} else if err != nil {
			return err
		}
		p, err := readPackage(token.NewFileSet(), file, folder, found)
		if err == nil {
			err = p.follow(s.root)
		}
		list = append(list, p)
		return err
	})
	slices.SortFunc(list, func(a, b *goPackage) int { return strings.Compare(a.ImportPath, b.ImportPath) })
	return list, err
}

// hidden are folders without packages for others.
func hidden(name string) bool {
	return strings.HasPrefix(name, ".") || slices.Contains([]string{"internal", "cmd", "storetest", "testdata",
		"node_modules", "docs", "python", "dist"}, name)
}

func readPackage(set *token.FileSet, file, folder string, found *build.Package) (*goPackage, error) {
	var files []*ast.File
	for _, name := range slices.Concat(found.GoFiles, found.TestGoFiles, found.XTestGoFiles) {
		tree, err := parser.ParseFile(set, filepath.Join(file, name), nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		files = append(files, tree)
	}
	p, err := doc.NewFromFiles(set, files, path.Join(modulePath, folder))
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, f := range p.Funcs {
		names[f.Name] = true
	}
	for _, t := range p.Types {
		names[t.Name] = true
		for _, f := range t.Funcs {
			names[f.Name] = true
		}
		for _, m := range t.Methods {
			names[t.Name+"."+m.Name] = true
		}
	}
	return &goPackage{p, folder, set, names}, nil
}

// follow describes types that are defined in internal packages, which have no pages, as if they were defined here.
func (p *goPackage) follow(root string) error {
	for _, t := range p.Types {
		spec := t.Decl.Specs[0].(*ast.TypeSpec)
		of, _ := spec.Type.(*ast.SelectorExpr)
		if !spec.Assign.IsValid() || of == nil {
			continue
		}
		at := slices.IndexFunc(p.Imports, func(name string) bool { return path.Base(name) == of.X.(*ast.Ident).Name })
		if at < 0 || !strings.Contains(p.Imports[at], "/internal/") {
			continue
		}
		folder := strings.TrimPrefix(p.Imports[at], modulePath+"/")
		file := filepath.Join(root, filepath.FromSlash(folder))
		found, err := build.ImportDir(file, 0)
		if err != nil {
			return err
		}
		inner, err := readPackage(p.files, file, folder, found)
		if err != nil {
			return err
		}
		for _, there := range inner.Types {
			if there.Name == of.Sel.Name {
				t.Decl, t.Doc, t.Methods = there.Decl, there.Doc, there.Methods
			}
		}
		for _, m := range t.Methods {
			p.names[t.Name+"."+m.Name] = true
		}
	}
	return nil
}

// goWriter writes the page of a package.
type goWriter struct {
	*goPackage
	all map[string]*goPackage
	out strings.Builder
	err error
}

func (p *goPackage) markdown(all map[string]*goPackage) (string, error) {
	w := &goWriter{goPackage: p, all: all}
	fmt.Fprintf(&w.out, "# package %s\n\n%s", p.Name, fenced("go", fmt.Sprintf("import %q", p.ImportPath)))
	w.comment(p.Doc)
	w.examples(p.Examples)
	w.values("Constants", p.Consts)
	w.values("Variables", p.Vars)
	if len(p.Funcs) > 0 {
		w.out.WriteString("## Functions\n\n")
		w.functions(3, p.Funcs)
	}
	if len(p.Types) > 0 {
		w.out.WriteString("## Types\n\n")
	}
	for _, t := range p.Types {
		fmt.Fprintf(&w.out, "### type %s {#%s}\n\n", t.Name, t.Name)
		w.declaration(t.Decl)
		w.comment(t.Doc)
		w.examples(t.Examples)
		for _, v := range slices.Concat(t.Consts, t.Vars) {
			w.declaration(v.Decl)
			w.comment(v.Doc)
		}
		w.functions(4, t.Funcs)
		w.functions(4, t.Methods)
	}
	return w.out.String(), w.err
}

func (w *goWriter) values(title string, list []*doc.Value) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(&w.out, "## %s\n\n", title)
	for _, v := range list {
		w.declaration(v.Decl)
		w.comment(v.Doc)
	}
}

func (w *goWriter) functions(level int, list []*doc.Func) {
	for _, f := range list {
		name, anchor := f.Name, f.Name
		if f.Recv != "" {
			name = fmt.Sprintf("(%s) %s", f.Recv, f.Name)
			receiver, _, _ := strings.Cut(strings.TrimPrefix(f.Recv, "*"), "[")
			anchor = receiver + "." + f.Name
		}
		fmt.Fprintf(&w.out, "%s func %s {#%s}\n\n", strings.Repeat("#", level), escaped(name), anchor)
		w.declaration(f.Decl)
		w.comment(f.Doc)
		w.examples(f.Examples)
	}
}

func (w *goWriter) declaration(node ast.Node) { w.out.WriteString(fenced("go", w.printed(node))) }

func (w *goWriter) printed(node any) string {
	var b bytes.Buffer
	if err := format.Node(&b, w.files, node); err != nil && w.err == nil {
		w.err = err
	}
	return b.String()
}

func (w *goWriter) examples(list []*doc.Example) {
	for _, e := range list {
		title := "**Example**"
		if e.Suffix != "" {
			title += " (" + escaped(e.Suffix) + ")"
		}
		w.out.WriteString(title + "\n\n")
		w.comment(e.Doc)
		body := w.printed(&printer.CommentedNode{Node: e.Code, Comments: e.Comments})
		if _, block := e.Code.(*ast.BlockStmt); block {
			body = strings.ReplaceAll(strings.Trim(body, "{}\n"), "\n\t", "\n")
			body = strings.TrimPrefix(body, "\t")
		}
		w.out.WriteString(fenced("go", body))
		if e.Output != "" {
			w.out.WriteString("Output:\n\n" + fenced("text", e.Output))
		}
	}
}

// comment writes a comment, with links to what it names.
func (w *goWriter) comment(text string) {
	if text == "" {
		return
	}
	printer := w.Printer()
	printer.HeadingLevel = 4
	printer.HeadingID = func(*comment.Heading) string { return "" }
	printer.DocLinkURL = w.link
	w.out.Write(printer.Markdown(w.Parser().Parse(text)))
	w.out.WriteString("\n")
}

// link returns the address of a name in a comment.
func (w *goWriter) link(link *comment.DocLink) string {
	name := link.Name
	if link.Recv != "" {
		name = strings.TrimPrefix(link.Recv, "*") + "." + name
	}
	if link.ImportPath != "" && !strings.HasPrefix(link.ImportPath+"/", modulePath+"/") {
		return link.DefaultURL("https://pkg.go.dev")
	}
	target, address := w.goPackage, ""
	if link.ImportPath != "" {
		target = w.all[link.ImportPath]
		if target == nil { // not a public one
			return "#"
		}
		address = strings.Repeat("../", strings.Count(w.source(), "/")) + target.source()
	}
	if target.names[name] {
		return address + "#" + name
	}
	return address
}
