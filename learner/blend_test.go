package learner

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/internal/gp"
	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
)

// made returns rows of a smooth function with noise.
func made(rows int) network.Sample {
	r := rng.New(7, "learner: made rows")
	s := network.Sample{X: matrix.New[float32](rows, 3), Unlabelled: matrix.New[float32](20, 3)}
	for _, m := range []matrix.Dense[float32]{s.X, s.Unlabelled} {
		for i := range m.Data {
			m.Data[i] = float32(r.NormFloat64())
		}
	}
	for i := range rows {
		row := s.X.Row(i)
		s.Y = append(s.Y, math.Sin(float64(row[0]))+float64(row[1])+0.1*r.NormFloat64())
	}
	return s
}

// madeTwo returns rows with two targets, of which some labels are missing.
func madeTwo(rows int) network.Sample {
	s := made(rows)
	y := make([]float64, 0, 2*rows)
	for i, v := range s.Y {
		second := -2 * v
		if i%3 == 0 {
			second = math.NaN()
		}
		y = append(y, v, second)
	}
	s.Y, s.Targets = y, 2
	return s
}

// small is the options of a blend of small networks and the other learners.
func small() Options {
	o := Options{Kind: Auto, Network: network.Options{Config: smooth(network.Config{})}}
	o.Network.Config.Seed = 5
	o.Network.Config.Architecture.Hidden, o.Network.Config.Training.Epochs = []int{16}, 8
	return o
}

func all() []Learner {
	return []Learner{processLearner{}, processLearner{gp.Sparse}, processLearner{gp.Stationary}, extraTrees{},
		boostedTrees{}, contextLearner{}, networkLearner{Options: small().Network}}
}

func fit(t *testing.T, ctx context.Context, s network.Sample, learners ...Learner) *Model {
	t.Helper()
	m, err := fitBlend(ctx, s, small(), func(int) []Learner { return learners })
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func predict(t *testing.T, ctx context.Context, m *Model, rows matrix.Dense[float32]) network.Uncertain {
	t.Helper()
	u, err := m.PredictStd(ctx, rows)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// TestThreadsChangeNothing: models and predictions have the same bits on one thread and on several.
func TestThreadsChangeNothing(t *testing.T) {
	s := made(40)
	one, several := linalg.WithThreads(t.Context(), 1), linalg.WithThreads(t.Context(), 3)
	a, b := fit(t, one, s, all()...), fit(t, several, s, all()...)
	if !reflect.DeepEqual(a.Candidates(), b.Candidates()) {
		t.Errorf("one thread: %+v\nseveral: %+v", a.Candidates(), b.Candidates())
	}
	if !reflect.DeepEqual(predict(t, one, a, s.Unlabelled), predict(t, several, b, s.Unlabelled)) {
		t.Error("the predictions differ")
	}
	first, err := a.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	if second, err := b.MarshalBinary(); err != nil || !bytes.Equal(first, second) {
		t.Error("the files differ", err)
	}
}

// TestSavedModels: a model that was saved and loaded predicts the same, and is saved as the same bytes.
func TestSavedModels(t *testing.T) {
	for name, m := range map[string]*Model{
		"all": fit(t, t.Context(), made(40), all()...), "gp": fit(t, t.Context(), made(40), processLearner{}),
		"sparse":     fit(t, t.Context(), made(40), processLearner{gp.Sparse}),
		"in-context": fit(t, t.Context(), made(40), contextLearner{}),
		"several processes": fit(t, t.Context(), made(40), processLearner{}, processLearner{gp.Sparse},
			processLearner{gp.Stationary}),
		"several targets": fit(t, t.Context(), madeTwo(60), all()...),
	} {
		raw, err := m.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		var back Model
		if err := back.UnmarshalBinary(raw); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if again, err := back.MarshalBinary(); err != nil || !bytes.Equal(raw, again) {
			t.Errorf("%s: saved again, the file differs (%v)", name, err)
		}
		x := made(50).X
		for k := range m.Targets() {
			a, b := m.Target(k), back.Target(k)
			if !reflect.DeepEqual(predict(t, t.Context(), a, x), predict(t, t.Context(), b, x)) || a.Choice() != b.Choice() ||
				a.Intervals() != b.Intervals() {
				t.Errorf("%s, target %d: the loaded model differs: %s, %s", name, k, a.Choice(), b.Choice())
			}
		}
		if !slices.Equal(lengths(m.Processes()), lengths(back.Processes())) {
			t.Errorf("%s: the kernel of the process differs", name)
		}
	}
	if _, err := fit(t, t.Context(), made(30), biased{name: "own", off: 1}).MarshalBinary(); err == nil ||
		!strings.Contains(err.Error(), "own") {
		t.Errorf("a learner of somebody's own is saved: %v", err)
	}
}

// lengths returns the length scales of kernels.
func lengths(list []kernel.Process) (all []float64) {
	for _, k := range list {
		all = append(all, k.Lengths...)
	}
	return all
}

// sealed returns a file with a right checksum.
func sealed(body []byte) []byte {
	file := append([]byte(magic), body...)
	return binary.LittleEndian.AppendUint32(file, crc32.ChecksumIEEE(file))
}

// TestOldModelsLoad: the file of a network alone is read, too.
func TestOldModelsLoad(t *testing.T) {
	s := made(30)
	n, err := network.Fit(t.Context(), s, small().Network)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := n.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	var m Model
	if err := m.UnmarshalBinary(raw); err != nil || m.Kind() != NetworkAlone {
		t.Fatalf("%v, %v", m.Kind(), err)
	}
	again, err := m.MarshalBinary()
	if err != nil || !bytes.Equal(raw, again) {
		t.Errorf("the file of a network alone changes: %v", err)
	}
}

// biased is a learner whose predictions of the first input are all off by the same amount.
type biased struct {
	name string
	off  float64 // the error of its predictions
	left string
}

func (b biased) Name() string            { return b.name }
func (b biased) Refuses(int, int) string { return b.left }
func (b biased) Predict(_ context.Context, rows Rows, _ bool) (means, stds []float64, err error) {
	for i := range rows.Len() {
		means, stds = append(means, float64(rows.Raw.At(i, 0))+b.off), append(stds, 0.5)
	}
	return means, stds, nil
}
func (b biased) CrossFit(ctx context.Context, t *Task) ([]*CrossFitted, error) {
	means, stds, err := b.Predict(ctx, t.Rows, true)
	return []*CrossFitted{{Predictor: b, Means: means, Deviations: stds}}, err
}

// TestOwnLearners: two learners whose errors are opposite have equal weights, and their blend has no error;
// a learner that leaves the task is told of, and the others are blended.
func TestOwnLearners(t *testing.T) {
	s := made(30)
	for i := range s.Y {
		s.Y[i] = float64(s.X.At(i, 0))
	}
	m := fit(t, t.Context(), s, biased{name: "low", off: -1}, biased{name: "away", left: "too many labels"},
		biased{name: "high", off: 1})
	list := m.Candidates()
	if c := list[1]; c.Left != "too many labels" || c.Weight != 0 {
		t.Errorf("the one that left: %+v", c)
	}
	low, high := list[0], list[2]
	if math.Abs(low.Error-1) > 1e-6 || math.Abs(high.Error-1) > 1e-6 || math.Abs(low.Weight-0.5) > 0.03 ||
		math.Abs(low.Weight+high.Weight-1) > 1e-12 {
		t.Errorf("the others: %+v, %+v", low, high)
	}
	if e := m.Provenance().ValidRMSE[0]; e > 0.06 {
		t.Errorf("the error of the blend is %v", e)
	}
	if text := m.Choice(); !strings.Contains(text, "left out: away: too many labels") ||
		!strings.Contains(text, "blend 0.0") {
		t.Error(text)
	}
}

// TestHeldRowsAreNotLearnt: changing a label leaves the held-out prediction of its own row as it is, apart from
// the number of trees of boosting, which all rows choose.
func TestHeldRowsAreNotLearnt(t *testing.T) {
	s := made(30)
	for _, l := range all() {
		if l.Name() == "boosting" {
			continue
		}
		predicted := func(s network.Sample) (list []float64) {
			for i, r := range fit(t, t.Context(), s, l).Residuals() {
				list = append(list, r.Error+s.Y[i])
			}
			return list
		}
		before := predicted(s)
		changed := s
		changed.Y = slices.Clone(s.Y)
		changed.Y[4] += 0.3 // not so far that it is left out
		after := predicted(changed)
		if math.Abs(before[4]-after[4]) > 1e-12 {
			t.Errorf("%s: the prediction of the row is %v, and %v with another label", l.Name(), before[4], after[4])
		}
		if slices.Equal(before, after) {
			t.Errorf("%s: a label changes nothing", l.Name())
		}
	}
}

// TestSeveralTargets: a target is learnt from the rows that have its label.
func TestSeveralTargets(t *testing.T) {
	s := madeTwo(90)
	m := fit(t, t.Context(), s, all()...)
	if m.Targets() != 2 || m.Target(1).Targets() != 1 || m.TargetName(1) != "2" {
		t.Fatalf("%d targets", m.Targets())
	}
	first, second := m.Residuals(), m.Target(1).Residuals()
	if len(first) != 90 || len(second) != 60 || second[0].Row != 1 {
		t.Errorf("%d and %d residuals", len(first), len(second))
	}
	x := made(50)
	a, b := predict(t, t.Context(), m, x.X), predict(t, t.Context(), m.Target(1), x.X)
	for i, y := range x.Y {
		if math.Abs(a.Mean[i]-y) > 1 || math.Abs(b.Mean[i]+2*y) > 2 {
			t.Fatalf("row %d: %v and %v, want %v and %v", i, a.Mean[i], b.Mean[i], y, -2*y)
		}
	}
	if len(m.Processes()) != 2 || m.Leaves().Trees() == 0 {
		t.Error("the kernels do not have all targets")
	}
}

// TestDivergenceIsTold: networks that diverge are named, and take no part where they predict no numbers.
func TestDivergenceIsTold(t *testing.T) {
	wild := networkLearner{Options: small().Network}
	wild.Options.Config.Training.Rate = 1e30
	m := fit(t, t.Context(), made(30), wild, processLearner{})
	if notes := m.Notes(); len(notes) == 0 || !strings.Contains(notes[0], "fold 1 of 5") {
		t.Errorf("the notes are %q", notes)
	}
	if c := m.Candidates(); c[0].Left == "" || c[0].Weight != 0 || c[1].Weight != 1 {
		t.Errorf("the candidates are %+v", c)
	}
}

// TestHopelessNetworksStop: a network that would have no weight is trained for one fold.
func TestHopelessNetworksStop(t *testing.T) {
	s := made(40)
	for i := range s.Y {
		s.Y[i] = float64(s.X.At(i, 0))
	}
	m := fit(t, t.Context(), s, biased{name: "near", off: 0.001}, networkLearner{Options: small().Network})
	if c := m.Candidates()[1]; c.Weight != 0 || !strings.Contains(c.Left, "one of its folds") || len(m.Ensemble()) != 1 {
		t.Errorf("%+v, %d networks", c, len(m.Ensemble()))
	}
}

// TestCategories: a category is one column for trees, whatever the number of its levels, and a value that is
// missing is missing, as an encoder writes them and a scaler scales them.
func TestCategories(t *testing.T) {
	e := &encode.Encoder{
		Numeric: []string{"a"}, Impute: true, Medians: []float64{7}, Indicators: []string{"a"},
		Categories: []encode.Category{{Column: "b", Levels: []string{"x", "y", "z"}},
			{Column: "c", Levels: []string{"no", "yes"}}},
	}
	columns := columnsOf(e)
	if want := []Column{{Name: "a", First: 0, Width: 1, Mark: 5}, {Name: "b", First: 1, Width: 3, Category: true},
		{Name: "c", First: 4, Width: 1, Category: true}}; !slices.Equal(columns, want) {
		t.Fatalf("columns %+v", columns)
	}
	rows := matrix.FromRows([][]float32{{7, 0, 1, 0, 1, 0}, {7, 0, 0, 0, 0.5, 1}, {3, 1, 0, 0, 0, 0}})
	scaling, err := encode.FitScalerAll(encode.Population, rows)
	if err != nil {
		t.Fatal(err)
	}
	scaled := scaledBy(scaling, rows).Scaled
	got := newFolding(columns, scaling).rows(scaled)
	if want := []float32{scaled.At(0, 0), 1, 1}; !slices.Equal(got.Row(0), want) {
		t.Errorf("the first row is %v, not %v", got.Row(0), want)
	}
	if r := got.Row(1); r[0] == r[0] || r[1] == r[1] || r[2] == r[2] {
		t.Errorf("the second row is %v; its values are missing", r)
	}
	if want := []float32{scaled.At(2, 0), 0, 0}; !slices.Equal(got.Row(2), want) {
		t.Errorf("the third row is %v, not %v", got.Row(2), want)
	}
}

// TestOrderedCategories: the order of a category is a column of numbers beside it, which is missing where it is.
func TestOrderedCategories(t *testing.T) {
	e := &encode.Encoder{Categories: []encode.Category{{Column: "a", Levels: []string{"x", "y", "z"},
		Order: []string{"z", "y", "x"}, Missing: true}, {Column: "b", Levels: []string{"no", "yes"}}}}
	want := []Column{{Name: "a", First: 0, Width: 3, Category: true, Mark: 4}, {Name: "a", First: 3, Width: 1, Mark: 4},
		{Name: "b", First: 5, Width: 1, Category: true}}
	if got := columnsOf(e); !slices.Equal(got, want) || len(e.Features()) != 6 {
		t.Errorf("columns %+v of the features %q", got, e.Features())
	}
}

// TestConstantLabels: labels that are all equal are predicted.
func TestConstantLabels(t *testing.T) {
	s := made(30)
	for i := range s.Y {
		s.Y[i] = 3
	}
	m := fit(t, t.Context(), s, all()...)
	for _, v := range predict(t, t.Context(), m, s.Unlabelled).Mean {
		if math.Abs(v-3) > 0.1 {
			t.Fatalf("predicted %v", v)
		}
	}
	raw, err := m.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	if err := new(Model).UnmarshalBinary(raw); err != nil {
		t.Error(err)
	}
}

// TestErrors: what cannot be learnt from is an error that says why.
func TestErrors(t *testing.T) {
	few, nan, short := made(30), made(30), made(30)
	few.X, few.Y = few.X.Slice(0, 3), few.Y[:3]
	nan.Y[7] = math.NaN()
	short.Y = short.Y[:29]
	for want, s := range map[string]network.Sample{
		"3 rows have a label; cross-fitting needs 5": few, "NaN": nan, "30 rows and 29 labels": short,
	} {
		if _, err := Fit(t.Context(), s, Options{Kind: GaussianOnly}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, not %q", err, want)
		}
	}
	if _, err := Fit(t.Context(), made(30), Options{Kind: "best"}); err == nil ||
		!strings.Contains(err.Error(), `auto, network, gp, trees or in-context, not "best"`) {
		t.Error(err)
	}
	if _,
		err := fitBlend(t.Context(), made(30), small(),
		func(int) []Learner { return []Learner{biased{name: "one", left: "it is tired"}} }); err == nil ||
		!strings.Contains(err.Error(), "one: it is tired") {
		t.Errorf("nobody takes the task, and the error is %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, l := range all() {
		var stopped *network.StoppedError
		if _, err := fitBlend(ctx, made(30), small(), func(int) []Learner { return []Learner{l} }); !errors.Is(err,
			context.Canceled) && !errors.As(err, &stopped) {
			t.Errorf("%s: the error of a cancelled fit is %v", l.Name(), err)
		}
	}
}

// FuzzModelFile: no bytes make loading panic, and what loads predicts.
func FuzzModelFile(f *testing.F) {
	two := func(int) []Learner { return []Learner{processLearner{}, extraTrees{}} }
	m, err := fitBlend(f.Context(), made(20), small(), two)
	if err != nil {
		f.Fatal(err)
	}
	raw, err := m.MarshalBinary()
	if err != nil {
		f.Fatal(err)
	}
	head := bytes.Index(raw, []byte(`"lengths"`))
	f.Add(raw[len(magic) : len(magic)+head/2])
	f.Add(raw[len(magic) : len(raw)-4])
	f.Fuzz(func(t *testing.T, body []byte) {
		file := sealed(body)
		var m Model
		if err := m.UnmarshalBinary(file); err != nil {
			return
		}
		x := matrix.New[float32](2, len(m.blended.inputs.Mean))
		_, _ = m.PredictStd(t.Context(), x)
		_, _, _ = m.PredictInterval(t.Context(), x, 0.5)
		if l := m.Leaves(); l != nil {
			_, _ = l.Leaves(t.Context(), x)
		}
	})
}

// TestModelsKeepTheirRanges: predictions and intervals of each target keep to its own range, also after the model was
// saved.
func TestModelsKeepTheirRanges(t *testing.T) {
	s, x := madeTwo(60), made(50).X
	alone, err := Fit(t.Context(), s, Options{Network: small().Network})
	if err != nil {
		t.Fatal(err)
	}
	ranges := dataset.Ranges{{Low: -0.1, High: 0.1}, {Low: 0.2, High: 0.3}}
	for name, m := range map[string]*Model{"blend": fit(t, t.Context(), s, processLearner{}), "network": alone} {
		raw, err := m.Within(ranges).MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		var back Model
		if err := back.UnmarshalBinary(raw); err != nil {
			t.Fatal(err)
		}
		for k, want := range ranges {
			low, high, err := back.Target(k).PredictInterval(t.Context(), x, 0.5)
			if err != nil {
				t.Fatal(err)
			}
			values, err := back.Target(k).Predict(t.Context(), x)
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range slices.Concat(values, predict(t, t.Context(), back.Target(k), x).Mean, low, high) {
				if v < want.Low || v > want.High {
					t.Fatalf("%s, target %d: number %d is %v, outside %v", name, k, i, v, want)
				}
			}
		}
		if u := predict(t, t.Context(), m, x); slices.Max(u.Mean) < 0.1 || m.Range().Fault(1e9) != "" {
			t.Errorf("%s: the model without ranges has changed", name)
		}
	}
}
