package selection

// Selection on a device, such as a GPU. A device keeps the rows of a pool, and what is kept
// per row, in its own memory, and answers the same few questions per step that rows in
// memory do (rows.go). What is small stays here: the driver, the constraints, the
// covariance. The device rounds as it likes, as another instruction set would, but in the
// same way on every run.

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
	// Nearest starts a search for the nearest centre of each row, and so on: at most one
	// search per DeviceRows.
	Nearest(size Size) DeviceNearest[T]
	Directions() DeviceDirections
	Variances() DeviceVariances
	Totals(offset float64) DeviceTotals
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
	Farthest() (DeviceBest, error)
	// FarthestInLargest returns the farthest row of the largest clusters that have an
	// open row.
	FarthestInLargest() (DeviceBest, error)
	At(row int) DeviceBest
	Sum(sums []DeviceCluster, first int)
	Weigh(centres bool, scale []float64) []float64
	// Draw draws a row of a block by its weight, for a number u from 0 to 1.
	Draw(block int, u float64) DeviceBest
	Gains(sums []float64, rows matrix.Dense[T])
}

// DeviceDirections is what directionSearch is.
type DeviceDirections interface {
	Sums(u []float64, r float64) float64
	Best(residual []float64) (DeviceBest, error)
}

// DeviceVariances is what varianceSearch is.
type DeviceVariances interface {
	Prior() float64
	Scales() []float64
	// Rebase computes the variances for S = rootᵀ·root, or S = I − factorᵀ·factor; for
	// S = I if there is no factor.
	Rebase(factor matrix.Dense[float64], root bool)
	Step(w []float64)
	Best() (DeviceBest, error)
	At(row int) float64
}

// DeviceTotals is what totalSearch is, with one vector at a time for Summed.
type DeviceTotals interface {
	Prior() float64
	Moments(m, a matrix.Dense[float64])
	Summed(total float64, y []float64) float64
	Rebase(a, inner matrix.Dense[float64]) float64
	Step(aw, ap []float64)
	Best() (DeviceBest, error)
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

// onDevice says which methods search on a device. MaxDiag needs nothing but the norms of
// features, so it is not worth a copy of features that are not there yet.
func onDevice[T matrix.Float](m Method[T], placed bool) bool {
	switch m := m.(type) {
	case MaxDiag[T]:
		return placed
	case LCMD[T], MaxDist[T], KMeansPP[T], GreedyKMeansPP[T], BAIT[T]:
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
		case !onDevice(m, s.pool.placed != nil):
			if usesRows(m) {
				s.Note("the selection ran on the CPU, not on %s: %s has no version for it", d.Name(), m.Name())
			}
			return rows
		}
		s.device = d.Name()
		return &deviceRows[T]{memoryRows: rows, device: d, on: placeOn(d, s)}
	}
}

// usesRows reports whether a method computes enough for a device to matter.
func usesRows[T matrix.Float](m Method[T]) bool {
	switch m.(type) {
	case Random[T], MaxDiag[T]:
		return false
	}
	return true
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
	device Device
	on     DeviceRows[T]
}

func (r *deviceRows[T]) Mark(row int, open, selected bool) {
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

func foundOn(b DeviceBest, err error) (found, error) {
	if err != nil || b.Row < 0 {
		return found{row: -1}, err
	}
	return found{b.Row, b.Value}, nil
}

func (r *deviceRows[T]) Nearest(size Size, _ bool) centreSearch[T] {
	return &deviceNearest[T]{rows: r, on: r.on.Nearest(size)}
}

// deviceNearest keeps the latest answer, which has all that describes a pick.
type deviceNearest[T matrix.Float] struct {
	rows   *deviceRows[T]
	on     DeviceNearest[T]
	latest DeviceBest
	known  bool
}

func (f *deviceNearest[T]) Add(centres matrix.Dense[T], _ []T, first int) error {
	f.known = false
	f.on.Add(centres, first)
	return f.rows.on.Err()
}

// addRow adds a row of the pool, which is there already.
func (f *deviceNearest[T]) addRow(row, label int) error {
	f.known = false
	f.on.AddRow(row, label)
	return f.rows.on.Err()
}

func (f *deviceNearest[T]) Farthest() (found, error) {
	best, err := f.on.Farthest()
	f.latest, f.known = best, err == nil && best.Row >= 0
	return foundOn(best, err)
}

// farthestInLargest is NEXT of LCMD.
func (f *deviceNearest[T]) farthestInLargest() (clusterSum, error) {
	best, err := f.on.FarthestInLargest()
	f.latest, f.known = best, err == nil && best.Row >= 0
	return clusterSum{size: best.Size, rows: best.Members, top: best.Row, far: best.Score}, err
}

func (f *deviceNearest[T]) at(row int) DeviceBest {
	if !f.known || f.latest.Row != row {
		f.latest = f.on.At(row)
		f.known = true
	}
	return f.latest
}

func (f *deviceNearest[T]) At(row int) (dist T, label int) {
	best := f.at(row)
	return T(best.Value), max(best.Label, 0)
}

func (f *deviceNearest[T]) Sum(sums []clusterSum, first int) {
	if len(sums) == 1 && f.known && f.latest.Label == first {
		sums[0].size, sums[0].rows = f.latest.Size, f.latest.Members
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
	f.latest = f.on.Draw(block, stream.Float64())
	f.known = f.latest.Row >= 0
	return f.latest.Row, f.rows.on.Err()
}

func (f *deviceNearest[T]) Gains(sums []float64, rows matrix.Dense[T], _ []T) error {
	f.on.Gains(sums, rows)
	return f.rows.on.Err()
}

func (r *deviceRows[T]) Directions() (directionSearch, error) {
	return &deviceDirections{on: r.on.Directions()}, r.on.Err()
}

type deviceDirections struct{ on DeviceDirections }

func (f *deviceDirections) Sums(u []float64, r float64) float64 { return f.on.Sums(u, r) }

func (f *deviceDirections) Best(residual []float64) (found, bool, error) {
	best, err := f.on.Best(residual)
	if err != nil || best.Row < 0 {
		return found{-1, math.Inf(-1)}, true, err
	}
	return found{best.Row, best.Score}, best.Score == 0 && !best.Nonzero, nil
}

func (r *deviceRows[T]) Variances() (varianceSearch, error) {
	return &deviceVariances{on: r.on.Variances()}, r.on.Err()
}

type deviceVariances struct{ on DeviceVariances }

func (f *deviceVariances) Prior() float64       { return f.on.Prior() }
func (f *deviceVariances) Scales() []float64    { return f.on.Scales() }
func (f *deviceVariances) Best() (found, error) { return foundOn(f.on.Best()) }
func (f *deviceVariances) At(row int) float64   { return f.on.At(row) }
func (f *deviceVariances) Step(s *covariance, _ int) {
	f.on.Step(s.changed(len(s.sign)-1, len(s.sign)))
}
func (f *deviceVariances) Rebase(s *covariance) {
	if s.root.Rows > 0 {
		f.on.Rebase(s.root, true)
		return
	}
	f.on.Rebase(s.explained, false)
}

func (r *deviceRows[T]) Totals(offset float64) (totalSearch, error) {
	return &deviceTotals{on: r.on.Totals(offset), priced: r.price != nil}, r.on.Err()
}

type deviceTotals struct {
	on     DeviceTotals
	priced bool
}

func (f *deviceTotals) Prior() float64                     { return f.on.Prior() }
func (f *deviceTotals) Moments(m, a matrix.Dense[float64]) { f.on.Moments(m, a) }
func (f *deviceTotals) Summed(totals []float64, ys matrix.Dense[float64]) {
	for i := range totals {
		totals[i] = f.on.Summed(totals[i], ys.Row(i))
	}
}
func (f *deviceTotals) Rebase(a, inner matrix.Dense[float64]) float64 { return f.on.Rebase(a, inner) }
func (f *deviceTotals) Step(_, _, aw, ap []float64)                   { f.on.Step(aw, ap) }
func (f *deviceTotals) At(row int) float64                            { return f.on.At(row) }

func (f *deviceTotals) Best() (found, float64, error) {
	best, err := f.on.Best()
	if err != nil || best.Row < 0 {
		return found{row: -1}, 0, err
	}
	if f.priced {
		best.Score = f.on.At(best.Row)
	}
	return found{best.Row, best.Score}, best.Value, nil
}
