package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/internal/golden"
)

// roadServer serves the raw file of one data set.
func roadServer(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for row := range 3000 {
		fmt.Fprintf(&b, "144552912,9.%d,56.%d,17.%d\n", row, 2*row+1, 3*row+1)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/ml/machine-learning-databases/00246/3D_spatial_network.txt" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(b.String()))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestData(t *testing.T) {
	mirror, dir := roadServer(t), filepath.Join(t.TempDir(), "data")
	if _, log := must(t, exitData, "data", "prepare", "road", "--data", dir); !strings.Contains(log,
		"nextbatch data fetch road downloads it") {
		t.Error(log)
	}
	_, log := must(t, exitOK, "data", "fetch", "road", "--data", dir, "--mirror", mirror)
	if !strings.Contains(log, "road: fetched: "+filepath.Join(dir, "3D_spatial_network.txt")) {
		t.Error(log)
	}
	if _, log := must(t, exitOK, "data", "fetch", "road", "--data", dir, "--mirror",
		mirror); !strings.Contains(log, "already there") {
		t.Error(log)
	}
	_, log = must(t, exitOK, "data", "prepare", "road", "--data", dir)
	if !strings.Contains(log, "3000 of 3000 rows, 2 features") ||
		!strings.Contains(log,
			"warning: road: pool 1120, test 600 and 2 features, where the paper has 198720, 234874 and 2") {
		t.Error(log)
	}
	if _, log := must(t, exitOK, "data", "prepare", "road", "--data", dir, "-q"); strings.Contains(log, "already") {
		t.Error(log)
	}
	out, _ := must(t, exitOK, "data", "info", "road", "--data", dir, "--json")
	var e dataEntry
	if err := json.Unmarshal([]byte(out), &e); err != nil {
		t.Fatal(err)
	}
	if e.State != "prepared" || e.Raw.SHA256 != e.Raw.Pinned || e.Prepared.Counts != (dataCounts{1120, 600, 2}) ||
		e.Label != "column 3" {
		t.Errorf("%+v", e)
	}
	if out, _ := must(t, exitOK, "data", "info", "road", "--data", dir); !strings.Contains(out,
		"pool 198720, test 234874, 2 features") || !strings.Contains(out, "3000 of 3000") {
		t.Error(out)
	}
	if out, _ := must(t, exitOK, "data", "list", "--data", dir); strings.Count(out, "missing") != 14 ||
		strings.Count(out, "\n") != 16 {
		t.Error(out)
	}
}

func TestDataFaults(t *testing.T) {
	mirror, dir := roadServer(t), t.TempDir()
	for _, args := range [][]string{
		{"data", "fetch"}, {"data", "fetch", "iris"}, {"data", "fetch", "road", "--all"}, {"data", "prepare"},
		{"data", "info"}, {"data", "info", "iris"}, {"data", "info", "road", "fried"},
		{"data", "list", "road"}, {"data", "nonsense"},
	} {
		must(t, exitUsage, args...)
	}
	_, log := must(t, exitFailure, "data", "fetch", "poker", "--data", dir, "--mirror", mirror)
	if !strings.Contains(log, "404 Not Found") {
		t.Error(log)
	}
	_, log = must(t, exitPartial, "data", "fetch", "poker", "road", "--data", dir, "--mirror", mirror)
	if !strings.Contains(log, "1 of 2 data sets failed") || !strings.Contains(log, "road: fetched") {
		t.Error(log)
	}
	must(t, exitOK, "data", "prepare", "road", "--data", dir, "-q")
	raw := filepath.Join(dir, "3D_spatial_network.txt")
	if err := os.WriteFile(raw, []byte("1,2,3,4\n2,3,4,5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"fetch", "prepare", "info"} {
		if _, log := must(t, exitData, "data", command, "road", "--data", dir); !strings.Contains(log,
			"its hash no longer matches") {
			t.Errorf("%s: %s", command, log)
		}
	}
	if out, _ := must(t, exitData, "data", "info", "road", "--data", dir); !strings.Contains(out, "changed") {
		t.Error(out)
	}
	file := write(t, "file", "")
	must(t, exitFailure, "data", "fetch", "road", "--data", file, "--mirror", mirror)
	if err := os.WriteFile(filepath.Join(dir, "fried.prepared.npz"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	must(t, exitData, "data", "info", "fried", "--data", dir)
	if out, _ := must(t, exitOK, "data", "list", "--data", dir); !strings.Contains(out, "damaged") {
		t.Error(out)
	}
}

func TestDataStandIn(t *testing.T) {
	dir := t.TempDir()
	if _, log := must(t, exitOK, "data", "fetch", "poker", "--data", dir, "--mirror",
		golden.Data(t)); !strings.Contains(log, "stand-in") {
		t.Error(log)
	}
	if out, _ := must(t, exitOK, "data", "info", "poker", "--data", dir); !strings.Contains(out, "stand-in") {
		t.Error(out)
	}
}
