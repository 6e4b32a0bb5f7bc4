package plate

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

func mustParse(t *testing.T, size string, controls ...string) *Plate {
	t.Helper()
	p, err := Layout{size, controls}.Parse(nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		size  string
		keep  []string
		wells int
	}{
		{"8x12", nil, 96}, {" 8 x 12 ", nil, 96}, {"8×12", nil, 96}, {"32X48", nil, 1536}, {"1x1", nil, 1},
		{"8x12", []string{"A1", "H12"}, 94}, {"8x12", []string{"12"}, 88}, {"8x12", []string{"A", "12"}, 77},
		{"8x12", []string{"a1-b2", "H"}, 80},
		{"8x12", []string{"11-12", "H-G"}, 60}, {"32x48", []string{"AF48", "AF"}, 1488},
	} {
		if p := mustParse(t, c.size, c.keep...); p.Wells() != c.wells {
			t.Errorf("%s without %v has %d wells, want %d", c.size, c.keep, p.Wells(), c.wells)
		}
	}
	if p, err := (Layout{}).Parse(nil); p != nil || err != nil {
		t.Errorf("no layout: %v, %v", p, err)
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct {
		size, keep, want string
	}{
		{"96", "", `--plate "96": write its rows and columns: 8x12`},
		{"eight", "", `--plate "eight": write rows x columns, as in 8x12`},
		{"33x48", "", `--plate "33x48": a plate has 1 to 32 rows and 1 to 48 columns`},
		{"0x3", "", `--plate "0x3": a plate has 1 to 32 rows and 1 to 48 columns`},
		{"8x12", "I1", `--controls "I1": the plate has no row I: its 8 rows are A to H`},
		{"1x12", "B", `--controls "B": the plate has no row B: its 1 row is A`},
		{"8x12", "13", `--controls "13": the plate has no column 13: its 12 columns are 1 to 12`},
		{"8x12", "A0", `--controls "A0": the plate has no column 0: its 12 columns are 1 to 12`},
		{"8x12", "1A", `--controls "1A": name a well, as in A1, a row, as in A, or a column, as in 12`},
		{"8x12", "A1-B",
			`--controls "A1-B": a range has two wells, as in A1-B6, two rows, as in A-B, or two columns, as in 11-12`},
		{"8x12", "A-H", `--controls leaves no well of 8x12`},
		{"", "A1", `--controls needs --plate, as in 8x12`},
	} {
		layout := Layout{Plate: c.size}
		if c.keep != "" {
			layout.Controls = []string{c.keep}
		}
		_, err := layout.Parse(func(field string, value ...string) string { return "--" + strings.ToLower(field) })
		if err == nil || err.Error() != c.want {
			t.Errorf("%v: %v, want %s", c, err, c.want)
		}
	}
}

func TestNames(t *testing.T) {
	for row, want := range map[int]string{0: "A", 25: "Z", 26: "AA", 31: "AF"} {
		if got := rowName(row); got != want || rowNumber(want) != row {
			t.Errorf("row %d is %s, and %s is row %d", row, got, want, rowNumber(want))
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("8x12", "A1,H12,12,A")
	f.Add("32x48", "AF48,A-C,A1-B2")
	f.Add("0x0", "-")
	f.Fuzz(func(t *testing.T, size, controls string) {
		p, err := Layout{size, strings.Split(controls, ",")}.Parse(nil)
		if err != nil {
			return
		}
		if p.Rows < 1 || p.Rows > maxRows || p.Columns < 1 || p.Columns > maxColumns || p.Wells() < 1 ||
			p.Wells() > p.Rows*p.Columns {
			t.Fatalf("%q, %q: %d x %d with %d wells", size, controls, p.Rows, p.Columns, p.Wells())
		}
		for row := range p.Rows { // the names can be read again
			for column := range p.Columns {
				if at, err := p.place(p.Name(row, column)); err != nil || at != (position{row, column}) {
					t.Fatalf("%s is %v, %v", p.Name(row, column), at, err)
				}
			}
		}
	})
}

// problem returns rows with replicates, in groups and runs, as a batch lists them.
func problem(rows, replicates, groups, runs int) (list []Measurement) {
	for row := range rows {
		for range replicates {
			list = append(list, Measurement{Row: row, Group: row%(groups+1) - 1, Run: row * runs / rows})
		}
	}
	return list
}

func TestPlaceUsesEachWellOnce(t *testing.T) {
	for _, c := range []struct {
		plate                          *Plate
		rows, replicates, groups, runs int
		plates                         int
	}{
		{mustParse(t, "8x12"), 32, 3, 4, 1, 1},
		{mustParse(t, "8x12", "A1", "H", "12"), 25, 3, 0, 1, 1},
		{mustParse(t, "8x12", "12"), 60, 3, 5, 1, 3},
		{mustParse(t, "8x12"), 48, 1, 0, 3, 3},
		{mustParse(t, "4x6"), 48, 2, 3, 3, 6},
		{mustParse(t, "1x1"), 3, 2, 1, 2, 6},
		{mustParse(t, "16x24"), 10, 2, 1, 1, 1},
	} {
		list := problem(c.rows, c.replicates, c.groups, c.runs)
		wells := c.plate.Place(list, 7)
		if again := c.plate.Place(list, 7); !slices.Equal(wells, again) {
			t.Errorf("%d x %d: two calls differ", c.plate.Rows, c.plate.Columns)
		}
		taken, run, count := map[Well]bool{}, map[int]int{}, map[int]int{}
		for i, well := range wells {
			at, err := c.plate.place(well.Name)
			if err != nil || c.plate.Control(at.row, at.column) || taken[well] {
				t.Errorf("measurement %d is in %v: %v", i, well, err)
			}
			if before, ok := run[well.Plate]; ok && before != list[i].Run {
				t.Errorf("plate %d has the runs %d and %d", well.Plate, before, list[i].Run)
			}
			taken[well], run[well.Plate] = true, list[i].Run
			count[well.Plate]++
		}
		if len(count) != c.plates {
			t.Errorf("%d measurements are on %d plates, want %d", len(list), len(count), c.plates)
		}
	}
}

func TestReplicatesShareNoPlateIfTheyNeedNot(t *testing.T) {
	list := problem(60, 3, 0, 1)
	seen := map[[2]int]bool{}
	for i, well := range mustParse(t, "8x12").Place(list[:len(list)-2], 0) { // 178 on two plates of 89
		seen[[2]int{list[i].Row, well.Plate}] = true
	}
	if len(seen) != 119 { // the last row has one measurement
		t.Errorf("60 rows are on %d plates in all, want 2 each, and 1 for the last", len(seen))
	}
	seen = map[[2]int]bool{}
	for i, well := range mustParse(t, "6x10").Place(list, 0) {
		seen[[2]int{list[i].Row, well.Plate}] = true
	}
	if len(seen) != 180 {
		t.Errorf("3 replicates of 60 rows on 3 plates are on %d plates in all, want 180", len(seen))
	}
}

func TestWithoutReplicatesAndGroupsWellsAreInReadingOrder(t *testing.T) {
	wells := mustParse(t, "2x3", "A2").Place(problem(4, 1, 0, 1), 3)
	want := []Well{{1, "A1"}, {1, "A3"}, {1, "B1"}, {1, "B2"}}
	if !slices.Equal(wells, want) {
		t.Errorf("%v, want %v", wells, want)
	}
}

// On a plate of 96 wells, neither replicates nor members of a group need to touch.
func TestNeighboursOnAUsualPlate(t *testing.T) {
	for groups := range 7 {
		list := problem(32, 3, groups, 1)
		p := mustParse(t, "8x12")
		nearest := math.MaxInt
		touching := 0
		wells := p.Place(list, 1)
		for i, a := range wells {
			for k, b := range wells[:i] {
				d := p.apart(t, a, b)
				if list[i].Row == list[k].Row {
					nearest = min(nearest, d)
				} else if list[i].Group >= 0 && list[i].Group == list[k].Group && d <= 1 {
					touching++
				}
			}
		}
		t.Logf("%d groups: replicates at least %d apart (squared), %d pairs of a group side by side",
			groups, nearest, touching)
		if nearest < 16 || groups > 1 && touching > 0 {
			t.Errorf("%d groups: replicates at least %d apart (squared), %d pairs of a group side by side",
				groups, nearest, touching)
		}
	}
}

func (p *Plate) apart(t *testing.T, a, b Well) int {
	t.Helper()
	u, err := p.place(a.Name)
	if err != nil {
		t.Fatal(err)
	}
	v, err := p.place(b.Name)
	if err != nil {
		t.Fatal(err)
	}
	return (u.row-v.row)*(u.row-v.row) + (u.column-v.column)*(u.column-v.column)
}

// On tiny plates, the layout is the best of all layouts, which the test enumerates.
func TestPlaceAgainstEnumeration(t *testing.T) {
	for _, size := range []string{"1x7", "2x3", "2x4", "3x3"} {
		for _, controls := range [][]string{nil, {"A1"}, {"2"}} {
			p := mustParse(t, size, controls...)
			for replicates := 1; replicates <= 3; replicates++ {
				for groups := range 3 {
					for rows := 1; rows*replicates <= min(6, p.Wells()); rows++ {
						compareWithEnumeration(t, p, problem(rows, replicates, groups, 1))
					}
				}
			}
		}
	}
}

func compareWithEnumeration(t *testing.T, p *Plate, list []Measurement) {
	t.Helper()
	members := make([]int, len(list))
	for i := range members {
		members[i] = i
	}
	b := p.board(list, members)
	best := b.pairs()
	b.each(0, func() {
		if pairs := b.pairs(); slices.Compare(pairs, best) < 0 {
			best = pairs
		}
	})
	for seed := range uint64(3) {
		found := p.board(list, members)
		for i, well := range p.Place(list, seed) {
			at, _ := p.place(well.Name)
			found.well[i] = at.row*p.Columns + at.column
		}
		for well := range found.at {
			found.at[well] = slices.Index(found.well, well)
		}
		if pairs := found.pairs(); slices.Compare(pairs, best) != 0 {
			t.Errorf("%dx%d, %d measurements %v: seed %d finds %s, enumeration %s", p.Rows, p.Columns, len(list), list, seed,
				some(pairs), some(best))
		}
	}
}

// some lists a few of the pairs.
func some(pairs []int) (text string) {
	for key, count := range pairs {
		if count > 0 {
			text += fmt.Sprintf(" %d:%d", key, count)
		}
	}
	return text
}

// each calls visit with every layout that does not only exchange replicates of a row.
func (b *board) each(from int, visit func()) {
	if from == len(b.list) {
		visit()
		return
	}
	for _, well := range b.free {
		if m := b.at[well]; m != empty && m < from {
			continue
		}
		if from > 0 && b.list[from-1].Row == b.list[from].Row && well < b.well[from-1] {
			continue
		}
		before := b.well[from]
		b.swap(before, well)
		b.each(from+1, visit)
		b.swap(before, well)
	}
}

func TestWellsAreComparedInReadingOrder(t *testing.T) {
	order := []string{"", "A1", "A2", "A10", "B1", "Z3", "AA1"}
	for i, a := range order {
		for j, b := range order {
			if got := Compare(a, b); got != cmp.Compare(i, j) {
				t.Errorf("%q and %q: %d", a, b, got)
			}
		}
	}
}
