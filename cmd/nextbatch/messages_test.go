package main

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// The tests of this file hold docs/messages.md against the code. A warning has an id, which a comment gives to the
// statement that words it:
//
//	//warning:few-labels
//	return fmt.Sprintf("only %s a label: …", words.Count(n, "row has", "rows have"))
//
// The page quotes it as the code words it. Where the code puts it together from parts, the comment has the text, too.

var writeMessages = flag.Bool("write-messages", false, "write the warnings of docs/messages.md as the code words them")

// TestDocsWarnings: every warning of the code has an id, and docs/messages.md explains each, in the words of the code.
// With -write-messages it writes the words; what to do about a warning is written by people.
func TestDocsWarnings(t *testing.T) {
	c := readCode(t)
	for _, at := range c.warnings() {
		if !slices.ContainsFunc(c.named, func(w warning) bool { return w.of.Pos() <= at && at < w.of.End() }) {
			t.Errorf("%v: a warning without an id: write //warning:ID before its statement", c.set.Position(at))
		}
	}
	said := map[string][]string{} // by id
	for _, w := range c.named {
		for part := range strings.SplitSeq(wordsOf(w.of), "…") {
			if part = strings.Trim(part, " ,;:"); !strings.Contains(w.text, part) {
				t.Errorf("%v: the comment lacks %q", c.set.Position(w.of.Pos()), part)
			}
		}
		if !slices.Contains(said[w.id], w.text) {
			said[w.id] = append(said[w.id], w.text)
		}
	}
	if len(said) < 75 {
		t.Errorf("only %d warnings were found in the code", len(said))
	}
	path := filepath.Join(root, "docs", "messages.md")
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	entry := regexp.MustCompile("(?m)^- \\*\\*([a-z-]+)\\*\\* `[^`]+`(?:,\\s+`[^`]+`)*:\\s+([^ ].*\n(?:  .*\n)*)")
	explained := map[string]bool{}
	page := entry.ReplaceAllStringFunc(string(raw), func(old string) string {
		m := entry.FindStringSubmatch(old)
		if id := m[1]; explained[id] || said[id] == nil {
			t.Errorf("docs/messages.md: %s is explained twice, or no warning of the code", id)
		}
		explained[m[1]] = true
		return folded("- **" + m[1] + "** `" + strings.Join(said[m[1]], "`, `") + "`: " + m[2])
	})
	for id := range said {
		if !explained[id] {
			t.Errorf("docs/messages.md does not explain %s: `%s`", id, strings.Join(said[id], "`, `"))
		}
	}
	if page == string(raw) || t.Failed() {
		return
	}
	if !*writeMessages {
		t.Fatal("docs/messages.md has other words: go test ./cmd/nextbatch -run TestDocsWarnings -write-messages")
	}
	if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestDocsErrors: docs/messages.md quotes errors of the program. Where … stands for a
// name or a number, the parts around it are in the code.
func TestDocsErrors(t *testing.T) {
	_, text, _ := strings.Cut(pages(t)[filepath.Join(root, "docs", "messages.md")], "\n## Errors\n")
	text, _, _ = strings.Cut(text, "\n## ")
	code := readCode(t).texts()
	quoted := regexp.MustCompile("(?m)^- `([^`]+)`").FindAllStringSubmatch(text, -1)
	if len(quoted) < 40 {
		t.Errorf("only %d messages are quoted", len(quoted))
	}
	for _, m := range quoted {
		for part := range strings.SplitSeq(m[1], "…") {
			if part = strings.Trim(part, " ,;:"); !strings.Contains(code, part) {
				t.Errorf("no message has %q, of %q", part, m[1])
			}
		}
	}
}

// folded is an entry of a list in lines of at most 120 columns.
func folded(entry string) string {
	var text strings.Builder
	column := 0
	for i, word := range strings.Fields(entry) {
		width := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case column+1+width > 120:
			text.WriteString("\n ")
			column = 1
			fallthrough
		default:
			text.WriteString(" ")
			column++
		}
		text.WriteString(word)
		column += width
	}
	return text.String() + "\n"
}

// goCode is the Go code of all packages, without tests.
type goCode struct {
	set   *token.FileSet
	files map[string]*ast.File // by path
	named []warning            // in the order of paths
	// returned has the places of the texts that functions return, by folder and name.
	returned map[[2]string][]token.Pos
}

// warning is a statement that words a warning.
type warning struct {
	id, text string
	of       ast.Node
}

func readCode(t *testing.T) *goCode {
	t.Helper()
	c := &goCode{set: token.NewFileSet(), files: map[string]*ast.File{}, returned: map[[2]string][]token.Pos{}}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules"):
			return fs.SkipDir
		case !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		c.files[path], err = parser.ParseFile(c.set, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		return err
	})
	if err != nil || len(c.files) < 100 {
		t.Fatalf("%v, %d files", err, len(c.files))
	}
	for _, path := range slices.Sorted(maps.Keys(c.files)) {
		c.readNames(t, c.files[path])
		for _, d := range c.files[path].Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				at := [2]string{filepath.Dir(path), f.Name.Name}
				ast.Inspect(f, func(n ast.Node) bool {
					if end, ok := n.(*ast.ReturnStmt); ok {
						c.returned[at] = append(c.returned[at], textsIn(end)...)
					}
					return true
				})
			}
		}
	}
	return c
}

// readNames reads the ids of warnings in a file.
func (c *goCode) readNames(t *testing.T, file *ast.File) {
	t.Helper()
	begins := map[int]ast.Node{} // by line: the outermost statement
	ast.Inspect(file, func(n ast.Node) bool {
		switch n.(type) {
		case ast.Stmt, *ast.GenDecl:
			if line := c.set.Position(n.Pos()).Line; begins[line] == nil {
				begins[line] = n
			}
		}
		return true
	})
	for _, group := range file.Comments {
		for _, comment := range group.List {
			name, found := strings.CutPrefix(comment.Text, "//warning:")
			if !found {
				continue
			}
			at := c.set.Position(comment.Pos())
			w := warning{of: begins[at.Line+1]}
			w.id, w.text, _ = strings.Cut(name, " ")
			if w.of == nil {
				t.Errorf("%v: no statement follows", at)
				continue
			}
			if w.text == "" {
				w.text = wordsOf(w.of)
			}
			c.named = append(c.named, w)
		}
	}
}

// texts are the strings of all files, with every name and number that a format inserts replaced by a line break.
func (c *goCode) texts() string {
	var all strings.Builder
	for _, file := range c.files {
		ast.Inspect(file, func(n ast.Node) bool {
			e, ok := n.(ast.Expr)
			if !ok {
				return true
			}
			text, ok := constantText(e)
			all.WriteString(verb.ReplaceAllString(text, "\n") + "\n")
			return !ok
		})
	}
	return all.String()
}

var verb = regexp.MustCompile(`%[-+# 0-9.]*([a-zA-Z%])`)

// constantText returns the value of a string, or of several that + puts together.
func constantText(e ast.Expr) (text string, ok bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, e.Kind == token.STRING && err == nil
	case *ast.BinaryExpr:
		before, first := constantText(e.X)
		after, second := constantText(e.Y)
		return before + after, e.Op == token.ADD && first && second
	}
	return "", false
}

// wordsOf returns the first text of a statement that is more than a name.
func wordsOf(of ast.Node) (words string) {
	ast.Inspect(of, func(n ast.Node) bool {
		if e, ok := n.(ast.Expr); ok && words == "" {
			if text := pattern(e); hasWords(text) {
				words = text
			}
		}
		return words == ""
	})
	return regexp.MustCompile(`…( *…)+`).ReplaceAllString(strings.Trim(strings.TrimPrefix(words, "warning: "), " ;"), "…")
}

// hasWords reports whether a text with … for names and numbers has words.
func hasWords(text string) bool {
	return slices.ContainsFunc(strings.Split(text, "…"), func(part string) bool {
		return len(strings.TrimSpace(part)) > 4
	})
}

// pattern is the text of an expression, with … for names and numbers, and of things that are counted their plural.
func pattern(e ast.Expr) string {
	if text, ok := constantText(e); ok {
		return inserted(text, nil)
	}
	switch e := e.(type) {
	case *ast.BinaryExpr:
		if e.Op == token.ADD {
			return pattern(e.X) + pattern(e.Y)
		}
	case *ast.IndexExpr: // map[bool]string{true: "is", false: "are"}[n == 1]
		if list, ok := e.X.(*ast.CompositeLit); ok {
			for _, element := range list.Elts {
				if pair, ok := element.(*ast.KeyValueExpr); ok && lowerName(pair.Key) == "false" {
					return pattern(pair.Value)
				}
			}
		}
	case *ast.CallExpr:
		switch name := lowerName(e.Fun); {
		case name == "count" && len(e.Args) == 3:
			return "… " + pattern(e.Args[2])
		case name == "isare":
			return "are"
		case slices.Contains([]string{"sprintf", "errorf", "warn", "note", "fprintf"}, name):
			for i, argument := range e.Args {
				if format, ok := constantText(argument); ok {
					return inserted(format, e.Args[i+1:])
				}
			}
		}
	}
	return "…"
}

// inserted is what a format makes of its arguments.
func inserted(format string, arguments []ast.Expr) string {
	return verb.ReplaceAllStringFunc(format, func(verb string) string {
		if verb == "%%" {
			return "%"
		}
		text := "…"
		if len(arguments) > 0 {
			text, arguments = pattern(arguments[0]), arguments[1:]
		}
		return text
	})
}

// warnings lists where the warnings of the code are: the texts of warn(…), note(…) and append(warnings, …), and, where
// a variable or a function has them, the texts that the variable begins with, or that the function returns.
func (c *goCode) warnings() (list []token.Pos) {
	for path, file := range c.files {
		imports := map[string]string{} // their folders by name
		for _, i := range file.Imports {
			if folder, ours := strings.CutPrefix(strings.Trim(i.Path.Value, `"`), "github.com/nextbatch/nextbatch/"); ours {
				imports[filepath.Base(folder)] = filepath.Join(root, filepath.FromSlash(folder))
			}
		}
		saidBy := func(e ast.Expr) []token.Pos {
			if said := textsIn(e); said != nil {
				return said
			}
			call, ok := e.(*ast.CallExpr)
			if !ok {
				return nil
			}
			switch f := call.Fun.(type) {
			case *ast.Ident:
				return c.returned[[2]string{filepath.Dir(path), f.Name}]
			case *ast.SelectorExpr:
				from := filepath.Dir(path)
				if of, ok := f.X.(*ast.Ident); ok && imports[of.Name] != "" {
					from = imports[of.Name]
				}
				if f.Sel.Name != "Error" { // errors have a part of the page to themselves
					return c.returned[[2]string{from, f.Sel.Name}]
				}
			}
			return nil
		}
		for _, d := range file.Decls {
			texts := map[string][]token.Pos{}
			ast.Inspect(d, func(n ast.Node) bool {
				set, ok := n.(*ast.AssignStmt)
				for i := 0; ok && i < len(set.Lhs); i++ {
					to, isName := set.Lhs[i].(*ast.Ident)
					if !isName || set.Tok != token.DEFINE && to.Name != "warnings" {
						continue
					}
					said := saidBy(set.Rhs[min(i, len(set.Rhs)-1)])
					if _, isList := set.Rhs[0].(*ast.CompositeLit); isList && to.Name == "warnings" {
						list = append(list, said...)
					}
					texts[to.Name] = append(texts[to.Name], said...)
				}
				return true
			})
			ast.Inspect(d, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok || !warns(call, !asides.MatchString(filepath.ToSlash(path))) {
					return true
				}
				if hasWords(pattern(call)) { // warn and note take formats
					list = append(list, call.Pos())
					return true
				}
				for _, argument := range call.Args {
					if name, ok := argument.(*ast.Ident); ok {
						list = append(list, texts[name.Name]...)
					}
					list = append(list, saidBy(argument)...)
				}
				return true
			})
		}
	}
	return list
}

// textsIn lists where texts are that a statement returns, or that an expression consists of; not those that it hands to
// a function.
func textsIn(of ast.Node) (list []token.Pos) {
	ast.Inspect(of, func(n ast.Node) bool {
		e, ok := n.(ast.Expr)
		if !ok {
			return true
		}
		call, isCall := e.(*ast.CallExpr)
		if isCall && lowerName(call.Fun) == "errorf" {
			return false
		}
		if hasWords(pattern(e)) {
			list = append(list, e.Pos())
			return false
		}
		return !isCall || slices.Contains([]string{"append", "concat"}, lowerName(call.Fun))
	})
	return list
}

// asides match the files whose notes are not warnings: they say how a table was read, what candidates are, or what a
// page shows.
var asides = regexp.MustCompile(`(dataset|internal)/source/|tables/|internal/(earlierdata|server|space)/`)

// warns reports whether a call is warn(…), note(…), append(warnings, …) or, with notes, append(notes, …).
func warns(call *ast.CallExpr, notes bool) bool {
	switch lowerName(call.Fun) {
	case "warn", "note":
		return true
	case "append":
		to := lowerName(call.Args[0])
		return to == "warnings" || notes && to == "notes"
	}
	return false
}

// lowerName is the name of a variable, a field or a function, in lower case.
func lowerName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return strings.ToLower(e.Name)
	case *ast.SelectorExpr:
		return strings.ToLower(e.Sel.Name)
	}
	return ""
}
