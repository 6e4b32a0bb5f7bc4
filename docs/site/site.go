package main

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// page is a text in Markdown on its way to a file of the site. Its source is the path of the text in the
// project, or where it would be if the text were not made.
type page struct {
	source   string
	text     []byte
	label    string // in the navigation; the title, unless it is set
	title    string
	tree     ast.Node
	outline  []heading
	sections []section // for the search
	body     template.HTML
}

// heading is an entry of the list of what is on a page.
type heading struct {
	Level    int
	ID, Text string
}

// section is what the search finds: the text below a heading.
type section struct {
	id, heading string
	text        strings.Builder
}

// group is a part of the navigation.
type group struct {
	name  string
	pages []*page
}

type site struct {
	root     string
	pages    map[string]*page // by source
	groups   []group
	files    map[string][]byte // of the site, by path
	external map[string]bool   // addresses of other sites
	faults   []string
}

func newSite(root string) *site {
	return &site{root: root, pages: map[string]*page{}, files: map[string][]byte{}, external: map[string]bool{}}
}

func (s *site) fault(format string, args ...any) {
	s.faults = append(s.faults, fmt.Sprintf(format, args...))
}

// add makes a page of a text.
func (s *site) add(source, label, text string) *page {
	p := &page{source: source, label: label, text: []byte(text)}
	s.pages[source] = p
	return p
}

// readPages reads the project's own pages.
func (s *site) readPages() error {
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/recipes/*.md"} {
		paths, err := fs.Glob(os.DirFS(s.root), pattern)
		if err != nil {
			return err
		}
		for _, source := range paths {
			text, err := os.ReadFile(filepath.Join(s.root, filepath.FromSlash(source)))
			if err != nil {
				return err
			}
			s.add(source, "", strings.ReplaceAll(string(text), "\r\n", "\n"))
		}
	}
	return nil
}

const (
	frontSource = "README.md"
	indexSource = "docs/README.md"
)

// arrange puts the pages into the navigation. That of the documentation is the order of its index: its headings
// are groups, and the pages are those that the text below them links to.
func (s *site) arrange() error {
	for _, p := range s.sorted() {
		s.parse(p)
	}
	index := s.pages[indexSource]
	if index == nil || s.pages[frontSource] == nil {
		return errors.New("there is no README.md, or no docs/README.md")
	}
	placed := map[*page]bool{index: true, s.pages[frontSource]: true}
	var groups []group
	for node := index.tree.FirstChild(); node != nil; node = node.NextSibling() {
		if h, ok := node.(*ast.Heading); ok && h.Level == 2 {
			groups = append(groups, group{name: textOf(h, index.text)})
			continue
		}
		for _, target := range linksIn(node) {
			p := s.pages[path.Join("docs", target)]
			if p == nil || placed[p] || len(groups) == 0 || path.Dir(p.source) != "docs" {
				continue
			}
			placed[p] = true
			last := &groups[len(groups)-1]
			last.pages = append(last.pages, p)
			if p.source == paperSource {
				last.pages = append(last.pages, s.pages[tablesSource])
				placed[s.pages[tablesSource]] = true
			}
		}
	}
	if len(groups) == 0 {
		return errors.New("docs/README.md has no heading of the second level")
	}
	index.label = "All pages"
	groups[0].pages = slices.Insert(groups[0].pages, 0, index)
	for _, more := range []struct{ name, prefix string }{
		{"Recipes", "docs/recipes/"}, {"Commands", "commands/"}, {"Python", "api/python/"},
		{"Go", "api/go/"}, {"Project", ""},
	} {
		g := group{name: more.name}
		for _, p := range s.sorted() {
			if !placed[p] && strings.HasPrefix(p.source, more.prefix) &&
				(more.prefix != "" || !strings.Contains(p.source, "/")) {
				placed[p] = true
				g.pages = append(g.pages, p)
			}
		}
		if len(g.pages) > 0 {
			groups = append(groups, g)
		}
	}
	for _, p := range s.sorted() {
		if !placed[p] {
			s.fault("%s: %s does not link to it, so the site does not show it", p.source, indexSource)
		}
	}
	s.groups = groups
	return nil
}

// sorted returns the pages by their names, the index of a folder first.
func (s *site) sorted() []*page {
	key := func(p *page) string {
		return strings.TrimSuffix(strings.TrimSuffix(outPath(p.source), ".html"), "index")
	}
	return slices.SortedFunc(maps.Values(s.pages), func(a, b *page) int { return strings.Compare(key(a), key(b)) })
}

// outPath is the path of a page in the site.
func outPath(source string) string {
	folder, name := path.Split(source)
	if name == "README.md" {
		return folder + "index.html"
	}
	return folder + strings.TrimSuffix(name, ".md") + ".html"
}

// relative returns the address of a file of the site, as seen from a page.
func relative(from, to string) string {
	return strings.Repeat("../", strings.Count(from, "/")) + to
}

//go:embed assets
var assets embed.FS

var layouts = template.Must(template.ParseFS(assets, "assets/*.html"))

// view is what the layout of a page shows.
type view struct {
	Front          bool
	Root           string // the way to the top of the site
	Title          string
	Groups         []viewGroup
	Outline        []heading
	Body           template.HTML
	Previous, Next *viewLink
	Hero           hero
}

type viewGroup struct {
	Name  string
	Open  bool
	Links []viewLink
}

type viewLink struct {
	Address, Label string
	Here           bool
}

// render makes the files of the site.
func (s *site) render() error {
	for _, p := range s.sorted() {
		if err := s.renderBody(p); err != nil {
			return err
		}
	}
	order := []*page{}
	for _, g := range s.groups {
		order = append(order, g.pages...)
	}
	for _, p := range s.sorted() {
		v := s.view(p, order)
		name := "page.html"
		if p.source == frontSource {
			h, err := s.hero(p)
			if err != nil {
				return err
			}
			v.Front, v.Hero, v.Body = true, h, h.Rest
			name = "front.html"
		}
		var b bytes.Buffer
		if err := layouts.ExecuteTemplate(&b, name, v); err != nil {
			return err
		}
		s.files[outPath(p.source)] = b.Bytes()
	}
	for _, name := range []string{"style.css", "theme.js", "site.js"} {
		text, err := assets.ReadFile("assets/" + name)
		if err != nil {
			return err
		}
		s.files["assets/"+name] = text
	}
	index, err := s.searchIndex(order)
	s.files["assets/search.js"] = index
	s.files[externalName] = []byte(strings.Join(slices.Sorted(maps.Keys(s.external)), "\n") + "\n")
	return err
}

const externalName = "external-links.txt"

func (s *site) view(p *page, order []*page) view {
	here := outPath(p.source)
	link := func(q *page) viewLink {
		label := q.label
		if label == "" {
			label = q.title
		}
		return viewLink{relative(here, outPath(q.source)), label, q == p}
	}
	v := view{Root: relative(here, ""), Title: p.title, Body: p.body, Outline: p.outline}
	for _, g := range s.groups {
		shown := viewGroup{Name: g.name, Open: slices.Contains(g.pages, p)}
		for _, q := range g.pages {
			shown.Links = append(shown.Links, link(q))
		}
		v.Groups = append(v.Groups, shown)
	}
	at := slices.Index(order, p)
	if at > 0 {
		l := link(order[at-1])
		v.Previous = &l
	}
	if at >= 0 && at+1 < len(order) {
		l := link(order[at+1])
		v.Next = &l
	}
	return v
}

// write replaces the folder by the files of the site.
func (s *site) write(out string) error {
	if out == "" {
		return errors.New("-out names no folder")
	}
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(s.files)) {
		file := filepath.Join(out, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, s.files[name], 0o644); err != nil {
			return err
		}
	}
	return nil
}
