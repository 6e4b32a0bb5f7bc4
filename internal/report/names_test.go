package report

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/internal/benchmark"
)

// File names built from the text of a results file stay in their folder, and
// different texts give different names.
func TestFileNames(t *testing.T) {
	t.Parallel()
	safe := regexp.MustCompile(`^[a-z0-9_]{1,100}$`)
	seen := map[string]string{}
	for _, text := range []string{"", "relu", "ReLU", "../../../pwn", "/etc/passwd", `..\x`, "a/b", "a_b", "a_2fb", "a-b",
		"con", "nul\x00", "\xff", "é",
		strings.Repeat("x", 1<<20), strings.Repeat("x", 1<<20) + "y", strings.Repeat("/", 30), strings.Repeat("/", 31)} {
		name := fileName(text)
		if !safe.MatchString(name) {
			t.Errorf("%.40q gives the file name %q", text, name)
		}
		if other, taken := seen[name]; taken {
			t.Errorf("%.40q and %.40q both give %q", text, other, name)
		}
		seen[name] = text
	}
	if fileName("relu") != "relu" {
		t.Error("the name relu has changed")
	}
}

// Whatever the results contain, the files of a report get safe names.
func TestReportsNameFilesSafely(t *testing.T) {
	t.Parallel()
	p := plan{sets: []string{"fried", "protein"}, specs: []string{"random", "lcmd-tp:grad>sketch(512)"},
		splits: 2, batch: 256, rounds: 2}
	results := p.results()
	p.batch, p.rounds = 128, 4
	results = append(results, p.results()...)
	for i := range results {
		results[i].Activation = "../../../pwn"
		results[i].DataSet = "../" + results[i].DataSet
	}
	page, err := Benchmark(results, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	safe := regexp.MustCompile(`^[a-z0-9_-]+$`)
	seen := map[string]bool{}
	check := func(kind, name string) {
		if !safe.MatchString(name) || seen[kind+name] {
			t.Errorf("%s %q", kind, name)
		}
		seen[kind+name] = true
	}
	for _, s := range page.Sections {
		for _, table := range s.Tables {
			check("table", table.Name)
		}
		for _, f := range s.Figures {
			check("figure", f.Name)
		}
	}
	if len(seen) < 20 {
		t.Errorf("only %d files", len(seen))
	}
}

// A figure of too many data sets shows the first ones and says so.
func TestFiguresOfManySets(t *testing.T) {
	t.Parallel()
	one := plan{sets: []string{"fried"}, specs: []string{"random", "lcmd-tp:grad>sketch(512)",
		"maxdet-p:grad>sketch(512)>train"}, splits: 1, batch: 256, rounds: 2}
	two := one
	two.batch, two.rounds = 128, 4
	var results []benchmark.Round
	for i := range 200 {
		for _, r := range append(one.results(), two.results()...) {
			r.DataSet = fmt.Sprintf("set %03d", i)
			results = append(results, r)
		}
	}
	page, err := Benchmark(results, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	cut := 0
	for _, s := range page.Sections {
		for _, f := range s.Figures {
			if l := f.layout(); l.height > 6000 || len(l.legend) > 100 {
				t.Errorf("%s is %v points high and has %d names", f.Name, l.height, len(l.legend))
			}
			if strings.Contains(f.Note, "Only the first 60 of 200 data sets are shown.") {
				cut++
			}
		}
	}
	if cut < 5 {
		t.Errorf("%d figures say what they leave out", cut)
	}
}
