package cli

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection"
)

// call runs the command line.
func call(args ...string) (code int, out, log string) {
	var o, l bytes.Buffer
	code = Run(args, &o, &l)
	return code, o.String(), l.String()
}

// must runs the command line and requires an exit code.
func must(t *testing.T, want int, args ...string) (out, log string) {
	t.Helper()
	code, out, log := call(args...)
	if code != want {
		t.Fatalf("%q: exit code %d, not %d: %s", args, code, want, log)
	}
	return out, log
}

// sample writes a table of 120 rows, of which every third has a label, and
// returns its path: id, x0, x1, colour, site, hours, y.
func sample(t *testing.T) string {
	t.Helper()
	return write(t, "table.csv", sampleText(func(i int) bool { return i%3 == 0 }))
}

func sampleText(labelled func(row int) bool) string {
	var b strings.Builder
	b.WriteString("id,x0,x1,colour,site,hours,y\n")
	for i := range 120 {
		y := ""
		x0, x1 := math.Sin(float64(i)), math.Cos(float64(3*i))
		if labelled(i) {
			y = strconv.FormatFloat(x0*x0+x1, 'g', -1, 64)
		}
		fmt.Fprintf(&b, "r%03d,%v,%v,%s,s%d,%d,%s\n", i, x0, x1, []string{"red", "green", "blue"}[i%3*i%3], i%5, 1+i%4, y)
	}
	return b.String()
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// short are flags that keep a training short, and quick those that train one network alone.
var (
	short = []string{"--epochs", "2", "--hidden", "16", "-q"}
	quick = append([]string{"--learner", "network"}, short...)
)

func selectJSON(t *testing.T, args ...string) nextbatch.Result {
	t.Helper()
	training := quick
	if slices.Contains(args, "--model") {
		training = []string{"-q"} // there is no training
	}
	out, _ := must(t, exitOK, slices.Concat([]string{"select"}, args, training, []string{"--json"})...)
	var r nextbatch.Result
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("%v in %q", err, out)
	}
	return r
}

func TestSelectOneTable(t *testing.T) {
	path := sample(t)
	r := selectJSON(t, path, "--target", "y", "-n", "10", "--id", "id", "--seed", "3")
	if len(r.Indices) != 10 || r.Spec != "lcmd-tp:grad>sketch(512)" || r.Seed != 3 ||
		r.Metrics.Labelled != 40 || r.Metrics.Pool != 80 {
		t.Fatalf("%+v", r)
	}
	for i, row := range r.Indices {
		if row%3 == 0 {
			t.Errorf("row %d has a label", row)
		}
		if want := fmt.Sprintf("r%03d", row); r.IDs[i] != want {
			t.Errorf("row %d is %s", row, r.IDs[i])
		}
		if !strings.Contains(r.Reasons[i], "labelled row r") {
			t.Errorf("reason %q", r.Reasons[i])
		}
	}
	if again := selectJSON(t, path, "--target", "y", "-n", "10", "--id", "id", "--seed", "3", "--threads",
		"1"); !slices.Equal(again.Indices, r.Indices) {
		t.Errorf("one thread picks %v, several %v", again.Indices, r.Indices)
	}
	if r.Version == "" || r.Timings.Total <= 0 || len(r.Metrics.ValidRMSE) != 1 {
		t.Errorf("%+v", r)
	}
}

// TestSelectTwoTables: two tables give the batch of one with their rows.
func TestSelectTwoTables(t *testing.T) {
	lines := strings.SplitAfter(sampleText(func(i int) bool { return i%3 == 0 }), "\n")
	train, pool := lines[0], lines[0]
	for i, line := range lines[1:] {
		if i%3 == 0 {
			train += line
		} else {
			pool += line
		}
	}
	one := selectJSON(t, sample(t), "--target", "y", "-n", "10", "--id", "id")
	two := selectJSON(t, "--train", write(t, "a.csv", train), "--pool", write(t, "b.csv", pool), "--target", "y",
		"-n", "10", "--id", "id")
	if !slices.Equal(one.IDs, two.IDs) || two.Indices[0] >= 80 {
		t.Errorf("%v and %v", one.IDs, two.IDs)
	}
}

func TestSelectFlags(t *testing.T) {
	path := sample(t)
	base := []string{path, "--target", "y", "--id", "id", "-n", "12"}
	with := func(more ...string) []string { return slices.Concat(base, more) }
	t.Run("constraints", func(t *testing.T) {
		r := selectJSON(t, with("--must", "r001,r004", "--exclude", "@"+write(t, "no.txt", "r002\nr005\n"),
			"--cost", "hours", "--budget", "30", "--group", "site", "--per-group", "3")...)
		if !slices.Equal(r.IDs[:2], []string{"r001", "r004"}) || slices.Contains(r.IDs, "r002") || *r.Metrics.Cost > 30 {
			t.Errorf("%v costs %v", r.IDs, *r.Metrics.Cost)
		}
		sites := map[int]int{}
		for _, row := range r.Indices {
			if sites[row%5]++; sites[row%5] > 3 {
				t.Errorf("site %d has more than three rows", row%5)
			}
		}
	})
	for _, method := range []string{"random", "maxdiag:ll>train", "bait", "lcmd-tp:linear", "maxdet-p:ntk>train",
		"kmeanspp-tp:laplace", "NN_lcmd-tp_grad_rp-512", "maxdet-p:ll>ens(2)>sketch(8)>train"} {
		t.Run(method, func(t *testing.T) {
			if r := selectJSON(t, with("--method", method)...); len(r.IDs) != 12 {
				t.Errorf("%+v", r)
			}
		})
	}
	t.Run("network", func(t *testing.T) {
		r := selectJSON(t, with("--activation", "silu", "--ensemble", "2")...)
		if len(r.Metrics.ValidRMSE) != 2 {
			t.Errorf("%+v", r.Metrics)
		}
	})
	t.Run("columns", func(t *testing.T) {
		r := selectJSON(t, with("--categorical", "hours", "--ignore", "colour,site", "--numeric", "x0",
			"--missing", "refuse")...)
		if r.Metrics.Inputs != 2+4 {
			t.Errorf("%d inputs", r.Metrics.Inputs)
		}
	})
	t.Run("targets", func(t *testing.T) {
		aims := strings.Join(strings.SplitAfter(sampleText(func(int) bool { return false }), "\n")[:20], "")
		selectJSON(t, with("--targets", write(t, "aims.csv", aims))...)
	})
}

func TestSelectFeatures(t *testing.T) {
	save := func(name string, rows int, shift float64) string {
		m := matrix.New[float32](rows, 4)
		for i := range m.Data {
			m.Data[i] = float32(math.Sin(shift + float64(i*i)))
		}
		return npy(t, name, m)
	}
	train, pool := save("t.npy", 10, 0), save("p.npy", 50, 1)
	r := selectJSON(t, "--train-features", train, "--pool-features", pool, "-n", "5", "--method",
		"bait-f-p:features>train")
	if len(r.Indices) != 5 || r.Spec != "bait-f-p:features>train" || r.Timings.Train != 0 {
		t.Errorf("%+v", r)
	}
	if r := selectJSON(t, "--train-features", train, "--pool-features", pool, "-n", "5", "--targets",
		train); r.Spec != "lcmd-tp:features" {
		t.Errorf("by default %s", r.Spec)
	}
	if r := selectJSON(t, "--pool-features", pool, "-n", "5", "--must", "7"); r.Indices[0] != 7 {
		t.Errorf("%+v", r)
	}
	_, log := must(t, exitUsage, "select", "--train-features", train, "--pool-features", pool, "-n", "5",
		"--method", "lcmd-tp:grad")
	if !strings.Contains(log, "features") {
		t.Error(log)
	}
	must(t, exitUsage, "select", "--pool-features", pool, "-n", "5", "--method", "lcmd-tp:features")
	must(t, exitData, "select", "--pool-features", sample(t), "-n", "5")
}

// TestSelectFilesShareMemory: a file may take what those before it have left of
// --max-memory, and is refused before it is read.
func TestSelectFilesShareMemory(t *testing.T) {
	pool, train := npy(t, "pool.npy", matrix.New[float32](1000, 10)), npy(t, "train.npy", matrix.New[float32](1000, 10))
	_, log := must(t, exitMemory, "select", "--pool-features", pool, "--train-features", train, "-n", "5",
		"--max-memory", "60KB")
	if !strings.Contains(log, train+": reading the file would take more memory") {
		t.Error(log)
	}
	table := "x,z,y\n" + strings.Repeat("0.1,0.2,0.3\n0.3,0.2,0.1\n", 50_000) // 2.4 MB as numbers
	one, two := write(t, "one.csv", table), write(t, "two.csv", table)
	_, log = must(t, exitMemory, "gram", "--pool", one, "--train", two, "--target", "y", "--out",
		filepath.Join(t.TempDir(), "k.npy"), "--max-memory", "4MB")
	if !strings.Contains(log, two+": reading the file would take more memory") {
		t.Error(log)
	}
}

// TestSelectNamesTheShard: a number that is not finite is named by its file and its row there.
func TestSelectNamesTheShard(t *testing.T) {
	dir := t.TempDir()
	for i, bad := range []float64{0, math.NaN()} {
		values := []float32{1, 2, 3, float32(4 + bad)}
		if err := source.WriteMatrix(filepath.Join(dir, fmt.Sprintf("%d.npy", i)), matrix.View(2, 2, values)); err != nil {
			t.Fatal(err)
		}
	}
	_, log := must(t, exitData, "select", "--pool-features", filepath.Join(dir, "*.npy"), "-n", "2")
	if !strings.Contains(log, filepath.Join(dir, "1.npy")+": row 1, column 1 (from 0) is NaN") {
		t.Error(log)
	}
}

// TestSelectFeaturesKeepsDigits has features whose digits beyond float32 decide. They
// reach FrankWolfe, which computes in float64, and the dry run of it.
func TestSelectFeaturesKeepsDigits(t *testing.T) {
	m := matrix.New[float64](150, 2)
	for i := range m.Data {
		m.Data[i] = 1 + 1e-8*math.Sin(float64(i*i))
	}
	want, err := selection.Select(t.Context(), selection.FrankWolfe{}, selection.Problem[float64]{Pool: m, Batch: 6})
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"--pool-features", npy(t, "p.npy", m), "-n", "6", "--method", "frankwolfe-p:features"}
	if r := selectJSON(t, args...); !slices.Equal(r.Indices, want.Rows()) {
		t.Errorf("%v, want %v", r.Indices, want.Rows())
	}
	args[1] = npy(t, "rounded.npy", matrix.Converted[float32](m))
	if r := selectJSON(t, args...); slices.Equal(r.Indices, want.Rows()) {
		t.Error("the test has no such features")
	}
	must(t, 0, append([]string{"select", "--dry-run"}, args...)...)
}

func TestSelectOutput(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out ü folder")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	table := filepath.Join(dir, "my table é.csv")
	if err := os.WriteFile(table, []byte(sampleText(func(i int) bool { return i%3 == 0 })), 0o644); err != nil {
		t.Fatal(err)
	}
	args := slices.Concat([]string{"select", table, "--target", "y", "-n", "6", "--id", "id"}, quick)
	for _, extension := range tableExtensions() {
		path := filepath.Join(dir, "batch ß"+extension)
		if out, _ := must(t, exitOK, append(args, "--out", path)...); out != "" {
			t.Errorf("%s: prints %q", extension, out)
		}
		if info, err := os.Stat(path); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", extension, err)
		}
	}
	batch, err := source.ReadFile(t.Context(), filepath.Join(dir, "batch ß.csv"),
		source.Options{Kinds: map[string]dataset.Kind{"id": dataset.KindText}})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"id", "row", "pick", "score", "why", "reason", "x0", "x1", "colour", "site", "hours",
		"y"}; !slices.Equal(batch.Names(), want) || batch.Rows() != 6 {
		t.Errorf("%d rows of %q", batch.Rows(), batch.Names())
	}
	lines, err := os.ReadFile(filepath.Join(dir, "batch ß.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var first struct {
		ID   string
		Pick int
	}
	if err := json.Unmarshal(bytes.SplitN(lines, []byte("\n"), 2)[0], &first); err != nil ||
		first.Pick != 1 || first.ID == "" {
		t.Errorf("%v, %+v", err, first)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2+len(tableExtensions()) { // the table, the batches, and their predictions
		t.Errorf("%v, files %v", err, entries)
	}
	if out, _ := must(t, exitOK, args...); !strings.HasPrefix(out, "pick") || strings.Count(out, "\n") != 7 {
		t.Errorf("without a file it prints %q", out)
	}
}

func TestSelectReadOnlyFolder(t *testing.T) {
	args := []string{"select", sample(t), "--target", "y", "-n", "6", "-q", "--out"}
	file := write(t, "file", "")
	must(t, exitFailure, append(args, filepath.Join(file, "b.csv"))...)
	must(t, exitUsage, append(args, t.TempDir()+string(filepath.Separator)+"batch.xls")...)
	if os.Getuid() == 0 {
		t.Skip("nothing is read-only for the superuser")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	if _,
		log := must(t, exitFailure, append(args, filepath.Join(dir, "b.csv"))...); !strings.Contains(log,
		"cannot be written") {
		t.Error(log)
	}
}

func TestSelectUsage(t *testing.T) {
	path := sample(t)
	for _, c := range []struct {
		want string
		args []string
	}{
		{"name a table", nil},
		{"--target", []string{path, "-n", "5"}},
		{"-n", []string{path, "--target", "y"}},
		{"one of", []string{path, "--target", "y", "-n", "5", "--pool", path}},
		{"--pool", []string{"--train", path, "--target", "y", "-n", "5"}},
		{"--train", []string{"--pool", path, "--target", "y", "-n", "5"}},
		{"--pool-features", []string{"--train-features", path, "-n", "5"}},
		{"--budget", []string{path, "--target", "y", "-n", "5", "--cost", "hours"}},
		{"--budget", []string{path, "--target", "y", "-n", "5", "--cost", "hours", "--budget", "-1"}},
		{"--per-group", []string{path, "--target", "y", "-n", "5", "--group", "site"}},
		{"did you mean", []string{path, "--target", "y", "-n", "5", "--method", "lcdm-tp:grad"}},
		{"--pool-features", []string{path, "--target", "y", "-n", "5", "--method", "lcmd-tp:features"}},
		{"activation", []string{path, "--target", "y", "-n", "5", "--activation", "soft"}},
		{"--epochs", []string{path, "--target", "y", "-n", "5", "--epochs", "0"}},
		{"width", []string{path, "--target", "y", "-n", "5", "--hidden", "0"}},
		{"--ensemble", []string{path, "--target", "y", "-n", "5", "--ensemble", "1", "--method", "maxdet-p:ll>ens(3)>train"}},
		{"--ensemble", []string{path, "--target", "y", "-n", "5", "--ensemble", "4000000000000000000"}},
		{"--threads", []string{path, "--target", "y", "-n", "5", "--threads", "-1"}},
		{"--max-memory", []string{path, "--target", "y", "-n", "5", "--max-memory", "much"}},
		{"--missing", []string{path, "--target", "y", "-n", "5", "--missing", "guess"}},
		{"--must", []string{path, "--target", "y", "-n", "1", "--must", "1,2"}},
		{"--exclude", []string{path, "--target", "y", "-n", "1", "--must", "1", "--exclude", "1"}},
		{"x0", []string{path, "--target", "y", "-n", "1", "--numeric", "x0", "--categorical", "x0"}},
		{`-n (--batch) is "many"; it must be a whole number`, []string{path, "--target", "y", "-n", "many"}},
	} {
		out, log := must(t, exitUsage, append([]string{"select"}, c.args...)...)
		if !strings.Contains(log, c.want) || out != "" {
			t.Errorf("%q: says %q, prints %q", c.args, log, out)
		}
	}
}

func TestSelectBadData(t *testing.T) {
	good := sample(t)
	text := sampleText(func(i int) bool { return i%3 == 0 })
	for _, c := range []struct {
		want string
		args []string
	}{
		{"no such file", []string{"absent.csv", "--target", "y"}},
		{"price", []string{good, "--target", "price"}},
		{"nope", []string{good, "--target", "y", "--ignore", "nope"}},
		{"nope", []string{good, "--target", "y", "--id", "nope"}},
		{"nope", []string{good, "--target", "y", "--cost", "nope", "--budget", "1"}},
		{"nope", []string{good, "--target", "y", "--must", "nope", "--id", "id"}},
		{"extension", []string{write(t, "t.xyz", text), "--target", "y"}},
		{"no rows", []string{write(t, "t.csv", ""), "--target", "y"}},
		{"line 3", []string{write(t, "t.csv", "a,y\n1,2\n3\n4,\n"), "--target", "y"}},
		{"line 4", []string{write(t, "t.csv", "a,y\n1,2\n3,4\n4,hello\n5,\n"), "--target", "y"}},
		{"nothing to pick", []string{write(t, "t.csv", sampleText(func(int) bool { return true })), "--target", "y"}},
		{"nothing to pick", []string{write(t, "t.csv", "a,b,y\n1,2,2\n3,4,1\n,5,\n"), "--target", "y", "--missing", "drop"}},
		{"leave out --method", []string{write(t, "t.csv", sampleText(func(i int) bool { return i == 0 })), "--target", "y",
			"--method", "maxdist-tp:ll"}},
		{"same id", []string{write(t, "t.csv", "i,a,y\nk,1,2\nl,3,1\nk,4,\n"), "--target", "y", "--id", "i"}},
		{"id is missing", []string{write(t, "t.csv", "i,a,y\nk,1,2\nl,3,1\n,4,\n"), "--target", "y", "--id", "i"}},
		{"lacks an input: line 4", []string{write(t, "t.csv", "a,b,y\n1,2,2\n3,4,1\n,5,\n6,6,\n"), "--target", "y",
			"--missing", "refuse"}},
		{"cannot be used as an input", []string{write(t, "t.csv", "a,y\n1,2\n3,1\ninf,\n6,\n"), "--target", "y"}},
		{"no column", []string{write(t, "t.csv", "a,y\n1,2\n1,1\n1,\n"), "--target", "y"}},
		{"not numeric", []string{good, "--target", "y", "--cost", "site", "--budget", "3"}},
		{"absent", []string{good, "--target", "y", "--exclude", "@absent.txt"}},
	} {
		out, log := must(t, exitData, slices.Concat([]string{"select", "-n", "1"}, c.args, quick)...)
		if !strings.Contains(log, c.want) || out != "" {
			t.Errorf("%q: says %q, prints %q", c.args, log, out)
		}
	}
	if _, log := must(t, exitData, "select", good, "--target", "y", "-n", "1", "--model",
		"absent.safetensors"); !strings.Contains(log, "absent") {
		t.Error(log)
	}
}

func TestSelectLeavesIncompleteRowsOut(t *testing.T) {
	path := write(t, "t.csv", "a,b,y\n1,2,2\n3,4,1\n2,3,3\n,5,\n6,6,\n7,1,\n")
	_,
		log := must(t, exitOK, slices.Concat([]string{"select", path, "--target", "y", "-n", "2",
		"--missing", "drop"}, quick)...)
	if !strings.Contains(log, "t.csv, pool: 1 row lacks an input: line 5") {
		t.Error(log)
	}
}

// TestSelectPartial: what could be picked is written, and the exit code says that
// it is not all.
func TestSelectPartial(t *testing.T) {
	out := filepath.Join(t.TempDir(), "b.csv")
	_,
		log := must(t, exitPartial, slices.Concat([]string{"select", sample(t), "--target", "y", "-n", "100",
		"--out", out}, quick)...)
	if !strings.Contains(log, "80 of 100") {
		t.Error(log)
	}
	if batch, err := source.ReadFile(t.Context(), out, source.Options{}); err != nil || batch.Rows() != 80 {
		t.Errorf("%v", err)
	}
}

func TestSelectDryRun(t *testing.T) {
	args := slices.Concat([]string{"select", sample(t), "--target", "y", "-n", "10", "--id", "id", "--dry-run"}, quick)
	out, _ := must(t, exitOK, append(args, "--json")...)
	var p nextbatch.Plan
	if err := json.Unmarshal([]byte(out), &p); err != nil {
		t.Fatal(err)
	}
	if p.Pool != 80 || p.Networks != 1 || p.OneHot["site"] != 5 || p.Memory <= 0 || p.Seconds.Total <= 0 {
		t.Errorf("%+v", p)
	}
	if out, _ := must(t, exitOK, args...); !strings.Contains(out, "memory") || !strings.Contains(out, "time") {
		t.Error(out)
	}
}

// TestSelectFormats: a table gives the same batch in every format.
func TestSelectFormats(t *testing.T) {
	path := sample(t)
	table,
		err := source.ReadFile(t.Context(), path, source.Options{Kinds: map[string]dataset.Kind{"id": dataset.KindText}})
	if err != nil {
		t.Fatal(err)
	}
	want := selectJSON(t, path, "--target", "y", "--id", "id", "-n", "9")
	for _, name := range []string{"t.tsv", "t.csv.gz", "t.parquet"} {
		other := filepath.Join(t.TempDir(), name)
		if err := source.WriteFile(other, table); err != nil {
			t.Fatal(err)
		}
		if got := selectJSON(t, other, "--target", "y", "--id", "id", "-n", "9"); !slices.Equal(got.IDs, want.IDs) {
			t.Errorf("%s: %v, not %v", name, got.IDs, want.IDs)
		}
	}
}

// TestSelectArchive reads features from an archive with several arrays.
func TestSelectArchive(t *testing.T) {
	path := filepath.Join(t.TempDir(), "features.npz")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	archive := zip.NewWriter(file)
	for name, rows := range map[string]int{"train": 4, "pool": 30} {
		m := matrix.New[float32](rows, 3)
		for i := range m.Data {
			m.Data[i] = float32(math.Sin(float64(i * i)))
		}
		w, err := archive.Create(name + ".npy")
		if err != nil {
			t.Fatal(err)
		}
		if err := source.WriteNPY(w, m); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(archive.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}
	r := selectJSON(t, "--train-features", path+":train", "--pool-features", path+":pool", "-n", "5")
	if r.Metrics.Labelled != 4 || r.Metrics.Pool != 30 || len(r.Indices) != 5 {
		t.Errorf("%+v", r)
	}
	must(t, exitData, "select", "--pool-features", path+":absent", "-n", "5")
}

// TestSelectScalesByThePool: an input that varies only among the candidates
// counts, and picks spread in it.
func TestSelectScalesByThePool(t *testing.T) {
	table := func(warm int) string {
		var b strings.Builder
		b.WriteString("x,temperature,y\n")
		for i := range 40 {
			y, temperature := strconv.Itoa(i*i%7), 20
			if i%2 == 1 {
				y = ""
			}
			if i == warm {
				temperature = 90
			}
			fmt.Fprintf(&b, "%d,%d,%s\n", i, temperature, y)
		}
		return write(t, "table.csv", b.String())
	}
	flags := []string{"--target", "y", "-n", "1", "--method", "maxdist-tp:grad>sketch(64)"}
	for _, warm := range []int{17, 25} {
		r := selectJSON(t, append([]string{table(warm)}, flags...)...)
		if r.Indices[0] != warm {
			t.Errorf("picked row %d, not the only warm one, %d", r.Indices[0], warm)
		}
	}
}
