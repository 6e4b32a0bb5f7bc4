package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// project writes files into a folder and returns it.
func project(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

const front = "# it\n\n**Which?**\n\nIt does.\n\n![a picture](docs/a.png)\n\n## First\n\n```sh\nnextbatch select " +
	"t.csv -n 3\n```\n"

// built makes a site of pages alone.
func built(t *testing.T, files map[string]string) (*site, error) {
	t.Helper()
	all := map[string]string{"README.md": front, "docs/a.png": "png",
		"docs/README.md":           "# All\n\n## Start\n\n- [One](one.md)\n- [First](quickstart-table.md)\n",
		"docs/quickstart-table.md": "# First\n"}
	maps.Copy(all, files)
	s := newSite(project(t, all))
	for _, step := range []func() error{s.readPages, s.arrange, s.render, s.check} {
		if err := step(); err != nil {
			return s, err
		}
	}
	return s, nil
}

func TestPages(t *testing.T) {
	s, err := built(t, map[string]string{
		"docs/one.md": "# One\n\n## A part: `x`\n\nSee [a recipe](recipes/two.md#the-end), [a file](../go.mod) and " +
			"[elsewhere](https://example.org).\n",
		"docs/recipes/two.md": "# Two\n\n<!-- a mark -->\n## The end\n\n<picture>\n  <source " +
			"media=\"(prefers-color-scheme: dark)\" srcset=\"../a.png\">\n  <img alt=\"it\" src=\"../a.png\">\n</picture>\n\n" +
			"Back to [one](../one.md#a-part-x).\n",
		"go.mod": "module it\n",
	})
	if err != nil {
		t.Fatal(err)
	}
	one := string(s.files["docs/one.html"])
	for _, part := range []string{`href="../docs/recipes/two.html#the-end"`, `href="../go.mod"`, `<h2 id="a-part-x">`,
		`<title>One · nextbatch</title>`} {
		if !strings.Contains(one, part) {
			t.Errorf("%s is not in\n%s", part, one)
		}
	}
	if string(s.files["go.mod"]) != "module it\n" || !s.external["https://example.org"] || len(s.external) != 1 {
		t.Errorf("copied %q, links to others %v", s.files["go.mod"], s.external)
	}
	if two := string(s.files["docs/recipes/two.html"]); !strings.Contains(two,
		`<source media="(prefers-color-scheme: dark)" srcset="../../docs/a.png" />`) {
		t.Error(two)
	}
	if !strings.Contains(string(s.files["assets/search.js"]), `"the-end","The end"`) {
		t.Errorf("%s", s.files["assets/search.js"])
	}
	if index := string(s.files["index.html"]); !strings.Contains(index, `<span class="short">select</span>`) {
		t.Error(index)
	}
}

// Each of these pages has one fault, and the build names it.
func TestFaults(t *testing.T) {
	for name, fault := range map[string]struct{ text, message string }{
		"link": {"# One\n\n[x](two.md)\n", "docs/one.md: there is no two.md"},
		"anchor": {"# One\n\n[x](README.md#end)\n",
			"docs/one.html: ../docs/index.html#end: that page has no such section"},
		"outside":   {"# One\n\n[x](../../../etc/passwd)\n", "there is no ../../../etc/passwd"},
		"picture":   {"# One\n\n![x](b.png)\n", "docs/one.md: there is no b.png"},
		"no text":   {"# One\n\n![](a.png)\n", "the picture ../docs/a.png has no text"},
		"elsewhere": {"# One\n\n![x](https://example.org/a.png)\n", "img asks another site for https://example.org/a.png"},
		"language":  {"# One\n\ntext\n\n```\ncode\n```\n", "docs/one.md:5: a code block names no language"},
		"tag":       {"# One\n\na <b>bold</b> word\n", "docs/one.md: a tag within a text"},
		"block":     {"# One\n\n<div>\ntext\n</div>\n", "only <picture> may be written as HTML"},
		"comment":   {"# One\n\n<!-- a --> <b> <!-- c -->\n", "only <picture> may be written as HTML"},
		"title":     {"text\n", "docs/one.md: there is no title"},
	} {
		if _, err := built(t, map[string]string{"docs/one.md": fault.text}); err == nil ||
			!strings.Contains(err.Error(), fault.message) {
			t.Errorf("%s: %v, want %q", name, err, fault.message)
		}
	}
	if _, err := built(t, map[string]string{"docs/one.md": "# One\n", "docs/lost.md": "# Lost\n"}); err == nil ||
		!strings.Contains(err.Error(), "docs/lost.md: docs/README.md does not link to it") {
		t.Error(err)
	}
	for name, page := range map[string]string{"open": "<p><b>x</p>", "twice": `<p id="a">x</p><p id="a">y</p>`} {
		if _, err := readHTML([]byte("<html>" + page + "</html>")); err == nil {
			t.Errorf("%s: %q counts as well formed", name, page)
		}
	}
}

func TestHelp(t *testing.T) {
	h := parseHelp(`Picks rows. See 'nextbatch specs' and --id.

  indented

Usage:
  nextbatch select [TABLE] [flags]

Examples:
  nextbatch select t.csv

Available Commands:
  help        Help about any command
  one         Do one thing

Flags:
  -n, --batch int      rows to pick, a|b
      --dry-run        stop
                       early
      --method string  the method, see 'nextbatch specs' (default lcmd-tp:grad>sketch(512))

Use "nextbatch select [command] --help" for more information about a command.
`)
	if want := []flagHelp{{"-n, --batch int", "rows to pick, a|b"}, {"--dry-run", "stop early"},
		{"--method string", "the method, see 'nextbatch specs' (default lcmd-tp:grad>sketch(512))"}}; !slices.Equal(h.flags,
		want) {
		t.Errorf("flags %q", h.flags)
	}
	if want := [][2]string{{"one", "Do one thing"}}; !slices.Equal(h.commands, want) {
		t.Errorf("commands %q", h.commands)
	}
	text := h.markdown([]string{"select"}, "Pick rows")
	for _, part := range []string{"# nextbatch select\n\nPick rows.", "See `nextbatch specs` and `--id`.",
		"````text\nindented\n````", "`-n, --batch int`\n:   rows to pick, a\\|b", "[one](select-one.md)"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in\n%s", part, text)
		}
	}
}

// Columns of numbers in one unit are marked, and longer tables with such a column can be sorted.
func TestNumbers(t *testing.T) {
	row := "| a | 0.2 ± 0.1 (+0.8) | 5 s | 3 s |\n"
	s, err := built(t, map[string]string{"docs/one.md": "# One\n\n| x | n | t | u |\n|---|---|---|---|\n" +
		row + row + row + "| b | – | −4 s | 2 min |\n"})
	if err != nil {
		t.Fatal(err)
	}
	if page := string(s.files["docs/one.html"]); !strings.Contains(page, `<table class="sortable">`) ||
		strings.Count(page, `<th class="number">`) != 2 {
		t.Error(page)
	}
}

// Sections have the names that GitHub gives them.
func TestSlugs(t *testing.T) {
	ids := &slugs{used: map[string]int{}}
	for _, c := range [][2]string{{"4. Where do I stand?", "4-where-do-i-stand"}, {"The paper's `x_y`", "the-papers-x_y"},
		{"Größe – A & B", "größe--a--b"}, {"A", "a"}, {"A", "a-1"}} {
		if got := string(ids.Generate([]byte(c[0]), 0)); got != c[1] {
			t.Errorf("%q: %q, want %q", c[0], got, c[1])
		}
	}
}
