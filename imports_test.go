package nextbatch_test

import (
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
	{"matrix/gonummat", "internal/simd", "internal/rng", "internal/golden", "internal/fileorder", "internal/atomicfile", "internal/ctxio", "internal/footprint", "internal/tally", "internal/stats", "internal/sqlitefile", "internal/postgresdb", "internal/words", "internal/rowfile"},
	{"internal/linalg", "internal/minimise", "internal/postgresdb/postgrestest", "conformal", "plausible", "plate"},
	{"internal/selftest"},
	{"dataset", "kernel", "selection/internal/nearest", "selection/internal/hardrows", "selection/internal/double"},
	{"network", "gp", "trees", "transform", "dataset/source", "kernel/kerneltest", "tables", "selection/place", "selection/internal/posterior"},
	{"selection/internal/space"},
	{"selection"},
	{"spec", "dataset/sets", "selection/selectiontest", "network/onnx", "learner", "device", "device/cuda/internal/nvrtc"},
	{"device/cuda", "device/devicetest", "device/cuda/gen", "forecast", "explain"},
	{"kept"},
	{"compose"},
	{root},
	{"benchmark", "campaign", "audit", "device/mpi"},
	{"wire"},
	{"worker", "report", "server/web", "benchmark/sqlite", "benchmark/postgres", "benchmark/storetest", "campaign/sqlite", "campaign/postgres", "campaign/storetest"},
	{"server"},
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
	"modernc.org/sqlite":             {"internal/sqlitefile"},
	"github.com/jackc/pgx/":          {"internal/postgresdb", "internal/postgresdb/postgrestest", "campaign/postgres", "benchmark/postgres"},
	"github.com/danielgtaylor/huma/": {"server"},
	"github.com/pelletier/go-toml/":  {"cmd/nextbatch/cli"},
	"github.com/ebitengine/purego":   {"device/cuda", "device/cuda/internal/nvrtc", "device/mpi"},
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
	"internal/stats":                   {},
	"internal/sqlitefile":              {},
	"internal/postgresdb":              {},
	"internal/postgresdb/postgrestest": {},
	"internal/words":                   {stdOnly: true},
	"internal/selftest":                {may: []string{"matrix", "internal/linalg", "internal/rng"}},
	"internal/rowfile":                 {may: []string{"matrix"}},
	"internal/linalg":                  {may: []string{"matrix", "internal/simd"}},
	"internal/minimise":                {may: []string{"matrix", "internal/simd"}},
	"dataset":                          {may: with(engine, "matrix", "internal/rowfile", "internal/words")},
	"dataset/source":                   {may: []string{"matrix", "dataset", "internal/atomicfile", "internal/ctxio", "internal/rowfile", "internal/words"}},
	"dataset/sets":                     {may: []string{"matrix", "dataset", "dataset/source", "internal/atomicfile", "internal/ctxio"}},
	"conformal":                        {may: []string{"internal/rng", "internal/words"}},
	"plausible":                        {may: []string{"internal/words"}},
	"plate":                            {may: []string{"internal/rng", "internal/words"}},
	"network":                          {may: with(engine, "matrix", "dataset", "kernel", "conformal", "internal/atomicfile", "internal/footprint")},
	"trees":                            {may: []string{"matrix", "internal/linalg", "internal/rng"}},
	"network/onnx":                     {may: with(engine, "matrix", "dataset", "kernel", "network", "internal/atomicfile")},
	"learner":                          {may: []string{"matrix", "dataset", "kernel", "conformal", "network", "gp", "trees", "internal/atomicfile", "internal/linalg", "internal/rng", "internal/words"}},
	"gp":                               {may: with(engine, "matrix", "kernel", "internal/minimise")},
	"kernel":                           {may: with(engine, "matrix")},
	"kernel/kerneltest":                {may: with(engine, "matrix", "kernel")},
	"transform":                        {may: with(engine, "matrix", "kernel")},
	"selection":                        {may: with(engine, "matrix", "kernel", "internal/words", "selection/place", "selection/internal/space", "selection/internal/posterior", "selection/internal/double")},
	"selection/place":                  {may: []string{"matrix", "kernel"}},
	"selection/internal/space":         {may: with(engine, "matrix", "kernel", "internal/tally", "selection/place", "selection/internal/posterior", "selection/internal/double", "selection/internal/nearest")},
	"selection/internal/posterior":     {may: with(engine, "matrix", "selection/internal/double")},
	"selection/internal/double":        {may: []string{"internal/linalg"}},
	"selection/internal/nearest":       {may: with(engine, "matrix", "internal/tally")},
	"selection/internal/hardrows":      {may: []string{"matrix", "internal/rowfile"}},
	"selection/selectiontest":          {may: with(engine, "matrix", "kernel", "selection")},
	"spec":                             {may: []string{"matrix", "gp", "kernel", "transform", "selection", "internal/footprint"}},
	"device":                           {may: []string{"network", "selection/place"}},
	"device/cuda":                      {may: []string{"matrix", "kernel", "network", "selection/place", "device"}},
	"device/cuda/internal/nvrtc":       {},
	"device/cuda/gen":                  {may: []string{"device/cuda/internal/nvrtc"}},
	"device/devicetest":                {may: []string{"matrix", "kernel", "network", "transform", "selection", "selection/place", "selection/selectiontest"}},
	"tables":                           {may: []string{"matrix", "dataset", "internal/words", "internal/rowfile"}},
	"forecast":                         {may: []string{"dataset", "network", "kernel", "selection", "spec", "tables", "internal/footprint"}},
	"explain":                          {may: []string{"dataset", "selection", "spec", "internal/words"}},
	"kept":                             {may: []string{"matrix", "kernel", "spec", "forecast", "internal/footprint"}},
	"compose":                          {may: []string{"matrix", "dataset", "network", "kernel", "transform", "selection", "selection/place", "spec", "kept", "internal/rowfile"}},
	root:                               {may: []string{"matrix", "dataset", "conformal", "plausible", "plate", "learner", "network", "kernel", "selection", "selection/place", "spec", "tables", "forecast", "explain", "kept", "compose", "internal/linalg", "internal/rng", "internal/footprint", "internal/words", "internal/rowfile"}},
	"campaign":                         {may: []string{root, "plate", "selection", "spec", "matrix", "dataset", "dataset/source", "conformal", "plausible", "learner", "network", "tables", "forecast", "kept", "internal/rng", "internal/stats", "internal/words"}},
	"campaign/sqlite":                  {may: []string{"campaign", "internal/sqlitefile"}},
	"campaign/postgres":                {may: []string{"campaign", "internal/postgresdb"}},
	"campaign/storetest":               {may: []string{root, "campaign"}},
	"benchmark":                        {may: with(engine, root, "spec", "matrix", "dataset", "dataset/sets", "learner", "network", "internal/stats", "internal/words")},
	"audit":                            {may: []string{"matrix", "learner", "network", "internal/rng", "internal/stats", "internal/words"}},
	"wire":                             {may: []string{root, "campaign", "dataset", "learner", "benchmark"}},
	"worker":                           {may: []string{root, "plate", "spec", "matrix", "dataset", "dataset/source", "conformal", "learner", "network", "tables", "kept", "campaign", "device", "internal/linalg", "wire"}},
	"benchmark/sqlite":                 {may: []string{"benchmark", "internal/sqlitefile"}},
	"benchmark/postgres":               {may: []string{"benchmark", "network", "internal/postgresdb"}},
	"benchmark/storetest":              {may: with(engine, "benchmark", "dataset", "matrix")},
	"report":                           {may: []string{root, "plate", "spec", "learner", "benchmark", "campaign", "internal/words"}},
	"server":                           {may: []string{root, "audit", "campaign", "dataset", "dataset/source", "learner", "network", "kept", "device", "benchmark", "benchmark/sqlite", "benchmark/postgres", "report", "server/web", "internal/sqlitefile", "internal/words", "wire"}},
	"server/web":                       {stdOnly: true},
	"device/mpi":                       {may: []string{"device", "selection/place"}},
	"cmd/speed":                        {may: below("cmd/speed")},
	"cmd/nextbatch/cli":                {may: below("cmd/nextbatch/cli")},
	"cmd/load":                         {may: []string{"cmd/nextbatch/cli", "wire"}},
	"cmd/nextbatch":                    {may: []string{"cmd/nextbatch/cli"}},
	"cmd/nextbatch-hpc":                {may: []string{"cmd/nextbatch/cli", "device/cuda", "device/mpi"}},
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

// TestArchitectureListsThePackages compares the table of ARCHITECTURE.md with
// this one, and its dots with the existing packages.
func TestArchitectureListsThePackages(t *testing.T) {
	text, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for _, file := range sources(t, os.DirFS(".")) {
		there[path.Dir(file)] = true
	}
	listed := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| (•?) ?\\| (?:root )?`([^`]+)` \\|.*\\| ([^|]*) \\|$").FindAllStringSubmatch(string(text), -1) {
		pkg := row[2]
		if pkg == "nextbatch" {
			pkg = root
		}
		listed[pkg] = true
		if dot := row[1] != ""; dot != there[pkg] {
			t.Errorf("%s has a dot: %v; it exists: %v", pkg, dot, there[pkg])
		}
		if want, got := packagesOf(pkg, row[3]), slices.Sorted(slices.Values(table[pkg].may)); !slices.Equal(got, want) {
			t.Errorf("%s may import %v; ARCHITECTURE.md says %v", pkg, got, want)
		}
	}
	for pkg := range table {
		if !listed[pkg] {
			t.Errorf("%s is not in the table of ARCHITECTURE.md", pkg)
		}
	}
	if len(listed) != len(table) {
		t.Errorf("ARCHITECTURE.md lists %d packages, the table has %d", len(listed), len(table))
	}
}

// packagesOf returns the packages that a line of ARCHITECTURE.md lists for a package.
func packagesOf(pkg, text string) (list []string) {
	if text == "everything below" {
		list = below(pkg)
	} else if text, _, _ = strings.Cut(text, ";"); text != "nothing" {
		list = strings.Split(text, ", ")
	}
	if at := slices.Index(list, "engine"); at >= 0 {
		list = slices.Concat(list[:at], engine, list[at+1:])
	}
	if at := slices.Index(list, "root"); at >= 0 {
		list[at] = root
	}
	return slices.Sorted(slices.Values(list))
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
