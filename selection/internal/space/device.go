package space

// Rows on a device (place.Device). The driver and the constraints stay here.

import (
	"fmt"
	"math"

	"github.com/nextbatch/nextbatch/internal/place"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection/internal/posterior"
)

// placeOn puts the rows on a device, where it has a search for the method; otherwise it
// notes why not.
func (s *space[T]) placeOn(d place.Device, rows *memoryRows[T]) {
	switch {
	case s.kernel != nil:
		//warning:on-the-cpu
		s.note = fmt.Sprintf("the selection ran on the CPU, not on %s: the kernel has no explicit features", d.Name())
	case s.pool.single.Rows > 0:
		//warning:on-the-cpu
		s.note = fmt.Sprintf(
			"the selection ran on the CPU, not on %s: the features are in a file, in float32, and %s computes in float64",
			d.Name(), s.Method)
	case s.OnDevice:
		s.device = d.Name()
		s.rows = &deviceRows[T]{memoryRows: rows, device: d, on: copyTo(d, s)}
	case !s.NoKernel:
		//warning:on-the-cpu
		s.note = fmt.Sprintf("the selection ran on the CPU, not on %s: %s has no version for it", d.Name(), s.Method)
	}
}

// copyTo copies the rows of a pool to a device, unless they are there.
func copyTo[T matrix.Float](d place.Device, s *space[T]) place.DeviceRows[T] {
	pool := place.DevicePool[T]{Rows: s.pool.rows, Placed: s.pool.placed, Weights: s.weights, Price: s.price,
		Largest: s.largestNorm(),
		Centres: s.Batch + s.Pending + s.TrainSize()}
	var rows any
	switch pool := any(pool).(type) {
	case place.DevicePool[float32]:
		rows = d.Place32(pool)
	case place.DevicePool[float64]:
		rows = d.Place64(pool)
	}
	return rows.(place.DeviceRows[T])
}

// fetchPool brings the rows of the pool to memory.
func (s *space[T]) fetchPool() (err error) {
	if s.pool.placed != nil {
		s.pool.rows, err = place.Fetched(s.pool.placed)
		s.pool.placed = nil
	}
	return err
}

// deviceRows are the rows of a pool on a device and, for the driver and the report, in
// memory.
type deviceRows[T matrix.Float] struct {
	*memoryRows[T]
	device  place.Device
	on      place.DeviceRows[T]
	largest deviceAnswers
}

func (r *deviceRows[T]) Mark(row int, open, selected bool) {
	if _, picked := r.largest.of(row); picked && selected {
		r.largest.pick(row)
	}
	r.memoryRows.Mark(row, open, selected)
	r.on.Mark(row, open, selected)
}

// Row fetches a row that is on the device alone.
func (r *deviceRows[T]) Row(row int) (matrix.Dense[T], T) {
	if r.of.placed == nil {
		return r.memoryRows.Row(row)
	}
	one := matrix.New[T](1, r.of.rows.Cols)
	r.on.Row(one.Row(0), row)
	return one, r.of.diag[row]
}

// end closes the rows and returns the first failure of the device.
func (r *deviceRows[T]) end() error {
	err := place.FailedOn(r.device, r.on.Err())
	r.on.Close()
	return err
}

// stepsAhead is how many steps a device does at a time. Progress is reported, and the context
// checked, in between.
const stepsAhead = 32

// ahead is how many steps the device may do by itself.
func (r *deviceRows[T]) ahead() int { return max(0, min(stepsAhead, r.space.ahead)) }

// deviceAnswers are answers of a device. It has taken all of their rows but the last.
type deviceAnswers struct{ list []place.DeviceBest }

// best returns the first answer, and asks for answers if there are none.
func (a *deviceAnswers) best(ask func() ([]place.DeviceBest, error)) (place.DeviceBest, error) {
	if len(a.list) > 0 {
		return a.list[0], nil
	}
	list, err := ask()
	if err != nil {
		return place.DeviceBest{Row: -1}, err
	}
	if list[0].Row >= 0 {
		a.list = list
	}
	return list[0], nil
}

// first returns the only answer of a search that does not go ahead. Nobody keeps it: rows may
// open before the next search.
func first(list []place.DeviceBest, err error) (place.DeviceBest, error) {
	if err != nil {
		return place.DeviceBest{Row: -1}, err
	}
	return list[0], nil
}

// of returns the first answer if it is of that row.
func (a *deviceAnswers) of(row int) (place.DeviceBest, bool) {
	if len(a.list) == 0 || a.list[0].Row != row {
		return place.DeviceBest{}, false
	}
	return a.list[0], true
}

// pick drops the first answer, whose row has been picked, and reports whether the device has
// added the row.
func (a *deviceAnswers) pick(row int) (added bool) {
	if _, ok := a.of(row); !ok || len(a.list) == 1 {
		a.list = nil
		return false
	}
	a.list = a.list[1:]
	return true
}

// forget drops the answers. Rows that the device has taken but that were not picked are as
// before; what it has added must be recomputed.
func (a *deviceAnswers) forget(mark func(row int)) {
	for i := range len(a.list) - 1 {
		mark(a.list[i].Row)
	}
	a.list = nil
}

// markAgain sends the marks of a row once more.
func (r *deviceRows[T]) markAgain(row int) { r.on.Mark(row, r.open[row], r.selected[row]) }

func foundOn(b place.DeviceBest, err error) (Found, error) {
	if err != nil || b.Row < 0 {
		return Found{Row: -1}, err
	}
	return Found{b.Row, b.Value}, nil
}

// Largest goes ahead if each pick is one of its answers.
func (r *deviceRows[T]) Largest() (Found, error) {
	if !r.space.ByDiag {
		return foundOn(first(r.on.Largest(0)))
	}
	return foundOn(r.largest.best(func() ([]place.DeviceBest, error) { return r.on.Largest(r.ahead()) }))
}

func (r *deviceRows[T]) Nearest(size place.Size, _ bool) centreSearch[T] {
	return &deviceNearest[T]{rows: r, on: r.on.Nearest(size)}
}

// deviceNearest keeps the answers, which have all that describes a pick.
type deviceNearest[T matrix.Float] struct {
	rows    *deviceRows[T]
	on      place.DeviceNearest[T]
	answers deviceAnswers
}

func (f *deviceNearest[T]) Add(centres matrix.Dense[T], _ []T, first int) error {
	f.answers.list = nil
	f.on.Add(centres, first)
	return f.rows.on.Err()
}

// addRow adds a row of the pool, which is there already.
func (f *deviceNearest[T]) addRow(row, label int) error {
	if !f.answers.pick(row) {
		f.on.AddRow(row, label)
	}
	return f.rows.on.Err()
}

func (f *deviceNearest[T]) Farthest() (Found, error) {
	return foundOn(f.answers.best(func() ([]place.DeviceBest, error) { return f.on.Farthest(f.rows.ahead()) }))
}

// FarthestInLargest is NEXT of LCMD.
func (f *deviceNearest[T]) FarthestInLargest() (Sum, error) {
	best, err := f.answers.best(func() ([]place.DeviceBest, error) { return f.on.FarthestInLargest(f.rows.ahead()) })
	return Sum{Size: best.Size, Rows: best.Members, Top: best.Row, Far: best.Score}, err
}

// DrawRow is NEXT of k-means++. It returns a row below 0 if there is none.
func (f *deviceNearest[T]) DrawRow(stream *rng.Stream) (int, error) {
	best, err := f.answers.best(func() ([]place.DeviceBest, error) {
		us := make([]float64, 2*(f.rows.ahead()+1))
		for i := range us {
			us[i] = stream.Float64()
		}
		return f.on.Draws(us)
	})
	return best.Row, err
}

func (f *deviceNearest[T]) at(row int) place.DeviceBest {
	best, known := f.answers.of(row)
	if !known {
		best = f.on.At(row)
	}
	return best
}

func (f *deviceNearest[T]) At(row int) (dist T, label int) {
	best := f.at(row)
	return T(best.Value), max(best.Label, 0)
}

func (f *deviceNearest[T]) Sum(sums []Sum, first int) {
	if known := f.answers.list; len(sums) == 1 && len(known) > 0 && known[0].Label == first {
		sums[0].Size, sums[0].Rows = known[0].Size, known[0].Members
		return
	}
	list := make([]place.DeviceCluster, len(sums))
	f.on.Sum(list, first)
	for i, c := range list {
		sums[i].merge(Sum{Size: c.Size, Rows: c.Rows, Open: c.Open, Top: c.Top, Far: c.Far})
	}
}

func (f *deviceNearest[T]) Weigh(centres bool, scale []float64) []float64 {
	return f.on.Weigh(centres, scale)
}

func (f *deviceNearest[T]) Draw(block int, stream *rng.Stream) (int, error) {
	best := f.on.Draw(block, stream.Float64())
	f.answers.list = []place.DeviceBest{best}
	return best.Row, f.rows.on.Err()
}

func (f *deviceNearest[T]) Gains(sums []float64, rows matrix.Dense[T], _ []T) error {
	f.on.Gains(sums, rows)
	return f.rows.on.Err()
}

func (r *deviceRows[T]) Directions() (Directions, error) {
	return &deviceDirections[T]{rows: r, on: r.on.Directions()}, r.on.Err()
}

// deviceDirections moves v on the device, from where it was when the first row is searched for.
type deviceDirections[T matrix.Float] struct {
	rows    *deviceRows[T]
	on      place.DeviceDirections
	answers deviceAnswers
	started bool
}

func (f *deviceDirections[T]) Sums(u []float64, r float64) float64 { return f.on.Sums(u, r) }

// start sends u, v and r, unless the device has them.
func (f *deviceDirections[T]) start(u, v []float64, r float64) {
	if !f.started {
		f.on.Start(u, v, r)
		f.started = true
	}
}

// AddRow moves v towards a row of the pool, if v is on the device.
func (f *deviceDirections[T]) AddRow(row int) bool {
	if f.started && !f.answers.pick(row) {
		f.on.AddRow(row)
	}
	return f.started
}

func (f *deviceDirections[T]) Best(u, v []float64, r float64) (Found, bool, error) {
	f.start(u, v, r)
	best, err := f.answers.best(func() ([]place.DeviceBest, error) { return f.on.Best(f.rows.ahead()) })
	if err != nil || best.Row < 0 {
		return Found{-1, math.Inf(-1)}, true, err
	}
	return Found{best.Row, best.Score}, best.Score == 0 && !best.Nonzero, nil
}

func (r *deviceRows[T]) Variances(sigma2 float64) (Variances, error) {
	return &deviceVariances[T]{rows: r, on: r.on.Variances(sigma2)}, r.on.Err()
}

// deviceVariances goes ahead from the first row on that is added after a Rebase: before, single
// variances are compared with exact ones.
type deviceVariances[T matrix.Float] struct {
	rows    *deviceRows[T]
	on      place.DeviceVariances
	answers deviceAnswers
	rebased bool
}

func (f *deviceVariances[T]) Prior() float64    { return f.on.Prior() }
func (f *deviceVariances[T]) Scales() []float64 { return f.on.Scales() }

func (f *deviceVariances[T]) Best() (Found, error) {
	if f.rebased {
		return foundOn(first(f.on.Best(0)))
	}
	return foundOn(f.answers.best(func() ([]place.DeviceBest, error) { return f.on.Best(f.rows.ahead()) }))
}

func (f *deviceVariances[T]) At(row int) float64 {
	if best, known := f.answers.of(row); known {
		return best.Value
	}
	return f.on.At(row)
}

func (f *deviceVariances[T]) Step(s *posterior.Covariance, _ int) {
	f.answers.list = nil
	f.on.Step(s.Latest())
}

// AddRow adds a row of the pool, if the device keeps S.
func (f *deviceVariances[T]) AddRow(row int) (variance float64, done bool) {
	variance = f.At(row)
	f.rebased = false
	return variance, f.answers.pick(row) || f.on.AddRow(row)
}

func (f *deviceVariances[T]) Rebase(s *posterior.Covariance) {
	f.answers.forget(f.rows.markAgain)
	f.rebased = true
	if s.Root.Rows > 0 {
		f.on.Rebase(s.Root, true)
		return
	}
	f.on.Rebase(s.Explained, false)
}

func (r *deviceRows[T]) Totals(sigma2, offset float64) (totalSearch, error) {
	return &deviceTotals[T]{rows: r, on: r.on.Totals(sigma2, offset)}, r.on.Err()
}

// deviceTotals goes ahead as deviceVariances does.
type deviceTotals[T matrix.Float] struct {
	rows    *deviceRows[T]
	on      place.DeviceTotals
	answers deviceAnswers
	rebased bool
}

func (f *deviceTotals[T]) Prior() float64                     { return f.on.Prior() }
func (f *deviceTotals[T]) Moments(m, a matrix.Dense[float64]) { f.on.Moments(m, a) }
func (f *deviceTotals[T]) Summed(totals []float64, ys matrix.Dense[float64]) {
	for i := range totals {
		totals[i] = f.on.Summed(totals[i], ys.Row(i))
	}
}

func (f *deviceTotals[T]) Rebase(a, inner matrix.Dense[float64]) float64 {
	f.answers.forget(f.rows.markAgain)
	f.rebased = true
	return f.on.Rebase(a, inner)
}

// Step is for rows that are not of the pool: all of these come before the first Rebase.
func (f *deviceTotals[T]) Step(_, _, _, _ []float64) {
	panic("selection: a step that is not on the device")
}

// AddRow adds a row of the pool.
func (f *deviceTotals[T]) AddRow(row int) bool {
	f.rebased = false
	if !f.answers.pick(row) {
		f.on.AddRow(row)
	}
	return true
}

func (f *deviceTotals[T]) At(row int) float64 { return f.on.At(row) }

func (f *deviceTotals[T]) best() (place.DeviceBest, error) {
	if f.rebased {
		return first(f.on.Best(0))
	}
	return f.answers.best(func() ([]place.DeviceBest, error) { return f.on.Best(f.rows.ahead()) })
}

func (f *deviceTotals[T]) Best() (Found, float64, error) {
	best, err := f.best()
	if err != nil || best.Row < 0 {
		return Found{Row: -1}, 0, err
	}
	if f.rows.price != nil {
		best.Score = f.on.At(best.Row)
	}
	return Found{best.Row, best.Score}, best.Value, nil
}
