package trees

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/matrix"
)

// pointer is a node of a tree with pointers to its children.
type pointer struct {
	feature     int
	threshold   float32
	missingLeft bool
	left, right *pointer
	value       float64
	leaf        int32
}

// linked builds the tree below a node with pointers.
func linked(tree []node, at int32) *pointer {
	n := tree[at]
	if n.split == isLeaf {
		return &pointer{value: float64(n.value), leaf: n.next}
	}
	return &pointer{feature: int(n.split / 2), threshold: n.value, missingLeft: n.split%2 == 1,
		left: linked(tree, at+1), right: linked(tree, n.next)}
}

func (p *pointer) walk(row []float32) *pointer {
	if p.left == nil {
		return p
	}
	v := row[p.feature]
	left := v <= p.threshold
	if math.IsNaN(float64(v)) {
		left = p.missingLeft
	}
	if left {
		return p.left.walk(row)
	}
	return p.right.walk(row)
}

// TestPredictEqualsThePlainVersion compares predictions, leaves and contributions with
// walks along pointers.
func TestPredictEqualsThePlainVersion(t *testing.T) {
	ctx := context.Background()
	for name, fit := range kindsOfModel {
		m, d := fit(t, simulated(300, 1), 1), simulated(600, 2)
		predictions, leaves := predict(t, m, d.Inputs), must(m.Leaves(ctx, d.Inputs))(t)
		contributions := must(m.Contributions(ctx, d.Inputs))(t)
		for i := range d.Inputs.Rows {
			row := make([]float32, len(m.encoder.features))
			for j := range row {
				row[j] = m.encoder.features[j].value(d.Inputs.Row(i))
			}
			sum := 0.0
			for k := range m.Trees() {
				p := linked(m.tree(k), 0).walk(row)
				sum += p.value
				if got := leaves[i*m.Trees()+k]; got != p.leaf {
					t.Fatalf("%s: row %d reaches leaf %d of tree %d, want %d", name, i, got, k, p.leaf)
				}
				if got, want := contributions.At(i, k), float32(m.scale.unit*p.value); got != want {
					t.Fatalf("%s: tree %d contributes %v to row %d, want %v", name, k, got, i, want)
				}
			}
			if want := m.scale.offset + m.scale.unit*sum; predictions[i] != want {
				t.Fatalf("%s: the prediction for row %d is %v, want %v", name, i, predictions[i], want)
			}
		}
	}
}

// TestLearns checks that the models explain most of the labels of rows that they have not
// seen, with missing values and categories of both kinds.
func TestLearns(t *testing.T) {
	test := simulated(500, 2)
	for name, fit := range kindsOfModel {
		m := fit(t, simulated(1000, 1), 1)
		if e := rmse(predict(t, m, test.Inputs), test.Labels); !(e < 0.55) {
			t.Errorf("%s: the error is %.3f deviations", name, e)
		}
	}
}

// TestOneSeedOneModel checks that the number of threads changes nothing, and the seed
// does.
func TestOneSeedOneModel(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	d := numeric(4000, 30, 1)
	boosting := BoostingConfig{Rounds: 4, Leaves: 8}
	fits := map[string]func(ctx context.Context, seed uint64) (*Model, error){
		"boosting": func(ctx context.Context, seed uint64) (*Model, error) {
			return FitBoosting(ctx, d, boosting, seed)
		},
		"extra trees": func(ctx context.Context, seed uint64) (*Model, error) {
			return FitExtraTrees(ctx, d, ExtraConfig{Trees: 6, MinLeaf: 20}, seed)
		},
		"cross-fitted": func(ctx context.Context, seed uint64) (*Model, error) {
			return FitBoosting(ctx, simulated(200, 1), BoostingConfig{MaxRounds: 30}, seed)
		},
	}
	for name, fit := range fits {
		var want []byte
		var predictions []float64
		for _, threads := range []int{1, 2, 5} {
			runtime.GOMAXPROCS(threads)
			m := must(fit(linalg.WithThreads(context.Background(), threads), 7))(t)
			rows := d.Inputs.Block(0, 4000, 0, len(m.Columns()))
			p := must(m.Predict(linalg.WithThreads(context.Background(), threads), rows))(t)
			if want == nil {
				want, predictions = saved(t, m), p
			}
			if !slices.Equal(saved(t, m), want) || !slices.Equal(p, predictions) {
				t.Errorf("%s: %d threads give another model or other predictions", name, threads)
			}
		}
		if slices.Equal(saved(t, must(fit(context.Background(), 8))(t)), want) {
			t.Errorf("%s: another seed gives the same model", name)
		}
	}
}

func TestConstantLabel(t *testing.T) {
	for name, fit := range kindsOfModel {
		d := simulated(40, 1)
		for i := range d.Labels {
			d.Labels[i] = 42.5
		}
		for i, p := range predict(t, fit(t, d, 1), d.Inputs) {
			if p != 42.5 {
				t.Fatalf("%s: the prediction for row %d is %v", name, i, p)
			}
		}
	}
}

// TestLabelsOfAnySize checks that the unit of the labels changes nothing else.
func TestLabelsOfAnySize(t *testing.T) {
	for name, fit := range kindsOfModel {
		d := simulated(60, 1)
		want := predict(t, fit(t, d, 1), d.Inputs)
		for _, unit := range []float64{0x1p-900, 0x1p900} {
			scaled := d
			scaled.Labels = slices.Clone(d.Labels)
			for i := range scaled.Labels {
				scaled.Labels[i] *= unit
			}
			got := predict(t, fit(t, scaled, 1), d.Inputs)
			for i := range got {
				got[i] /= unit
			}
			mustBeClose(t, name, got, want, 1e-12)
		}
	}
}

func TestFewRows(t *testing.T) {
	for name, fit := range kindsOfModel {
		for rows := 1; rows < 7; rows++ {
			d := simulated(rows, 1)
			low, high := slices.Min(d.Labels), slices.Max(d.Labels)
			for i, p := range predict(t, fit(t, d, 1), simulated(30, 2).Inputs) {
				if !(p >= low-1e-5 && p <= high+1e-5) {
					t.Errorf("%s: with %d rows, the prediction for row %d is %v, which is not between the labels", name, rows, i, p)
				}
			}
		}
	}
}

func TestOneColumn(t *testing.T) {
	for name, fit := range kindsOfModel {
		d := numeric(300, 1, 1)
		if e := rmse(predict(t, fit(t, d, 1), d.Inputs), d.Labels); !(e < 0.2) {
			t.Errorf("%s: the training error is %.3f deviations", name, e)
		}
	}
}

// TestColumnsWithoutInformation checks that nothing splits on a column that is constant or
// missing everywhere, even if later rows have values there.
func TestColumnsWithoutInformation(t *testing.T) {
	for name, fit := range kindsOfModel {
		d := numeric(100, 4, 1)
		for i := range d.Inputs.Rows {
			d.Inputs.Row(i)[1], d.Inputs.Row(i)[2] = nan, 3
		}
		m := fit(t, d, 1)
		want := predict(t, m, d.Inputs)
		for i := range d.Inputs.Rows {
			d.Inputs.Row(i)[1], d.Inputs.Row(i)[2] = float32(i), nan
		}
		if got := predict(t, m, d.Inputs); !slices.Equal(got, want) {
			t.Errorf("%s: a column without information changes predictions", name)
		}
	}
}

// TestMissingValuesInform checks that models learn from the mere absence of a value.
func TestMissingValuesInform(t *testing.T) {
	for name, fit := range kindsOfModel {
		d := numeric(200, 2, 1)
		for i := range d.Labels {
			d.Inputs.Row(i)[0] = 1
			if d.Labels[i] = -1; i%3 == 0 {
				d.Inputs.Row(i)[0], d.Labels[i] = nan, 1
			}
		}
		if e := rmse(predict(t, fit(t, d, 1), d.Inputs), d.Labels); !(e < 0.3) {
			t.Errorf("%s: the training error is %.3f deviations", name, e)
		}
	}
}

// TestUnseenLevels checks that levels which training rows did not have get predictions,
// as do values that are not codes.
func TestUnseenLevels(t *testing.T) {
	for name, fit := range kindsOfModel {
		d := simulated(200, 1)
		d.Columns = slices.Clone(d.Columns)
		d.Columns[4].Levels, d.Columns[5].Levels = 9, 90
		m := fit(t, d, 1)
		rows := matrix.FromRows([][]float32{{0, 0, 0, 0, 8, 80}, {0, 0, 0, 0, 100, 1e30}, {0, 0, 0, 0, -1, 0.5}})
		p := predict(t, m, rows)
		if math.IsNaN(p[0]) || p[1] != p[0] || p[2] != p[0] {
			t.Errorf("%s: the predictions for three rows with unseen levels are %v", name, p)
		}
	}
}

// expiring is a context that is cancelled when its error has been read a number of times.
type expiring struct {
	context.Context
	cancel context.CancelCauseFunc
	left   int
}

var errEnough = errors.New("enough")

func (c *expiring) Err() error {
	if c.left--; c.left < 0 {
		c.cancel(errEnough)
	}
	return c.Context.Err()
}

func newExpiring(reads int) *expiring {
	ctx, cancel := context.WithCancelCause(linalg.WithThreads(context.Background(), 1))
	return &expiring{ctx, cancel, reads}
}

func TestCancellation(t *testing.T) {
	d := simulated(100, 1)
	m := must(FitExtraTrees(context.Background(), d, ExtraConfig{Trees: 3}, 1))(t)
	work := map[string]func(ctx context.Context) error{
		"boosting": func(ctx context.Context) error {
			_, err := FitBoosting(ctx, d, BoostingConfig{Rounds: 5}, 1)
			return err
		},
		"cross-fitting": func(ctx context.Context) error {
			_, err := FitBoosting(ctx, d, BoostingConfig{}, 1)
			return err
		},
		"extra trees": func(ctx context.Context) error {
			_, err := FitExtraTrees(ctx, d, ExtraConfig{}, 1)
			return err
		},
		"prediction": func(ctx context.Context) error {
			_, err := m.Predict(ctx, simulated(2000, 1).Inputs)
			return err
		},
	}
	for name, do := range work {
		for _, reads := range []int{0, 3} {
			if err := do(newExpiring(reads)); !errors.Is(err, errEnough) {
				t.Errorf("%s: the error is %v, want the cause", name, err)
			}
		}
	}
}

func TestMistakesAreNamed(t *testing.T) {
	with := func(change func(d *Data)) Data {
		d := simulated(20, 1)
		change(&d)
		return d
	}
	for want, d := range map[string]Data{
		"at least one row and one column": {},
		"19 labels for 20 rows":           with(func(d *Data) { d.Labels = d.Labels[:19] }),
		"the label of row 3 is NaN":       with(func(d *Data) { d.Labels[3] = math.NaN() }),
		"differences are not finite": with(func(d *Data) {
			copy(d.Labels, slices.Repeat([]float64{math.MaxFloat64}, 19))
			d.Labels[19] = -math.MaxFloat64
		}),
		"row 2, column 1 is infinite":          with(func(d *Data) { d.Inputs.Set(2, 1, float32(math.Inf(1))) }),
		"row 2, column 4 is 1.5, which is not": with(func(d *Data) { d.Inputs.Set(2, 4, 1.5) }),
		"row 2, column 4 is 4, which is not":   with(func(d *Data) { d.Inputs.Set(2, 4, 4) }),
		"row 2, column 5 is -1, which is not":  with(func(d *Data) { d.Inputs.Set(2, 5, -1) }),
		"5 columns are described":              with(func(d *Data) { d.Columns = d.Columns[:5] }),
		"column 4 has -1 levels":               with(func(d *Data) { d.Columns[4].Levels = -1 }),
		"2 weights for 20 rows":                with(func(d *Data) { d.Weights = []float64{1, 2} }),
		"the weight of row 1 is -1": with(func(d *Data) {
			d.Weights = make([]float64, 20)
			d.Weights[1] = -1
		}),
		"the weights sum to 0, but the sum must be": with(func(d *Data) { d.Weights = make([]float64, 20) }),
	} {
		_, one := FitBoosting(context.Background(), d, BoostingConfig{}, 1)
		_, other := FitExtraTrees(context.Background(), d, ExtraConfig{}, 1)
		for _, err := range []error{one, other} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("the error is %q, want one with %q", err, want)
			}
		}
	}
	m := kindsOfModel["extra trees"](t, simulated(20, 1), 1)
	if _, err := m.Predict(context.Background(), matrix.New[float32](2, 5)); err == nil ||
		!strings.Contains(err.Error(), "5 columns") {
		t.Errorf("the error is %v", err)
	}
}

// TestOptionsOutOfRange checks that all of them are reported together.
func TestOptionsOutOfRange(t *testing.T) {
	d := numeric(10, 2, 1)
	_, err := FitBoosting(context.Background(), d, BoostingConfig{Rounds: -1, MaxRounds: -1, Patience: -1, Rate: 2,
		Leaves: 1, MinLeaf: math.NaN(), L2: -1, Features: 1.5, Rows: -1, Bins: 255}, 1)
	for _, want := range []string{"Rounds", "MaxRounds", "Patience", "Rate", "Leaves", "MinLeaf", "L2", "Features", "Rows",
		"Bins is 255, but it must be from 2 to 254"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %q, want one with %q", err, want)
		}
	}
	_, err = FitExtraTrees(context.Background(), d, ExtraConfig{Trees: -1, MinLeaf: -1}, 1)
	for _, want := range []string{"Trees", "MinLeaf"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %q, want one with %q", err, want)
		}
	}
}
