package cli

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The tests of this file open the site of the documentation, from its files, as a reader may.

var site = flag.String("site", "", "test the site that make site wrote into this folder")

// openSite starts a browser for the site.
func openSite(t *testing.T) *chromium {
	t.Helper()
	if *site == "" {
		t.Skip("no folder named by -site")
	}
	return newChromium(t)
}

// siteMisfits lists what is wider than the window. Code and tables scroll in their boxes.
const siteMisfits = `(() => {
  const found = [], page = document.documentElement;
  if (page.scrollWidth > innerWidth) found.push("the page is " + page.scrollWidth + " px wide");
  for (const e of document.querySelectorAll("body *")) {
    if (e.closest("pre, .table, .skip, svg, [hidden]")) continue;
    const at = e.getBoundingClientRect();
    if (at.width > 0 && (at.right > innerWidth + 1 || at.left < -1)) found.push(e.tagName + " " +
      JSON.stringify(e.textContent.trim().slice(0, 60)) + " ends at " + Math.round(at.right) + " px");
  }
  for (const e of document.querySelectorAll("img")) {
    e.loading = "eager";
  }
  return found;
})()`

// faintText lists texts whose contrast with the ground is below 4.5, which the guidelines for accessible pages ask for.
const faintText = `(() => {
  const light = colour => { // relative luminance
    const [r, g, b] = colour.match(/[\d.]+/g).slice(0, 3).map(v => v / 255)
      .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = e => {
    for (; e; e = e.parentElement) {
      const colour = getComputedStyle(e).backgroundColor;
      if (!/, 0\)$|transparent/.test(colour)) return colour;
    }
  };
  const found = new Set();
  for (const e of document.querySelectorAll("body, article *, nav a, aside a, header a, .button")) {
    const style = getComputedStyle(e);
    if (![...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()) || style.opacity === "0") continue;
    const a = light(style.color), b = light(ground(e));
    if ((Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) < 4.5)
      found.add(e.tagName + "." + e.className + " " + style.color + " on " + ground(e));
  }
  return [...found];
})()`

// TestSiteFits: no page is wider than the window of a desk or of a telephone, in light and in dark colours, and its
// pictures are there.
func TestSiteFits(t *testing.T) {
	b := openSite(t)
	pages := 0
	err := filepath.WalkDir(*site, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".html" {
			return err
		}
		pages++
		b.open(path, deskWidth, false)
		for _, width := range []int{deskWidth, telephoneWidth} {
			b.resize(width)
			for _, theme := range []string{"light", "dark"} {
				var found []string
				if b.evaluate(inTheme(theme, siteMisfits), &found); len(found) > 0 {
					t.Errorf("%s at %d px, %s:\n%s", path, width, theme, strings.Join(found[:min(len(found), 8)], "\n"))
				}
			}
		}
		var broken []string
		if b.evaluate(brokenPictures, &broken); len(broken) > 0 {
			t.Errorf("%s: pictures that cannot be shown: %q", path, broken)
		}
		return nil
	})
	if err != nil || pages < 50 {
		t.Errorf("%v, %d pages", err, pages)
	}
}

// brokenPictures lists pictures that cannot be shown. Each is tried again once: a <picture> that has just taken another
// source, because the window was resized, gives up the one that it was decoding.
const brokenPictures = `Promise.all([...document.images].map(e =>
  e.decode().catch(() => new Promise(done => setTimeout(done, 200)).then(() => e.decode()))
    .then(() => "", () => e.src)))
  .then(list => list.filter(Boolean))`

// inTheme is an expression that is evaluated in light or dark colours.
func inTheme(theme, expression string) string {
	return `((document.documentElement.dataset.theme = "` + theme + `"), ` + expression + `)`
}

// sitePages are pages of each kind.
var sitePages = map[string]string{"front": "index.html", "page": "docs/quickstart-table.html",
	"command": "commands/select.html", "go": "api/go/nextbatch.html", "python": "api/python/nextbatch.html",
	"tables": "docs/paper-tables.html"}

// TestSiteIsLegible: in light and in dark colours, all text can be read.
func TestSiteIsLegible(t *testing.T) {
	b := openSite(t)
	for _, path := range sitePages {
		b.open(filepath.Join(*site, filepath.FromSlash(path)), deskWidth, false)
		for _, theme := range []string{"light", "dark"} {
			var found []string
			if b.evaluate(inTheme(theme, faintText), &found); len(found) > 0 {
				t.Errorf("%s, %s:\n%s", path, theme, strings.Join(found, "\n"))
			}
		}
	}
}

// eventually waits until an expression is true.
const eventually = `new Promise(done => { const look = () => (%) ? done(true) : setTimeout(look, 20); look(); })`

func (b *chromium) waitFor(condition string) {
	b.t.Helper()
	var there bool
	b.evaluate(strings.Replace(eventually, "%", condition, 1), &there)
}

// TestSiteSearch: with the keyboard alone, the beginnings of words lead to a section.
func TestSiteSearch(t *testing.T) {
	b := openSite(t)
	for _, search := range []struct{ typed, page string }{
		{"campaign as", "commands/campaign-ask.html"},
		{"doubtfulw", "api/go/fitted.html#DoubtfulWarning"},
		{"select_fea", "api/python/nextbatch.html#select_features"},
		{"plate", "docs/lab-batches.html#plates-a-well-for-each-measurement"}, // before names in Go
		{"pools exceed mem", "docs/speed.html#pools-that-exceed-memory"},
	} {
		b.open(filepath.Join(*site, "docs", "index.html"), deskWidth, false)
		b.press("/", 191)
		b.call("Input.insertText", map[string]any{"text": search.typed}, nil)
		b.waitFor(`document.querySelector("#results [aria-selected=true]")`)
		b.press("ArrowDown", 40)
		b.press("ArrowUp", 38)
		b.press("Enter", 13)
		b.loaded()
		var at struct {
			Address string
			There   bool
		}
		b.evaluate(`({Address: location.href,
			There: !location.hash || !!document.getElementById(decodeURIComponent(location.hash.slice(1)))})`, &at)
		if !strings.HasSuffix(at.Address, search.page) || !at.There {
			t.Errorf("%q leads to %+v", search.typed, at)
		}
	}
	b.press("/", 191)
	b.call("Input.insertText", map[string]any{"text": "xyzzy"}, nil)
	b.waitFor(`document.querySelector("#results .none")`)
	b.press("Escape", 27)
	b.waitFor(`document.querySelector("#results").hidden`)
}

// TestSiteThemes: the switch changes colours and pictures, and the next page keeps them.
func TestSiteThemes(t *testing.T) {
	b := openSite(t)
	state := func() (now struct{ Ground, Picture string }) {
		b.waitFor(`document.querySelector("picture img").currentSrc`)
		b.evaluate(`({Ground: getComputedStyle(document.body).backgroundColor,
			Picture: document.querySelector("picture img").currentSrc.split("-").pop()})`, &now)
		return now
	}
	page := filepath.Join(*site, "docs", "dashboard.html")
	b.open(page, deskWidth, true)
	dark := state()
	b.open(page, deskWidth, false)
	light := state()
	if dark.Picture != "dark.png" || light.Picture != "light.png" || dark.Ground == light.Ground {
		t.Errorf("by the system: dark %+v, light %+v", dark, light)
	}
	var clicked bool
	b.evaluate(`document.getElementById("theme").click() || true`, &clicked)
	b.waitFor(`document.querySelector("picture img").currentSrc.endsWith("dark.png")`)
	b.open(page, deskWidth, false)
	if kept := state(); kept != dark {
		t.Errorf("the next page has %+v, not %+v", kept, dark)
	}
}

// TestSiteSorts: a click on the head of a column sorts by its numbers, and another one turns the order round.
func TestSiteSorts(t *testing.T) {
	b := openSite(t)
	b.open(filepath.Join(*site, "docs", "paper-tables.html"), deskWidth, false)
	const click = `(() => {
  const table = document.querySelector("table.sortable");
  const at = [...table.tHead.rows[0].cells].findIndex(e => e.textContent === "RMSE");
  table.tHead.rows[0].cells[at].querySelector("button").click();
  return [...table.tBodies[0].rows].map(row => parseFloat(row.cells[at].textContent));
})()`
	var up, down []float64
	b.evaluate(click, &up)
	b.evaluate(click, &down)
	if len(up) < 8 || !slices.IsSorted(up) {
		t.Errorf("sorted up: %v", up)
	}
	if slices.Reverse(down); !slices.Equal(up, down) {
		t.Errorf("sorted up and down: %v, %v", up, down)
	}
}

// TestSitePictures draws some pages for whoever changes the site.
func TestSitePictures(t *testing.T) {
	if *pictures == "" {
		t.Skip("no folder named by -pictures")
	}
	b := openSite(t)
	for name, path := range sitePages {
		for _, view := range pictureViews {
			b.open(filepath.Join(*site, filepath.FromSlash(path)), view.width, view.dark)
			if err := os.WriteFile(filepath.Join(*pictures, name+"-"+view.name+".png"),
				b.picture(view.height), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}
