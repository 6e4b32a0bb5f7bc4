package main

import (
	"bytes"
	"fmt"
	"html"
	"html/template"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"

	"github.com/alecthomas/chroma/v2"
	chromahtml "github.com/alecthomas/chroma/v2/formatters/html"
	"github.com/alecthomas/chroma/v2/lexers"
	"github.com/alecthomas/chroma/v2/styles"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	tables "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	renderhtml "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Pages are XML as well as HTML, so that a strict parser can check them.
var markdown = goldmark.New(
	goldmark.WithExtensions(extension.Table, extension.DefinitionList),
	goldmark.WithParserOptions(parser.WithAutoHeadingID(), parser.WithHeadingAttribute()),
	goldmark.WithRendererOptions(renderhtml.WithXHTML(), renderer.WithNodeRenderers(util.Prioritized(elements{}, 1))),
)

// parse reads the text of a page: its title, and the headings and sections of it. Numbers in tables are marked.
func (s *site) parse(p *page) {
	context := parser.NewContext(parser.WithIDs(&slugs{used: map[string]int{}}))
	p.tree = markdown.Parser().Parse(text.NewReader(p.text), parser.WithContext(context))
	p.sections = []section{{}}
	for node := p.tree.FirstChild(); node != nil; node = node.NextSibling() {
		if h, ok := node.(*ast.Heading); ok {
			id, _ := h.AttributeString("id")
			words, name := textOf(h, p.text), fmt.Sprintf("%s", id)
			if h.Level == 1 && p.title == "" {
				p.title = words
				p.sections[0].heading = words
				continue
			}
			p.sections = append(p.sections, section{id: name, heading: words})
			if h.Level <= 3 {
				p.outline = append(p.outline, heading{h.Level, name, words})
			}
			continue
		}
		p.sections[len(p.sections)-1].text.WriteString(textOf(node, p.text) + " ")
	}
	if p.title == "" {
		s.fault("%s: there is no title", p.source)
	}
	_ = ast.Walk(p.tree, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		switch node := node.(type) {
		case *ast.FencedCodeBlock:
			if entering && len(node.Language(p.text)) == 0 {
				s.fault("%s:%d: a code block names no language", p.source, lineOf(node, p.text))
			}
		case *tables.Table:
			if entering {
				markNumbers(node, p.text)
			}
		}
		return ast.WalkContinue, nil
	})
}

// lineOf returns the line of a code block's fence, from 1.
func lineOf(block ast.Node, source []byte) int {
	if block.Lines().Len() == 0 {
		return 0
	}
	return bytes.Count(source[:block.Lines().At(0).Start], []byte("\n"))
}

// renderBody makes the HTML of a page. Links are resolved first.
func (s *site) renderBody(p *page) error {
	s.resolve(p)
	body, err := markup(p, p.tree)
	p.body = body
	return err
}

func markup(p *page, node ast.Node) (template.HTML, error) {
	var b bytes.Buffer
	err := markdown.Renderer().Render(&b, p.text, node)
	return template.HTML(b.String()), err
}

// textOf returns the words of a node, of its code too.
func textOf(node ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(node, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			if n.Type() == ast.TypeBlock {
				b.WriteByte(' ')
			}
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			b.Write(util.UnescapePunctuations(n.Segment.Value(source)))
			if n.SoftLineBreak() || n.HardLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.String:
			b.Write(n.Value)
		case *ast.FencedCodeBlock, *ast.CodeBlock:
			b.Write(n.Lines().Value(source))
		}
		return ast.WalkContinue, nil
	})
	return html.UnescapeString(strings.Join(strings.Fields(b.String()), " "))
}

// linksIn returns the addresses that the links of a node lead to.
func linksIn(node ast.Node) (list []string) {
	_ = ast.Walk(node, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if link, ok := n.(*ast.Link); ok && entering {
			list = append(list, string(link.Destination))
		}
		return ast.WalkContinue, nil
	})
	return list
}

// resolve replaces links to pages and files of the project by addresses in the site, and makes elements of the
// pictures that are written as HTML.
func (s *site) resolve(p *page) {
	var blocks []*ast.HTMLBlock
	_ = ast.Walk(p.tree, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch node := node.(type) {
		case *ast.Link:
			node.Destination = []byte(s.address(p, string(node.Destination)))
		case *ast.Image:
			node.Destination = []byte(s.address(p, string(node.Destination)))
			node.SetAttributeString("class", "plain")
		case *ast.AutoLink:
			s.external[string(node.URL(p.text))] = true
		case *ast.HTMLBlock:
			blocks = append(blocks, node)
		case *ast.RawHTML:
			s.fault("%s: a tag within a text", p.source)
		}
		return ast.WalkContinue, nil
	})
	for _, block := range blocks {
		if isComment(block, p.text) {
			block.Parent().RemoveChild(block.Parent(), block)
			continue
		}
		if made := s.picture(p, string(block.Lines().Value(p.text))); made != nil {
			block.Parent().ReplaceChild(block.Parent(), block, made)
		}
	}
}

// isComment reports whether a block of HTML is a comment of one line, such as those that mark what a script writes.
func isComment(block ast.Node, text []byte) bool {
	line := strings.TrimSpace(string(block.Lines().Value(text)))
	return strings.HasPrefix(line, "<!--") && strings.Index(line, "-->") == len(line)-len("-->")
}

// address returns where a link of a page leads in the site.
func (s *site) address(p *page, written string) string {
	target, err := url.Parse(written)
	if err != nil {
		s.fault("%s: %v", p.source, err)
		return written
	}
	if target.Scheme != "" {
		s.external[written] = true
		return written
	}
	if target.Path == "" {
		return written
	}
	source, here := path.Join(path.Dir(p.source), target.Path), outPath(p.source)
	if path.Ext(source) == ".go" { // a copy would be a package of the project, as long as the site lies within it
		source = goSource(path.Dir(source))
	}
	if s.pages[source] != nil {
		target.Path = relative(here, outPath(source))
		return target.String()
	}
	content, err := os.ReadFile(filepath.Join(s.root, filepath.FromSlash(source)))
	if err != nil || strings.HasPrefix(source, "..") {
		s.fault("%s: there is no %s", p.source, written)
		return written
	}
	s.files[source] = content
	target.Path = relative(here, source)
	return target.String()
}

// picture is an element that shows one of several pictures.
type picture struct {
	ast.BaseBlock
	html string
}

var kindPicture = ast.NewNodeKind("Picture")

func (*picture) Kind() ast.NodeKind              { return kindPicture }
func (n *picture) Dump(source []byte, level int) { ast.DumpHelper(n, source, level, nil, nil) }
func (*picture) IsRaw() bool                     { return true }

var (
	pictureForm   = regexp.MustCompile(`(?s)^\s*<picture>\s*((?:<source [^>]*>\s*)*)<img ([^>]*)>\s*</picture>\s*$`)
	sourceForm    = regexp.MustCompile(`<source media="([^"]*)" srcset="([^"]*)" ?/?>`)
	attributeForm = regexp.MustCompile(`([a-z]+)="([^"]*)"`)
)

// picture reads the only HTML that pages contain: <picture>, with variants for dark themes and narrow windows.
func (s *site) picture(p *page, written string) ast.Node {
	parts := pictureForm.FindStringSubmatch(written)
	if parts == nil {
		s.fault("%s: only <picture> may be written as HTML, not\n%s", p.source, written)
		return nil
	}
	var b strings.Builder
	b.WriteString("<p><picture>")
	for _, m := range sourceForm.FindAllStringSubmatch(parts[1], -1) {
		fmt.Fprintf(&b, `<source media="%s" srcset="%s" />`, m[1], s.address(p, m[2]))
	}
	values := map[string]string{}
	for _, m := range attributeForm.FindAllStringSubmatch(parts[2], -1) {
		values[m[1]] = m[2]
	}
	fmt.Fprintf(&b, `<img src="%s" alt="%s" loading="lazy" /></picture></p>`, s.address(p, values["src"]), values["alt"])
	return &picture{html: b.String()}
}

// elements writes what differs from plain Markdown: headings with links to themselves, code in colours, tables
// in boxes that scroll, and pictures.
type elements struct{}

func (e elements) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindHeading, e.heading)
	r.Register(ast.KindCodeSpan, e.codeSpan)
	r.Register(ast.KindFencedCodeBlock, e.code)
	r.Register(ast.KindCodeBlock, e.code)
	r.Register(tables.KindTable, e.table)
	r.Register(kindPicture, e.picture)
}

func (elements) heading(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	h := node.(*ast.Heading)
	id, _ := h.AttributeString("id")
	if entering {
		fmt.Fprintf(w, `<h%d id="%s">`, h.Level, id)
	} else if h.Level == 1 {
		fmt.Fprintln(w, "</h1>")
	} else {
		fmt.Fprintf(w, ` <a class="anchor" href="#%s" aria-label="Link to this section">#</a></h%d>`+"\n", id, h.Level)
	}
	return ast.WalkContinue, nil
}

// codeSpan keeps short code, such as a flag, on one line.
func (elements) codeSpan(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	var code strings.Builder
	for child := node.FirstChild(); child != nil; child = child.NextSibling() {
		code.Write(child.(*ast.Text).Segment.Value(source))
	}
	class := ""
	if code.Len() <= 24 {
		class = ` class="short"`
	}
	fmt.Fprintf(w, "<code%s>%s</code>", class, html.EscapeString(strings.ReplaceAll(code.String(), "\n", " ")))
	return ast.WalkSkipChildren, nil
}

func (elements) code(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	language := "text"
	if fenced, ok := node.(*ast.FencedCodeBlock); ok {
		language = string(fenced.Language(source))
	}
	shown, err := coloured(string(node.Lines().Value(source)), language)
	fmt.Fprintf(w, `<div class="code"><pre tabindex="0" data-language="%s"><code>%s</code></pre></div>`+"\n", language,
		shown)
	return ast.WalkSkipChildren, err
}

var colours = chromahtml.New(chromahtml.WithClasses(true), chromahtml.PreventSurroundingPre(true))

// coloured marks the parts of some code.
func coloured(code, language string) (string, error) {
	lexer := lexers.Get(language)
	if lexer == nil || language == "csv" {
		lexer = lexers.Fallback
	}
	tokens, err := chroma.Tokenise(lexer, nil, code)
	if err != nil {
		return "", err
	}
	if language == "sh" {
		tokens = quiet(tokens)
	}
	var b strings.Builder
	err = colours.Format(&b, styles.Fallback, chroma.Literator(tokens...))
	return b.String(), err
}

// quiet leaves comments and texts in quotes their colours: the words of a command are not keywords of a shell.
func quiet(tokens []chroma.Token) []chroma.Token {
	for i, token := range tokens {
		if !token.Type.InCategory(chroma.Comment) && !token.Type.InSubCategory(chroma.LiteralString) {
			tokens[i].Type = chroma.Text
		}
	}
	return tokens
}

func (elements) table(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		fmt.Fprint(w, "</table></div>\n")
		return ast.WalkContinue, nil
	}
	class := ""
	if kind, ok := node.AttributeString("class"); ok {
		class = fmt.Sprintf(` class="%s"`, kind)
	}
	fmt.Fprintf(w, `<div class="table" tabindex="0"><table%s>`+"\n", class)
	return ast.WalkContinue, nil
}

func (elements) picture(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		fmt.Fprintln(w, node.(*picture).html)
	}
	return ast.WalkContinue, nil
}

var numberForm = regexp.MustCompile(`^([-−+]?[0-9][0-9,.]*)(?: ?± ?[0-9.]+)?(?: ?\([-−+]?[0-9.]+\))?( ?[%a-zA-Zµ]*)$`)

// markNumbers marks the columns of a table whose cells are numbers in one unit. A longer table with such a column
// can be sorted.
func markNumbers(table *tables.Table, source []byte) {
	var rows []ast.Node
	for row := table.FirstChild(); row != nil; row = row.NextSibling() {
		rows = append(rows, row)
	}
	any := false
	for column := range table.Alignments {
		if !numeric(rows[1:], column, source) {
			continue
		}
		any = true
		for _, row := range rows {
			if cell := childAt(row, column); cell != nil {
				cell.SetAttributeString("class", []byte("number"))
			}
		}
	}
	if any && len(rows) > 4 {
		table.SetAttributeString("class", []byte("sortable"))
	}
}

func numeric(rows []ast.Node, column int, source []byte) bool {
	count, unit := 0, ""
	for _, row := range rows {
		cell := childAt(row, column)
		if cell == nil {
			return false
		}
		words := textOf(cell, source)
		if words == "" || words == "–" || words == "-" {
			continue
		}
		m := numberForm.FindStringSubmatch(words)
		if m == nil || count > 0 && m[2] != unit {
			return false
		}
		unit = m[2]
		count++
	}
	return count > 0
}

func childAt(node ast.Node, at int) ast.Node {
	child := node.FirstChild()
	for ; child != nil && at > 0; at-- {
		child = child.NextSibling()
	}
	return child
}

// slugs names headings as GitHub does, so that links to them work in both places.
type slugs struct{ used map[string]int }

func (s *slugs) Generate(value []byte, _ ast.NodeKind) []byte {
	var b strings.Builder
	for _, r := range strings.ToLower(strings.TrimSpace(string(value))) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			b.WriteRune(r)
		}
	}
	slug := b.String()
	s.used[slug]++
	if n := s.used[slug] - 1; n > 0 {
		slug = fmt.Sprintf("%s-%d", slug, n)
	}
	return []byte(slug)
}

func (s *slugs) Put(value []byte) { s.used[string(value)]++ }

var special = regexp.MustCompile("[\\\\`*_\\[\\]<>#|~&{}$]")

// escaped writes a text so that Markdown shows it as it is.
func escaped(words string) string { return special.ReplaceAllString(words, `\$0`) }

// codeSpan shows a text as code. In a cell of a table, | needs a backslash.
func codeSpan(words string) string {
	ticks := "`"
	for strings.Contains(words, ticks) {
		ticks += "`"
	}
	return ticks + strings.ReplaceAll(words, "|", `\|`) + ticks
}

// fenced shows a text as a block of code.
func fenced(language, code string) string {
	return fmt.Sprintf("````%s\n%s\n````\n\n", language, strings.TrimRight(code, "\n"))
}
