package nextbatch_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/limits"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection"
	"github.com/nextbatch/nextbatch/spec"
	"github.com/nextbatch/nextbatch/tables"
)

var pendingRows = []int{70, 3, 149, 20, 21}

// TestPendingOfAllPublishedSpecs compares with the plain definition: the kernel of a
// problem that has the pending rows among its labelled ones, on which the method has them
// pending.
func TestPendingOfAllPublishedSpecs(t *testing.T) {
	t.Parallel()
	p := learntProblem(t)
	specs := spec.Published()
	for _, text := range []string{"lcmd-tp:grad>sketch(512)+0.5*linear", "bait-f-p:(ll+2*matern>rff(512))>train",
		"maxdist-p:leaf>sketch(512)+predictions"} {
		specs = append(specs, spec.MustParse(text))
	}
	for _, published := range specs {
		s := small(t, published)
		t.Run(s.String(), func(t *testing.T) {
			q := p
			q.Pending = pendingRows
			batch, err := nextbatch.Select(t.Context(), s, q)
			if err != nil {
				t.Fatal(err)
			}
			checkRows(t, batch.Rows(), q)
			if slices.ContainsFunc(batch.Rows(), func(row int) bool { return slices.Contains(pendingRows, row) }) {
				t.Fatalf("picked %v", batch.Rows())
			}
			if want, ok := plainPending(t, s, p); ok && !slices.Equal(batch.Rows(), want) {
				t.Errorf("%v, by the definition %v", batch.Rows(), want)
			}
		})
	}
}

// plainPending picks by features that were computed with the pending rows among the
// labelled ones. It returns false where features would be another kernel: that of a method
// without one, or of transformations that need labels.
func plainPending(t *testing.T, s spec.Spec, p nextbatch.Problem) ([]int, bool) {
	t.Helper()
	for _, transform := range s.Transforms {
		if transform.Info().Labels {
			return nil, false
		}
	}
	if !s.UsesKernel() {
		return nil, false
	}
	extended := p
	extended.Train = matrix.Stack(p.Train, p.Pool.SelectRows(pendingRows))
	pool, err := nextbatch.Features(t.Context(), s, extended, p.Pool)
	if err != nil {
		return nil, false // the kernel has too many
	}
	train, err := nextbatch.Features(t.Context(), s, extended, p.Train)
	if err != nil {
		t.Fatal(err)
	}
	if pool.Double.Rows > 0 {
		return pickPending(t, s, spec.MakerOfMethod(s.Method), p, train.Double, pool.Double), true
	}
	if s.Method.Info().DoubleOnly {
		return pickPending(t, s, spec.MakerOfMethod(s.Method), p, matrix.Converted[float64](train.Single),
			matrix.Converted[float64](pool.Single)), true
	}
	return pickPending(t, s, spec.MakerOfMethod(s.Method), p, train.Single, pool.Single), true
}

func pickPending[T matrix.Float](t *testing.T, s spec.Spec, method spec.MethodMaker, p nextbatch.Problem, train,
	pool matrix.Dense[T]) []int {
	t.Helper()
	question := selection.Problem[T]{Pool: pool, Train: train, Batch: p.Batch, Seed: p.Seed, Pending: pendingRows}
	conditions := slices.ContainsFunc(s.Transforms, func(t spec.Transform) bool {
		return t.Info().Conditions &&
			!t.Info().NoCovariance
	})
	if s.Method.Info().Noise && conditions && s.Mode == spec.P {
		question.Pending, question.Constraints.Exclude = nil, pendingRows // observed once
	}
	if s.Mode == spec.TP {
		question.Mode = selection.TP
	}
	r,
		err := selection.Select(t.Context(), method(selection.Settings{Sigma2: s.NoiseVariance(), Compat: s.Compat}),
		question)
	if err != nil {
		t.Fatal(err)
	}
	return r.Rows()
}

// TestPendingIsObservedOnce: conditioning the kernel on labelled and pending rows is the
// same as a method that counts both as selected.
func TestPendingIsObservedOnce(t *testing.T) {
	t.Parallel()
	p := smallProblem(t)
	p.Pending = pendingRows
	for _, method := range []string{"maxdet", "bait-f", "bait-fb"} {
		var rows [2][]int
		for i, text := range []string{"-p:linear>post@sigma2(0.01)", "-tp:linear@sigma2(0.01)"} {
			batch, err := nextbatch.Select(t.Context(), spec.MustParse(method+text), p)
			if err != nil {
				t.Fatal(err)
			}
			rows[i] = batch.Rows()
		}
		if !slices.Equal(rows[0], rows[1]) {
			t.Errorf("%s: %v after a posterior, %v by itself", method, rows[0], rows[1])
		}
	}
}

// TestRequestPending: names of rows, those of a labelled row and of two batch files among
// them.
func TestRequestPending(t *testing.T) {
	t.Parallel()
	r := asked(t)
	r.Spec = spec.MustParse("maxdist-tp:linear")
	r.GroupColumn, r.PerGroup = "", 0
	first := mustResult(t, r)
	r.Pending = append(slices.Clone(first.IDs), first.IDs[0], "r8")
	second := mustResult(t, r)
	if slices.ContainsFunc(second.IDs, func(id string) bool { return slices.Contains(first.IDs, id) }) {
		t.Errorf("%v were pending, %v picked", first.IDs, second.IDs)
	}
	if second.Metrics.Pending != 5 || !slices.Contains(second.Warnings,
		"Pending: 1 row already has a label and is no longer pending: r8") {
		t.Errorf("%d pending; %q", second.Metrics.Pending, second.Warnings)
	}
	if !strings.Contains(strings.Join(second.Reasons, "\n"), "from pending row ") {
		t.Errorf("no reason names a pending row: %q", second.Reasons)
	}
	both := asked(t)
	both.Spec, both.GroupColumn, both.PerGroup, both.Batch = r.Spec, "", 0, 10
	if at := mustResult(t, both); !slices.Equal(at.IDs[5:], second.IDs) {
		t.Errorf("%v after %v, at once %v", second.IDs, first.IDs, at.IDs)
	}
	for name, want := range map[string]string{"r99": `Pending: there is no candidate "r99"`,
		"": `there is no candidate ""`} {
		r.Pending = []string{name}
		if _, err := r.Plan(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", name, err)
		}
	}
	r.Pending, r.Must = []string{"r1"}, []string{"r1"}
	if _, err := r.Plan(t.Context()); err == nil || !strings.Contains(err.Error(), "Must and Pending") {
		t.Errorf("required and pending: %v", err)
	}
}

func mustResult(t *testing.T, r nextbatch.Request) *nextbatch.Result {
	t.Helper()
	plan, err := r.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	result, err := plan.Select(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// priced is a request with costs of 1, 2, 3, 4 hours.
func priced(t *testing.T, budget float64) nextbatch.Request {
	t.Helper()
	var b strings.Builder
	b.WriteString("id,x,z,hours,site,y\n")
	for i := range 40 {
		fmt.Fprintf(&b, "r%d,%d,%d,%d,s%d,", i, i*i%17, i*7%13, 1+i%4, i%5)
		if i%5 == 4 {
			fmt.Fprintf(&b, "%d", i)
		}
		b.WriteString("\n")
	}
	table, err := source.ReadCSV(t.Context(), strings.NewReader(b.String()), source.Options{ID: "id"})
	if err != nil {
		t.Fatal(err)
	}
	return nextbatch.Request{Input: tables.Input{Table: table, TargetColumns: []string{"y"}, IDColumn: "id"},
		Ask:  limits.Ask{Limits: limits.Limits{CostColumn: "hours", Budget: &budget}},
		Spec: spec.MustParse("maxdist-tp:linear")}
}

// TestBudgetAlone: as many rows as it pays for, and that is a full batch.
func TestBudgetAlone(t *testing.T) {
	t.Parallel()
	r := mustResult(t, priced(t, 10))
	if float64(*r.Metrics.Cost) > 10 || float64(*r.Metrics.Cost) <= 9 || r.Missing != 0 ||
		r.Short != "" || r.Batch.Missing != 0 {
		t.Errorf("%v for %v, missing %d: %s", r.IDs, *r.Metrics.Cost, r.Missing, r.Short)
	}
	few := priced(t, 0.5)
	if _, err := few.Plan(t.Context()); err == nil || !strings.Contains(err.Error(),
		"Budget is 0.5, and the cheapest candidate costs 1") {
		t.Errorf("too small a budget: %v", err)
	}
	plan, err := priced(t, 4).Plan(t.Context())
	if err != nil || plan.Batch != 4 {
		t.Errorf("at most %d rows for 4 hours: %v", plan.Batch, err)
	}
}

// TestPerCost: more rows for the same money, by the plain rule at the first pick.
func TestPerCost(t *testing.T) {
	t.Parallel()
	r := priced(t, 20)
	plain := mustResult(t, r)
	r.PerCost = true
	weighed := mustResult(t, r)
	if len(weighed.IDs) <= len(plain.IDs) {
		t.Errorf("%d rows per cost, %d otherwise", len(weighed.IDs), len(plain.IDs))
	}
	r.Spec = spec.MustParse("kmeanspp-tp:linear")
	if _, err := r.Plan(t.Context()); err == nil || !strings.Contains(err.Error(), "kmeanspp has no score") ||
		!strings.Contains(err.Error(), "lcmd") {
		t.Errorf("k-means++ per cost: %v", err)
	}
	r.CostColumn, r.Spec = "x", spec.MustParse("lcmd-tp:linear") // has zeros
	if _, err := r.Plan(t.Context()); err == nil || !strings.Contains(err.Error(),
		`column "x", line 2: with PerCost a cost must be positive`) {
		t.Errorf("a cost of zero: %v", err)
	}
}

// TestGroups: the column may stay an input, and groups without candidates are named.
func TestGroupsOfARequest(t *testing.T) {
	t.Parallel()
	r := priced(t, 20)
	r.GroupColumn, r.PerGroup = "site", 2
	out, err := r.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r.GroupIsInput = true
	in, err := r.Plan(t.Context())
	if err != nil || in.Inputs <= out.Inputs {
		t.Errorf("%d inputs with groups, %d without: %v", in.Inputs, out.Inputs, err)
	}
	want := `column "site": 1 group has no candidates, so the batch has no row of it: s4`
	if !slices.Contains(out.Warnings, want) {
		t.Errorf("%q", out.Warnings)
	}
	sites := dataset.NewText("site")
	for i := range r.Table.Rows() {
		name := fmt.Sprint("s", i%5)
		if i < 3 {
			name = ""
		}
		sites.Append([]byte(name))
	}
	without, err := r.Table.Without("site")
	if err != nil {
		t.Fatal(err)
	}
	if r.Table, err = dataset.NewTable(append(slices.Clone(without.Columns()), sites)...); err != nil {
		t.Fatal(err)
	}
	r.GroupIsInput = false
	out, err = r.Plan(t.Context())
	if err != nil ||
		!slices.Contains(out.Warnings,
			`pool: 3 candidates have no group in column "site"; all such rows together count as one group`) {
		t.Errorf("%q, %v", out.Warnings, err)
	}
}

// start is the method without any label.
const start = "bait-f-p:laplace(0.2)>rff(512)+0.3*linear@sigma2(0.1)"

// TestStart: without labels the batch is spread over the inputs.
func TestStart(t *testing.T) {
	t.Parallel()
	for labels, want := range []string{start, "lcmd-tp:linear", spec.Default} {
		r := asked(t)
		numbers, err := source.ReadCSV(t.Context(), strings.NewReader(startTable(labels)),
			source.Options{ID: "id", Kinds: map[string]dataset.Kind{"y": dataset.KindNumeric}})
		if err != nil {
			t.Fatal(err)
		}
		r.Table, r.GroupColumn, r.PerGroup = numbers, "", 0
		plan, err := r.Plan(t.Context())
		if err != nil || plan.Spec != want {
			t.Errorf("%d labels: %v, %v", labels, plan, err)
			continue
		}
		said := strings.Contains(strings.Join(plan.Warnings, "\n"), "spread over the inputs, by "+want)
		if _, err := plan.Select(t.Context()); err != nil || said != (labels < 2) {
			t.Errorf("%d labels: %q, %v", labels, plan.Warnings, err)
		}
	}
	r := asked(t)
	r.Pool, r.Table, r.GroupColumn, r.PerGroup = r.Table, nil, "", 0
	if _, err := r.Plan(t.Context()); err == nil || !strings.Contains(err.Error(), `has labels in column "y"`) {
		t.Errorf("a pool with labels alone: %v", err)
	}
	without, err := r.Pool.Without("y")
	if err != nil {
		t.Fatal(err)
	}
	r.Pool = without
	if plan, err := r.Plan(t.Context()); err != nil || plan.Spec != start ||
		plan.Labelled != 0 || plan.Pool != 60 {
		t.Errorf("a pool alone: %v, %v", plan, err)
	}
	r.Spec = spec.MustParse(spec.Default)
	if _, err := r.Plan(t.Context()); err == nil || !strings.Contains(err.Error(), "needs labelled rows") {
		t.Errorf("a pool alone, with a method that needs labels: %v", err)
	}
}

// TestStartInALargePool: where the method of a start would take long, another does.
func TestStartInALargePool(t *testing.T) {
	t.Parallel()
	for rows, want := range map[int]string{100_000: start, 100_001: "lcmd-p:linear"} {
		x := dataset.NewNumeric("x")
		for i := range rows {
			x.Append(float64(i % 7))
		}
		pool, err := dataset.NewTable(x)
		if err != nil {
			t.Fatal(err)
		}
		r := nextbatch.Request{Input: tables.Input{Pool: pool, TargetColumns: []string{"y"}}}
		if got := r.WithDefaults().Spec.String(); got != want {
			t.Errorf("%d candidates: %s, want %s", rows, got, want)
		}
	}
}

// TestStartWithEqualRows: a single row, or rows that are all alike, can be asked for, although
// no column tells them apart.
func TestStartWithEqualRows(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"id,a,y\n1,7,\n", "id,a,y\n1,seven,\n", "id,a,b,y\n1,7,,\n2,7,,\n3,7,,\n"} {
		rows, err := source.ReadCSV(t.Context(), strings.NewReader(text),
			source.Options{ID: "id", Kinds: map[string]dataset.Kind{"y": dataset.KindNumeric}})
		if err != nil {
			t.Fatal(err)
		}
		plan, err := nextbatch.Request{Input: tables.Input{Table: rows, IDColumn: "id", TargetColumns: []string{"y"}},
			Ask: limits.Ask{Batch: 1}}.Plan(t.Context())
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if out, err := plan.Select(t.Context()); err != nil || len(out.IDs) != 1 {
			t.Errorf("%q: %v, %v", text, out, err)
		}
	}
}

func startTable(labels int) string {
	var b strings.Builder
	b.WriteString("id,x,z,y\n")
	for i := range 30 {
		label := ""
		if i < labels {
			label = fmt.Sprint(i)
		}
		fmt.Fprintf(&b, "r%d,%d,%d,%s\n", i, i*i%17, i*7%13, label)
	}
	return b.String()
}

// TestTargetsNeedAMethodForThem: it is the request that is wrong.
func TestTargetsNeedAMethodForThem(t *testing.T) {
	t.Parallel()
	r := asked(t)
	r.Aims, r.Spec = r.Table, spec.MustParse("maxdist-tp:linear")
	_, err := r.Plan(t.Context())
	if wrong, ok := err.(*nextbatch.RequestError); !ok || !strings.Contains(wrong.Reason,
		"maxdist represents no distribution") || !strings.Contains(wrong.Reason, "lcmd") {
		t.Errorf("%v", err)
	}
}

// TestReasons: the parts of a reason are in the result, too.
func TestReasons(t *testing.T) {
	t.Parallel()
	r := mustResult(t, asked(t))
	n := len(r.IDs)
	if len(r.Nearest) != n || len(r.Distances) != n || len(r.Apart) != n || len(r.Predictions) != n || r.Typical <= 0 {
		t.Fatalf("%+v", r)
	}
	for i, reason := range r.Reasons {
		p := r.Predictions[i]
		predicted := words.Number(float64(p.Value))
		if p.Low != nil {
			predicted, _, _ = words.Interval(float64(p.Value), float64(*p.Low), float64(*p.High))
		}
		if !strings.Contains(reason, "times the typical distance") || !strings.Contains(reason, "predicted "+predicted) {
			t.Errorf("%q", reason)
		}
		if len(r.Apart[i]) == 0 {
			t.Errorf("no input sets the pick apart: %q", reason)
		}
		for j, a := range r.Apart[i] {
			if !strings.Contains(reason, fmt.Sprintf("%s (%s, there %s)", a.Input, a.Value, a.Other)) || a.Deviations < 1 &&
				(j > 0 || !strings.Contains(reason, "slightly unlike")) {
				t.Errorf("%+v is not in %q", a, reason)
			}
		}
	}
}
