package options_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/cmd/nextbatch/cli"
	"github.com/nextbatch/nextbatch/internal/options"
	"github.com/nextbatch/nextbatch/internal/wire"
)

// TestDoorsHaveTheOptions: what the table calls an option is what a door calls it, and each option is a field.
func TestDoorsHaveTheOptions(t *testing.T) {
	t.Parallel()
	flags := flagsOf(t, "select", "campaign settings")
	service := sources(t, "../server/*.go")
	settings := append(jsonNames(reflect.TypeFor[campaign.Created]()), found(`json:"(must|exclude)\b`, service)...)
	parameters := found(`query:"([a-z_]+)`, service)
	python := sources(t, "../../python/src/nextbatch/*.py")
	arguments := found(`"(NEXTBATCH_[A-Z_]+)"`, python)
	for _, signature := range found(`(?s)\bdef \w+\((.*?)\) ->`, python) {
		arguments = append(arguments, found(`\b(\w+):`, signature)...)
	}
	fields := found(`(?m)^\t((?:[A-Z]\w*, )*[A-Z]\w*) `, sources(t, "../../*.go", "../../tables/*.go", "../../limits/*.go",
		"../../fitted/*.go", "../source/sheets/*.go", "../../network/*.go", "../plate/*.go",
		"../../campaign/*.go"))
	fields = append(strings.Split(strings.Join(fields, ", "), ", "), "MissingMarks", "Device", "Threads")
	page := sources(t, "../server/web/src/batchlimits.ts")
	said := 0
	for _, field := range options.Fields() {
		if name := options.Field(field); strings.HasPrefix(name, "“") {
			name = options.Setting(field) + ": '" + strings.Trim(name, "“”") + "'"
			if said++; !strings.Contains(page, name) {
				t.Errorf("%s: the page does not have %s", field, name)
			}
		}
		for part := range strings.SplitSeq(field, ".") {
			if !slices.Contains(fields, part) {
				t.Errorf("%s is not a field", field)
			}
		}
		for _, door := range []struct {
			name  string
			says  func(string, ...string) string
			known []string
		}{{"the command line", options.Flag, flags}, {"settings", options.Setting, settings},
			{"uploads", options.Parameter, slices.Concat(settings, parameters)}, {"Python", options.Argument, arguments}} {
			name := door.says(field)
			if name == "" {
				continue
			}
			said++
			if !slices.Contains(door.known, name) {
				t.Errorf("%s: %s does not have %s", field, door.name, name)
			}
		}
	}
	if said < 125 {
		t.Errorf("only %d names", said)
	}
}

// TestOptionsAreInTheTable: what a door takes is in the table, unless no other door has it.
func TestOptionsAreInTheTable(t *testing.T) {
	t.Parallel()
	python := found(`(?s)\ndef select\((.*?)\) ->`, sources(t, "../../python/src/nextbatch/_select.py"))
	for _, door := range []struct {
		name  string
		takes []string
		says  func(string, ...string) string
		alone string
	}{
		{"the command line", flagsOf(t, "select", "candidates", "campaign settings", "campaign ask"), options.Flag,
			"--campaign --checkpoint --describe --dry-run --help --inputs --json --model-output --mpi --numeric --out " +
				"--person --quiet --report --request --rows --show-predictions --tensor"},
		{"settings", jsonNames(reflect.TypeFor[campaign.Settings]()), options.Setting, "network architecture outputs " +
			"activation sigma_w sigma_b training epochs rate schedule peak decay beta1 beta2 eps"}, // those of a network
		{"asks", jsonNames(reflect.TypeFor[wire.AskRequest]()), options.Setting, "rows"},
		{"uploads", found(`query:"([a-z_]+)`, sources(t, "../server/uploads.go", "../server/campaigns.go")),
			options.Parameter, "after header limit name"},
		{"Python", found(`\b(\w+):`, strings.Join(python, "")), options.Argument,
			"max_memory plot progress random_state space"},
	} {
		known := strings.Fields(door.alone)
		for _, field := range options.Fields() {
			known = append(known, door.says(field))
		}
		for _, name := range door.takes {
			if !slices.Contains(known, name) {
				t.Errorf("%s takes %s, which is not in the table", door.name, name)
			}
		}
		for _, name := range strings.Fields(door.alone) {
			if !slices.Contains(door.takes, name) {
				t.Errorf("%s does not take %s", door.name, name)
			}
		}
	}
}

// flagsOf lists the flags of commands.
func flagsOf(t *testing.T, commands ...string) (flags []string) {
	t.Helper()
	for _, command := range commands {
		var help bytes.Buffer
		if code := cli.Run(append(strings.Fields(command), "--help"), &help, &help); code != 0 {
			t.Fatal(code, help.String())
		}
		for _, flag := range found(`(?m)^ +(-n\b|--[a-z-]+|-., --[a-z-]+)`, help.String()) {
			flags = append(flags, flag[strings.LastIndexByte(flag, ' ')+1:])
		}
	}
	return flags
}

// sources returns the text of files that are not tests.
func sources(t *testing.T, patterns ...string) string {
	t.Helper()
	var b strings.Builder
	for _, pattern := range patterns {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			t.Fatal(pattern, err)
		}
		for _, path := range paths {
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasSuffix(path, "_test.go") {
				b.Write(raw)
			}
		}
	}
	return b.String()
}

// found lists the first groups of what an expression matches.
func found(expression, text string) (list []string) {
	for _, match := range regexp.MustCompile(expression).FindAllStringSubmatch(text, -1) {
		list = append(list, match[1])
	}
	return list
}

// jsonNames lists the names of the fields of a type, and of types in it.
func jsonNames(of reflect.Type) (list []string) {
	if of.Kind() != reflect.Struct {
		return nil
	}
	for i := range of.NumField() {
		name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
		list = append(append(list, name), jsonNames(of.Field(i).Type)...)
	}
	return list
}

// TestHints: each door words a hint, or leaves it out.
func TestHints(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		option, value, flag, parameter, argument string
	}{
		{"Decimal", ",", "--decimal ,", "decimal=comma", ""},
		{"Decimal", ".", "--decimal .", "decimal=point", ""},
		{"Delimiter", " ", "--sep space", "separator=blank", ""},
		{"Encoding", "latin1", "--encoding latin1", "encoding=latin1", ""},
		{"Censored", "drop", "--censored drop", "censored=drop", `censored="drop"`},
		{"MissingMarks", "it's bad,no", `--missing-marks 'it'\''s bad,no'`, `missing_marks="it's bad,no"`, ""},
		{"Kinds", "a b", "--categorical 'a b'", "", `categorical=["a b"]`},
		{"Ignore", "meta", "--ignore meta", "ignore=meta", ""},
		{"Lod", "0.5", "--lod 0.5", "lod=0.5", "lod=0.5"},
		{"Array", "x", "--sheet x", "", ""},
		{"Missing", "drop", "--missing drop", `missing="drop"`, `missing="drop"`},
		{"Keep", "a b", "--keep 'a b'", `keep="a b"`, `keep=["a b"]`},
		{"IDColumn", "no", "--id no", "id=no", `id="no"`},
		{"Device", "cpu", "--device cpu", "", "NEXTBATCH_DEVICE=cpu"},
	} {
		flag, parameter, argument := options.Flag(c.option, c.value), options.Parameter(c.option, c.value),
			options.Argument(c.option, c.value)
		if flag != c.flag || parameter != c.parameter || argument != c.argument {
			t.Errorf("%s, %s, %s; want %+v", flag, parameter, argument, c)
		}
	}
	err := fmt.Errorf("a: %w: b", options.Advise(errors.New("no card"),
		options.Hint{Before: "; raise ", Option: "MaxMemory"},
		options.Hint{Before: ", or say ", Option: "Device", Value: []string{"cpu"}}))
	if got := options.Error(options.Flag, err); got != "a: no card; raise --max-memory, or say --device cpu: b" {
		t.Error(got)
	}
	if got := options.Error(options.Parameter, err); got != err.Error() || got != "a: no card: b" {
		t.Error(got)
	}
	if got := options.Setting("Keep", "a"); got != `keep=["a"]` {
		t.Error(got)
	}
	err = fmt.Errorf("a: %w", errors.Join(&options.Fault{Option: "Keep", Cause: errors.New("no b")},
		&options.Fault{Option: "GroupColumn", Cause: errors.New("no c")}))
	if got := options.Error(options.Flag, err); got != "a: --keep: no b\n--group: no c" {
		t.Error(got)
	}
	if got := err.Error(); got != "a: keep: no b\ngroup_column: no c" {
		t.Error(got)
	}
}

// TestParseLease reads a lease as all doors do.
func TestParseLease(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{"36h": 36 * time.Hour, "7d": 168 * time.Hour, "1.5d": 36 * time.Hour,
		"2w": 336 * time.Hour, "1h30m": 90 * time.Minute, "never": -1, "-1s": -time.Second} {
		if got, err := options.ParseLease(text); got != want || err != nil {
			t.Errorf("%s is %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "0", "0s", "soon", "7", "-1d", "1e300w", "NaNd", "d"} {
		if got, err := options.ParseLease(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
	var settings campaign.Settings
	if err := json.Unmarshal([]byte(`{"lease": "7d"}`), &settings); err != nil ||
		time.Duration(settings.Lease) != 168*time.Hour {
		t.Error(settings.Lease, err)
	}
}
