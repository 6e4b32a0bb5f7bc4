package cli

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/matrix"
)

// pageOf runs select and returns the page that it writes.
func pageOf(t *testing.T, args ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "page with space.html")
	must(t, exitOK, slices.Concat([]string{"select"}, args, quick, []string{"--report", path})...)
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestSelectPage(t *testing.T) {
	text := strings.ReplaceAll(sampleText(func(i int) bool { return i%3 == 0 }), "r001", "<b>r001</b>")
	path := write(t, "table.csv", strings.Replace(text, "x0", "<i>x0</i>", 1))
	listed := regexp.MustCompile(`>green</td>|<span>colour</span> green</li>`) // a column, or shown on click
	for _, method := range []string{"lcmd-tp:grad>sketch(16)", "random", "maxdet-p:ntk>train", "bait"} {
		page := pageOf(t, path, "--target", "y", "--id", "id", "-n", "12", "--must", "<b>r001</b>",
			"--method", method, "--seed", "5")
		for _, want := range []string{"12 rows to label next", "&lt;b&gt;r001&lt;/b&gt;", "&lt;i&gt;x0&lt;/i&gt;",
			"colour (2 levels)", `class="number"><button type="button" title="Sort by this column">x1`,
			"principal direction", "required", "<svg "} {
			if !strings.Contains(page, want) {
				t.Errorf("%s: the page has no %q", method, want)
			}
		}
		if !listed.MatchString(page) {
			t.Errorf("%s: the page lists no value of colour", method)
		}
		if trained := method != "random" && !strings.Contains(method, "ntk"); strings.Contains(page,
			"RMSE of network 1") != trained {
			t.Errorf("%s: the page says the wrong thing about networks", method)
		}
		if strings.Contains(page, "<b>r001") {
			t.Errorf("%s: an id has become part of the page", method)
		}
	}
}

func TestSelectPageOfFeatures(t *testing.T) {
	x := matrix.New[float32](30, 3)
	for i := range x.Data {
		x.Data[i] = float32(i * i % 17)
	}
	train, pool := npy(t, "t.npy", x.Slice(0, 10)), npy(t, "p.npy", x)
	page := pageOf(t, "--train-features", train, "--pool-features", pool, "-n", "4")
	if !strings.Contains(page, "lcmd-tp:features") || !strings.Contains(page,
		"Shown are all 30 candidates, all 10 labelled rows and all picks") {
		t.Error(page[:2000])
	}
	if without := pageOf(t, "--pool-features", pool, "-n", "4"); !strings.Contains(without, "<svg ") {
		t.Error("no picture without labelled rows")
	}
}

func TestSelectPageRefuses(t *testing.T) {
	path := sample(t)
	for _, name := range []string{"page.pdf", t.TempDir()} {
		if _, log := must(t, exitUsage, "select", path, "--target", "y", "-n", "3", "--report",
			name); !strings.Contains(log, "--report") {
			t.Error(log)
		}
	}
}

// npy writes a matrix as a NumPy array and returns the path.
func npy[T matrix.Float](t *testing.T, name string, m matrix.Dense[T]) string {
	t.Helper()
	var b bytes.Buffer
	if err := source.WriteNPY(&b, m); err != nil {
		t.Fatal(err)
	}
	return write(t, name, b.String())
}

// normalRows are features of which the later vary less.
func normalRows(rows, columns int) matrix.Dense[float32] {
	stream := rng.New(1, "normal rows", uint64(rows))
	x := matrix.New[float32](rows, columns)
	for i := range rows {
		for j := range columns {
			x.Set(i, j, float32(stream.NormFloat64()/math.Sqrt(float64(1+j))))
		}
	}
	return x
}
