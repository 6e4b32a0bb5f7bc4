package nextbatch_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// The tests of this file show that the checks of imports_test.go can fail.

func file(pkg string, imports ...string) *fstest.MapFile {
	source := "//go:build never\n\npackage " + pkg + "\n\n"
	for _, name := range imports {
		source += "import _ \"" + name + "\"\n"
	}
	return &fstest.MapFile{Data: []byte(source)}
}

func TestCheckerFindsViolations(t *testing.T) {
	own := func(pkg string) string { return module + "/" + pkg }
	tests := []struct {
		name string
		file *fstest.MapFile
		word string // of the one complaint; none if empty
	}{
		{"kernel/a.go", file("kernel", "fmt", own("matrix"), own("internal/linalg"), "gonum.org/v1/gonum/mat"), ""},
		{"a.go", file("nextbatch", own("selection"), own("internal/compose")), ""},
		{"campaign/a.go", file("campaign", module), ""},
		{"cmd/speed/main.go", file("main", own("internal/simd"), module, own("internal/server")), ""},

		{"kernel/a.go", file("kernel", own("network")), "kernel may not import network"},
		{"kernel/a.go", file("kernel", module), "kernel may not import ."},
		{"kernel/a.go", file("kernel", own("kernel/kerneltest")), "kernel may not import kernel/kerneltest"},
		{"selection/a.go", file("selection", own("transform")), "selection may not import transform"},
		{"spec/a.go", file("spec", own("network")), "spec may not import network"},
		{"spec/a.go", file("spec", module), "spec may not import ."},
		{"a.go", file("nextbatch", own("campaign")), ". may not import campaign"},
		{"internal/simd/a_amd64.go", file("simd", own("matrix")), "internal/simd may not import matrix"},
		{"matrix/a.go", file("matrix", "gonum.org/v1/gonum/mat"), "matrix uses the standard library only"},
		{"internal/rng/a.go", file("rng", "golang.org/x/exp/rand"), "internal/rng uses the standard library only"},
		{"dataset/a.go", file("dataset", own("internal/golden")), "which only test files may"},
		{"cmd/speed/main.go", file("main", own("internal/golden")), "which only test files may"},
		{"network/a.go", file("network", "C"), "without cgo"},
		{"internal/sqlitefile/a.go", file("sqlitefile", "modernc.org/sqlite/lib"), ""},
		{"internal/benchmark/a.go", file("benchmark", "modernc.org/sqlite"), "which only internal/sqlitefile may"},
		{"internal/report/a.go", file("report", own("internal/benchmark/sqlite")),
			"internal/report may not import internal/benchmark/sqlite"},
		{"novelty/a.go", file("novelty", "fmt"), "package novelty is not in the table; give it a floor"},

		{"kernel/a_test.go", file("kernel", own("network"), own("internal/golden")), ""},
		{"internal/simd/gen/a.go", file("main", own("internal/server")), ""},
		{"kernel/testdata/a.go", file("kernel", own("internal/server")), ""},
		{".hidden/a.go", file("hidden", own("internal/server")), ""},
		{"matrix/a.go", file("matrix", module+"er/matrix"), "matrix uses the standard library only"},
	}
	for _, test := range tests {
		tree := fstest.MapFS{"go.mod": {}, "internal/simd/gen/go.mod": {}, test.name: test.file}
		got := checkTree(t, tree)
		if test.word == "" && len(got) > 0 || test.word != "" && (len(got) != 1 || !strings.Contains(got[0], test.word)) {
			t.Errorf("%s: complaints %q, want one with %q", test.name, got, test.word)
		}
	}
}

func TestCheckerFindsArrowsThatDoNotRunDown(t *testing.T) {
	tests := []struct {
		word  string
		table map[string]rule
	}{
		{"", map[string]rule{"a": {}, "b": {}, "c": {may: []string{"a", "b"}}}},
		{"from a (floor 0) to c (floor 1)", map[string]rule{"a": {may: []string{"c"}}, "b": {}, "c": {}}},
		{"from a (floor 0) to b (floor 0)", map[string]rule{"a": {may: []string{"b"}}, "b": {}, "c": {}}},
		{"from c (floor 1) to x (floor -1)", map[string]rule{"a": {}, "b": {}, "c": {may: []string{"x"}}}},
		{"x is on no floor", map[string]rule{"a": {}, "b": {}, "c": {}, "x": {}}},
		{"b has a floor but no rule", map[string]rule{"a": {}, "c": {}}},
	}
	for _, test := range tests {
		got := checkTable([][]string{{"a", "b"}, {"c"}}, test.table)
		found := slices.ContainsFunc(got, func(c string) bool { return strings.Contains(c, test.word) })
		if test.word == "" && len(got) > 0 || test.word != "" && !found {
			t.Errorf("complaints %q, want one with %q", got, test.word)
		}
	}
}
