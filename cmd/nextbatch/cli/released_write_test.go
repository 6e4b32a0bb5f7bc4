package cli

import (
	"archive/zip"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// made are the commands that make the files of a version, of every kind and with every kind of event. FILL stands for
// a person who measures the rows of a batch.
const made = `
fit table.csv --target y --id id --ignore z,site,hours --out blend.nextbatch --hidden 32,32
fit table.csv --target y --id id --ignore z,site,hours --learner gp --out gp.nextbatch
fit table.csv --target y --id id --ignore z,site,hours --learner trees --out trees.nextbatch
fit table.csv --target y,z --id id --ignore site,hours --learner network --hidden 8,8 --epochs 16 --ensemble 2 \
  --out network.safetensors
fit table.csv --target y --id id --ignore z,site,hours --missing drop --learner network --hidden 8,8 --epochs 16 \
  --out single.safetensors --onnx network.onnx
fit table.csv --target y --id id --ignore z,site,hours --learner gp --earlier complete.csv --out earlier.nextbatch
select table.csv --target y --id id --ignore z,site,hours --learner gp -n 6 --out batch.csv
FILL batch.csv
select table.csv --target y --id id --ignore z,site,hours --learner gp -n 8 --must r100 --same colour --runs 2 \
  --replicates 2 --plate 4x6 --controls A1 --out plate.csv
FILL plate.csv
campaign new campaigns.db table.csv --campaign blend --target y --id id --ignore z,site,hours --hidden 32,32 -n 6 \
  --lease never --random-start
campaign ask campaigns.db --campaign blend --out blend.csv
FILL blend.csv
campaign tell campaigns.db blend.csv --campaign blend
campaign ask campaigns.db --campaign blend --out waiting.csv
FILL waiting.csv
campaign new campaigns.db table.csv --campaign small --target y,z --weights 2,1 --id id --learner gp -n 8 \
  --audit 1/4 --lease never --cost hours --budget 30 --group site --per-group 3
campaign ask campaigns.db --campaign small --person ada --request plate-1 --out small.csv
FILL small.csv
campaign tell campaigns.db small.csv --campaign small --person ada
campaign add campaigns.db more.csv --campaign small
campaign settings campaigns.db --campaign small --learner network --hidden 8 --epochs 8 --method bald -n 5
campaign ask campaigns.db --campaign small --person ben --must r100,r101,r103,r104 --out out.csv
campaign fail campaigns.db r100 --campaign small --reason spilled
campaign return campaigns.db r101 --campaign small
campaign retire campaigns.db r112 r113 --campaign small --reason lost
campaign retire campaigns.db r115 --campaign small
campaign undo campaigns.db 12 --campaign small
campaign tell campaigns.db far.csv --campaign small --partial
campaign confirm campaigns.db r103 --campaign small --reason checked
campaign new campaigns.db table.csv --campaign wells --target y --id id --ignore z,site,hours --learner gp -n 8 \
  --replicates 2 --plate 4x6 --controls A1 --lease never
campaign ask campaigns.db --campaign wells --must r100,r101 --same colour --runs 2 --out wells.csv
FILL wells.csv
campaign tell campaigns.db wells.csv --campaign wells
campaign tell campaigns.db right.csv --campaign wells --correct
campaign ask campaigns.db --campaign wells --replicate-share 1/4 --out more-wells.csv
FILL more-wells.csv
campaign tell campaigns.db more-wells.csv --campaign wells
campaign ask campaigns.db --campaign wells -n 4 --must r103 --out out-wells.csv
campaign fail campaigns.db r103#2 --campaign wells --reason leaked
campaign new campaigns.db german.csv --campaign german --target y --id id --ignore z,site,hours --learner gp -n 4 \
  --lease never
campaign new campaigns.db table.csv --campaign earlier --target y --id id --ignore z,site,hours --learner gp -n 4 \
  --lease never --earlier complete.csv
campaign new campaigns.db --space space.toml --campaign space --target y --learner gp -n 6 --lease never
campaign ask campaigns.db --campaign space --out space.csv
FILL space.csv
campaign tell campaigns.db space.csv --campaign space
campaign tell campaigns.db set.csv --campaign space
campaign export campaigns.db space.zip --campaign space
campaign export campaigns.db wells.zip --campaign wells
campaign export campaigns.db blend.zip --campaign blend
campaign export campaigns.db small.zip --campaign small
bench run --grid grid.toml --table complete.csv --target y --id id --results results.db
token add ada --role owner --tokens tokens.db
token add ben --role viewer --campaign small --tokens tokens.db
`

// asked are the commands whose answers are kept. What they print is JSON or CSV, which versions promise.
const asked = `
predict table.csv --model blend.nextbatch --id id
predict table.csv --model gp.nextbatch --id id
predict table.csv --model trees.nextbatch --id id
predict table.csv --model earlier.nextbatch --id id
predict table.csv --model network.safetensors --id id
predict table.csv --model single.safetensors --id id
predict complete.csv --model network.onnx --id id --ignore z,site,hours,y
evaluate table.csv --model blend.nextbatch --target y --json
merge table.csv batch.csv --id id --target y --out merged.csv
merge table.csv plate.csv --id id --target y --out merged-plate.csv
campaign list campaigns.db --json
campaign settings campaigns.db --campaign blend
campaign settings campaigns.db --campaign small
campaign settings campaigns.db --campaign wells
campaign history campaigns.db --campaign blend --json
campaign history campaigns.db --campaign small --json
campaign history campaigns.db --campaign wells --json
campaign status campaigns.db --campaign blend --json
campaign status campaigns.db --campaign small --json
campaign status campaigns.db --campaign wells --json
campaign history campaigns.db --campaign german --json
campaign history campaigns.db --campaign earlier --json
campaign predict campaigns.db --campaign blend
campaign tell campaigns.db waiting.csv --campaign blend --accept
campaign status campaigns.db --campaign blend --json
campaign import imported.db blend.zip
campaign import imported.db small.zip
campaign import imported.db wells.zip
campaign import imported.db space.zip
campaign history imported.db --campaign space --json
campaign status imported.db --campaign space --json
campaign history imported.db --campaign blend --json
campaign history imported.db --campaign small --json
campaign history imported.db --campaign wells --json
campaign status imported.db --campaign small --json
campaign predict imported.db --campaign blend
doctor campaigns.db --json
bench run --grid grid.toml --table complete.csv --target y --id id --results results.db
bench status results.db --json
bench export results.db --out results.csv
token list --tokens tokens.db --json
campaign ask campaigns.db --campaign blend
campaign ask campaigns.db --campaign german
campaign ask campaigns.db --campaign earlier
campaign ask campaigns.db --campaign space
campaign ask imported.db --campaign space
campaign ask imported.db --campaign small
campaign ask imported.db --campaign wells
`

// writeCorpus makes the files of this version, asks about them, and writes both to a folder.
func writeCorpus(t *testing.T, folder string) {
	folder, err := filepath.Abs(folder)
	if err := errors.Join(err, os.MkdirAll(folder, 0o755)); err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	writeTables(t)
	for line := range strings.Lines(strings.ReplaceAll(strings.TrimSpace(made), "\\\n", "")) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "FILL "); ok {
			fill(t, name)
			continue
		}
		must(t, exitOK, strings.Fields(line)...)
	}
	zipFolder(t, filepath.Join(folder, "files.zip"))
	var archive txtar.Archive
	for line := range strings.Lines(strings.TrimSpace(asked)) {
		command := strings.TrimSpace(line)
		archive.Files = append(archive.Files, txtar.File{Name: command, Data: []byte(answered(t, command))})
	}
	if err := os.WriteFile(filepath.Join(folder, "answers.txt"), txtar.Format(&archive), 0o644); err != nil {
		t.Fatal(err)
	}
}

// truth returns the labels of a row: a curve, a step and noise, so that each learner has its share in a blend.
func truth(row int) (y, z float64) {
	x0, x1 := math.Sin(float64(row)), math.Cos(float64(3*row))
	step, noise := math.Copysign(0.5, x0-0.2), 0.1*math.Sin(float64(37*row*row))
	return math.Round(1000*(x0*x0+x1+step+noise)) / 1000, math.Round(1000*(x0-x1)) / 1000
}

// writeTables writes what the files are made from: rows of which a third has labels, with gaps, dates and words; the
// rows that a campaign gains later; a label that is far from the others, and one that replaces another; the table as a
// German Excel writes it; and a table and a grid for the benchmark.
func writeTables(t *testing.T) {
	t.Helper()
	const header = "id,x0,x1,day,colour,site,hours,y,z\n"
	var table, more, complete strings.Builder
	for i := range 124 {
		y, z := truth(i)
		x1 := fmt.Sprintf("%.4f", math.Cos(float64(3*i)))
		row := fmt.Sprintf("r%03d,%.4f,%s,2026-%02d-%02d,%s,s%d,%d", i, math.Sin(float64(i)), x1, 1+i%12, 1+i%28,
			[]string{"red", "green", "blue"}[i%3*i%3], i%5, 1+i%4)
		fmt.Fprintf(&complete, "%s,%v,%v\n", row, y, z)
		if i%29 == 7 {
			row = strings.Replace(row, x1, "", 1)
		}
		switch {
		case i >= 120:
			fmt.Fprintf(&more, "%s,,\n", row)
		case i%3 == 0:
			fmt.Fprintf(&table, "%s,%v,%v\n", row, y, z)
		default:
			fmt.Fprintf(&table, "%s,,\n", row)
		}
	}
	for name, text := range map[string]string{
		"table.csv": header + table.String(), "more.csv": header + more.String(), "complete.csv": header + complete.String(),
		"far.csv": "id,y,z\nr103,2500,0.5\n", "right.csv": "id,replicate,y\nr100,2,1.5\n",
		"set.csv": "row,heat,y\n0,22.25,0.5\n",
		"space.toml": "cost = \"heat\"\n[[factor]]\nname = \"heat\"\nrange = [20, 120]\n" +
			"[[factor]]\nname = \"solvent\"\ncategories = [\"DMF\", \"water\"]\n",
		// in windows-1252
		"german.csv": strings.NewReplacer(",", ";", ".", ",", "x0", "gr\xf6\xdfe").Replace(header + table.String()),
		"grid.toml": `specs = ["random", "lcmd-tp:grad>sketch(64)"]
learners = ["network", "gp"]
splits = [0, 1]
schedules = [{rounds = 2, batch = 4}]
settings = {seed = 3, start = 20, valid = 0, hidden = [8, 8], epochs = 8}
`,
	} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// fill writes the labels into a batch file.
func fill(t *testing.T, name string) {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(readText(t, name))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	w := csv.NewWriter(&b)
	for i, row := range rows {
		if i > 0 {
			id := row[slices.IndexFunc(rows[0], func(name string) bool { return name == "id" || name == "row" })]
			number, err := strconv.Atoi(strings.TrimPrefix(id, "r"))
			if err != nil {
				t.Fatal(err)
			}
			y, z := truth(number)
			if at := slices.Index(rows[0], "replicate"); at >= 0 && row[at] == "2" {
				y += 0.01
			}
			for target, label := range map[string]float64{"y": y, "z": z} {
				if at := slices.Index(rows[0], target); at >= 0 {
					row[at] = strconv.FormatFloat(label, 'g', -1, 64)
				}
			}
		}
		_ = w.Write(row) // to memory
	}
	w.Flush()
	if err := os.WriteFile(name, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

func readText(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// zipFolder packs the files of the present folder, but for features, which are computed again.
func zipFolder(t *testing.T, path string) {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	features, err := filepath.Glob("*.features")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range features {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	w := zip.NewWriter(file)
	if err := errors.Join(w.AddFS(os.DirFS(".")), w.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}
}
