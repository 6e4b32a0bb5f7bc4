package place

// Selection on a device, such as a GPU. A device keeps the rows of a pool, and what is kept
// per row, in its own memory, and answers the same few questions per step that rows in
// memory do (selection/internal/space). The driver and the constraints stay in memory. The device rounds as it
// likes, as another instruction set would, but in the same way on every run.
//
// A search may go ahead: it returns the best row and, after it, up to ahead further rows, each
// of them the best once those before it have been picked, which the device has done by itself. So
// all rows of its answer but the last count as selected and have been added. That saves an
// exchange per step wherever a pick closes no other row.

import (
	"context"

	"github.com/nextbatch/nextbatch/internal/program"
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
	// kernels.ErrNoProgram. The context is checked once per block.
	Features32(ctx context.Context, p *program.Program, rows matrix.Dense[float32]) (DeviceFeatures[float32], error)
	Features64(ctx context.Context, p *program.Program, rows matrix.Dense[float64]) (DeviceFeatures[float64], error)
}

// DevicePool describes a pool to a device. It belongs to the caller and does not
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
	// Mark sets whether a row may be picked, and whether it is in the batch or pending.
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

// DeviceNearest knows the nearest centre of each row: see space.Centres.
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

// DeviceDirections is what space.Directions is.
type DeviceDirections interface {
	Sums(u []float64, r float64) float64
	// Start sets u, v and r (frankwolfe_features.go of package selection).
	Start(u, v []float64, r float64)
	// AddRow moves v towards a row of the pool.
	AddRow(row int)
	Best(ahead int) ([]DeviceBest, error)
}

// DeviceVariances is what space.Variances is.
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

// DeviceTotals is what space.Totals is, with one vector at a time for Summed. It keeps the
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

// DeviceOf returns the device of a context; nil: the CPU.
func DeviceOf(ctx context.Context) Device {
	d, _ := ctx.Value(deviceKey{}).(Device)
	return d
}
