package server

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/internal/golden"
	"github.com/nextbatch/nextbatch/internal/wire"
)

// TestPreviewsOfLeaks: before a campaign begins, the service says what it must of each table of the corpus, and marks
// the columns that are not inputs.
func TestPreviewsOfLeaks(t *testing.T) {
	v := newService(t)
	for _, want := range golden.Leaks(t) {
		raw, err := os.ReadFile(want.Path)
		if err != nil {
			t.Fatal(err)
		}
		preview := must[Preview](t, v, "owner", "POST", "/v1/previews?id=id&target="+
			url.QueryEscape(want.Target), string(raw))
		var marked []string
		for _, c := range preview.Columns {
			if c.NoInput != "" {
				marked = append(marked, c.Name)
			}
		}
		want.Check(t, "preview", marked, strings.Join(preview.Warnings, "\n"))
	}
}

// TestLeaks: the service says which columns are measured together with the label before a campaign begins, when it
// does, when labels come with new rows, and at each ask.
func TestLeaks(t *testing.T) {
	v := newService(t)
	for name, want := range map[string]struct{ column, why string }{
		"conversion": {"conversion", `it has values in 24 of 24 labelled rows and in 0 of 96 others`},
		"renamed":    {"outcome", `it equals the label in all 24 rows that have both`},
		"notes":      {"notes", `it has values in 19 of 24 labelled rows and in 0 of 276 others`},
	} {
		raw, err := os.ReadFile(filepath.Join("..", "..", "tables", "testdata", "leaks", name+".csv"))
		if err != nil {
			t.Fatal(err)
		}
		says := func(texts []string) bool {
			return slices.ContainsFunc(texts, func(text string) bool {
				return strings.Contains(text, "column \""+want.column+"\" is not used: "+want.why) &&
					strings.HasSuffix(text, "; keep="+want.column+" makes it an input")
			})
		}
		preview := must[Preview](t, v, "owner", "POST", "/v1/previews?id=id&target=yield", string(raw))
		for _, c := range preview.Columns {
			if (c.Name == want.column) != strings.HasPrefix(c.NoInput, want.why) {
				t.Errorf("%s: %+v", name, c)
			}
		}
		kept := must[Preview](t, v, "owner", "POST", "/v1/previews?id=id&target=yield&keep="+want.column, string(raw))
		if !says(preview.Warnings) || says(kept.Warnings) || slices.ContainsFunc(kept.Columns,
			func(c PreviewColumn) bool { return c.NoInput != "" }) {
			t.Errorf("%s: warnings %q, kept: %+v", name, preview.Warnings, kept)
		}
		made := must[Campaign](t, v, "owner", "POST", "/v1/campaigns?name="+name+
			"&target=yield&id=id&learner=network", string(raw))
		if !says(made.Warnings) {
			t.Errorf("%s, begun: %q", name, made.Warnings)
		}
		begun := must[Campaign](t, v, "owner", "POST", "/v1/campaigns?name=kept-"+name+
			"&target=yield&id=id&learner=network&keep="+want.column, string(raw))
		if len(begun.Warnings) > 0 || !slices.Equal(begun.Settings.Keep, []string{want.column}) {
			t.Errorf("%s, begun with keep: %+v", name, begun)
		}
		head, _, _ := strings.Cut(string(raw), "\n")
		row := "n1" + strings.Repeat(",", strings.Count(head, ",")) + "50\n"
		added := must[wire.Added](t, v, "owner", "POST", "/v1/campaigns/"+name+"/rows", head+"\n"+row)
		if len(added.Warnings) != 1 || !strings.Contains(added.Warnings[0], want.column) {
			t.Errorf("%s, added: %q", name, added.Warnings)
		}
		must[wire.Changed](t, v, "owner", "PUT", "/v1/campaigns/"+name+"/settings", settings)
		v.finish(t, "labeller", must[wire.Job](t, v, "labeller", "POST", "/v1/campaigns/"+name+"/asks",
			map[string]any{"rows": 4}))
		queue := must[Queue](t, v, "labeller", "GET", "/v1/campaigns/"+name+"/queue", nil)
		if !strings.Contains(strings.Join(queue.Warnings, "\n"), `column "`+want.column+`" is not used: it `) {
			t.Errorf("%s, to be measured: %q", name, queue.Warnings)
		}
		batch := must[json.RawMessage](t, v, "labeller", "GET", "/v1/campaigns/"+name+"/asks/1", nil)
		if !strings.Contains(string(batch), `column \"`+want.column+`\" is not used: it `) {
			t.Errorf("%s, asked: %s", name, batch)
		}
	}
}

// TestPreviewsOfNumbers: the service marks columns that are no inputs because they count the rows, unless they are kept
// or name the rows.
func TestPreviewsOfNumbers(t *testing.T) {
	v := newService(t)
	table := "nr,x,y\n"
	for i := range 40 {
		label := ""
		if i < 12 {
			label = strconv.Itoa(i * i % 7)
		}
		table += fmt.Sprintf("%d,%d,%s\n", i+1, i*7%40, label)
	}
	for query, want := range map[string]string{"": "it numbers the rows", "&keep=nr": "", "&id=nr": ""} {
		preview := must[Preview](t, v, "owner", "POST", "/v1/previews?target=y"+query, table)
		if preview.Columns[0].NoInput != want || preview.Columns[1].NoInput != "" {
			t.Errorf("%s: %+v", query, preview.Columns)
		}
	}
}
