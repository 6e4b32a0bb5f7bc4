package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// assistant is a client of the program's command mcp.
func assistant(t testing.TB, args ...string) (call func(tool string, arguments any) (said string, failed bool),
	tools []string) {
	t.Helper()
	program := nextbatch(append([]string{"mcp"}, args...)...)
	program.Stderr = os.Stderr
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test"}, nil).Connect(t.Context(),
		&sdk.CommandTransport{Command: program}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Error(err)
		}
	})
	for tool, err := range session.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		tools = append(tools, tool.Name)
	}
	return func(tool string, arguments any) (string, bool) {
		r, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: arguments})
		if err != nil {
			t.Fatal(err)
		}
		return r.Content[0].(*sdk.TextContent).Text, r.IsError
	}, tools
}

type args = map[string]any

// TestAssistant: a store and a table through the standard streams of the program.
func TestAssistant(t *testing.T) {
	lab := t.TempDir()
	table, store := filepath.Join(lab, "table.csv"), filepath.Join(lab, "c.db")
	if err := os.WriteFile(table, []byte(numberedTable), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := nextbatch("campaign", "new", store, table, "--target", "y [mg]", "--id", "name", "--learner",
		"gp").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	call, tools := assistant(t, store, "--person", "ada")
	if !slices.Contains(tools, "tell") || slices.Contains(tools, "confirm") || slices.Contains(tools, "audit_table") {
		t.Errorf("without further flags there are %q", tools)
	}
	for _, one := range []struct {
		tool      string
		arguments args
		want      string
	}{
		{"status", nil, "rows: 12: 6 open, 0 asked, 6 labelled"},
		{"ask", args{"rows": 1}, "1 measurement is out with ada (assistant)"},
		{"tell", args{"rows": []args{{"id": "s7", "values": args{"y [mg]": 8}}}}, "s7"},
		{"history", nil, "ada (assistant): 1 label told: s7"},
	} {
		if said, failed := call(one.tool, one.arguments); failed || !strings.Contains(said, one.want) {
			t.Errorf("%s says %q", one.tool, said)
		}
	}
	if _, tools := assistant(t, store, "--read-only"); slices.Contains(tools, "tell") ||
		!slices.Contains(tools, "status") {
		t.Errorf("with --read-only there are %q", tools)
	}
	if _, tools := assistant(t, store, "--may-confirm"); !slices.Contains(tools, "confirm") {
		t.Errorf("with --may-confirm there are %q", tools)
	}
	call, _ = assistant(t, table)
	if said, failed := call("select_from_table", args{"target": "y [mg]", "id": "name", "batch": 2,
		"learner": "gp"}); failed || !strings.Contains(said, "pick  id") {
		t.Errorf("of the table that the command names: %s", said)
	}
}

// BenchmarkAssistant is a call of a tool that has nothing to compute, through the standard streams of the program.
func BenchmarkAssistant(b *testing.B) {
	lab := b.TempDir()
	table, store := filepath.Join(lab, "table.csv"), filepath.Join(lab, "c.db")
	if err := os.WriteFile(table, []byte(numberedTable), 0o600); err != nil {
		b.Fatal(err)
	}
	if out, err := nextbatch("campaign", "new", store, table, "--target", "y [mg]", "--id",
		"name").CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	call, _ := assistant(b, store)
	for b.Loop() {
		if said, failed := call("campaigns", args{}); failed {
			b.Fatal(said)
		}
	}
}

// TestAssistantFiles: an assistant reads what is in the folders that the command names, by no other way either.
func TestAssistantFiles(t *testing.T) {
	lab, outside := t.TempDir(), t.TempDir()
	for _, path := range []string{filepath.Join(lab, "table.csv"), filepath.Join(outside, "secret.csv"),
		filepath.Join(lab, "model.json")} {
		if err := os.WriteFile(path, []byte(numberedTable), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	links := map[string]string{"file.csv": filepath.Join(outside, "secret.csv"), "folder": outside,
		"inside.csv": filepath.Join(lab, "table.csv")}
	for name, to := range links {
		if err := os.Symlink(to, filepath.Join(lab, name)); err != nil {
			t.Skip(err)
		}
	}
	if err := exec.Command("mkfifo", filepath.Join(lab, "pipe.csv")).Run(); err != nil {
		t.Skip(err)
	}
	call, tools := assistant(t, filepath.Join(lab, "table.csv"), "--folder", lab)
	want := []string{"advise_on_table", "audit_table", "candidates_of_space", "predict_table", "select_from_table"}
	if !slices.Equal(tools, want) {
		t.Errorf("of tables there are %q", tools)
	}
	ask := func(more args) args {
		all := args{"target": "y [mg]", "id": "name", "batch": 2, "learner": "gp"}
		for name, value := range more {
			all[name] = value
		}
		return all
	}
	for _, path := range []string{"table.csv", "inside.csv", filepath.Join(lab, "table.csv"), "folder/../table.csv"} {
		if said, failed := call("select_from_table", ask(args{"table": path})); failed {
			t.Errorf("%s: %s", path, said)
		}
	}
	secret := filepath.Join(outside, "secret.csv")
	away, err := filepath.Rel(lab, secret)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{secret, away, "file.csv", "folder/secret.csv", "pipe.csv", "model.json", ".", "", "-",
		"gone.csv", "table.csv\x00", "https://example.org/t.csv", "postgres://db/t", strings.Repeat("a/", 1<<16)} {
		for _, name := range []string{"table", "pool", "train", "targets", "earlier"} {
			value := any(path)
			if name == "earlier" {
				value = []string{path}
			}
			if said, failed := call("select_from_table", ask(args{name: value})); !failed ||
				!strings.Contains(said, "not a file that this assistant may read") {
				t.Errorf("%s %.50q: %s", name, path, said)
			}
		}
	}
	for name, inside := range map[string]bool{"table.csv": true, secret: false, "file.csv": false} {
		factor := "[[factor]]\nname = \"a\"\ndescriptors = " + strconv.Quote(name) + "\n"
		if err := os.WriteFile(filepath.Join(lab, "space.toml"), []byte(factor), 0o600); err != nil {
			t.Fatal(err)
		}
		said, failed := call("candidates_of_space", args{"space": "space.toml"})
		if failed == inside || inside != strings.Contains(said, "s1,") {
			t.Errorf("descriptors in %s: %s", name, said)
		}
	}
	for name, value := range (args{"must": []string{"@" + secret}, "exclude": []string{"s7", " @" + secret},
		"pending": []string{"\"@" + secret}, "seed": "x", "batch": []int{1, 2}, "cost_aware": "maybe", "method": "--out=x",
		"learner": args{}, "id": "name\x00"}) {
		if said, failed := call("select_from_table", ask(args{name: value})); !failed || strings.Contains(said, "s1,") {
			t.Errorf("%s %v: %s", name, value, said)
		}
	}
	if entries, err := os.ReadDir(lab); err != nil || len(entries) != 7 {
		t.Errorf("%v, %v", err, entries)
	}
}

// numberedTable has 12 rows, of which 6 have a label that follows from the inputs.
const numberedTable = `name,a,b,y [mg]
s1,1,5,2.1
s2,2,3,3.9
s3,3,8,6.2
s4,4,1,8.1
s5,5,9,9.8
s6,6,2,12.1
s7,7,4,
s8,8,7,
s9,9,6,
s10,10,0,
s11,11,3,
s12,12,5,
`
