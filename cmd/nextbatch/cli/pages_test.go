package cli

import (
	"encoding/csv"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/internal/golden"
)

var pictures = flag.String("pictures", "", "draw the pages of commands on real data into this folder")

// The widths of a window on a desk and of a telephone.
const (
	deskWidth      = 1280
	telephoneWidth = 390
)

// misfits lists what does not fit the window: a page that is wider, text beyond the edge, boxes that scroll sideways,
// short words that are broken, and words of figures that overlap.
const misfits = `(() => {
  const found = [], name = e => e.tagName + " " + JSON.stringify(e.textContent.trim().slice(0, 60));
  const page = document.documentElement;
  if (page.scrollWidth > innerWidth) found.push("the page is " + page.scrollWidth + " px wide");
  for (const e of document.querySelectorAll("h1, h2, h3, p, li, td, th, summary, pre, figcaption, svg text")) {
    const at = e.getBoundingClientRect();
    if (at.width > 0 && (at.right > innerWidth + 1 || at.left < -1))
      found.push(name(e) + " ends at " + Math.round(at.right) + " px");
  }
  for (const e of document.querySelectorAll(".box, figure, pre, td, th, summary")) {
    if (e.clientWidth > 0 && e.scrollWidth > e.clientWidth + 1)
      found.push(name(e) + " is cut off: " + e.scrollWidth + " px in " + e.clientWidth);
  }
  for (const e of document.querySelectorAll(".fit th:not(.breaks) button, .fit td.short")) {
    for (const node of e.childNodes) for (const word of node.nodeType === 3 ? node.data.matchAll(/[\p{L}\d]+/gu) : []) {
      const range = document.createRange();
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      if (new Set([...range.getClientRects()].map(at => at.top)).size > 1) found.push(name(e) + " breaks " + word[0]);
    }
  }
  for (const svg of document.querySelectorAll("svg")) {
    const words = [...svg.querySelectorAll("text")].map(e => [e, e.getBoundingClientRect()])
      .filter(([, at]) => at.width > 0);
    words.forEach(([a, p], i) => words.slice(i + 1).forEach(([b, q]) => {
      if (Math.min(p.right, q.right) - Math.max(p.left, q.left) > 2 &&
        Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top) > 4) found.push(name(a) + " overlaps " + name(b));
    }));
  }
  return found;
})()`

// TestPagesFit: at both widths nothing of a page is cut off, whatever the names of rows and columns, and the picks are
// small cards on a telephone.
func TestPagesFit(t *testing.T) {
	if testing.Short() {
		t.Skip("trains models and starts a browser")
	}
	b := newChromium(t)
	usual := append(samplePages(t, sampleText), labPage(t))
	for i, page := range slices.Concat(usual, samplePages(t, longNames)) {
		for _, width := range []int{deskWidth, telephoneWidth} {
			b.open(page.path, width, false)
			var found []string
			if b.evaluate(misfits, &found); len(found) > 0 {
				t.Errorf("%s at %d px:\n%s", page.name, width, strings.Join(found[:min(len(found), 8)], "\n"))
			}
		}
		if page.name == "batch" && i < len(usual) {
			var tallest float64
			b.evaluate(
				`Math.max(...[...document.querySelectorAll("table.fit tbody tr")].map(e => e.getBoundingClientRect().height))`,
				&tallest)
			if !(tallest > 20 && tallest <= 105) {
				t.Errorf("a card is %v px tall", tallest)
			}
			b.evaluate(`(document.querySelector("summary").click(),
				document.querySelector("details[open] ul").getBoundingClientRect().height)`, &tallest)
			if !(tallest > 10) {
				t.Error("a click on a reason shows nothing")
			}
		}
	}
}

// labPage is the page of a batch in runs and on plates, of a table with units and decimal commas.
func labPage(t *testing.T) page {
	t.Helper()
	text := strings.NewReplacer(",", ";", ".", ",", "\nr",
		"\nP-2024-00").Replace(sampleText(func(i int) bool { return i%3 == 0 }))
	text = strings.Replace(text, "id;x0;x1;colour",
		"Proben-Nr.;Konzentration (mol/L);Verweilzeit im Reaktor (min);Katalysator", 1)
	path := filepath.Join(t.TempDir(), "lab.html")
	must(t, exitOK, "select", write(t, "lab.csv", text), "--target", "y", "--id", "Proben-Nr.", "--learner", "trees",
		"-n", "24", "--same", "Katalysator", "--runs", "2", "--plate", "8x12", "--replicates", "2", "--out",
		filepath.Join(t.TempDir(), "batch.csv"), "--report", path, "-q")
	return page{"lab", path}
}

// TestSortedNumbers: a click on a heading sorts numbers by their size, whatever their decimal mark.
func TestSortedNumbers(t *testing.T) {
	if testing.Short() {
		t.Skip("trains a model and starts a browser")
	}
	b := newChromium(t)
	b.open(labPage(t).path, deskWidth, false)
	var values []string
	b.evaluate(`(() => {
  const table = document.querySelector("table.fit");
  const head = [...table.tHead.rows[0].cells].findIndex(e => e.textContent === "Konzentration (mol/L)");
  table.tHead.rows[0].cells[head].firstElementChild.click();
  return [...table.tBodies[0].rows].map(row => row.cells[head].textContent);
})()`, &values)
	numbers := make([]float64, len(values))
	for i, v := range values {
		var err error
		if numbers[i], err = strconv.ParseFloat(strings.Replace(v, ",", ".", 1), 64); err != nil ||
			!strings.Contains(strings.Join(values, ""), ",") {
			t.Fatalf("%v, %v", values, err)
		}
	}
	if len(numbers) != 12 || !slices.IsSorted(numbers) {
		t.Error(values)
	}
}

// longNames is sampleText with names as long as those of compounds and of instruments' columns.
func longNames(labelled func(int) bool) string {
	text := strings.Replace(sampleText(labelled), "id,x0,x1,colour",
		"id,mean_residence_time_in_reactor_2 (min),CC(C)(C)OC(=O)N1CCC(CC1)C(=O)O,\"colour, as seen\"", 1)
	return strings.ReplaceAll(text, "\nr0", "\nN-[(2S)-1-oxo-3-phenylpropan-2-yl]benzamide-batch-0")
}

// page is a page that a command wrote.
type page struct{ name, path string }

// samplePages runs the commands that write pages.
func samplePages(t *testing.T, text func(func(int) bool) string) (list []page) {
	t.Helper()
	folder := t.TempDir()
	at := func(name string) string { return filepath.Join(folder, name) }
	table, all := at("table.csv"), at("all.csv")
	for path, labelled := range map[string]func(int) bool{table: func(i int) bool { return i%3 == 0 },
		all: func(int) bool { return true }} {
		if err := os.WriteFile(path, []byte(text(labelled)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	of := func(name string, args ...string) {
		path := at(name + ".html")
		must(t, exitOK, slices.Concat(args, []string{"--report", path})...)
		list = append(list, page{name, path})
	}
	named := []string{"--target", "y", "--id", "id"}
	of("batch", slices.Concat([]string{"select", table, "-n", "20", "--out", at("batch.csv")}, named, quick)...)
	of("audit", slices.Concat([]string{"audit", all, "--learner", "trees", "-q"}, named)...)
	of("advise", slices.Concat([]string{"advise", all, "--learner", "trees", "--rounds", "2",
		"--repeats", "3", "-q"}, named)...)
	store := at("campaign.db")
	must(t, exitOK, slices.Concat([]string{"campaign", "new", store, table, "--random-start", "--learner",
		"trees", "-q"}, named)...)
	for range 2 {
		askAndTell(t, store, at("ask.csv"), all, "y", 12)
	}
	of("status", "campaign", "status", store)
	must(t, exitOK, "demo", "--out", folder, "--rounds", "1", "--repeats", "1", "--start", "12", "-n", "12")
	return append(list, page{"demo", at(demoName + ".html")})
}

// askAndTell asks for rows of a campaign, a third of them audit rows, and tells the labels that a table has for them.
func askAndTell(t *testing.T, store, batch, table, target string, rows int) {
	t.Helper()
	must(t, exitOK, "campaign", "ask", store, "-n", fmt.Sprint(rows), "--audit", "1/3", "--out", batch, "-q")
	known := map[string]string{}
	for _, row := range readCSV(t, table) {
		known[row["id"]] = row[target]
	}
	text := "id," + target + "\n"
	for _, row := range readCSV(t, batch) {
		text += fmt.Sprintf("%q,%s\n", row["id"], known[row["id"]])
	}
	must(t, exitOK, "campaign", "tell", store, write(t, "told.csv", text), "-q")
}

func readCSV(t *testing.T, path string) (rows []map[string]string) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	records, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, record := range records[1:] {
		row := map[string]string{}
		for i, name := range records[0] {
			row[name] = record[i]
		}
		rows = append(rows, row)
	}
	return rows
}

// pictureViews are the variants of a picture.
var pictureViews = []struct {
	name          string
	width, height int
	dark          bool
}{{"light", deskWidth, 1000, false}, {"dark", deskWidth, 1000, true}, {"390", telephoneWidth, 1000, false}}

// TestPictures draws the pages for the documentation, each in a light and a dark theme and on a telephone. The table is
// that of diamond prices.
func TestPictures(t *testing.T) {
	if *pictures == "" {
		t.Skip("no folder named by -pictures")
	}
	b := newChromium(t)
	for _, page := range diamondPages(t) {
		for _, view := range pictureViews {
			b.open(page.path, view.width, view.dark)
			path := filepath.Join(*pictures, fmt.Sprintf("page-%s-%s.png", page.name, view.name))
			if err := os.WriteFile(path, b.picture(view.height), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// diamondPages runs the commands that write pages on 1,500 diamonds, of which 150 have a price at first.
func diamondPages(t *testing.T) (list []page) {
	t.Helper()
	all, table := diamonds(t, 1500), diamonds(t, 150)
	t.Chdir(t.TempDir()) // pages name the files as people would
	for name, text := range map[string]string{"diamonds.csv": table, "all.csv": all} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	of := func(name string, args ...string) {
		must(t, exitOK, slices.Concat(args, []string{"--report", name + ".html"})...)
		list = append(list, page{name, name + ".html"})
	}
	named := []string{"--target", "price", "--id", "id", "-q"}
	of("batch", slices.Concat([]string{"select", "diamonds.csv", "-n", "20", "--out", "batch.csv"}, named)...)
	of("audit", slices.Concat([]string{"audit", "diamonds.csv"}, named)...)
	of("advise", slices.Concat([]string{"advise", "diamonds.csv"}, named)...)
	must(t, exitOK, slices.Concat([]string{"campaign", "new", "diamonds.db", "diamonds.csv", "--random-start"}, named)...)
	for range 3 {
		askAndTell(t, "diamonds.db", "ask.csv", "all.csv", "price", 24)
	}
	must(t, exitOK, "campaign", "ask", "diamonds.db", "-n", "8", "--person", "ana", "--out", "out.csv", "-q")
	of("status", "campaign", "status", "diamonds.db", "-q")
	must(t, exitOK, "demo", "--out", ".")
	return append(list, page{"demo", demoName + ".html"})
}

// diamonds is a table of diamonds with an id, in which the first so many have a price.
func diamonds(t *testing.T, priced int) string {
	t.Helper()
	records := golden.Records(t, "diamonds.csv.gz")
	price := slices.Index(records[0], "price")
	var b strings.Builder
	b.WriteString("id," + strings.Join(records[0], ",") + "\n")
	for i := range 1500 {
		record := records[1+i*7919%(len(records)-1)] // a prime: they are sorted by price
		if i >= priced {
			record[price] = ""
		}
		fmt.Fprintf(&b, "d%04d,%s\n", i+1, strings.Join(record, ","))
	}
	return b.String()
}
