package main

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/spec"
)

// The tests of this file hold the documentation against the program: commands
// run, and links lead somewhere.

var root = filepath.Join("..", "..")

// pages returns the texts for users, by path.
func pages(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%v, %d pages", err, len(paths))
	}
	texts := map[string]string{}
	for _, path := range append(paths, filepath.Join(root, "README.md")) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		texts[path] = string(text)
	}
	return texts
}

// blocks returns the code of a language on a page.
func blocks(text, language string) (list []string) {
	for _, m := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(text, -1) {
		list = append(list, m[1])
	}
	return list
}

// commands returns the lines of a page that run the program.
func commands(text string) (list []string) {
	for _, block := range blocks(text, "sh") {
		for line := range strings.Lines(strings.ReplaceAll(block, "\\\n", " ")) {
			for command := range strings.SplitSeq(line, "&&") {
				if command = strings.TrimSpace(command); strings.HasPrefix(command, "nextbatch ") {
					list = append(list, command)
				}
			}
		}
	}
	return list
}

// TestDocsCommands runs the commands of every page, with little training. What
// takes long, or a connection, must at least have the flags that are shown.
func TestDocsCommands(t *testing.T) {
	for path, text := range pages(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			dir := docsFolder(t)
			for _, space := range blocks(text, "toml") {
				if err := os.WriteFile(filepath.Join(dir, "space.toml"), []byte(space), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			for _, command := range commands(text) {
				runShown(t, dir, command)
			}
		})
	}
}

var training = regexp.MustCompile(`^nextbatch (select|fit|features|gram|audit|campaign new) `)

func runShown(t *testing.T, dir, command string) {
	t.Helper()
	fields := strings.Fields(command)
	if slices.Contains([]string{"advise", "bench", "data", "demo", "serve", "token"}, fields[1]) {
		checkFlags(t, fields)
		return
	}
	if !slices.Contains(fields, "--model") {
		command = training.ReplaceAllString(command, "$0--epochs 2 --hidden 16 ")
	}
	c := exec.Command("sh", "-c", command)
	c.Dir = dir
	out, err := c.CombinedOutput()
	if stopRule := slices.Contains(fields, "--stop") && c.ProcessState.ExitCode() == 6; err != nil && !stopRule {
		t.Errorf("%s: %v\n%s", command, err, out)
	}
	if at := slices.Index(fields, "--out"); fields[1] == "campaign" && fields[2] == "ask" && at > 0 {
		fillIn(t, filepath.Join(dir, fields[at+1]))
	}
}

// fillIn does what the reader of a page does with a batch: measure.
func fillIn(t *testing.T, path string) {
	t.Helper()
	batch, err := source.ReadFile(t.Context(), path, source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	y := dataset.NewNumeric("y")
	for i := range batch.Rows() {
		y.Append(math.Sin(float64(i)))
	}
	filled, err := dataset.NewTable(append(slices.Clone(without(t, batch, "y").Columns()), y)...)
	if err != nil {
		t.Fatal(err)
	}
	save(t, path, filled)
}

func checkFlags(t *testing.T, fields []string) {
	t.Helper()
	name := []string{fields[1]}
	if len(fields) > 2 && regexp.MustCompile(`^[a-z]+$`).MatchString(fields[2]) &&
		slices.Contains([]string{"bench", "data", "campaign", "token"}, fields[1]) {
		name = append(name, fields[2])
	}
	help, err := nextbatch(append(name, "--help")...).Output()
	if err != nil {
		t.Errorf("%q: %v", fields, err)
	}
	for _, word := range fields {
		flag, _, _ := strings.Cut(word, "=")
		if strings.HasPrefix(flag, "--") && !strings.Contains(string(help), flag+" ") {
			t.Errorf("%q: there is no %s", fields, flag)
		}
	}
}

// docsFolder has the files that the pages speak of.
func docsFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	whole := docsTable(t, 400, func(row int) bool { return row%7 == 0 })
	for name, table := range map[string]*dataset.Table{
		"table.csv": whole, "next-year.csv": docsTable(t, 50, func(int) bool { return false }),
		"labelled.csv":   docsTable(t, 60, func(int) bool { return true }),
		"test.csv":       docsTable(t, 60, func(int) bool { return true }),
		"candidates.csv": without(t, docsTable(t, 200, func(int) bool { return false }), "y"),
	} {
		save(t, filepath.Join(dir, name), table)
		save(t, filepath.Join(dir, strings.Replace(name, ".csv", ".parquet", 1)), table)
	}
	save(t, filepath.Join(dir, "rounds.csv"), withDrawn(t, whole))
	for name, rows := range map[string]int{"t.npy": 20, "p.npy": 100} {
		m := matrix.New[float32](rows, 6)
		for i := range m.Data {
			m.Data[i] = float32(math.Sin(float64(i * i)))
		}
		if err := source.WriteMatrix(filepath.Join(dir, name), m); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "simulate"), []byte("#!/bin/sh\necho 1.5\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "broken.txt"), []byte("s002\ns003\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

func save(t *testing.T, path string, table *dataset.Table) {
	t.Helper()
	if err := source.WriteFile(path, table); err != nil {
		t.Fatal(err)
	}
}

func without(t *testing.T, table *dataset.Table, name string) *dataset.Table {
	t.Helper()
	columns := slices.DeleteFunc(slices.Clone(table.Columns()), func(c dataset.Column) bool { return c.Name() == name })
	rest, err := dataset.NewTable(columns...)
	if err != nil {
		t.Fatal(err)
	}
	return rest
}

// withDrawn adds a column that marks every second row as drawn at random.
func withDrawn(t *testing.T, table *dataset.Table) *dataset.Table {
	t.Helper()
	drawn := dataset.NewText("drawn")
	for i := range table.Rows() {
		drawn.Append([]byte([]string{"true", "false"}[i%2]))
	}
	more, err := dataset.NewTable(append(slices.Clone(table.Columns()), drawn)...)
	if err != nil {
		t.Fatal(err)
	}
	return more
}

func docsTable(t *testing.T, rows int, labelled func(row int) bool) *dataset.Table {
	t.Helper()
	name, material, site := dataset.NewText("name"), dataset.NewText("material"), dataset.NewText("site")
	temperature, pressure, hours, y := dataset.NewNumeric("temperature"), dataset.NewNumeric("pressure"),
		dataset.NewNumeric("hours"), dataset.NewNumeric("y")
	for i := range rows {
		a, b := math.Sin(float64(i)), math.Cos(float64(3*i))
		name.Append([]byte("s" + strconv.Itoa(1000 + i)[1:]))
		temperature.Append(50 + 30*a)
		pressure.Append(1 + b/10)
		material.Append([]byte([]string{"steel", "brass", "glass"}[i%11%3]))
		site.Append([]byte([]string{"A", "B", "C", "D"}[i%4]))
		hours.Append(float64(1 + i%3))
		label := math.NaN()
		if labelled(i) {
			label = a*a + b
		}
		y.Append(label)
	}
	table, err := dataset.NewTable(name, temperature, pressure, material, site, hours, y)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// TestDocsPython runs the Python code of the pages, as far as this machine has
// the modules that it imports.
func TestDocsPython(t *testing.T) {
	for path, text := range pages(t) {
		code := blocks(text, "python")
		if len(code) == 0 {
			continue
		}
		dir := docsFolder(t)
		for _, command := range commands(text) {
			runShown(t, dir, command)
		}
		for i, block := range code {
			t.Run(filepath.Base(path)+" "+strconv.Itoa(i+1), func(t *testing.T) {
				c := exec.Command(pythonFor(t, dir, block), "-c", block)
				c.Dir = dir
				if out, err := c.CombinedOutput(); err != nil {
					t.Errorf("%v\n%s", err, out)
				}
			})
		}
	}
}

// pythonFor returns a Python that has the modules of a block, as seen from a folder.
func pythonFor(t *testing.T, dir, block string) string {
	t.Helper()
	var lacks []string
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		missing, err := missingModules(python, dir, block)
		switch {
		case err != nil:
			lacks = append(lacks, python+": "+err.Error())
		case len(missing) > 0:
			lacks = append(lacks, python+" has no "+strings.Join(missing, ", "))
		default:
			return python
		}
	}
	t.Skip(strings.Join(lacks, "; "))
	return ""
}

// namesMissing prints the modules that a program imports, wherever it does so, and that Python
// does not find. It imports none: some take seconds. A program that is wrong imports nothing,
// so it is run, and fails.
const namesMissing = `
import ast, importlib.util, sys
try:
    nodes = list(ast.walk(ast.parse(sys.argv[1])))
except SyntaxError:
    nodes = []
names = {a.name for n in nodes if isinstance(n, ast.Import) for a in n.names}
names |= {n.module for n in nodes if isinstance(n, ast.ImportFrom) and n.module}
tops = {n.split(".")[0] for n in names}
print(*sorted(n for n in tops if n not in sys.modules and importlib.util.find_spec(n) is None))
`

func missingModules(python, dir, block string) ([]string, error) {
	c := exec.Command(python, "-c", namesMissing, block)
	c.Dir = dir
	out, err := c.Output()
	return strings.Fields(string(out)), err
}

// TestMissingModules: a page asks for all that its code imports, in every form of the statement.
func TestMissingModules(t *testing.T) {
	if err := exec.Command("python3", "-c", "import ast, importlib.util").Run(); err != nil {
		t.Skipf("no Python: %v", err)
	}
	const block = `import json, missing_a
import missing_b.part as b
from missing_c import name
from missing_d.part import (
    name, other)
def later():
    from missing_e import name
if True: import missing_f
text = """
import missing_not
"""
`
	got, err := missingModules("python3", t.TempDir(), block)
	if want := strings.Fields("missing_a missing_b missing_c missing_d missing_e missing_f"); err != nil ||
		!slices.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	if got, err := missingModules("python3", t.TempDir(), "import missing_a\nfrom import\n"); err != nil || len(got) > 0 {
		t.Errorf("%v, %v: a page that is wrong would be skipped", got, err)
	}
}

func TestDocsLinks(t *testing.T) {
	texts := pages(t)
	for _, name := range []string{"ARCHITECTURE.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "SECURITY.md"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		texts[filepath.Join(root, name)] = string(text)
	}
	for path, text := range texts {
		for _, m := range regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`).FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), filepath.FromSlash(m[1]))); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
}

// TestDocsMeasurements: the commands of docs/maintaining.md name tests, benchmarks and flags that exist.
func TestDocsMeasurements(t *testing.T) {
	text := pages(t)[filepath.Join(root, "docs", "maintaining.md")]
	commands := regexp.MustCompile("go test (\\S+) ([^`;]*)").FindAllStringSubmatch(text, -1)
	if len(commands) < 10 {
		t.Fatalf("only %d commands were found", len(commands))
	}
	for _, m := range commands {
		code := testsOf(t, m[1])
		fields := strings.Fields(strings.NewReplacer("'", "", `\|`, "|", "Test", "", "Benchmark", "").Replace(m[2]))
		for i, field := range fields {
			wanted := ""
			switch {
			case i > 0 && slices.Contains([]string{"-run", "-bench"}, fields[i-1]):
				wanted = `func (Test|Benchmark)\w*(` + strings.Trim(field, "^$") + `)`
			case regexp.MustCompile(`^-\w+-\w+$`).MatchString(field): // those of the packages, such as -record-dir
				wanted = `flag\.\w+\("` + field[1:] + `"`
			}
			if !regexp.MustCompile(wanted).MatchString(code) {
				t.Errorf("%s: the tests have no %s", m[0], field)
			}
		}
	}
}

// testsOf returns the text of a package's tests.
func testsOf(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(dir), "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %v, %d files", dir, err, len(files))
	}
	var code strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		code.Write(text)
	}
	return code.String()
}

// TestDocsColumns: no line of prose has more than 120 columns, so that changes of a page can be compared.
func TestDocsColumns(t *testing.T) {
	texts := pages(t)
	recipes, err := filepath.Glob(filepath.Join(root, "docs", "recipes", "*.md"))
	if err != nil || len(recipes) == 0 {
		t.Fatalf("%v, %d recipes", err, len(recipes))
	}
	for _, name := range []string{"ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md"} {
		recipes = append(recipes, filepath.Join(root, name))
	}
	for _, path := range recipes {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		texts[path] = string(text)
	}
	for path, text := range texts {
		code := false
		for i, line := range strings.Split(text, "\n") {
			if strings.HasPrefix(line, "```") {
				code = !code
			}
			apart := code || strings.HasPrefix(line, "|") || strings.HasPrefix(line, "![") ||
				strings.HasPrefix(strings.TrimSpace(line), "<")
			if columns := utf8.RuneCountInString(line); columns > 120 && !apart {
				t.Errorf("%s:%d: %d columns", path, i+1, columns)
			}
		}
	}
}

// TestDocsSpecs: what looks like a spec is one.
func TestDocsSpecs(t *testing.T) {
	written := regexp.MustCompile(
		"`([a-z-]+:\\(?(?:linear|nngp|ntk|laplace|rbf|matern|ll|grad|leaf|predictions|features)\\b[^` ]*)`")
	count := 0
	for path, text := range pages(t) {
		for _, m := range written.FindAllStringSubmatch(text, -1) {
			count++
			if _, err := spec.Parse(m[1]); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
	if count < 20 {
		t.Errorf("only %d specs were found", count)
	}
}
