package selection_test

// Constraints on the whole batch, compared with enumeration of all subsets of small pools.

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection"
)

// small is a problem whose batches can be enumerated. Sets of rows are bits.
type small struct {
	pool, batch int
	c           selection.Constraints
	pending     []int
	budget      bool // the costs count
}

func bitsOf(rows []int) (set uint) {
	for _, row := range rows {
		set |= 1 << row
	}
	return set
}

// meets reports whether a set of rows is a batch; first are the values of the first runs.
func (s *small) meets(set uint, first []int) bool {
	required := bitsOf(s.c.Require)
	if set&required != required || set&(bitsOf(s.c.Exclude)|bitsOf(s.pending)) != 0 || bits.OnesCount(set) > s.batch {
		return false
	}
	if set == 0 && s.c.MinPerGroup > 0 && s.c.MaxGroups > 0 { // groups of some size are asked for
		return false
	}
	cost, inGroup, inValue := 0.0, [4]int{}, [4]int{}
	for row := range s.pool {
		if set>>row&1 == 0 {
			continue
		}
		if s.c.Cost != nil {
			cost += s.c.Cost[row]
		}
		if s.c.Group != nil {
			inGroup[s.c.Group[row]]++
		}
		if s.c.Same != nil {
			inValue[s.c.Same[row]]++
		}
	}
	if s.budget && cost > s.c.Budget+1e-9 {
		return false
	}
	return s.meetsGroups(inGroup) && (s.c.Same == nil || s.splits(inValue, bits.OnesCount(set), first))
}

func (s *small) meetsGroups(in [4]int) bool {
	if s.c.Group == nil {
		return true
	}
	closed := bitsOf(s.c.Exclude) | bitsOf(s.pending)
	for row, g := range s.c.Group {
		counts := in[g] > 0 || s.c.MaxGroups == 0 && closed>>row&1 == 0
		if counts && in[g] < s.c.MinPerGroup || s.c.PerGroup > 0 && in[g] > s.c.PerGroup {
			return false
		}
	}
	used := 0
	for _, n := range in {
		used += min(n, 1)
	}
	return s.c.MaxGroups == 0 || used <= s.c.MaxGroups
}

// splits reports whether rows of these values are runs.
func (s *small) splits(left [4]int, rows int, first []int) bool {
	if rows != s.batch {
		return false
	}
	k := max(1, s.c.Runs)
	var place func(r int) bool
	place = func(r int) bool {
		if r == k {
			return true
		}
		size := s.batch / k
		if r < s.batch%k {
			size++
		}
		for v := range 4 {
			if r < len(first) && v != first[r] || left[v] < size {
				continue
			}
			left[v] -= size
			ok := place(r + 1)
			left[v] += size
			if ok {
				return true
			}
		}
		return false
	}
	return place(0)
}

// completes reports whether a set of rows is part of a batch of at least this size.
func (s *small) completes(set uint, first []int, least int) bool {
	for all := range uint(1) << s.pool {
		if all&set == set && bits.OnesCount(all) >= least && s.meets(all, first) {
			return true
		}
	}
	return false
}

// promise is the size that picks may not rule out as long as any row can be picked otherwise (ahead_groups.go).
func (s *small) promise() int {
	if s.c.MaxGroups == 0 || s.c.Same != nil {
		return 0
	}
	if s.budget {
		return s.payable()
	}
	for n := s.batch; n > 0; n-- {
		if s.completes(0, nil, n) {
			return n
		}
	}
	return 0
}

// payable is the promise with a budget: the size of the batch that has the required rows and the cheapest ones of their
// groups and of those of which the budget alone would pay for most rows.
func (s *small) payable() int {
	closed := bitsOf(s.c.Exclude) | bitsOf(s.pending) | bitsOf(s.c.Require)
	// candidates that are not required, and required rows, of each group
	byCost, in, room := [4][]int{}, [4]int{}, [4]int{}
	for row, g := range s.c.Group {
		if closed>>row&1 == 0 {
			byCost[g] = append(byCost[g], row)
		}
	}
	costs := func(rows ...int) (sum float64) {
		for _, row := range rows {
			sum += s.c.Cost[row]
		}
		return sum
	}
	cheaper := func(x, y int) int { return cmp.Or(cmp.Compare(s.c.Cost[x], s.c.Cost[y]), cmp.Compare(x, y)) }
	paid := func(given, rows []int) []int {
		for len(rows) > 0 && costs(given...)+costs(rows...) > s.c.Budget+1e-9 {
			rows = rows[:len(rows)-1]
		}
		return rows
	}
	batch := slices.Clone(s.c.Require)
	for _, row := range batch {
		in[s.c.Group[row]]++
	}
	var free []int
	var others [][]int
	used := 0
	for g, rows := range byCost {
		slices.SortFunc(rows, cheaper)
		if room[g] = len(rows); s.c.PerGroup > 0 {
			room[g] = min(room[g], s.c.PerGroup-in[g])
		}
		if rows = rows[:max(0, min(room[g], len(rows)))]; in[g] == 0 {
			others = append(others, rows)
			continue
		}
		lack := min(len(rows), max(0, s.c.MinPerGroup-in[g]))
		batch, free = append(batch, rows[:lack]...), append(free, rows[lack:]...)
		used++
	}
	least := len(batch)
	alone := batch[:least:least]
	for i, rows := range others {
		others[i] = paid(alone, rows)
	}
	first := func(rows []int) int { return slices.Index(s.c.Group, s.c.Group[rows[0]]) }
	others = slices.DeleteFunc(others, func(rows []int) bool { return len(rows) == 0 })
	slices.SortFunc(others, func(x, y []int) int {
		dear := math.Round(100 * (costs(x...) - costs(y...)))
		return cmp.Or(len(y)-len(x), int(dear), first(x)-first(y))
	})
	unit := max(1, s.c.MinPerGroup)
	left := min(s.c.MaxGroups-used, (s.batch-least)/unit)
	for _, rows := range others {
		if left == 0 || len(rows) < unit {
			continue
		}
		if unit > 1 {
			if len(paid(batch, rows[:unit])) < unit {
				continue
			}
			batch, rows = append(batch, rows[:unit]...), rows[unit:]
		}
		free = append(free, rows...)
		left--
	}
	slices.SortFunc(free, cheaper)
	return min(s.batch, len(batch)+len(paid(batch, free)))
}

// open lists the rows that may be picked.
func (s *small) open(batch uint, first []int) (rows []int) {
	free := *s
	free.budget = false
	promise := s.promise()
	possible := func(least int) (rows []int) {
		for row := range s.pool {
			set := batch | 1<<row
			if batch>>row&1 == 1 || len(first) > 0 && s.c.Same[row] != first[len(first)-1] {
				continue
			}
			if s.completes(set, first, 0) && free.completes(set, first, least) {
				rows = append(rows, row)
			}
		}
		return rows
	}
	if rows = possible(promise); len(rows) > 0 || !s.budget {
		return rows
	}
	return possible(0)
}

func randomSmall(r *rand.Rand) *small {
	s := &small{pool: 6 + r.IntN(5), batch: 2 + r.IntN(4)}
	some := func(n int) []int { return r.Perm(s.pool)[:n] }
	list := func(most int) []int {
		v := make([]int, s.pool)
		for i := range v {
			v[i] = r.IntN(most)
		}
		return v
	}
	for s.c.Same == nil && s.c.MinPerGroup == 0 && s.c.MaxGroups == 0 {
		s.c = selection.Constraints{}
		if r.IntN(2) == 0 {
			s.c.Same = list(1 + r.IntN(3))
			s.c.Runs = r.IntN(min(4, s.batch+1))
		}
		if r.IntN(3) > 0 {
			s.c.Group = list(2 + r.IntN(3))
			s.c.PerGroup, s.c.MinPerGroup, s.c.MaxGroups = r.IntN(4), r.IntN(3), r.IntN(4)
			if s.c.PerGroup+s.c.MinPerGroup+s.c.MaxGroups == 0 {
				s.c.PerGroup = 2
			}
		}
	}
	if r.IntN(2) == 0 {
		s.costs(r)
	}
	chosen := some(4)
	s.c.Require, s.c.Exclude, s.pending = chosen[:r.IntN(3)*r.IntN(2)], chosen[2:2+r.IntN(2)], chosen[3:3+r.IntN(2)]
	if len(s.c.Require) > s.batch {
		s.c.Require = nil
	}
	return s
}

// costs gives rows costs of some kind, and a budget.
func (s *small) costs(r *rand.Rand) {
	s.budget, s.c.Cost = true, make([]float64, s.pool)
	kind := r.IntN(5)
	var ofGroup [4]int
	for g := range ofGroup {
		ofGroup[g] = 1 + r.IntN(3)*r.IntN(15)
	}
	for i := range s.c.Cost {
		tenths := 1 + r.IntN(20)
		switch {
		case kind == 0: // all the same
			tenths = 7
		case kind == 1: // some cost nothing
			tenths *= r.IntN(2)
		case kind > 2 && s.c.Group != nil: // groups are cheap or dear
			tenths = ofGroup[s.c.Group[i]] + r.IntN(3)
		}
		s.c.Cost[i] = float64(tenths) / 10
	}
	s.c.Budget = float64(r.IntN(15*s.batch)) / 10
	s.c.PerCost = kind != 1 && r.IntN(2) == 0
}

// TestConstraintsByEnumeration compares feasibility, every pick, the value of every run and the conflict that is named
// with enumeration.
func TestConstraintsByEnumeration(t *testing.T) {
	t.Parallel()
	enumerate(t, rand.New(rand.NewPCG(37, 1)), 1000, randomSmall)
}

// TestGroupsByEnumeration does so with more rows than one group needs, so that a pick in the wrong group would leave a
// batch that is too small, or has too few rows of another.
func TestGroupsByEnumeration(t *testing.T) {
	t.Parallel()
	enumerate(t, rand.New(rand.NewPCG(37, 2)), 500, func(r *rand.Rand) *small {
		s := &small{pool: 7 + r.IntN(4), batch: 4 + r.IntN(2)}
		s.c = selection.Constraints{Group: make([]int, s.pool), MinPerGroup: 2, MaxGroups: 2 + r.IntN(2),
			PerGroup: r.IntN(2) * 3}
		if r.IntN(2) == 0 {
			s.c.Same, s.c.Runs = make([]int, s.pool), 1+r.IntN(2)
		}
		for row := range s.pool {
			s.c.Group[row] = r.IntN(4)
			if s.c.Same != nil {
				s.c.Same[row] = r.IntN(2)
			}
		}
		return s
	})
}

// TestBudgetsOfGroupsByEnumeration does so with groups that are cheap or dear, of which the batch may have few.
func TestBudgetsOfGroupsByEnumeration(t *testing.T) {
	t.Parallel()
	enumerate(t, rand.New(rand.NewPCG(44, 3)), 1000, func(r *rand.Rand) *small {
		s := &small{pool: 7 + r.IntN(4), batch: 3 + r.IntN(4)}
		s.c = selection.Constraints{Group: make([]int, s.pool), MinPerGroup: r.IntN(3), MaxGroups: 1 + r.IntN(2),
			PerGroup: r.IntN(2) * 4}
		for row := range s.pool {
			s.c.Group[row] = r.IntN(4)
		}
		s.costs(r)
		if chosen := r.Perm(s.pool); r.IntN(3) == 0 {
			s.c.Require, s.c.Exclude = chosen[:1], chosen[1:2]
		}
		return s
	})
}

func enumerate(t *testing.T, r *rand.Rand, trials int, draw func(*rand.Rand) *small) {
	t.Helper()
	met, refused, runs := 0, 0, 0
	for trial := range trials {
		s := draw(r)
		e := selection.Methods()[trial%len(selection.Methods())]
		s.c.PerCost = s.c.PerCost && dividesByCosts(e)
		name := fmt.Sprintf("problem %d, %s: %+v", trial, e.Name, *s)
		var result *selection.Result
		if trial/len(selection.Methods())%2 == 0 {
			result = checkSmall[float64](t, name, r, s, e)
		} else {
			result = checkSmall[float32](t, name, r, s, e)
		}
		switch {
		case result == nil:
			refused++
		default:
			met++
			runs += len(result.Runs)
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d met, with %d runs, %d refused", met, runs, refused)
}

// dividesByCosts reports whether a method has a score that may be divided by costs.
func dividesByCosts(e selection.Entry) bool {
	return slices.Contains([]string{"lcmd", "lcmd-dist", "lcmd-count", "maxdist", "maxdiag", "maxdet", "bait-f"}, e.Name)
}

func checkSmall[T matrix.Float](t *testing.T, name string, r *rand.Rand, s *small,
	e selection.Entry) *selection.Result {
	m := e.New(selection.Settings{Sigma2: 1e-2})
	draw := func(n int) matrix.Dense[T] {
		x := matrix.New[T](n, 4)
		for i := range x.Data {
			x.Data[i] = T(r.NormFloat64())
		}
		return x
	}
	p := selection.Problem[T]{Pool: draw(s.pool), Train: draw(3), Mode: selection.Mode(r.IntN(2)), Pending: s.pending,
		Batch: s.batch, Constraints: s.c, Seed: r.Uint64()}
	got, err := selection.Select(t.Context(), m, p)
	feasible := s.completes(0, nil, 0)
	var conflict *selection.ConflictError
	if errors.As(err, &conflict) {
		if feasible {
			t.Errorf("%s\nrefused, but there is a batch: %v", name, err)
		}
		checkConflict(t, name, s, conflict.Fields)
		return nil
	}
	if err != nil || !feasible {
		t.Errorf("%s\nthere is a batch: %v, error %v", name, feasible, err)
		return nil
	}
	batch := bitsOf(got.Rows())
	if !s.meets(batch, valuesOf(got)) || bits.OnesCount(batch) < s.batch &&
		len(s.open(batch, nil)) > 0 && s.c.Same == nil {
		t.Errorf("%s\nis not met by %v", name, got.Rows())
	}
	if s.c.Same != nil {
		checkRuns(t, name, s, e, m, p, got)
	} else if _, back := m.(selection.BAIT); !e.Random && !(back && e.Name == "bait-fb") {
		var before []int
		for _, pick := range got.Picks {
			if pick.Why == selection.Chosen {
				if next := plainNext(t, m, p, before, s.open(bitsOf(before), nil)); next != pick.Row {
					t.Errorf("%s\nafter %v: row %d was picked, not %d", name, before, pick.Row, next)
				}
			}
			before = append(before, pick.Row)
		}
	}
	return got
}

func valuesOf(r *selection.Result) (list []int) {
	for _, run := range r.Runs {
		list = append(list, run.Value)
	}
	return list
}

// plainNext is the row that the method picks among those that are open, without other constraints.
func plainNext[T matrix.Float](t *testing.T, m selection.Method, p selection.Problem[T], before, open []int) int {
	var closed []int
	of := p.Constraints
	for row := range p.Pool.Rows {
		if !slices.Contains(open, row) && !slices.Contains(before, row) && !slices.Contains(p.Pending, row) {
			closed = append(closed, row)
		}
	}
	p.Constraints = selection.Constraints{Require: before, Exclude: closed}
	if of.PerCost {
		p.Constraints.Cost, p.Constraints.Budget, p.Constraints.PerCost = of.Cost, 1e3, true
	}
	p.Batch, p.Plain = len(before)+1, true
	rows := mustSelect(t, m, p).Rows()
	return rows[len(rows)-1]
}

// checkRuns carries out every look-ahead by plain selections, and compares.
func checkRuns[T matrix.Float](t *testing.T, name string, s *small, e selection.Entry, m selection.Method,
	p selection.Problem[T], got *selection.Result) {
	selected, first := slices.Clone(s.c.Require), []int{}
	at := 0
	for number, run := range got.Runs {
		rows := got.Picks[at : at+run.Rows]
		at += run.Rows
		var picked []int
		for _, pick := range rows {
			if s.c.Same[pick.Row] != run.Value || pick.Run != number+1 {
				t.Errorf("%s\nrow %d is in run %d of value %d", name, pick.Row, pick.Run, run.Value)
			}
			if pick.Why != selection.Required {
				picked = append(picked, pick.Row)
			}
		}
		if !e.Random && e.Name != "bait-fb" {
			best, gains := -1, map[int]float64{}
			for v := range 4 {
				values := append(slices.Clone(first), v)
				if !s.completes(bitsOf(selected), values, 0) {
					continue
				}
				batch := slices.Clone(selected)
				size := len(selected) + run.Rows - min(run.Rows, unplaced(s, got, number, v))
				for len(batch) < size {
					batch = append(batch, plainNext(t, m, p, batch, s.open(bitsOf(batch), values)))
				}
				gains[v] = gain(e.Name, p, selected, batch[len(selected):])
				if v == run.Value && !slices.Equal(batch[len(selected):], picked) {
					t.Errorf("%s\nrun %d picked %v, not %v", name, number+1, picked, batch[len(selected):])
				}
				if best < 0 || gains[v] > gains[best] {
					best = v
				}
			}
			slip := 1e-4 * (1 + math.Abs(gains[best]))
			if own, ok := gains[run.Value]; !ok || own < gains[best]-slip || math.Abs(own-run.Gain) > slip ||
				len(gains) != run.Tried {
				t.Errorf("%s\nrun %d has value %d and gain %v of %d, gains %v", name, number+1, run.Value,
					run.Gain, run.Tried, gains)
			}
		}
		selected, first = append(selected, picked...), append(first, run.Value)
	}
}

// unplaced counts the required rows of a value that earlier runs do not have.
func unplaced(s *small, r *selection.Result, number, v int) int {
	n := 0
	for _, row := range s.c.Require {
		if s.c.Same[row] != v {
			continue
		}
		if at := slices.Index(r.Rows(), row); r.Picks[at].Run > number {
			n++
		}
	}
	return n
}

// gain is that of runs.go, computed naively.
func gain[T matrix.Float](method string, p selection.Problem[T], before, added []int) float64 {
	x := matrix.Converted[float64](p.Pool)
	dot := func(a, b []float64) float64 {
		sum := 0.0
		for i := range a {
			sum += a[i] * b[i]
		}
		return sum
	}
	train := matrix.Converted[float64](p.Train)
	var selected [][]float64
	if p.Mode == selection.TP {
		for i := range train.Rows {
			selected = append(selected, train.Row(i))
		}
	}
	for _, row := range slices.Concat(p.Pending, before) {
		selected = append(selected, x.Row(row))
	}
	after := slices.Clone(selected)
	sum := 0.0
	for _, row := range added {
		after = append(after, x.Row(row))
		sum += dot(x.Row(row), x.Row(row))
	}
	distances := func(centres [][]float64) float64 {
		if len(centres) == 0 {
			return 0
		}
		total := 0.0
		for i := range x.Rows {
			least := math.Inf(1)
			for _, c := range centres {
				least = min(least, dot(x.Row(i), x.Row(i))+dot(c, c)-2*dot(x.Row(i), c))
			}
			total += least
		}
		return total
	}
	const sigma2 = 1e-2
	switch method {
	case "maxdiag":
		return sum
	case "maxdet":
		return logDetOf(after, sigma2) - logDetOf(selected, sigma2)
	case "bait-f":
		var all [][]float64
		for i := range train.Rows {
			all = append(all, train.Row(i))
		}
		for i := range x.Rows {
			all = append(all, x.Row(i))
		}
		return variances(all, selected, sigma2) - variances(all, after, sigma2)
	case "frankwolfe":
		all := [][]float64{}
		for i := range x.Rows {
			all = append(all, x.Row(i))
		}
		if p.Mode == selection.TP {
			for i := range train.Rows {
				all = append(all, train.Row(i))
			}
		}
		return wolfe(all, selected) - wolfe(all, after)
	}
	return distances(selected) - distances(after)
}

// logDetOf is log det(k + σ²I) of rows.
func logDetOf(rows [][]float64, sigma2 float64) float64 {
	k := make([][]float64, len(rows))
	for i := range k {
		k[i] = make([]float64, len(rows))
		for j := range k {
			for c := range rows[i] {
				k[i][j] += rows[i][c] * rows[j][c]
			}
		}
		k[i][i] += sigma2
	}
	det := 0.0
	for i := range k { // elimination
		det += math.Log(k[i][i])
		for j := i + 1; j < len(k); j++ {
			f := k[j][i] / k[i][i]
			for c := i; c < len(k); c++ {
				k[j][c] -= f * k[i][c]
			}
		}
	}
	return det
}

// variances sums the posterior variances of rows: log det with and without a row differ by the log of its own.
func variances(all, selected [][]float64, sigma2 float64) float64 {
	sum, base := 0.0, logDetOf(selected, sigma2)
	for _, row := range all {
		sum += math.Exp(logDetOf(append(slices.Clone(selected), row), sigma2)-base) - sigma2
	}
	return sum
}

// wolfe is the objective of FrankWolfe after the given rows.
func wolfe(all, selected [][]float64) float64 {
	u, v, r := make([]float64, len(all[0])), make([]float64, len(all[0])), 0.0
	norm := func(x []float64) float64 {
		sum := 0.0
		for _, c := range x {
			sum += c * c
		}
		return math.Sqrt(sum)
	}
	for _, row := range all {
		r += norm(row)
		for c := range u {
			u[c] += row[c]
		}
	}
	for _, row := range selected {
		along, square := 0.0, 0.0
		for c := range v {
			way := r*row[c]/norm(row) - v[c]
			along += way * (u[c] - v[c])
			square += way * way
		}
		for c := range v {
			v[c] += along / square * (r*row[c]/norm(row) - v[c])
		}
	}
	sum := 0.0
	for c := range u {
		sum += (u[c] - v[c]) * (u[c] - v[c])
	}
	return sum
}

// checkConflict makes sure that the constraints are in conflict, and that no smaller set is.
func checkConflict(t *testing.T, name string, s *small, fields []string) {
	present := []string{"Batch"}
	for field, has := range map[string]bool{"Same": s.c.Same != nil, "MinPerGroup": s.c.MinPerGroup > 0,
		"PerGroup":  s.c.PerGroup > 0,
		"MaxGroups": s.c.MaxGroups > 0, "Budget": s.budget, "Require": len(s.c.Require) > 0, "Exclude": len(s.c.Exclude) > 0,
		"Pending": len(s.pending) > 0} {
		if has {
			present = append(present, field)
		}
	}
	smallest := len(present) + 1
	size := 0
	for _, field := range fields {
		if !slices.Contains(fields, "Same") || field != "Batch" && field != "Runs" { // these go with it
			size++
		}
	}
	for set := range uint(1) << len(present) {
		if bits.OnesCount(set) > size {
			continue
		}
		var some []string
		for i, field := range present {
			if set>>i&1 == 1 {
				some = append(some, field)
			}
		}
		if n := len(some); n < smallest && !s.only(some).completes(0, nil, 0) {
			smallest = n
		}
	}
	if s.only(fields).completes(0, nil, 0) || size != smallest {
		t.Errorf("%s\n%v is not a smallest conflict: %d constraints are", name, fields, smallest)
	}
}

// only is the problem with these constraints alone.
func (s *small) only(fields []string) *small {
	one := *s
	has := func(field string) bool { return slices.Contains(fields, field) }
	if !has("Same") {
		one.c.Same = nil
	}
	if !has("MinPerGroup") {
		one.c.MinPerGroup = 0
	}
	if !has("PerGroup") {
		one.c.PerGroup = 0
	}
	if !has("MaxGroups") && s.c.MaxGroups > 0 {
		one.c.MaxGroups = s.pool
	}
	one.budget = s.budget && has("Budget")
	if !has("Batch") && !has("Same") {
		one.batch = s.pool
	}
	if !has("Require") {
		one.c.Require = nil
	}
	if !has("Exclude") {
		one.c.Exclude = nil
	}
	if !has("Pending") {
		one.pending = nil
	}
	return &one
}
