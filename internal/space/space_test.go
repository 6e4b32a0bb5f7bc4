package space

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/internal/golden"
)

func counted(t *testing.T, text string) *Counted {
	t.Helper()
	s, err := parseSpace("space.toml", []byte(text), ligands)
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.Count(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// ligands is the table of descriptors of the tests.
func ligands(name string) (*dataset.Table, error) {
	if name != "ligands.csv" {
		return nil, errors.New(name + ": there is no such file")
	}
	return source.ReadCSV(context.Background(), strings.NewReader("ligand,mass,class\nL1,1.5,P\nL2,2.5,N\nL3,,P\n"),
		source.Options{})
}

const everything = `
cost = "2*time + 'ligand mass' + max(pressure, 1)"

[[factor]]
name = "temperature"
range = [20, 120]
step = 5
unit = "°C"

[[factor]]
name = "time"
range = [0.1, 24]
log = true
unit = "h"

[[factor]]
name = "reactor"
categories = ["flask", "autoclave"]

[[factor]]
name = "pressure"
integers = [2, 10]
when = { reactor = "autoclave" }

[[factor]]
name = "ligand"
descriptors = "ligands.csv"

[[factor]]
name = "base"
value = "KOH"

[[mixture]]
name = "solvent"
sum = 100
unit = "%"
at_most = 2
parts = [{ name = "water", range = [10, 60], step = 5 }, "ethanol", { name = "DMF", range = [20, 80] }]
step = 10

[[constraint]]
linear = "temperature + 2*pressure <= 110"

[[constraint]]
forbid = { ligand = ["L1", "L2"], temperature = ">= 100" }

[[constraint]]
require = { ligand = "L3" }
when = { reactor = "flask", water = "> 0" }
`

// TestEverything: all that a description can say is in the candidates and in its words.
func TestEverything(t *testing.T) {
	t.Parallel()
	c := counted(t, everything)
	if c.Count.N != nil || !strings.HasPrefix(c.Count.String(), "unlimited") {
		t.Errorf("%v", c.Count)
	}
	table := build(t, c, 500, 1)
	names := "temperature (°C)|time (h)|reactor|pressure|ligand|ligand mass|ligand class|base|water (%)|ethanol (%)|" +
		"DMF (%)|cost"
	if got := strings.Join(table.Names(), "|"); got != names {
		t.Errorf("%s", got)
	}
	get := func(name string, row int) float64 {
		column, err := table.Numeric(name)
		if err != nil {
			t.Fatal(err)
		}
		return column.Float(row)
	}
	text := func(name string, row int) string {
		column, err := table.Column(name)
		if err != nil {
			t.Fatal(err)
		}
		return column.Format(row)
	}
	autoclaves := 0
	for row := range table.Rows() {
		temperature, pressure, ligand := get("temperature (°C)", row), get("pressure", row), text("ligand", row)
		water, ethanol, dmf := get("water (%)", row), get("ethanol (%)", row), get("DMF (%)", row)
		mass := map[string]float64{"L1": 1.5, "L2": 2.5}[ligand]
		exists := !math.IsNaN(pressure)
		if exists {
			autoclaves++
		} else {
			pressure = 0
		}
		present := 0
		for _, part := range []float64{water, ethanol, dmf} {
			if part > 0 {
				present++
			}
		}
		time := get("time (h)", row)
		switch {
		case exists != (text("reactor", row) == "autoclave"), water+ethanol+dmf != 100, present > 2,
			temperature+2*pressure > 110, ligand != "L3" && temperature >= 100, time < 0.1 || time > 24,
			ligand != "L3" && !exists && water > 0, math.Abs(get("cost", row)-(2*time+mass+max(pressure, 1))) > 1e-9,
			(ligand == "L3") != (text("ligand mass", row) == ""), text("base", row) != "KOH":
			t.Errorf("row %d: %s", row, rowText(table, row))
		}
	}
	if autoclaves < 200 || autoclaves > 300 { // though they have nine times as many combinations
		t.Errorf("%d of 500 rows have an autoclave", autoclaves)
	}
	var said []string
	for _, column := range c.Columns() {
		said = append(said, column.Name+": "+column.Values)
	}
	said = append(append(said, c.Constraints()...), c.Cost())
	want := strings.Split(strings.TrimSpace(`
temperature: 20 to 120 °C in steps of 5
time: 0.1 to 24 h on a log scale, any value
reactor: flask, autoclave
pressure: 2 to 10, whole numbers, only if reactor is autoclave
ligand: 3 categories of ligands.csv, with 2 descriptors
base: always KOH
water: none, or 10 to 60 % in steps of 5
ethanol: 0 to 100 % in steps of 10
DMF: none, or 20 to 80 % in steps of 10
water, ethanol and DMF sum to 100 %, at most 2 of them present
temperature + 2*pressure <= 110
never: temperature >= 100 and ligand is L1 or L2
if reactor is flask and water > 0, then ligand is L3
cost = 2*time + 'ligand mass' + max(pressure, 1)`), "\n")
	if !slices.Equal(said, want) {
		t.Errorf("%s", strings.Join(said, "\n"))
	}
}

func rowText(table *dataset.Table, row int) string {
	var texts []string
	for _, c := range table.Columns() {
		texts = append(texts, c.Format(row))
	}
	return strings.Join(texts, "|")
}

// TestLargeCounts: counts that nobody could enumerate, against formulas.
func TestLargeCounts(t *testing.T) {
	t.Parallel()
	var product, bounded strings.Builder
	for i := range 12 {
		name := string(rune('a' + i))
		product.WriteString("[[factor]]\nname = \"" + name + "\"\nintegers = [0, 9]\n")
	}
	bounded.WriteString(product.String() + "[[constraint]]\nlinear = \"a+b+c+d+e+f+g+h+i+j+k+l = 54\"\n")
	for _, c := range []struct{ name, text, want string }{
		{"a product", product.String(), "1,000,000,000,000"},
		{"12 digits with the sum 54", bounded.String(), "39,581,170,420"},
		{"a mixture of 10 parts in steps of 0.01",
			"[[mixture]]\nstep = 0.01\nparts = ['a','b','c','d','e','f','g','h','i','j']\n", "4,263,421,511,271"},
		{"two factors below a diagonal", "[[factor]]\nname = 'a'\nrange = [0, 10000]\nstep = 1\n" +
			"[[factor]]\nname = 'b'\nrange = [0, 10000000]\nstep = 1\n" +
			"[[constraint]]\nlinear = \"1000*a + b <= 10000000\"\n", "50,005,010,001"},
	} {
		if got := counted(t, c.text).Count.String(); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestEstimates: where there are too many sums to count exactly, the count is said to be about right, and samples still
// meet the constraint.
func TestEstimates(t *testing.T) {
	t.Parallel()
	c := counted(t, `
[[factor]]
name = "a"
range = [0, 1]
step = 0.001
[[factor]]
name = "b"
range = [0, 1]
step = 0.001
[[factor]]
name = "c"
range = [0, 1]
step = 0.001
[[factor]]
name = "d"
range = [0, 1]
step = 0.001
[[constraint]]
linear = "1.0137*a + 1.0291*b + 0.9713*c + 1.0077*d <= 1"
`)
	want := 1001 * 1001 * 1001 * 1001 / (24 * 1.0137 * 1.0291 * 0.9713 * 1.0077) // the volume of a simplex
	n, _ := c.Count.N.Float64()
	if !c.Count.Estimated || !strings.HasPrefix(c.Count.String(), "about 4") || math.Abs(n/want-1) > 0.05 {
		t.Errorf("%v, want about %.4g", c.Count, want)
	}
	table := build(t, c, 1000, 1)
	var v [4]float64
	for row := range table.Rows() {
		for i, column := range table.Columns() {
			v[i] = column.(*dataset.Numeric).Float(row)
		}
		if v[0]*1.0137+v[1]*1.0291+v[2]*0.9713+v[3]*1.0077 > 1+1e-12 {
			t.Errorf("%s", rowText(table, row))
		}
	}
}

// TestSamplesFillTheSpace compares the shares of samples in random boxes with those of many random candidates: for all
// of some spaces, samples are nearer to them than random rows are.
func TestSamplesFillTheSpace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text string }{
		{"a cube", "[[factor]]\nname = \"a\"\nrange = [0, 1]\n[[factor]]\nname = \"b\"\nrange = [0, 1]\n" +
			"[[factor]]\nname = \"c\"\nrange = [0, 1]\n"},
		{"a simplex", "[[mixture]]\nparts = [\"a\", \"b\", \"c\"]\n"},
		{"a part of a square", "[[factor]]\nname = \"a\"\nrange = [0, 1]\n[[factor]]\nname = \"b\"\nrange = [0, 1]\n" +
			"[[constraint]]\nlinear = \"a + 2*b <= 1.5\"\n[[constraint]]\nforbid = { a = \"< 0.3\", b = \"< 0.3\" }\n"},
	} {
		space := counted(t, c.text)
		all := build(t, space, 1<<15, 77)
		r := rand.New(rand.NewPCG(3, 4))
		random := make([]int, 256)
		for i := range random {
			random[i] = r.IntN(all.Rows())
		}
		sample, others := worstBox(build(t, space, 256, 5), all), worstBox(all.Select(random), all)
		if sample > 0.7*others {
			t.Errorf("%s: the discrepancy is %.4f, that of random rows %.4f", c.name, sample, others)
		}
	}
}

// worstBox is the largest difference between the shares of two tables that are in the same box.
func worstBox(some, all *dataset.Table) (worst float64) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		var low, high [3]float64
		for i := range low {
			a, b := r.Float64(), r.Float64()
			low[i], high[i] = min(a, b), max(a, b)
		}
		share := func(t *dataset.Table) float64 {
			in := 0
			for row := range t.Rows() {
				inside := 1
				for i, c := range t.Columns() {
					if v := c.(*dataset.Numeric).Float(row); v < low[i] || v > high[i] {
						inside = 0
					}
				}
				in += inside
			}
			return float64(in) / float64(t.Rows())
		}
		worst = max(worst, math.Abs(share(some)-share(all)))
	}
	return worst
}

// TestLevelsAreBalanced: levels and powers of ten have equal shares of a sample.
func TestLevelsAreBalanced(t *testing.T) {
	t.Parallel()
	table := build(t, counted(t, "[[factor]]\nname = \"a\"\nlevels = [1, 2, 50, 51]\n[[factor]]\nname = \"b\"\n"+
		"range = [0.001, 10]\nlog = true\n[[factor]]\nname = \"c\"\nintegers = [1, 10000]\nlog = true\n"), 4096, 9)
	counts := map[[2]float64]int{}
	for row := range table.Rows() {
		for i, c := range table.Columns() {
			v := c.(*dataset.Numeric).Float(row)
			if i > 0 {
				v = math.Floor(math.Log10(v) + 1e-9)
			}
			counts[[2]float64{float64(i), v}]++
		}
	}
	for _, v := range []float64{1, 2, 50, 51} {
		if n := counts[[2]float64{0, v}]; n < 1014 || n > 1034 {
			t.Errorf("%v is in %d of 4096 rows", v, n)
		}
	}
	for _, v := range []float64{-3, -2, -1, 0} {
		if n := counts[[2]float64{1, v}]; n < 990 || n > 1060 {
			t.Errorf("%d of 4096 rows are in the decade from 1e%v", n, v)
		}
	}
	for _, v := range []float64{1, 2, 3} {
		if n := counts[[2]float64{2, v}]; n < 850 || n > 1200 {
			t.Errorf("%d of 4096 rows are in the decade from 1e%v", n, v)
		}
	}
}

// TestSamplesAreDeterministic: the same seed gives the same rows, and a larger sample begins with a smaller one.
func TestSamplesAreDeterministic(t *testing.T) {
	t.Parallel()
	a, b, c := build(t, counted(t, everything), 300, 1), build(t, counted(t, everything), 100, 1),
		build(t, counted(t, everything), 100, 2)
	same := 0
	for row := range 100 {
		if rowText(a, row) != rowText(b, row) {
			t.Fatalf("row %d: %s, and %s", row, rowText(a, row), rowText(b, row))
		}
		if rowText(b, row) == rowText(c, row) {
			same++
		}
	}
	if same > 10 {
		t.Errorf("another seed has %d of 100 rows in common", same)
	}
}

// TestSampleIsFilled: a sample has all its rows even where a log scale makes most of them rare.
func TestSampleIsFilled(t *testing.T) {
	t.Parallel()
	c := counted(t, "[[factor]]\nname = \"a\"\nintegers = [1, 2000]\nlog = true\n[[factor]]\nname = \"b\"\nvalue = 1\n")
	if table := build(t, c, 1999, 1); table.Rows() != 1999 {
		t.Errorf("%d rows", table.Rows())
	}
}

// TestLaboratories: the mixtures of two laboratories can be described, and every row that was measured is a candidate.
func TestLaboratories(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, count string }{
		{"photo_pce10", "[[mixture]]\nstep = 0.02\nparts = [\"mat_1\", \"mat_2\", \"mat_3\", \"mat_4\"]\n", "23,426"},
		{"oer_plate_3496", "[[mixture]]\nstep = 0.1\nat_most = 4\nparts = [\"ni_load\", \"fe_load\", \"co_load\", " +
			"\"mn_load\", \"ce_load\", \"la_load\"]\n", "2,121"},
	} {
		space := counted(t, c.text)
		if got := space.Count.String(); got != c.count {
			t.Errorf("%s: %s candidates, want %s", c.name, got, c.count)
		}
		measured := golden.Records(t, "lab", c.name+".csv.gz")[1:]
		all, rows := build(t, space, 30_000, 0), map[string]bool{}
		for row := range all.Rows() {
			rows[rowText(all, row)] = true
		}
		for _, cells := range measured {
			for i, cell := range cells[:len(cells)-1] {
				v, err := strconv.ParseFloat(cell, 64)
				if err != nil {
					t.Fatal(err)
				}
				cells[i] = strconv.FormatFloat(v, 'g', -1, 64)
			}
			if text := strings.Join(cells[:len(cells)-1], "|"); !rows[text] {
				t.Errorf("%s: %s is not in the space", c.name, text)
			}
		}
	}
}

// TestSobol: the first 2^k points of each two of the first dimensions are a net, before and after scrambling.
func TestSobol(t *testing.T) {
	t.Parallel()
	points := sobol{seeds: []uint32{0: 1, 1: 77, 2: 3, 3: 4, 11: 5}}
	for _, pair := range [][2]int{{0, 1}, {1, 2}} { // nets of t = 0 and t = 1
		for split := range 7 {
			cells := map[[2]int]int{}
			for i := range uint32(64) {
				x, y := points.coordinate(i, pair[0]), points.coordinate(i, pair[1])
				cells[[2]int{int(x * float64(int(1)<<split)), int(y * float64(int(64)>>split))}]++
			}
			most := 0
			for _, n := range cells {
				most = max(most, n)
			}
			if most > 1+pair[0] {
				t.Errorf("dimensions %v: %d of 64 points in a cell of %d x %d", pair, most, 1<<split, 64>>split)
			}
		}
	}
	for dimension := range points.seeds {
		cells := map[int]bool{}
		for i := range uint32(256) {
			cells[int(256*points.coordinate(i, dimension))] = true
		}
		if len(cells) != 256 {
			t.Errorf("dimension %d: 256 points are in %d of 256 cells", dimension, len(cells))
		}
	}
}

// TestContradictions name the fewest constraints.
func TestContradictions(t *testing.T) {
	t.Parallel()
	const factors = `
[[factor]]
name = "a"
range = [0, 1]
[[factor]]
name = "b"
integers = [0, 5]
`
	for _, c := range []struct{ constraints, want string }{
		{"[[constraint]]\nlinear = \"b >= 6\"\n[[constraint]]\nlinear = \"a + b <= 3\"\n",
			`space.toml: there are no candidates: "b >= 6" (line 9) cannot be met`},
		{"[[constraint]]\nlinear = \"b >= 4\"\n[[constraint]]\nlinear = \"a + b <= 5\"\n[[constraint]]\nlinear = \"b < 4\"\n",
			`space.toml: there are no candidates: "b >= 4" (line 9) and "b < 4" (line 13) cannot both hold`},
		{"[[constraint]]\nlinear = \"a + b = 4.12345\"\n", `space.toml: there are no candidates: ` +
			`"a + b = 4.12345" (line 9) cannot be met, at least in steps of a thousandth of the ranges without a step`},
		{"[[constraint]]\nrequire = { b = 1 }\nwhen = { a = \">= 0\" }\n" +
			"[[constraint]]\nforbid = { b = 1, a = \"<= 0.5\" }\n[[constraint]]\nlinear = \"a <= 0.4\"\n",
			`space.toml: there are no candidates: "if a >= 0, then b is 1" (line 9), "never: a <= 0.5 and b is 1" (line 12) ` +
				`and "a <= 0.4" (line 14) cannot hold together, at least in steps of a thousandth of the ranges without a step`},
	} {
		s, err := parseSpace("space.toml", []byte(factors+c.constraints), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Count(t.Context()); err == nil || err.Error() != c.want {
			t.Errorf("%v\nwant %s", err, c.want)
		}
	}
}

// TestAllViolationsAreReported, each with its line.
func TestAllViolationsAreReported(t *testing.T) {
	t.Parallel()
	_, err := parseSpace("space.toml", []byte(`cost = "2*tme"
colour = 1
[[factor]]
name = "time"
range = [5, 1]
[[factor]]
name = "rate"
range = [1, 5]
stp = 1
[[factor]]
name = "solvent"
categories = ["water", "water"]
[[factor]]
name = "kind"
categories = ["x", "y"]
levels = [1]
[[factor]]
integers = [0.5, 3]
resolution = 2
[[factor]]
name = "base"
categories = ["NaOH", "KOH"]
when = { base = "KOH" }
[[factor]]
name = "ligand"
descriptors = "ligand.csv"
[[mixture]]
name = "blend"
sum = -1
parts = ["p", { name = "rate" }]
[[constraint]]
linear = "rate * time <= 3"
[[constraint]]
forbid = { base = "NaO", rate = 2, speed = 1 }
[[constraint]]
require = { rate = "high" }
[[constraint]]
linear = "rate + base <= 1/0"
[[constraint]]
linear = "rate <= 1"
when = { base = "KOH" }
`), ligands)
	want := strings.Split(strings.TrimSpace(`
space.toml, line 1: cost: there is no factor "tme" with numbers; did you mean "time"?
space.toml, line 2: there is no key "colour"; there are constraint, cost, factor and mixture
space.toml, line 5: factor "time": range must be two numbers, the smaller one first
space.toml, line 9: factor "rate": there is no key "stp"; did you mean "step"?
space.toml, line 12: factor "solvent": "water" is there twice
space.toml, line 15: factor "kind": levels and categories cannot be combined; a factor has one of them
space.toml, line 17: factor 5: it has no name
space.toml, line 18: factor 5: integers and their step must be whole numbers; range takes others
space.toml, line 19: factor 5: resolution does not go with integers
space.toml, line 23: factor "base": whether a factor exists cannot depend on the factor itself
space.toml, line 26: factor "ligand": ligand.csv: there is no such file
space.toml, line 29: mixture "blend": sum must be positive
space.toml, line 32: constraint 1: rate * time <= 3: only linear sums of factors can be used, no products of them
space.toml, line 34: constraint 2: base has no category "NaO"; did you mean "NaOH"?
space.toml, line 34: constraint 2: rate takes any value of its range: compare it, such as ">= 10"
space.toml, line 34: constraint 2: there is no factor "speed"; there are "time", "rate", "solvent", "kind", "base", …
space.toml, line 36: constraint 3: "high": it needs <=, >=, <, > or = between two sides
space.toml, line 38: constraint 4: rate + base <= 1/0: a division by zero
space.toml, line 41: constraint 5: only require can depend on when
`), "\n")
	var got []string
	if err != nil {
		got = strings.Split(err.Error(), "\n")
	}
	slices.SortStableFunc(got, cmp.Compare)
	slices.SortStableFunc(want, cmp.Compare)
	if !slices.Equal(got, want) {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
}

// FuzzSpace: no description makes the program panic, and what is read can be counted or says why not.
func FuzzSpace(f *testing.F) {
	for _, text := range []string{everything, "[[factor]]\nname = 'a'\nrange = [0, 1e9]\n", "cost = '((1'",
		"[[mixture]]\nparts = ['a', {name = 'b', range = [0.1, 0.2]}]\nat_most = 1\n",
		"factor = [{name = 'x', levels = [1, 1e14, 1e-14]}]\n[constraint.forbid]\nx = '>= 2'\n",
		"[[factor]]\nname = 'x'\nrange = [1e-9, 1e5]\nlog = true\n[[constraint]]\nlinear = '3*x/7 < 5e-3'\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 2000 {
			return
		}
		s, err := parseSpace("space.toml", []byte(text), ligands)
		if err != nil {
			return
		}
		c, err := s.Count(t.Context())
		if err != nil {
			return
		}
		table, err := c.Table(t.Context(), Build{Rows: 10, Progress: func(int, int) {}})
		if err != nil && !errors.Is(err, ErrFewer) {
			return
		}
		if table.Rows() > 10 || table.Rows() == 0 && !c.Count.Estimated && c.Count.N != nil {
			t.Errorf("%d rows, %v", table.Rows(), c.Count)
		}
	})
}
