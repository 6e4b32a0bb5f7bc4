package formats

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/source/cells"
	"github.com/nextbatch/nextbatch/internal/source/sheets"
)

// TestLabelsBelowALimit: a label below a limit is one, or refused with the way out; a mark that may mean it is named.
func TestLabelsBelowALimit(t *testing.T) {
	const text = "id,y\na,3\nb,<0.5\nc,<LOD\nd,n.d.\ne,\nf,>9\n"
	labels := sheets.Options{RowNames: "id"}.WithLabels([]string{"y"})
	read := func(text string, change func(*sheets.Options)) (*dataset.Table, error) {
		opts := labels
		change(&opts)
		return ReadCSV(t.Context(), strings.NewReader(text), opts)
	}
	_, err := read(text, func(o *sheets.Options) {})
	const want = `line 4, column 2 (y): the label may lie beyond a limit that is not known: "<LOD" (line 4, id c), ` +
		`"n.d." (line 5, id d); write the limit into the cells, as in <0.5, or give it: --lod 0.5; ` +
		`--censored drop makes such labels missing, so that their rows may be picked again`
	if !errors.Is(err, sheets.ErrLimit) || err.Error() != want {
		t.Error(err)
	}

	none := math.NaN()
	for name, test := range map[string]struct {
		change  func(*sheets.Options)
		values  []float64
		sides   map[int]int8
		warning string
	}{
		"one limit": {func(o *sheets.Options) { o.Lod = map[string]float64{"": 0.2} }, []float64{3, 0.5, 0.2, 0.2, none, 9},
			map[int]int8{1: -1, 2: -1, 3: -1, 5: 1},
			`column "y": 4 values are beyond a limit: "<0.5" (line 3, id b), "<LOD" (line 4, id c), "n.d." (line 5, id d), ` +
				`">9" (line 7, id f); a Gaussian process of up to 1,024 labels learns each as a limit, ` +
				`other models as the limit itself; --censored drop makes such labels missing`},
		"of the target": {func(o *sheets.Options) { o.Lod = map[string]float64{"": 7, "y": 0.1} },
			[]float64{3, 0.5, 0.1, 0.1, none, 9}, map[int]int8{1: -1, 2: -1, 3: -1, 5: 1}, `"n.d." (line 5, id d)`},
		"dropped": {func(o *sheets.Options) { o.Censored = cells.CensoredDrop }, []float64{3, none, none, none, none, none},
			nil,
			`column "y": 1 label is taken not to be measured yet, so that its row may be picked: "n.d." (line 5, id d); if ` +
				`that means below a limit of detection, give the limit, as in --lod 0.5`},
		"marks of missing values": {func(o *sheets.Options) {
			o.Lod, o.Missing = map[string]float64{"": 0.2},
				[]string{"n.d."}
		},
			[]float64{3, 0.5, 0.2, none, none, 9}, map[int]int8{1: -1, 2: -1, 5: 1}, ""},
	} {
		table, err := read(text, test.change)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		y, err := table.Numeric("y")
		if err != nil {
			t.Fatal(err)
		}
		for row, want := range test.values {
			if got := y.Float(row); got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
				t.Errorf("%s: row %d is %v, want %v", name, row, got, want)
			}
			if got := table.Origin().Censored["y"][row]; got != test.sides[row] {
				t.Errorf("%s: the side of row %d is %d", name, row, got)
			}
		}
		if !slices.ContainsFunc(table.Origin().Warnings, func(w string) bool { return strings.Contains(w, test.warning) }) {
			t.Errorf("%s: %q", name, table.Origin().Warnings)
		}
	}
}

// TestNotDetected: where rows that are not measured are empty, n.d. says something else of a label, and in a batch that
// comes back, too.
func TestNotDetected(t *testing.T) {
	known := func(string) *dataset.History { return &dataset.History{} }
	for _, test := range []struct {
		text    string
		change  func(*sheets.Options)
		refused string // empty if the mark means that there is no label
	}{
		{"id,y\na,3\nb,n.d.\nc,n.d.\n", func(*sheets.Options) {}, ""},
		{"id,y\na,3\nb,n.d.\nc,n.b.\n", func(*sheets.Options) {}, ""},
		{"id,y\na,3\nb,n.d.\nc,\n", func(*sheets.Options) {},
			`"n.d." (line 3, id b); write the limit into the cells, as in <0.5, or give it: --lod 0.5; --missing-marks n.d. ` +
				`makes such labels missing`},
		{"id,y\na,3\nb,ND\nc,-\n", func(*sheets.Options) {}, `"ND" (line 3, id b)`},
		{"id,y\na,3\nb,n.d.\nc,\n", func(o *sheets.Options) { o.Missing = []string{"", "n.d."} }, ""},
		{"id,y\na,3\nb,n.d.\nc,\n", func(o *sheets.Options) { o.Censored = cells.CensoredDrop }, ""},
		{"id,y\na,3\nb,n.d.\n", func(o *sheets.Options) { o.History = known }, `"n.d." (line 3, id b)`},
	} {
		opts := sheets.Options{RowNames: "id"}.WithLabels([]string{"y"})
		test.change(&opts)
		_, err := ReadCSV(t.Context(), strings.NewReader(test.text), opts)
		if refused := errors.Is(err, sheets.ErrLimit); refused != (test.refused != "") || refused &&
			!strings.Contains(err.Error(), test.refused) {
			t.Errorf("%q: %v", test.text, err)
		}
	}
}

func TestParseLod(t *testing.T) {
	limits, err := sheets.ParseLod("a = 0.5, b=-2,7")
	if err != nil || len(limits) != 3 || limits["a"] != 0.5 || limits["b"] != -2 || limits[""] != 7 {
		t.Errorf("%v, %v", limits, err)
	}
	for _, text := range []string{"x", "a=", "a=inf", "0.5;1", "0,5", "a=1,a=2"} {
		if limits, err := sheets.ParseLod(text); err == nil {
			t.Errorf("%q: %v", text, limits)
		}
	}
}
