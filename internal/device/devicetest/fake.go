package devicetest

import (
	"context"
	"math"

	"github.com/nextbatch/nextbatch/internal/place"
	"github.com/nextbatch/nextbatch/internal/program"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
)

// Fake is a device in the memory of this process, for tests of what surrounds devices. It
// searches for maxdiag, maxdist, lcmd and bait only, with plain loops, and fails where a test sets it to.
type Fake struct {
	CPU
	Interpreter
	Memory int64 // what Room returns

	// What training, features and the selection fail with, unless nil. The selection fails
	// after Steps steps, of which each pick is one and the search for labelled rows the last,
	// and predictions, which fail as features do, after Predictions calls.
	FailTraining, FailFeatures, FailSelection error
	Steps, Predictions                        int
}

// Name implements device.Device.
func (*Fake) Name() string { return "fake:0 test card" }

// Describe implements device.Device.
func (f *Fake) Describe() string { return f.Name() + ", made of loops" }

// Room implements device.Device.
func (f *Fake) Room() int64 { return f.Memory }

// Close implements device.Device.
func (*Fake) Close() error { return nil }

// TrainNetworks implements network.Device.
func (f *Fake) TrainNetworks(ctx context.Context, t *network.DeviceTraining) error {
	if f.FailTraining != nil {
		return f.FailTraining
	}
	return f.CPU.TrainNetworks(ctx, t)
}

// Compute implements network.Device.
func (f *Fake) Compute(ctx context.Context, p *program.Program, dst, rows matrix.Dense[float64]) error {
	if f.Predictions--; f.FailFeatures != nil && f.Predictions < 0 {
		return f.FailFeatures
	}
	return f.CPU.Compute(ctx, p, dst, rows)
}

// Features32 implements place.Device.
func (f *Fake) Features32(ctx context.Context, p *program.Program,
	rows matrix.Dense[float32]) (place.DeviceFeatures[float32], error) {
	if f.FailFeatures != nil {
		return nil, f.FailFeatures
	}
	return f.Interpreter.Features32(ctx, p, rows)
}

// Features64 implements place.Device.
func (f *Fake) Features64(ctx context.Context, p *program.Program,
	rows matrix.Dense[float64]) (place.DeviceFeatures[float64], error) {
	if f.FailFeatures != nil {
		return nil, f.FailFeatures
	}
	return f.Interpreter.Features64(ctx, p, rows)
}

// Place32 implements place.Device.
func (f *Fake) Place32(pool place.DevicePool[float32]) place.DeviceRows[float32] {
	return newFakeRows(f, pool)
}

// Place64 implements place.Device.
func (f *Fake) Place64(pool place.DevicePool[float64]) place.DeviceRows[float64] {
	return newFakeRows(f, pool)
}

// fakeRows are the rows of a pool on a fake device, with their nearest centres.
type fakeRows[T matrix.Float] struct {
	place.DeviceRows[T] // nil: the searches that the fake does not offer
	device              *Fake
	pool                matrix.Dense[T]
	weights             []float64 // of the rows in the target distribution; nil: all 1
	open, selected      []bool
	sq                  []float64 // from the nearest centre
	label               []int
	centres             int
	steps               int
	err                 error
}

func newFakeRows[T matrix.Float](f *Fake, pool place.DevicePool[T]) *fakeRows[T] {
	n := pool.Rows.Rows
	r := &fakeRows[T]{device: f, pool: pool.Rows, weights: pool.Weights, open: make([]bool, n), selected: make([]bool, n),
		sq: make([]float64, n), label: make([]int, n)}
	for i := range r.sq {
		r.sq[i] = math.Inf(1)
	}
	return r
}

func (r *fakeRows[T]) Err() error { return r.err }
func (r *fakeRows[T]) Close()     {}

func (r *fakeRows[T]) Mark(row int, open, selected bool) {
	r.open[row], r.selected[row] = open, selected
}

func (r *fakeRows[T]) Largest(ahead int) (list []place.DeviceBest, err error) {
	zero := make([]T, r.pool.Cols)
	for {
		best := place.DeviceBest{Row: -1}
		for row := range r.open {
			if norm := squaredDistance(r.pool.Row(row), zero); r.open[row] && (best.Row < 0 || norm > best.Score) {
				best = place.DeviceBest{Row: row, Score: norm, Value: norm, Nonzero: true}
			}
		}
		err := r.step()
		list = append(list, best)
		if err != nil || best.Row < 0 || len(list) > ahead {
			return list, err
		}
		r.Mark(best.Row, false, true)
	}
}

func (r *fakeRows[T]) Row(dst []T, row int) { copy(dst, r.pool.Row(row)) }

func (r *fakeRows[T]) Labelled(train matrix.Dense[T], list []int) (at []int, sq []T) {
	if r.step() != nil {
		return nil, nil
	}
	at, sq = make([]int, len(list)), make([]T, len(list))
	for i, row := range list {
		best := math.Inf(1)
		for j := range train.Rows {
			if d := squaredDistance(r.pool.Row(row), train.Row(j)); d < best {
				best, at[i], sq[i] = d, j, T(d)
			}
		}
	}
	return at, sq
}

func (r *fakeRows[T]) Nearest(place.Size) place.DeviceNearest[T] {
	return fakeNearest[T]{fakeRows: r}
}

// fakeNearest is the search of a fakeRows.
type fakeNearest[T matrix.Float] struct {
	place.DeviceNearest[T] // nil: what other methods need
	*fakeRows[T]
}

func (n fakeNearest[T]) Add(centres matrix.Dense[T], first int) {
	for i := range centres.Rows {
		n.add(centres.Row(i), first+i)
	}
}

func (n fakeNearest[T]) AddRow(row, label int) { n.add(n.pool.Row(row), label) }

func (n fakeNearest[T]) add(centre []T, label int) {
	n.centres = max(n.centres, label+1)
	for row := range n.sq {
		if d := squaredDistance(n.pool.Row(row), centre); d < n.sq[row] {
			n.sq[row], n.label[row] = d, label
		}
	}
}

// step counts a step, and fails if it is one too many.
func (r *fakeRows[T]) step() error {
	if r.steps++; r.device.FailSelection != nil && r.steps > r.device.Steps {
		r.err = r.device.FailSelection
	}
	return r.err
}

func (n fakeNearest[T]) Farthest(ahead int) ([]place.DeviceBest, error) {
	return n.goAhead(ahead, func() (place.DeviceBest, error) { return n.best(func(int) bool { return true }) })
}

func (n fakeNearest[T]) FarthestInLargest(ahead int) ([]place.DeviceBest, error) {
	return n.goAhead(ahead, n.farthestInLargest)
}

// goAhead finds a row, and then ahead times takes and adds it and finds the next one.
func (n fakeNearest[T]) goAhead(ahead int, find func() (place.DeviceBest, error)) (list []place.DeviceBest, err error) {
	for {
		best, err := find()
		list = append(list, best)
		if err != nil || best.Row < 0 || len(list) > ahead {
			return list, err
		}
		n.Mark(best.Row, false, true)
		n.AddRow(best.Row, n.centres)
	}
}

func (n fakeNearest[T]) farthestInLargest() (place.DeviceBest, error) {
	sizes, largest := n.sizes(), 0.0
	for row, label := range n.label {
		if n.open[row] {
			largest = math.Max(largest, sizes[label])
		}
	}
	return n.best(func(row int) bool { return sizes[n.label[row]] == largest })
}

// sizes returns the sizes of the clusters.
func (n fakeNearest[T]) sizes() map[int]float64 {
	sizes := map[int]float64{}
	for row, label := range n.label {
		if !n.selected[row] {
			sizes[label] += n.sq[row]
		}
	}
	return sizes
}

// best returns the farthest of the open rows that count.
func (n fakeNearest[T]) best(counts func(row int) bool) (place.DeviceBest, error) {
	found := -1
	for row := range n.sq {
		if n.open[row] && counts(row) && (found < 0 || n.sq[row] > n.sq[found]) {
			found = row
		}
	}
	if err := n.step(); err != nil || found < 0 {
		return place.DeviceBest{Row: -1}, err
	}
	return n.At(found), nil
}

func (n fakeNearest[T]) At(row int) place.DeviceBest {
	b := place.DeviceBest{Row: row, Score: n.sq[row], Value: n.sq[row], Label: n.label[row], Nonzero: true}
	for other, label := range n.label {
		if label == b.Label && !n.selected[other] {
			b.Size += n.sq[other]
			b.Members++
		}
	}
	return b
}

func squaredDistance[T matrix.Float](a, b []T) (sum float64) {
	for i, v := range a {
		sum += square(float64(v) - float64(b[i]))
	}
	return sum
}
