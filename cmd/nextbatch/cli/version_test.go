package cli

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch"
)

func TestVersionOf(t *testing.T) {
	v := nextbatch.Version
	for module, want := range map[string]string{
		"":                                   v,
		"(devel)":                            v,
		"v" + v:                              v,
		"v" + v + "+dirty":                   v + "+dirty",
		"v0.0.0-20260102030405-0123456789ab": v + "+0123456789ab",
		"v0.0.9-0.20260102030405-0123456789ab+dirty": v + "+0123456789ab.dirty",
	} {
		if got := versionOf(module); got != want {
			t.Errorf("%q: %s, want %s", module, got, want)
		}
	}
}

// TestOneVersion compares everything that states the version with nextbatch.Version.
func TestOneVersion(t *testing.T) {
	number, unreleased := strings.CutSuffix(nextbatch.Version, "-dev")
	if !regexp.MustCompile(`^\d+\.\d+\.\d+$`).MatchString(number) {
		t.Errorf("nextbatch.Version is %q", nextbatch.Version)
	}
	headings := regexp.MustCompile(`(?m)^## (\S+)( \(unreleased\))?`).FindStringSubmatch(inRoot(t, "CHANGELOG.md"))
	if headings == nil || headings[1] != number || (headings[2] != "") != unreleased {
		t.Errorf("CHANGELOG.md begins with %q, the version is %s", headings, nextbatch.Version)
	}
	if !strings.Contains(inRoot(t, "CITATION.cff"), "\nversion: "+number+"\n") {
		t.Errorf("CITATION.cff is not of version %s", number)
	}
	build := thisBuild()
	if got, _, _ := strings.Cut(build.Version, "+"); got != nextbatch.Version {
		t.Errorf("the program has version %s, not %s", build.Version, nextbatch.Version)
	}
	if out, _ := must(t, exitOK, "--version"); !strings.HasPrefix(out, "nextbatch "+build.Version+" ") {
		t.Errorf("--version prints %s", out)
	}
}

func TestVersionOfTheService(t *testing.T) {
	r := startService(t, true, filepath.Join(t.TempDir(), "c.db"), "-q")
	defer r.stop()
	var api struct{ Info struct{ Version string } }
	status, body := r.get(t, r.secret, "/openapi.json")
	if err := json.Unmarshal([]byte(body), &api); err != nil || status != 200 || api.Info.Version != thisBuild().Version {
		t.Errorf("%d, %v: version %q, not %q", status, err, api.Info.Version, thisBuild().Version)
	}
}

// TestVersionOfThePackage asks the program that builds the wheels, where there is a Python.
func TestVersionOfThePackage(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3")
	}
	command := exec.Command(python, "-B", "-c", "import backend; print(backend.version())")
	command.Dir = filepath.Join("..", "..", "..", "python")
	out, err := command.Output()
	number, unreleased := strings.CutSuffix(nextbatch.Version, "-dev")
	want := `^` + regexp.QuoteMeta(number)
	if unreleased {
		want += `\.dev\d+(\+g[0-9a-f]{12})?`
	}
	if got := strings.TrimSpace(string(out)); err != nil || !regexp.MustCompile(want+"$").MatchString(got) {
		t.Errorf("%v: the package has version %q, the module %s", err, got, nextbatch.Version)
	}
}

func inRoot(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
