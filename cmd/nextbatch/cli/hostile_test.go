package cli

import (
	"encoding/csv"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// evil is text that would do harm if a page took it for markup.
const evil = `<script>alert(1)</script>"'><img src=x onerror=alert(1)><a href="javascript:alert(1)">`

// hostileTable writes a table whose ids, names and values are evil, and labels of which some
// are missing, and returns its path and the names of the id and the target column.
func hostileTable(t *testing.T) (path, id, target string) {
	t.Helper()
	id, target = "id "+evil, "y "+evil
	path = filepath.Join(t.TempDir(), "<b>table.csv")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := csv.NewWriter(f)
	rows := [][]string{{id, "x " + evil, "kind " + evil, target}}
	for i := range 60 {
		label := ""
		if i%3 < 2 {
			label = fmt.Sprintf("%.3f", math.Sin(float64(i)))
		}
		if i == 4 {
			label = "900" // the audit finds it
		}
		rows = append(rows, []string{fmt.Sprintf("%s%d", evil, i), fmt.Sprintf("%.3f", math.Cos(float64(i))),
			[]string{evil, "=1+1"}[i%2], label})
	}
	if err := errors.Join(w.WriteAll(rows), f.Close()); err != nil {
		t.Fatal(err)
	}
	return path, id, target
}

// wantHarmless parses a page and refuses every element and attribute that text could have
// brought in.
func wantHarmless(t *testing.T, path string) {
	t.Helper()
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "&lt;script&gt;") {
		t.Errorf("%s shows none of the text", path)
	}
	scripts, d := 0, xml.NewDecoder(strings.NewReader(string(page)))
	d.Entity = xml.HTMLEntity
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		element, starts := token.(xml.StartElement)
		if !starts {
			continue
		}
		switch name := element.Name.Local; name {
		case "script":
			scripts++
		case "img", "iframe", "object", "embed", "link", "base", "form", "foreignObject", "use":
			t.Errorf("%s has an element %s", path, name)
		}
		for _, a := range element.Attr {
			value := strings.ToLower(strings.TrimSpace(a.Value))
			if strings.HasPrefix(strings.ToLower(a.Name.Local), "on") ||
				slices.Contains([]string{"src", "action"}, a.Name.Local) || a.Name.Local == "href" &&
				!strings.HasPrefix(value, "#") {
				t.Errorf("%s: %s has the attribute %s=%q", path, element.Name.Local, a.Name.Local, a.Value)
			}
		}
	}
	if scripts != 1 { // its own
		t.Errorf("%s has %d scripts", path, scripts)
	}
}

// Text from tables and people is text in every page that the program writes.
func TestHostileTextInReports(t *testing.T) {
	t.Parallel()
	path, id, target := hostileTable(t)
	folder := t.TempDir()
	page := func(name string) string { return filepath.Join(folder, name) }
	table := []string{"--target", `"` + strings.ReplaceAll(target, `"`, `""`) + `"`, "--id", id} // the flag takes a list

	must(t, 0,
		append(append([]string{"select", path, "-n", "8", "--report", page("select.html"), "--out", page("batch.csv")},
			table...), quick...)...)
	wantHarmless(t, page("select.html"))
	must(t, 0, append(append([]string{"audit", path, "--report", page("audit.html")}, table...), short...)...)
	wantHarmless(t, page("audit.html"))

	store, name := filepath.Join(folder, "c.db"), "campaign "+evil
	must(t, 0, append([]string{"campaign", "new", store, path, "--campaign", name}, table...)...)
	must(t, 0, "campaign", "settings", store, "--epochs", "2", "--hidden", "16", "--audit", "1")
	for range 2 { // the second time there are errors to show
		must(t, 0, "campaign", "ask", store, "-n", "10", "--person", evil, "--out", page("asked.csv"))
		fillIn(t, page("asked.csv"), target)
		must(t, 0, "campaign", "tell", store, page("asked.csv"), "--person", evil)
		must(t, 0, "campaign", "status", store, "--report", page("status.html"))
		wantHarmless(t, page("status.html"))
	}
}

// fillIn writes labels into a batch.
func fillIn(t *testing.T, path, target string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(f).ReadAll()
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	at := slices.Index(rows[0], target)
	for i, row := range rows[1:] {
		row[at] = fmt.Sprint(i)
	}
	if f, err = os.Create(path); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(csv.NewWriter(f).WriteAll(rows), f.Close()); err != nil {
		t.Fatal(err)
	}
}
