package selection

// Selection on a device, such as a GPU. A device keeps the rows of a pool, and what is kept
// per row, in its own memory, and answers the same few questions per step that rows in
// memory do (rows.go). The driver and the constraints stay here. The device rounds as it
// likes, as another instruction set would, but in the same way on every run.
//
// A search may go ahead: it returns the best row and, after it, up to so many rows that are
// the best once those before them have been picked, which the device has done by itself. So
// all rows of its answer but the last count as selected and have been added. That saves an
// exchange per step wherever a pick closes no other row.

import (
	"context"
	"math"

	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
)

// Device is what selects from features somewhere else than in the memory of this process.
//
// The contract. Place may be called from several goroutines; what it returns is used from
// one at a time. After a failure every call does nothing, and Err returns the first
// failure, which ends the selection: there is a batch or an error. Numbers are those of
// the paper's algorithms, up to rounding; of equal rows the one with the lowest number is
// best; the same calls return the same bits.
type Device interface {
	// Name names the device in results.
	Name() string
	// Place32 and Place64 copy the rows of a pool to the device, unless they are there.
	Place32(pool DevicePool[float32]) DeviceRows[float32]
	Place64(pool DevicePool[float64]) DeviceRows[float64]
	// Features32 and Features64 run a program on rows, block by block, and keep the
	// result. The rows are finite; they belong to the caller and may be larger than the
	// memory of the device. A step that the device does not offer is
	// kernel.ErrNoProgram. The context is checked once per block.
	Features32(ctx context.Context, p *kernel.Program, rows matrix.Dense[float32]) (DeviceFeatures[float32], error)
	Features64(ctx context.Context, p *kernel.Program, rows matrix.Dense[float64]) (DeviceFeatures[float64], error)
}

// DevicePool is what a device is told of a pool. It belongs to the caller and does not
// change until the device rows are closed.
type DevicePool[T matrix.Float] struct {
	Rows    matrix.Dense[T]
	Placed  DeviceFeatures[T] // the numbers of the rows, if the device has them: Rows only has their shape
	Weights []float64         // of rows in the target distribution; nil: all 1
	Price   []float64         // of rows, to divide scores by; nil: scores stay as they are
	Largest float64           // no k(x, x) of any row or centre is larger
	Centres int               // no more rows than these will be added
}

// DeviceRows are the rows of a pool on a device.
type DeviceRows[T matrix.Float] interface {
	// Mark says whether a row may be picked, and whether it is in the batch or pending.
	Mark(row int, open, selected bool)
	// Largest returns the open row of largest k(x, x).
	Largest(ahead int) ([]DeviceBest, error)
	// Nearest starts a search for the nearest centre of each row, and so on: at most one
	// search per DeviceRows.
	Nearest(size Size) DeviceNearest[T]
	Directions() DeviceDirections
	Variances(sigma2 float64) DeviceVariances
	Totals(sigma2, offset float64) DeviceTotals
	// Row copies a row of the pool to dst.
	Row(dst []T, row int)
	// Labelled returns the nearest training row of each pool row of a list, of which it
	// may have any number, and the squared distance.
	Labelled(train matrix.Dense[T], list []int) (at []int, sq []T)
	// Err returns the first failure.
	Err() error
	// Close frees the memory of the device.
	Close()
}

// DeviceBest is the best of the open rows, by a score; Row is -1 if none is open.
type DeviceBest struct {
	Row     int
	Score   float64 // per price, if there are prices
	Value   float64 // the row's squared distance, variance or v
	Label   int     // of its centre
	Size    float64 // of its cluster
	Members int     // unselected rows of that cluster
	Nonzero bool    // some open row has a finite score other than 0
}

// DeviceCluster is a cluster, summed up over the unselected rows.
type DeviceCluster struct {
	Size, Open, Far float64
	Rows, Top       int // Top is -1 if no row is open
}

// DeviceNearest knows the nearest centre of each row: see centreSearch.
type DeviceNearest[T matrix.Float] interface {
	Add(centres matrix.Dense[T], first int)
	// AddRow adds a row of the pool.
	AddRow(row, label int)
	Farthest(ahead int) ([]DeviceBest, error)
	// FarthestInLargest returns the farthest row of the largest clusters that have an
	// open row.
	FarthestInLargest(ahead int) ([]DeviceBest, error)
	At(row int) DeviceBest
	Sum(sums []DeviceCluster, first int)
	Weigh(centres bool, scale []float64) []float64
	// Draw draws a row of a block by its weight, for a number u from 0 to 1.
	Draw(block int, u float64) DeviceBest
	// Draws draws a row, and then goes ahead as far as there are numbers: two per row, one for
	// its block and one for Draw. Rows are weighed by their squared distances.
	Draws(us []float64) ([]DeviceBest, error)
	Gains(sums []float64, rows matrix.Dense[T])
}

// DeviceDirections is what directionSearch is.
type DeviceDirections interface {
	Sums(u []float64, r float64) float64
	// Start sets u, v and r (frankwolfe_features.go).
	Start(u, v []float64, r float64)
	// AddRow moves v towards a row of the pool.
	AddRow(row int)
	Best(ahead int) ([]DeviceBest, error)
}

// DeviceVariances is what varianceSearch is.
type DeviceVariances interface {
	Prior() float64
	Scales() []float64
	// Rebase computes the variances for S = rootᵀ·root, or S = I − factorᵀ·factor; for
	// S = I if there is no factor.
	Rebase(factor matrix.Dense[float64], root bool)
	Step(w []float64)
	// AddRow adds a row of the pool, unless the features are too many for the device to
	// keep S: then it returns false, and Best does not go ahead.
	AddRow(row int) bool
	Best(ahead int) ([]DeviceBest, error)
	At(row int) float64
}

// DeviceTotals is what totalSearch is, with one vector at a time for Summed. It keeps the
// covariance and does the steps of rows of the pool.
type DeviceTotals interface {
	Prior() float64
	Moments(m, a matrix.Dense[float64])
	Summed(total float64, y []float64) float64
	Rebase(a, inner matrix.Dense[float64]) float64
	AddRow(row int)
	Best(ahead int) ([]DeviceBest, error)
	At(row int) float64
}

type deviceKey struct{}

// WithDevice returns a context under which Select uses a device, where the rows are
// features and the method has a search on it. A nil device is the CPU.
func WithDevice(ctx context.Context, d Device) context.Context {
	return context.WithValue(ctx, deviceKey{}, d)
}

func deviceOf(ctx context.Context) Device {
	d, _ := ctx.Value(deviceKey{}).(Device)
	return d
}

// onDevice says which methods search on a device.
func onDevice[T matrix.Float](m Method[T]) bool {
	switch m := m.(type) {
	case MaxDiag[T], LCMD[T], MaxDist[T], KMeansPP[T], GreedyKMeansPP[T], BAIT[T]:
		return true
	case MaxDet[T]:
		return m.In != InKernelSpace
	case FrankWolfe[T]:
		return m.In != InKernelSpace
	}
	return false
}

// whereFor returns where the rows of the pool are put: on the device of the context, or in
// memory, with a word if a device was asked for.
func whereFor[T matrix.Float](ctx context.Context, m Method[T], p *Problem[T]) func(*Space[T]) poolRows[T] {
	d := deviceOf(ctx)
	if d == nil || p.Plain {
		return inMemory[T]
	}
	return func(s *Space[T]) poolRows[T] {
		rows := newMemoryRows(s, &s.pool, s.weights)
		rows.price = s.price
		switch {
		case s.kernel != nil:
			s.Note("the selection ran on the CPU, not on %s: the kernel has no explicit features", d.Name())
			return rows
		case s.pool.single.Rows > 0:
			s.Note("the selection ran on the CPU, not on %s: the features are in a file, in float32, and %s computes in float64", d.Name(), m.Name())
			return rows
		case !onDevice(m):
			if _, blind := m.(Random[T]); !blind {
				s.Note("the selection ran on the CPU, not on %s: %s has no version for it", d.Name(), m.Name())
			}
			return rows
		}
		s.device = d.Name()
		_, byDiag := m.(MaxDiag[T])
		return &deviceRows[T]{memoryRows: rows, device: d, on: placeOn(d, s), byDiag: byDiag}
	}
}

func placeOn[T matrix.Float](d Device, s *Space[T]) DeviceRows[T] {
	pool := DevicePool[T]{Rows: s.pool.rows, Placed: s.pool.placed, Weights: s.weights, Price: s.price, Largest: s.largestNorm(),
		Centres: s.batch + len(s.pending) + s.TrainSize()}
	var rows any
	switch pool := any(pool).(type) {
	case DevicePool[float32]:
		rows = d.Place32(pool)
	case DevicePool[float64]:
		rows = d.Place64(pool)
	}
	return rows.(DeviceRows[T])
}

// deviceRows are the rows of a pool on a device and, for the driver and the report, in
// memory.
type deviceRows[T matrix.Float] struct {
	*memoryRows[T]
	device  Device
	on      DeviceRows[T]
	byDiag  bool // the method asks for nothing but Largest
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
	err := failedOn(r.device, r.on.Err())
	r.on.Close()
	return err
}

// stepsAhead is how many steps a device does at a time. Progress is reported, and the context
// checked, in between.
const stepsAhead = 32

// ahead is how many steps the device may do by itself: none if a pick may close other rows.
func (r *deviceRows[T]) ahead() int {
	l := r.space.limits
	if l.constraints.Cost != nil || l.group != nil {
		return 0
	}
	return max(0, min(stepsAhead, r.space.left-1))
}

// deviceAnswers are answers of a device. It has taken all of their rows but the last.
type deviceAnswers struct{ list []DeviceBest }

// best returns the first answer, and asks for answers if there are none.
func (a *deviceAnswers) best(ask func() ([]DeviceBest, error)) (DeviceBest, error) {
	if len(a.list) > 0 {
		return a.list[0], nil
	}
	list, err := ask()
	if err != nil {
		return DeviceBest{Row: -1}, err
	}
	if list[0].Row >= 0 {
		a.list = list
	}
	return list[0], nil
}

// first returns the only answer of a search that does not go ahead. Nobody keeps it: rows may
// open before the next search.
func first(list []DeviceBest, err error) (DeviceBest, error) {
	if err != nil {
		return DeviceBest{Row: -1}, err
	}
	return list[0], nil
}

// of returns the first answer if it is of that row.
func (a *deviceAnswers) of(row int) (DeviceBest, bool) {
	if len(a.list) == 0 || a.list[0].Row != row {
		return DeviceBest{}, false
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

// forget drops the answers. Rows that the device has taken, but nobody picked, are as before;
// what it has added must be computed anew.
func (a *deviceAnswers) forget(mark func(row int)) {
	for i := range len(a.list) - 1 {
		mark(a.list[i].Row)
	}
	a.list = nil
}

// markAgain sends the marks of a row once more.
func (r *deviceRows[T]) markAgain(row int) { r.on.Mark(row, r.open[row], r.selected[row]) }

func foundOn(b DeviceBest, err error) (found, error) {
	if err != nil || b.Row < 0 {
		return found{row: -1}, err
	}
	return found{b.Row, b.Value}, nil
}

// Largest goes ahead if each pick is one of its answers.
func (r *deviceRows[T]) Largest() (found, error) {
	if !r.byDiag {
		return foundOn(first(r.on.Largest(0)))
	}
	return foundOn(r.largest.best(func() ([]DeviceBest, error) { return r.on.Largest(r.ahead()) }))
}

func (r *deviceRows[T]) Nearest(size Size, _ bool) centreSearch[T] {
	return &deviceNearest[T]{rows: r, on: r.on.Nearest(size)}
}

// deviceNearest keeps the answers, which have all that describes a pick.
type deviceNearest[T matrix.Float] struct {
	rows    *deviceRows[T]
	on      DeviceNearest[T]
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

func (f *deviceNearest[T]) Farthest() (found, error) {
	return foundOn(f.answers.best(func() ([]DeviceBest, error) { return f.on.Farthest(f.rows.ahead()) }))
}

// farthestInLargest is NEXT of LCMD.
func (f *deviceNearest[T]) farthestInLargest() (clusterSum, error) {
	best, err := f.answers.best(func() ([]DeviceBest, error) { return f.on.FarthestInLargest(f.rows.ahead()) })
	return clusterSum{size: best.Size, rows: best.Members, top: best.Row, far: best.Score}, err
}

// draw is NEXT of k-means++. It returns a row below 0 if there is none.
func (f *deviceNearest[T]) draw(stream *rng.Stream) (int, error) {
	best, err := f.answers.best(func() ([]DeviceBest, error) {
		us := make([]float64, 2*(f.rows.ahead()+1))
		for i := range us {
			us[i] = stream.Float64()
		}
		return f.on.Draws(us)
	})
	return best.Row, err
}

func (f *deviceNearest[T]) at(row int) DeviceBest {
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

func (f *deviceNearest[T]) Sum(sums []clusterSum, first int) {
	if known := f.answers.list; len(sums) == 1 && len(known) > 0 && known[0].Label == first {
		sums[0].size, sums[0].rows = known[0].Size, known[0].Members
		return
	}
	list := make([]DeviceCluster, len(sums))
	f.on.Sum(list, first)
	for i, c := range list {
		sums[i].merge(clusterSum{size: c.Size, rows: c.Rows, open: c.Open, top: c.Top, far: c.Far})
	}
}

func (f *deviceNearest[T]) Weigh(centres bool, scale []float64) []float64 {
	return f.on.Weigh(centres, scale)
}

func (f *deviceNearest[T]) Draw(block int, stream *rng.Stream) (int, error) {
	best := f.on.Draw(block, stream.Float64())
	f.answers.list = []DeviceBest{best}
	return best.Row, f.rows.on.Err()
}

func (f *deviceNearest[T]) Gains(sums []float64, rows matrix.Dense[T], _ []T) error {
	f.on.Gains(sums, rows)
	return f.rows.on.Err()
}

func (r *deviceRows[T]) Directions() (directionSearch, error) {
	return &deviceDirections[T]{rows: r, on: r.on.Directions()}, r.on.Err()
}

// deviceDirections moves v on the device, from where it was when the first row is searched for.
type deviceDirections[T matrix.Float] struct {
	rows    *deviceRows[T]
	on      DeviceDirections
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

// addRow moves v towards a row of the pool, if v is on the device.
func (f *deviceDirections[T]) addRow(row int) bool {
	if f.started && !f.answers.pick(row) {
		f.on.AddRow(row)
	}
	return f.started
}

func (f *deviceDirections[T]) Best([]float64) (found, bool, error) {
	best, err := f.answers.best(func() ([]DeviceBest, error) { return f.on.Best(f.rows.ahead()) })
	if err != nil || best.Row < 0 {
		return found{-1, math.Inf(-1)}, true, err
	}
	return found{best.Row, best.Score}, best.Score == 0 && !best.Nonzero, nil
}

func (r *deviceRows[T]) Variances(sigma2 float64) (varianceSearch, error) {
	return &deviceVariances[T]{rows: r, on: r.on.Variances(sigma2)}, r.on.Err()
}

// deviceVariances goes ahead from the first row on that is added after a Rebase: before, single
// variances are compared with exact ones.
type deviceVariances[T matrix.Float] struct {
	rows    *deviceRows[T]
	on      DeviceVariances
	answers deviceAnswers
	rebased bool
}

func (f *deviceVariances[T]) Prior() float64    { return f.on.Prior() }
func (f *deviceVariances[T]) Scales() []float64 { return f.on.Scales() }

func (f *deviceVariances[T]) Best() (found, error) {
	if f.rebased {
		return foundOn(first(f.on.Best(0)))
	}
	return foundOn(f.answers.best(func() ([]DeviceBest, error) { return f.on.Best(f.rows.ahead()) }))
}

func (f *deviceVariances[T]) At(row int) float64 {
	if best, known := f.answers.of(row); known {
		return best.Value
	}
	return f.on.At(row)
}

func (f *deviceVariances[T]) Step(s *covariance, _ int) {
	f.answers.list = nil
	f.on.Step(s.changed(len(s.sign)-1, len(s.sign)))
}

// addRow adds a row of the pool, if the device keeps S.
func (f *deviceVariances[T]) addRow(row int) bool {
	f.rebased = false
	return f.answers.pick(row) || f.on.AddRow(row)
}

func (f *deviceVariances[T]) Rebase(s *covariance) {
	f.answers.forget(f.rows.markAgain)
	f.rebased = true
	if s.root.Rows > 0 {
		f.on.Rebase(s.root, true)
		return
	}
	f.on.Rebase(s.explained, false)
}

func (r *deviceRows[T]) Totals(sigma2, offset float64) (totalSearch, error) {
	return &deviceTotals[T]{rows: r, on: r.on.Totals(sigma2, offset)}, r.on.Err()
}

// deviceTotals goes ahead as deviceVariances does.
type deviceTotals[T matrix.Float] struct {
	rows    *deviceRows[T]
	on      DeviceTotals
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

// addRow adds a row of the pool.
func (f *deviceTotals[T]) addRow(row int) bool {
	f.rebased = false
	if !f.answers.pick(row) {
		f.on.AddRow(row)
	}
	return true
}

func (f *deviceTotals[T]) At(row int) float64 { return f.on.At(row) }

func (f *deviceTotals[T]) best() (DeviceBest, error) {
	if f.rebased {
		return first(f.on.Best(0))
	}
	return f.answers.best(func() ([]DeviceBest, error) { return f.on.Best(f.rows.ahead()) })
}

func (f *deviceTotals[T]) Best() (found, float64, error) {
	best, err := f.best()
	if err != nil || best.Row < 0 {
		return found{row: -1}, 0, err
	}
	if f.rows.price != nil {
		best.Score = f.on.At(best.Row)
	}
	return found{best.Row, best.Score}, best.Value, nil
}
