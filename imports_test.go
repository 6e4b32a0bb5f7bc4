package nextbatch_test

import (
	"flag"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// This file lists the packages and the allowed imports between them, and checks
// the code against both. Test files may import anything; all others import only what
// the table allows, so a new arrow is a decision that changes this file and
// ARCHITECTURE.md.

const module = "github.com/nextbatch/nextbatch"

// root is the name of the module's own package in the table. Other packages are
// named by their folder.
const root = "."

// floors are the packages from the bottom up. Arrows run down only: a package
// imports from floors below its own.
var floors = [][]string{
	{"matrix"},
	{"matrix/gonummat", "internal/simd", "internal/rng", "internal/golden", "internal/fileorder", "internal/atomicfile",
		"internal/ctxio", "internal/footprint", "internal/median", "internal/tally", "internal/stats", "internal/sqlitefile",
		"internal/postgresdb", "internal/words", "internal/rowfile", "internal/picture", "internal/budget"},
	{"internal/linalg", "internal/minimise", "internal/options", "internal/program", "internal/postgresdb/postgrestest",
		"internal/conformal",
		"internal/plausible", "internal/plate"},
	{"internal/selftest", "internal/estimate"},
	{"dataset", "kernel", "selection/internal/nearest", "selection/internal/hardrows", "selection/internal/double"},
	{"internal/kernels", "internal/encode"},
	{"network", "internal/gp", "internal/trees", "internal/incontext", "internal/transform", "internal/source/cells",
		"kernel/kerneltest", "tables", "internal/place", "selection/internal/posterior"},
	{"selection/internal/space", "selection/internal/ahead", "internal/source/sheets"},
	{"selection", "internal/source/formats"},
	{"spec", "limits", "dataset/source", "internal/source/databases", "selection/selectiontest",
		"network/onnx", "learner", "internal/device",
		"internal/device/cuda/internal/nvrtc"},
	{"internal/space", "internal/needs", "internal/bound", "internal/choice", "internal/gathering"},
	{"internal/sets", "internal/merge", "internal/device/cuda", "internal/device/devicetest",
		"internal/device/cuda/gen", "internal/forecast", "internal/explain"},
	{"internal/kept", "fitted"},
	{"internal/earlierdata"},
	{"internal/compose"},
	{root},
	{"internal/benchmark", "campaign", "internal/audit", "internal/device/mpi"},
	{"internal/wire", "internal/oracle"},
	{"internal/worker", "internal/report", "internal/server/web", "internal/benchmark/sqlite",
		"internal/benchmark/postgres", "internal/benchmark/storetest", "campaign/sqlite",
		"campaign/postgres", "campaign/storetest"},
	{"internal/mcp"},
	{"internal/server"},
	{"cmd/nextbatch/cli", "cmd/speed"},
	{"cmd/nextbatch", "cmd/nextbatch-hpc", "cmd/load"},
}

// rule is one line of the table.
type rule struct {
	may     []string // packages of this module
	stdOnly bool     // besides them only the standard library, no other module
}

// reserved are modules that only these packages import, so that nothing else
// pulls them in: results can be analysed and reported without a database.
var reserved = map[string][]string{
	"modernc.org/sqlite": {"internal/sqlitefile"},
	"github.com/jackc/pgx/": {"internal/postgresdb", "internal/postgresdb/postgrestest", "campaign/postgres",
		"internal/benchmark/postgres"},
	"github.com/danielgtaylor/huma/":   {"internal/server"},
	"github.com/modelcontextprotocol/": {"internal/mcp"},
	"github.com/pelletier/go-toml/":    {"internal/space", "cmd/nextbatch/cli"},
	"github.com/ebitengine/purego": {"internal/device/cuda", "internal/device/cuda/internal/nvrtc",
		"internal/device/mpi"},
}

// engine is what the table of the design calls internal/*. The golden numbers
// are not among them: only test files import those.
var engine = []string{"internal/simd", "internal/linalg", "internal/rng"}

var table = map[string]rule{
	"matrix":                           {stdOnly: true},
	"matrix/gonummat":                  {may: []string{"matrix"}},
	"internal/simd":                    {stdOnly: true},
	"internal/rng":                     {stdOnly: true},
	"internal/golden":                  {may: []string{"matrix"}, stdOnly: true},
	"internal/fileorder":               {stdOnly: true},
	"internal/atomicfile":              {stdOnly: true},
	"internal/ctxio":                   {stdOnly: true},
	"internal/footprint":               {stdOnly: true},
	"internal/tally":                   {stdOnly: true},
	"internal/stats":                   {may: []string{"matrix"}},
	"internal/sqlitefile":              {},
	"internal/postgresdb":              {},
	"internal/postgresdb/postgrestest": {},
	"internal/words":                   {stdOnly: true},
	"internal/picture":                 {stdOnly: true},
	"internal/budget":                  {stdOnly: true},
	"internal/program":                 {may: []string{"matrix"}},
	"internal/options":                 {may: []string{"internal/words"}, stdOnly: true},
	"internal/selftest":                {may: []string{"matrix", "internal/linalg", "internal/rng"}},
	"internal/rowfile":                 {may: []string{"matrix"}},
	"internal/linalg":                  {may: []string{"matrix", "internal/simd"}},
	"internal/minimise":                {may: []string{"matrix", "internal/simd"}},
	"dataset":                          {may: []string{"internal/median", "matrix", "internal/rowfile", "internal/words"}},
	"internal/source/cells":            {may: []string{"dataset", "internal/words"}},
	"internal/source/sheets": {may: []string{"dataset", "internal/source/cells", "internal/rowfile",
		"internal/options", "internal/words"}},
	"internal/source/formats": {may: []string{"matrix", "dataset", "internal/source/cells", "internal/source/sheets",
		"internal/atomicfile", "internal/ctxio", "internal/rowfile", "internal/options"}},
	"internal/source/databases": {may: []string{"dataset", "internal/source/sheets", "internal/source/formats",
		"internal/sqlitefile", "internal/postgresdb"}},
	"dataset/source": {may: []string{"matrix", "dataset", "internal/source/cells", "internal/source/sheets",
		"internal/source/formats"}},
	"internal/sets": {may: []string{"internal/source/sheets", "internal/source/formats", "internal/rng",
		"internal/median", "internal/encode", "matrix", "dataset", "dataset/source", "internal/atomicfile",
		"internal/ctxio"}},
	"internal/conformal": {may: []string{"internal/rng", "internal/words"}},
	"internal/plausible": {may: []string{"internal/words"}},
	"internal/estimate":  {may: []string{"internal/conformal", "internal/rng", "internal/stats", "internal/words"}},
	"internal/oracle":    {may: []string{"campaign"}},
	"internal/space":     {may: []string{"dataset", "dataset/source", "internal/rng", "internal/words"}},
	"internal/choice":    {may: []string{"network"}},
	"internal/gathering": {may: []string{"network"}},
	"internal/needs":     {may: []string{"spec"}},
	"internal/bound": {may: []string{"tables", "selection", "internal/budget", "internal/words", "internal/rng",
		"internal/plate", "dataset", "limits"}},
	"limits":         {may: []string{"internal/plate"}},
	"internal/plate": {may: []string{"internal/rng", "internal/words"}},
	"network": {may: with(engine, "internal/encode", "internal/kernels", "matrix", "internal/program", "dataset",
		"internal/conformal", "internal/atomicfile", "internal/footprint")},
	"internal/trees":     {may: []string{"matrix", "internal/linalg", "internal/rng"}},
	"internal/incontext": {may: []string{"matrix", "internal/linalg", "internal/simd"}},
	"network/onnx":       {may: with(engine, "internal/encode", "matrix", "kernel", "network", "internal/atomicfile")},
	"learner": {may: []string{"internal/encode", "matrix", "dataset", "kernel", "internal/conformal", "network",
		"internal/gp", "internal/trees", "internal/incontext", "internal/atomicfile", "internal/linalg", "internal/rng",
		"internal/words"}},
	"internal/encode":    {may: []string{"internal/words", "internal/median", "dataset", "matrix"}},
	"internal/merge":     {may: []string{"internal/words", "internal/encode", "dataset"}},
	"internal/median":    {stdOnly: true},
	"internal/gp":        {may: with(engine, "matrix", "kernel", "internal/minimise")},
	"kernel":             {may: with(engine, "matrix")},
	"internal/kernels":   {may: with(engine, "matrix", "internal/program", "kernel")},
	"kernel/kerneltest":  {may: with(engine, "internal/kernels", "matrix", "kernel")},
	"internal/transform": {may: with(engine, "internal/kernels", "matrix", "internal/program", "kernel")},
	"selection": {may: with(engine, "matrix", "kernel", "internal/words", "internal/place",
		"internal/budget", "selection/internal/space", "selection/internal/ahead", "selection/internal/posterior",
		"selection/internal/double")},
	"internal/place": {may: []string{"internal/words", "internal/kernels", "matrix", "internal/program", "kernel"}},
	"selection/internal/space": {may: with(engine, "internal/rowfile", "internal/kernels", "matrix", "kernel",
		"internal/tally", "internal/place", "selection/internal/posterior", "selection/internal/double",
		"selection/internal/nearest")},
	"selection/internal/ahead":     {may: []string{"internal/budget", "internal/place"}},
	"selection/internal/posterior": {may: with(engine, "matrix", "selection/internal/double")},
	"selection/internal/double":    {may: []string{"internal/linalg"}},
	"selection/internal/nearest":   {may: with(engine, "internal/rowfile", "matrix", "internal/tally")},
	"selection/internal/hardrows":  {may: []string{"matrix", "internal/rowfile"}},
	"selection/selectiontest":      {may: with(engine, "matrix", "kernel", "selection")},
	"spec": {may: []string{"internal/kernels", "matrix", "internal/gp", "kernel", "internal/transform", "selection",
		"internal/footprint"}},
	"internal/device": {may: []string{"network", "internal/place"}},
	"internal/device/cuda": {may: []string{"internal/kernels", "matrix", "internal/program", "network", "internal/place",
		"internal/options", "internal/device"}},
	"internal/device/cuda/internal/nvrtc": {},
	"internal/device/cuda/gen":            {may: []string{"internal/device/cuda/internal/nvrtc"}},
	"internal/device/devicetest": {may: []string{"internal/gathering", "internal/kernels", "matrix",
		"internal/program", "kernel", "network", "internal/transform", "selection", "internal/place",
		"selection/selectiontest"}},
	"tables": {may: []string{"internal/encode", "matrix", "dataset", "internal/rowfile", "internal/stats",
		"internal/words"}},
	"internal/forecast": {may: []string{"internal/needs", "dataset", "network", "kernel", "selection", "spec",
		"tables", "internal/footprint"}},
	"internal/explain": {may: []string{"internal/conformal", "internal/encode", "dataset", "selection", "spec",
		"internal/words"}},
	"fitted": {may: []string{"matrix", "internal/conformal", "internal/plausible", "network", "learner",
		"tables", "spec", "internal/forecast", "internal/words"}},
	"internal/kept": {may: []string{"internal/needs", "internal/kernels", "matrix", "internal/program", "spec",
		"internal/forecast", "internal/footprint"}},
	"internal/compose": {may: []string{"internal/needs", "internal/encode", "internal/kernels", "matrix",
		"internal/program", "network", "kernel", "internal/transform", "selection", "internal/place", "spec",
		"internal/kept", "internal/rowfile"}},
	"internal/earlierdata": {may: []string{"tables", "network", "matrix", "learner", "internal/words",
		"internal/encode", "dataset", "fitted"}},
	root: {may: []string{"internal/earlierdata", "internal/choice", "internal/needs", "internal/bound",
		"internal/encode", "internal/kernels", "fitted", "matrix", "dataset", "internal/conformal",
		"internal/plausible", "limits", "learner", "network", "kernel", "selection", "internal/place", "spec",
		"tables", "internal/forecast", "internal/explain", "internal/kept", "internal/compose", "internal/linalg",
		"internal/rng", "internal/footprint", "internal/words", "internal/rowfile"}},
	"campaign": {may: []string{"internal/merge", "internal/source/sheets", "internal/source/cells", "internal/needs",
		"internal/encode", root, "fitted", "limits", "internal/plate", "internal/budget", "spec", "matrix", "dataset",
		"internal/space", "dataset/source", "internal/conformal", "internal/plausible", "internal/estimate", "learner",
		"network", "tables", "internal/forecast", "internal/kept", "internal/picture", "internal/rng", "internal/stats",
		"internal/options", "internal/words"}},
	"campaign/sqlite":    {may: []string{"campaign", "internal/sqlitefile"}},
	"campaign/postgres":  {may: []string{"campaign", "internal/postgresdb"}},
	"campaign/storetest": {may: []string{root, "fitted", "campaign", "limits"}},
	"internal/benchmark": {may: with(engine, "internal/gathering", "internal/choice", "internal/needs",
		"internal/encode", root, "fitted", "spec", "matrix", "dataset", "internal/sets", "learner", "network",
		"internal/stats", "internal/words")},
	"internal/audit": {may: []string{"fitted", "matrix", "dataset", "learner", "network", "internal/rng",
		"internal/stats", "internal/words"}},
	"internal/wire": {may: []string{root, "fitted", "campaign", "dataset", "learner", "network",
		"internal/benchmark", "internal/audit", "internal/estimate"}},
	"internal/worker": {may: []string{"internal/earlierdata", "internal/merge", "internal/choice",
		"internal/source/sheets", "internal/source/cells", "internal/needs", "internal/encode", root, "fitted",
		"limits", "internal/plate", "spec", "matrix", "dataset", "dataset/source", "internal/conformal",
		"internal/estimate", "learner", "network", "tables", "internal/kept", "campaign", "internal/device",
		"internal/atomicfile", "internal/linalg", "internal/options", "internal/picture", "internal/words",
		"internal/wire"}},
	"internal/benchmark/sqlite":    {may: []string{"internal/benchmark", "internal/sqlitefile"}},
	"internal/benchmark/postgres":  {may: []string{"internal/stats", "internal/benchmark", "internal/postgresdb"}},
	"internal/benchmark/storetest": {may: with(engine, "internal/sets", "internal/benchmark", "matrix")},
	"internal/report": {may: []string{"internal/encode", root, "fitted", "limits", "internal/plate", "selection",
		"spec", "matrix", "dataset", "tables", "internal/conformal", "learner", "internal/rng", "internal/benchmark",
		"campaign", "internal/picture", "internal/estimate", "internal/audit", "internal/words", "internal/wire"}},
	"internal/mcp": {may: []string{"internal/space", "internal/report", "internal/wire"}},
	"internal/server": {may: []string{"internal/mcp", "internal/source/sheets", root, "fitted", "campaign",
		"internal/estimate",
		"dataset", "dataset/source", "learner", "network", "internal/kept", "internal/device", "internal/benchmark",
		"internal/benchmark/sqlite", "internal/benchmark/postgres", "internal/report", "internal/server/web",
		"internal/sqlitefile", "internal/options", "internal/words", "internal/wire"}},
	"internal/server/web": {stdOnly: true},
	"internal/device/mpi": {may: []string{"internal/device", "internal/place"}},
	"cmd/speed":           {may: below("cmd/speed")},
	"cmd/nextbatch/cli":   {may: below("cmd/nextbatch/cli")},
	"cmd/load":            {may: []string{"cmd/nextbatch/cli", "internal/wire"}},
	"cmd/nextbatch":       {may: []string{"cmd/nextbatch/cli"}},
	"cmd/nextbatch-hpc":   {may: []string{"cmd/nextbatch/cli", "internal/device/cuda", "internal/device/mpi"}},
}

func TestImportsFollowTheTable(t *testing.T) {
	for _, complaint := range checkTree(t, os.DirFS(".")) {
		t.Error(complaint)
	}
}

func TestArrowsOfTheTableRunDown(t *testing.T) {
	for _, complaint := range checkTable(floors, table) {
		t.Error(complaint)
	}
}

// TestArchitectureListsThePackages compares the table of ARCHITECTURE.md with what this file says of packages. With
// -write-packages it writes the table, in which people write what a package holds.
func TestArchitectureListsThePackages(t *testing.T) {
	raw, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	lines := regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (.*) \\| [^|]* \\|\\n")
	holds := map[string]string{}
	for _, line := range lines.FindAllStringSubmatch(text, -1) {
		holds[line[1]] = line[2]
	}
	there := map[string]bool{}
	for _, file := range sources(t, os.DirFS(".")) {
		there[path.Dir(file)] = true
	}
	var want strings.Builder
	for _, pkg := range slices.Concat(floors...) {
		if !there[pkg] {
			t.Errorf("there is no package %s", pkg)
		}
		fmt.Fprintf(&want, "| `%s` | %s | %s |\n", nameOf(pkg), holds[nameOf(pkg)], importsText(pkg))
		if holds[nameOf(pkg)] == "" {
			t.Errorf("ARCHITECTURE.md does not say what %s holds", nameOf(pkg))
		}
	}
	is := lines.FindAllStringIndex(text, -1)
	from, to := is[0][0], is[len(is)-1][1]
	if text[from:to] == want.String() {
		return
	}
	if !*writePackages {
		t.Fatal("the table of packages in ARCHITECTURE.md is stale: go test -run TestArchitecture . -write-packages")
	}
	if err := os.WriteFile("ARCHITECTURE.md", []byte(text[:from]+want.String()+text[to:]), 0o644); err != nil {
		t.Fatal(err)
	}
}

var writePackages = flag.Bool("write-packages", false, "write the table of packages in ARCHITECTURE.md")

// nameOf returns the name of a package in ARCHITECTURE.md.
func nameOf(pkg string) string {
	if pkg == root {
		return path.Base(module)
	}
	return pkg
}

// importsText lists what a package may import.
func importsText(pkg string) string {
	may := table[pkg].may
	switch {
	case len(may) == 0 && table[pkg].stdOnly:
		return "nothing; standard library only"
	case len(may) == 0:
		return "nothing"
	case strings.HasPrefix(pkg, "cmd/") && slices.Equal(may, below(pkg)):
		return "everything below"
	}
	var names []string
	for _, p := range may {
		names = append(names, nameOf(p))
	}
	return strings.Join(names, ", ")
}

func with(list []string, more ...string) []string { return slices.Concat(list, more) }

// below lists everything on lower floors that programs may import.
func below(pkg string) []string {
	all := slices.Concat(floors[:floorOf(floors, pkg)]...)
	return slices.DeleteFunc(all, func(p string) bool { return p == "internal/golden" })
}

// floorOf returns the number of the floor, or -1 if the package is on none.
func floorOf(floors [][]string, pkg string) int {
	return slices.IndexFunc(floors, func(floor []string) bool { return slices.Contains(floor, pkg) })
}

// checkTable reports arrows that do not run down. As every arrow leads to a
// lower floor, there can be no cycle.
func checkTable(floors [][]string, table map[string]rule) (complaints []string) {
	for pkg, rule := range table {
		from := floorOf(floors, pkg)
		if from < 0 {
			complaints = append(complaints, pkg+" is on no floor")
			continue
		}
		for _, target := range rule.may {
			if to := floorOf(floors, target); to < 0 || to >= from {
				complaints = append(complaints, fmt.Sprintf("the arrow from %s (floor %d) to %s (floor %d) does not run down",
					pkg, from, target, to))
			}
		}
	}
	for _, pkg := range slices.Concat(floors...) {
		if _, ok := table[pkg]; !ok {
			complaints = append(complaints, pkg+" has a floor but no rule")
		}
	}
	return complaints
}

// checkTree reports imports in the files of a source tree that the table does
// not allow.
func checkTree(t *testing.T, tree fs.FS) (complaints []string) {
	t.Helper()
	for _, file := range sources(t, tree) {
		for _, imported := range importsOf(t, tree, file) {
			if c := complaint(path.Dir(file), imported); c != "" {
				complaints = append(complaints, file+": "+c)
			}
		}
		if _, ok := table[path.Dir(file)]; !ok {
			complaints = append(complaints, file+": package "+path.Dir(file)+
				" is not in the table; give it a floor and a rule in imports_test.go, and a line in ARCHITECTURE.md")
		}
	}
	return complaints
}

// complaint returns what is wrong with an import, or "".
func complaint(pkg, imported string) string {
	target, own := strings.CutPrefix(imported, module)
	if own && (target == "" || target[0] == '/') {
		return ownComplaint(pkg, path.Join(root, target))
	}
	if imported == "C" {
		return "imports C; the program is built without cgo"
	}
	first, _, _ := strings.Cut(imported, "/")
	for foreign, rooms := range reserved {
		if strings.HasPrefix(imported, foreign) && !slices.Contains(rooms, pkg) {
			return fmt.Sprintf("%s imports %s, which only %s may", pkg, imported, strings.Join(rooms, " and "))
		}
	}
	if table[pkg].stdOnly && strings.Contains(first, ".") {
		return fmt.Sprintf("%s uses the standard library only, but imports %s", pkg, imported)
	}
	return ""
}

func ownComplaint(pkg, target string) string {
	if slices.Contains(table[pkg].may, target) {
		return ""
	}
	if target == "internal/golden" {
		return "imports internal/golden, which only test files may"
	}
	return fmt.Sprintf("%s may not import %s; if it should, change the table in imports_test.go and say why", pkg, target)
}

// sources lists the Go files of this module that are not tests, for every build
// tag. Other modules, hidden folders and test data are left out, as by the go
// command.
func sources(t *testing.T, tree fs.FS) (files []string) {
	t.Helper()
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && isForeign(tree, name):
			return fs.SkipDir
		case !entry.IsDir() && strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go"):
			files = append(files, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func isForeign(tree fs.FS, dir string) bool {
	base := path.Base(dir)
	if base[0] == '.' || base[0] == '_' || base == "testdata" || base == "node_modules" {
		return true
	}
	_, err := fs.Stat(tree, path.Join(dir, "go.mod"))
	return err == nil
}

func importsOf(t *testing.T, tree fs.FS, file string) (imports []string) {
	t.Helper()
	source, err := fs.ReadFile(tree, file)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), filepath.FromSlash(file), source, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range parsed.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		imports = append(imports, name)
	}
	return imports
}
