package tables

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/matrix"
)

// wordColumn is a column of words; "" is a missing value.
func wordColumn(name string, values ...string) *dataset.Categorical {
	c := dataset.NewCategorical(name)
	for _, v := range values {
		code := int32(-1)
		if v != "" {
			code = c.AddLevel(v)
		}
		c.Append(code)
	}
	c.SortLevels()
	return c
}

func tableOf(t *testing.T, columns ...dataset.Column) *dataset.Table {
	t.Helper()
	table, err := dataset.NewTable(columns...)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func rowsOf(t *testing.T, tables Tables) *Rows {
	t.Helper()
	rows, err := tables.Rows(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// plain returns rows with the centres added again: the numbers of the table.
func (r *Rows) plain(x matrix.Dense[float32]) []float32 {
	var numbers []float32
	for i := range x.Rows {
		for j, centre := range r.Encoder.FeatureCentres() {
			numbers = append(numbers, float32(float64(x.At(i, j))+centre))
		}
	}
	return numbers
}

// mustSay requires one warning for each text, in this order.
func mustSay(t *testing.T, warnings []string, texts ...string) {
	t.Helper()
	if len(warnings) != len(texts) {
		t.Fatalf("warnings %q, want %q", warnings, texts)
	}
	for i, text := range texts {
		if !strings.Contains(warnings[i], text) {
			t.Errorf("warning %q does not say %q", warnings[i], text)
		}
	}
}

var none = math.NaN()

// TestDecimalCommasOfFrames: frames of Python have text where the file had decimal commas.
func TestDecimalCommasOfFrames(t *testing.T) {
	t.Parallel()
	table := tableOf(t, wordColumn("a", "1,5", "2,5", "3", "4,25", "-5,5"), wordColumn("lots", "1,5", "b", "c", "d", "e"),
		dataset.NewNumeric("y", 1, 2, 3, none, none))
	rows := rowsOf(t, Tables{Input: Input{Table: table, TargetColumns: []string{"y"}}})
	mustSay(t, rows.Warnings,
		`column "a" is treated as words, but its values are numbers with decimal commas: row 0 (from 0) is "1,5"; make `+
			`them numbers`)
}

// TestUnitsAmongWords: words of a file of JSON lines, or categories, that are numbers with units are named.
func TestUnitsAmongWords(t *testing.T) {
	t.Parallel()
	table := tableOf(t, wordColumn("mass", "5 mg", "0.5 g", "7 mg", "8,5 mg", "2 g"),
		wordColumn("code", "12B", "3A", "5C", "7D", "3A"),
		dataset.NewNumeric("y", 1, 2, 3, none, none))
	rows := rowsOf(t, Tables{Input: Input{Table: table, TargetColumns: []string{"y"}}})
	mustSay(t, rows.Warnings,
		`column "mass" is treated as words, but its values are numbers with units: row 0 (from 0) is "5 mg"; make them `+
			`numbers in one unit`)
}

// TestMissingInputsAreImputed: numbers by the median of labelled rows and candidates
// and a mark, categories by a level of their own; a row without inputs is dropped.
func TestMissingInputsAreImputed(t *testing.T) {
	t.Parallel()
	table := tableOf(t,
		dataset.NewNumeric("a", 1, none, 5, 2, 9, none),
		dataset.NewNumeric("b", 0.5, 1, 2, 4, 3, none),
		wordColumn("c", "x", "y", "", "x", "z", ""),
		dataset.NewNumeric("empty", none, none, none, none, none, none),
		dataset.NewNumeric("y", 1, 2, 3, none, none, none))
	rows := rowsOf(t, Tables{Input: Input{Table: table, TargetColumns: []string{"y"}}})
	mustSay(t, rows.Warnings,
		`column "empty" is not used: all its values are missing`,
		`pool: 1 row has no inputs at all and is dropped: row 5 (from 0)`,
		`the table: missing inputs are imputed: 1 in column "a" (first in row 1, from 0), 1 in column "c" (first in `+
			`row 2, from 0)`)
	if want := []string{"a", "b", "c=x", "c=y", "c=z", "c missing",
		"a missing"}; !slices.Equal(rows.Encoder.Features(), want) {
		t.Fatalf("features %q", rows.Encoder.Features())
	}
	want := []float32{1, 0.5, 1, 0, 0, 0, 0, 3.5, 1, 0, 1, 0, 0, 1, 5, 2, 0, 0, 0, 1, 0}
	if !slices.Equal(rows.plain(rows.Train), want) || !slices.Equal(rows.PoolRows, []int{3, 4}) {
		t.Errorf("train %v, pool %v", rows.Train.Data, rows.PoolRows)
	}
	dropped := rowsOf(t, Tables{Input: Input{Table: table, TargetColumns: []string{"y"}, Missing: DropMissing}})
	if !slices.Equal(dropped.TrainRows, []int{0}) || len(dropped.Encoder.Features()) != 5 {
		t.Errorf("dropped: rows %v, features %q", dropped.TrainRows, dropped.Encoder.Features())
	}
}

// TestCompleteTablesStayAsTheyWere: imputation changes no number where nothing is
// missing.
func TestCompleteTablesStayAsTheyWere(t *testing.T) {
	t.Parallel()
	tables := Tables{Input: Input{Table: measured(t, 80), TargetColumns: []string{"y"}}, NotInputs: []string{"id", "cost"}}
	want := rowsOf(t, tables)
	for _, policy := range []Missing{DropMissing, RefuseMissing} {
		tables.Missing = policy
		if got := rowsOf(t, tables); !slices.Equal(got.Train.Data, want.Train.Data) ||
			!slices.Equal(got.Pool.Data, want.Pool.Data) || len(got.Warnings) > 0 {
			t.Errorf("%v: the numbers differ, %q", policy, got.Warnings)
		}
	}
}

// TestMissingLater: a network imputes columns that lacked nothing when it was
// trained, and takes levels that it has not seen as unknown.
func TestMissingLater(t *testing.T) {
	t.Parallel()
	fit := tableOf(t, dataset.NewNumeric("a", 1, 7, 3.5, 2), wordColumn("two", "n", "y", "n", "y"),
		wordColumn("c", "u", "v", "w", "u"), dataset.NewNumeric("y", 1, 2, 3, 4))
	encoder := rowsOf(t, Tables{Input: Input{Table: fit, TargetColumns: []string{"y"}}}).Encoder
	if encoder.Indicators != nil || encoder.Medians[0] != 2.75 {
		t.Fatalf("%+v", encoder)
	}
	later := tableOf(t, dataset.NewNumeric("a", none, 6, 1), wordColumn("two", "n", "maybe", ""),
		wordColumn("c", "new", "", "w"))
	rows := rowsOf(t, Tables{Input: Input{Pool: later}, Encoder: &encoder})
	mustSay(t, rows.Warnings,
		`pool: levels that the model has not seen are taken as unknown: "maybe" of column "two" (1 row), "new" of column `+
			`"c" (1 row)`,
		`pool: missing inputs are imputed: 1 in column "a" (first in row 0, from 0), 1 in column "two" (first in row 2, `+
			`from 0), 1 in column "c" (first in row 1, from 0)`)
	if want := []float32{2.75, 0, 0, 0, 0, 6, 0.5, 0, 0, 0, 1, 0.5, 0, 0, 1}; !slices.Equal(rows.plain(rows.Pool), want) {
		t.Errorf("%v", rows.plain(rows.Pool))
	}
	dropped := rowsOf(t, Tables{Input: Input{Pool: later, Missing: DropMissing}, Encoder: &encoder})
	if dropped.Pool.Rows != 0 || len(dropped.Warnings) != 2 {
		t.Errorf("%d rows, %q", dropped.Pool.Rows, dropped.Warnings)
	}
	if _, err := (Tables{Input: Input{Pool: later, Missing: RefuseMissing},
		Encoder: &encoder}).Rows(t.Context()); err == nil {
		t.Error("missing inputs are not refused")
	}
	whole := tableOf(t, dataset.NewNumeric("a", 1), wordColumn("two", "maybe"), wordColumn("c", "w"))
	if _, err := (Tables{Input: Input{Pool: whole, Missing: RefuseMissing},
		Encoder: &encoder}).Rows(t.Context()); err == nil || !strings.Contains(err.Error(), `"maybe"`) {
		t.Errorf("an unknown level is not refused: %v", err)
	}
	if _, err := (Tables{Input: Input{Table: later, TargetColumns: []string{"a"}},
		Encoder: &encoder}).Rows(t.Context()); err == nil || !strings.Contains(err.Error(), "is an input of the network") {
		t.Errorf("an input as the label: %v", err)
	}
	empty := tableOf(t, dataset.NewText("a", "", ""), wordColumn("two", "n", "y"), dataset.NewNumeric("c", none, none))
	if got := rowsOf(t, Tables{Input: Input{Pool: empty}, Encoder: &encoder}); !slices.Equal(got.plain(got.Pool),
		[]float32{2.75, 0, 0, 0, 0, 2.75, 1, 0, 0, 0}) {
		t.Errorf("columns without values: %v", got.Pool.Data)
	}
}

// TestUnseenLevelsOfAllRows: rows of a new site, scored alone, are as unknown as beside rows of a known one, and with
// the same words.
func TestUnseenLevelsOfAllRows(t *testing.T) {
	t.Parallel()
	fit := tableOf(t, dataset.NewNumeric("a", 1, 7, 3.5, 2), wordColumn("site", "u", "v", "w", "u"),
		dataset.NewNumeric("y", 1, 2, 3, 4))
	encoder := rowsOf(t, Tables{Input: Input{Table: fit, TargetColumns: []string{"y"}}}).Encoder
	want := `pool: levels that the model has not seen are taken as unknown: "new" of column "site" (2 rows)`
	for _, sites := range [][]string{{"new", "new", "v"}, {"new", "new"}} {
		later := tableOf(t, dataset.NewNumeric("a", []float64{6, 1, 4}[:len(sites)]...), wordColumn("site", sites...))
		mustSay(t, rowsOf(t, Tables{Input: Input{Pool: later}, Encoder: &encoder}).Warnings, want)
	}
}

// TestOldEncodersDrop: a network that was saved without medians drops incomplete rows.
func TestOldEncodersDrop(t *testing.T) {
	t.Parallel()
	old := encode.Encoder{Numeric: []string{"a", "b"}}
	rows := rowsOf(t,
		Tables{Input: Input{Pool: tableOf(t, dataset.NewNumeric("a", 1, none), dataset.NewNumeric("b", 1, 2))},
			Encoder: &old})
	mustSay(t, rows.Warnings, "1 row lacks an input: row 1 (from 0)")
	if !slices.Equal(rows.PoolRows, []int{0}) {
		t.Errorf("%v", rows.PoolRows)
	}
}

// counting is n numbers from first on, with a constant step.
func counting(name string, n int, first, step float64) *dataset.Numeric {
	c := dataset.NewNumeric(name)
	for i := range n {
		c.Append(first + float64(i)*step)
	}
	return c
}

func TestRowNumbersAreNotInputs(t *testing.T) {
	t.Parallel()
	const n = 12
	x, y := dataset.NewNumeric("x"), dataset.NewNumeric("y")
	for i := range n {
		x.Append(math.Sin(float64(i)))
		y.Append([]float64{float64(i * i), none}[i%2])
	}
	shuffled := dataset.NewNumeric("column0", 3, 1, 4, 0, 5, 9, 2, 6, 8, 7, 11, 10)
	for name, c := range map[string]struct {
		column dataset.Column
		says   string // "" for an input
	}{
		"count":            {counting("n", n, 0, 1), "it looks like row numbers"},
		"count down":       {counting("n", n, 40, -1), "it looks like row numbers"},
		"steps":            {counting("n", n, 3, 7), "it looks like row numbers"},
		"reals":            {counting("time", n, 0, 0.5), ""},
		"gap":              {dataset.NewNumeric("n", 0, 1, 2, none, 4, 5, 6, 7, 8, 9, 10, 11), ""},
		"twice":            {dataset.NewNumeric("n", 0, 1, 2, 2, 4, 5, 6, 7, 8, 9, 10, 11), ""},
		"up and down":      {dataset.NewNumeric("n", 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 10), ""},
		"index, shuffled":  {shuffled, `Keep="column0" makes it an input`},
		"index, pandas":    {dataset.NewNumeric("Unnamed: 0", 3, 1, 4, 0, 5, 9, 2, 6, 8, 7, 11, 10), "looks like the index"},
		"index of Parquet": {counting("__index_level_0__", n, 0, 1), `IDColumn="__index_level_0__" names the rows by it`},
		"index of words": {wordColumn("column0", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"),
			"looks like the index"},
		"index of reals":   {counting("column0", n, 0, 0.25), ""},
		"unnamed category": {wordColumn("column0", "a", "b", "a", "b", "a", "b", "a", "b", "a", "b", "a", "b"), ""},
	} {
		rows := rowsOf(t, Tables{Input: Input{Table: tableOf(t, c.column, x, y), TargetColumns: []string{"y"}}})
		used := slices.ContainsFunc(rows.Encoder.Features(),
			func(f string) bool { return strings.HasPrefix(f, c.column.Name()) })
		if used != (c.says == "") {
			t.Errorf("%s: features %q, warnings %q", name, rows.Encoder.Features(), rows.Warnings)
		}
		if c.says != "" {
			mustSay(t, rows.Warnings, c.says)
			kept := rowsOf(t, Tables{Input: Input{Table: tableOf(t, c.column, x, y), TargetColumns: []string{"y"},
				Columns: Columns{Keep: []string{c.column.Name()}}}})
			if len(kept.Encoder.Features()) < 2 || len(kept.Warnings) > 0 {
				t.Errorf("%s, kept: features %q, warnings %q", name, kept.Encoder.Features(), kept.Warnings)
			}
		}
	}
	headless := tableOf(t, counting("column0", n, 0, 0.5), counting("column1", n, 0, 0.3), y)
	if rows := rowsOf(t,
		Tables{Input: Input{Table: headless, TargetColumns: []string{"y"}}}); len(rows.Encoder.Features()) != 2 {
		t.Errorf("without a header: %q", rows.Warnings)
	}
	only := rowsOf(t, Tables{Input: Input{Table: tableOf(t, counting("dose", n, 1, 1), y), TargetColumns: []string{"y"}}})
	mustSay(t, only.Warnings, `column "dose" looks like row numbers, but is used because there is no other input`)
	if _,
		err := (Tables{Input: Input{Table: tableOf(t, x, y), TargetColumns: []string{"y"},
		Columns: Columns{Keep: []string{"z"}}}}).Rows(t.Context()); err == nil ||
		!strings.Contains(err.Error(), `column "z"`) {
		t.Errorf("a column that is not there is kept: %v", err)
	}
}

// TestRowNumbersOfTwoTables: the labelled rows come in the order of the batches, and
// an index may be in one of the files only.
func TestRowNumbersOfTwoTables(t *testing.T) {
	t.Parallel()
	train := tableOf(t, dataset.NewNumeric("column0", 7, 2, 5), dataset.NewNumeric("n", 9, 4, 4),
		dataset.NewNumeric("x", 1, 3, 2),
		dataset.NewNumeric("z", 1, 3, 2), dataset.NewNumeric("y", 1, 2, 3))
	pool := tableOf(t, counting("n", 12, 100, 2), wordColumn("x", slices.Repeat([]string{""}, 12)...),
		counting("z", 12, 0, 0.5))
	rows := rowsOf(t, Tables{Input: Input{Train: train, Pool: pool, TargetColumns: []string{"y"}}})
	if want := []string{"x", "z", "x missing"}; !slices.Equal(rows.Encoder.Features(), want) {
		t.Errorf("features %q, warnings %q", rows.Encoder.Features(), rows.Warnings)
	}
}

// TestManyColumnsGiveFewWarnings: one for each reason, not for each column.
func TestManyColumnsGiveFewWarnings(t *testing.T) {
	t.Parallel()
	const n, many = 60, 40
	columns := []dataset.Column{dataset.NewNumeric("x"), dataset.NewNumeric("y")}
	for i := range n {
		columns[0].(*dataset.Numeric).Append(math.Sin(float64(i)))
		columns[1].(*dataset.Numeric).Append(float64(i % 7))
	}
	for k := range many {
		late, text, same := dataset.NewCategorical("late"+strconv.Itoa(k)), dataset.NewText("text"+strconv.Itoa(k)),
			dataset.NewNumeric("same"+strconv.Itoa(k))
		for i := range n {
			value := strconv.Itoa(i)
			if i == 50+k%10 {
				value = "unknown"
			}
			late.Append(late.AddLevel(value))
			text.Append([]byte("t" + value))
			same.Append(3)
		}
		columns = append(columns, late, text, same, counting("count"+strconv.Itoa(k), n, float64(k), 1))
	}
	rows := rowsOf(t, Tables{Input: Input{Table: tableOf(t, columns...), TargetColumns: []string{"y"}}})
	mustSay(t, rows.Warnings,
		`40 columns are mostly numbers but are treated as words because of 40 cells: in column "late0" row 50 (from 0) is `+
			`"unknown", in column "late1" row 51`,
		`80 columns are not used: text is not encoded: "late0", "text0", "late1", "text1", "late2", …`,
		`40 columns are not used: has a single value: "same0", "same1"`,
		`40 columns are not used: they look like row numbers`)
}

// TestReplicatesAreAveraged: one row for each id, with the mean label.
func TestReplicatesAreAveraged(t *testing.T) {
	t.Parallel()
	id := dataset.NewText("id", "p", "q", "p", "r", "p", "s")
	y := dataset.NewNumeric("y", 1, 5, 2, 7, 6, none)
	a, b := dataset.NewNumeric("a", none, 2, 1.5, 3, 1.5, 4), dataset.NewNumeric("b", 1, 2, 1, 3, 1, 9)
	tables := Tables{Input: Input{Table: tableOf(t, id, a, b, y), TargetColumns: []string{"y"}, IDColumn: "id"}}
	rows := rowsOf(t, tables)
	if !slices.Equal(rows.TrainRows, []int{2, 1, 3}) || !slices.Equal(rows.Labels.Data, []float64{3, 5, 7}) ||
		rows.plain(rows.Train)[0] != 1.5 {
		t.Errorf("rows %v, labels %v, %v", rows.TrainRows, rows.Labels, rows.Train.Row(0))
	}
	if !slices.ContainsFunc(rows.Warnings, func(w string) bool {
		return strings.Contains(w,
			"labelled rows: 1 id has several labels, in 3 rows; each such id counts as one row with the mean of its labels")
	}) {
		t.Errorf("%q", rows.Warnings)
	}
	tables.Table = tableOf(t, id, dataset.NewNumeric("a", 1, 2, 1, 3, 1.25, 4), y)
	if _, err := tables.Rows(t.Context()); err == nil || !strings.Contains(err.Error(),
		`id "p": row 0 (from 0) and row 4 (from 0) have labels but differ in column "a": 1 and 1.25`) {
		t.Errorf("%v", err)
	}
}

// TestDatesBecomeNumbers: days and the cycles that a column spans.
func TestDatesBecomeNumbers(t *testing.T) {
	t.Parallel()
	when, slash := dataset.NewText("when"), dataset.NewCategorical("slash")
	x, y := dataset.NewNumeric("x"), dataset.NewNumeric("y")
	for i := range 30 {
		when.Append([]byte("2021-03-" + strconv.Itoa(101 + i)[1:] + " 0" + strconv.Itoa(i%10) + ":00"))
		slash.Append(slash.AddLevel("0" + strconv.Itoa(1+i%9) + "/04/2021"))
		x.Append(math.Sin(float64(i)))
		y.Append([]float64{-1, none, 2}[i%3])
	}
	table := tableOf(t, when, slash, x, y)
	rows := rowsOf(t, Tables{Input: Input{Table: table, TargetColumns: []string{"y"}}})
	if want := []string{"x", "when", "when hour sin", "when hour cos", "when weekday sin", "when weekday cos", "slash",
		"slash weekday sin", "slash weekday cos"}; !slices.Equal(rows.Encoder.Features(), want) {
		t.Fatalf("features %q", rows.Encoder.Features())
	}
	if want := `column "when" is dates or times (ISO 8601): its inputs are the days since 2021-03-01, and sine and ` +
		`cosine of hour, weekday`; len(rows.Notes) != 2 || rows.Notes[0] != want || !strings.Contains(rows.Notes[1],
		"month/day/year") {
		t.Errorf("%q", rows.Notes)
	}
	mustSay(t, rows.Warnings,
		`column "slash": row 0 (from 0), "01/04/2021", may start with the day or with the month, and no other value `+
			`settles it; it is taken to start with the month, as where numbers have decimal points`)
	if got := rows.Pool.Row(0)[1]; got != float32(1+1.0/24) {
		t.Errorf("1 day and an hour are %v", got)
	}
	asWords := rowsOf(t, Tables{Input: Input{Table: table, TargetColumns: []string{"y"},
		Columns: Columns{Categorical: []string{"slash"}}}})
	if len(asWords.Encoder.Features()) != 6+9 || len(asWords.Warnings) > 0 {
		t.Errorf("declared: %d features", len(asWords.Encoder.Features()))
	}
}

func TestCheckLabels(t *testing.T) {
	t.Parallel()
	for want, labels := range map[string][]float64{
		"all 12 labels are 3: a network learns nothing":                            slices.Repeat([]float64{3}, 12),
		"only 2 rows have a label":                                                 {1, 2},
		"only 1 row has a label":                                                   {1},
		"only two values, 0 and 1, and are treated as numbers: this is regression": {1, 0, 1, 1, 0, 1, 1, 0, 0, 1},
		"all 2 labels are 1":                                                       {1, 1},
		"":                                                                         {1, 2, 3, 4, 5, 6, 7, 8, 9, 10},
	} {
		wrong := (&Rows{Targets: []string{"y"}, Labels: matrix.View(len(labels), 1, labels)}).CheckLabels()
		if (wrong == nil) != (want == "") || wrong != nil && !strings.Contains(wrong[0].Error(), want) {
			t.Errorf("%v: %v", labels, wrong)
		}
	}
}
