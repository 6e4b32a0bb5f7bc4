//go:build linux && (amd64 || arm64)

package cuda

import (
	"fmt"
	"math"
	"slices"
	"unsafe"

	"github.com/nextbatch/nextbatch/internal/place"
	"github.com/nextbatch/nextbatch/matrix"
)

// Threads of the kernels, as in selection.cu.
const (
	passThreads  = 256
	warpRows     = 4 // rows that a warp reads at a time
	scanThreads  = 256
	sumBlock     = 1 << 14
	closed       = 0
	open         = 1
	selected     = 2
	fewMarks     = 1 << 14 // more are sent as a whole
	scanBlocks   = 512
	topBytes     = 32 // of Top
	unknownLabel = -1
)

// sizes are the sizes of clusters on the card: Sizes of selection.cu.
type sizes struct {
	hi, lo     pointer
	rows, open pointer
	scale      float64
	openScale  float64
	kind       int32
	_          int32
}

// bestRow is Best of selection.cu.
type bestRow struct {
	score, value float64
	row, label   int64
	size         float64
	members      int64
	nonzero, nan int64
}

// rows are the rows of a pool on the card.
type rows[T matrix.Float] struct {
	*queue
	pool           place.DevicePool[T]
	n, ld          int
	x              pointer
	weights, price pointer // null if there are none
	kind           string  // f32 or f64: the end of the names of kernels

	marks   []byte // of all rows
	waiting []int32
	late    []bool // rows that are in waiting
	all     bool   // all marks have to be sent
	flags   pointer
	listed  []int32 // pinned: the card reads them there
	changed []byte

	tops, arrived pointer
	best          []bestRow // pinned, of a search and of the steps of a walk
	walk          pointer
	graphs        map[string]uintptr // steps of walks
	vector        []float64          // pinned, for vectors on their way
	row           []T                // pinned, for a row on its way
	sums          []float64          // pinned, of blocks of rows
	norms         pointer            // squared, once they are needed
	nearest       *nearest[T]
}

// Place32 implements place.Device.
func (c *Card) Place32(pool place.DevicePool[float32]) place.DeviceRows[float32] {
	return copied(c, pool, "f32")
}

// Place64 implements place.Device.
func (c *Card) Place64(pool place.DevicePool[float64]) place.DeviceRows[float64] {
	return copied(c, pool, "f64")
}

func copied[T matrix.Float](c *Card, pool place.DevicePool[T], kind string) *rows[T] {
	r := &rows[T]{queue: c.newQueue(), pool: pool, n: pool.Rows.Rows, ld: padded(pool.Rows.Cols), kind: kind, all: true,
		graphs: map[string]uintptr{}}
	if placed, ok := pool.Placed.(*features[T]); ok {
		r.x = placed.x
	} else {
		r.x = sendRows(r.queue, pool.Rows)
	}
	r.weights, r.price = r.numbers(pool.Weights), r.numbers(pool.Price)
	r.marks, r.late = make([]byte, r.n), make([]bool, r.n)
	r.flags = r.alloc(r.n)
	r.listed, r.changed = pinned[int32](r.queue, fewMarks), pinned[byte](r.queue, fewMarks)
	r.tops, r.arrived = r.alloc(topBytes*scanBlocks), r.alloc(4)
	r.best, r.walk = pinned[bestRow](r.queue, mostSteps+1), r.alloc(walkBytes)
	r.vector = pinned[float64](r.queue, 2*r.ld)
	r.row = pinned[T](r.queue, r.ld)
	return r
}

// numbers sends numbers of rows, if there are any.
func (r *rows[T]) numbers(v []float64) pointer {
	if v == nil {
		return 0
	}
	at := r.alloc(8 * len(v))
	send(r.queue, at, v)
	r.wait()
	return at
}

// Err implements place.DeviceRows.
func (r *rows[T]) Err() error { return r.err }

// Close implements place.DeviceRows.
func (r *rows[T]) Close() {
	for name := range r.graphs {
		r.dropStep(name)
	}
	r.close()
}

// Mark collects marks until the next work.
func (r *rows[T]) Mark(row int, isOpen, isSelected bool) {
	mark := byte(closed)
	if isOpen {
		mark |= open
	}
	if isSelected {
		mark |= selected
	}
	r.marks[row] = mark
	if r.all || r.late[row] {
		return
	}
	if len(r.waiting) == fewMarks && r.nearest == nil {
		r.all = true // nothing but the marks themselves depends on them
		return
	}
	r.late[row] = true
	r.waiting = append(r.waiting, int32(row))
}

// sendMarks brings the marks on the card up to date.
func (r *rows[T]) sendMarks() {
	if r.all && r.nearest == nil {
		send(r.queue, r.flags, r.marks)
		r.wait() // the marks may change
		r.all = false
		r.forgetWaiting()
		return
	}
	for len(r.waiting) > 0 {
		many := min(len(r.waiting), fewMarks)
		r.wait() // the pinned lists may be on their way
		copy(r.listed, r.waiting[:many])
		for i, row := range r.waiting[:many] {
			r.changed[i] = r.marks[row]
			r.late[row] = false
		}
		r.waiting = r.waiting[many:]
		clusters, dist, labels := r.clusterSizes()
		r.launch("mark_"+r.kind, grid{x: (many + 127) / 128, threads: 128},
			address(r.listed), address(r.changed), int32(many), r.flags, dist, labels, r.weights, clusters)
	}
	r.waiting = r.waiting[:0]
}

func (r *rows[T]) forgetWaiting() {
	for _, row := range r.waiting {
		r.late[row] = false
	}
	r.waiting = r.waiting[:0]
}

// pass is the grid of a pass over all rows.
func (r *rows[T]) pass(shared int) grid { return r.queue.pass(r.n, shared) }

// scan is the grid of a search for the best row.
func (r *rows[T]) scan() grid {
	return grid{x: max(1, min((r.n+scanThreads-1)/scanThreads, scanBlocks, 2*r.card.processors)), threads: scanThreads}
}

// elementwise is the grid of work on one number per row.
func (r *rows[T]) elementwise() grid { return r.over(r.n, 256) }

// Largest implements place.DeviceRows.
func (r *rows[T]) Largest(ahead int) ([]place.DeviceBest, error) {
	if r.norms == 0 {
		r.norms = r.alloc(8 * r.n)
		r.launch("norms_"+r.kind, r.pass(0), r.x, r.ld, r.n, int32(0), r.norms)
	}
	return r.goAhead("norms", ahead, 0, func(walk pointer) { r.take(walk, 0) },
		func(walk pointer) { r.launchBest(r.norms, 0, 0, r.tops, walk) })
}

// Row implements place.DeviceRows.
func (r *rows[T]) Row(dst []T, row int) {
	if fetch(r.queue, r.row, r.x+pointer(row*r.ld*sizeOf[T]())) == nil {
		copy(dst, r.row)
	}
}

// Labelled implements place.DeviceRows.
func (r *rows[T]) Labelled(train matrix.Dense[T], list []int) (at []int, sq []T) {
	numbers := make([]int32, len(list))
	for i, row := range list {
		numbers[i] = int32(row)
	}
	others, on := sendRows(r.queue, train), r.alloc(4*len(list))
	dist, which := r.alloc(len(list)*sizeOf[T]()), r.alloc(4*len(list))
	send(r.queue, on, numbers)
	r.launch("nearest_other_"+r.kind, grid{x: len(list), threads: passThreads}, r.x, r.ld, on, others,
		int32(train.Rows), dist, which)
	at, sq = make([]int, len(list)), make([]T, len(list))
	if fetch(r.queue, sq, dist) == nil {
		fetch(r.queue, numbers, which)
	}
	for i, row := range numbers {
		at[i] = int(row)
	}
	return at, sq
}

// answer waits for the best row.
func (r *rows[T]) answer() (place.DeviceBest, error) {
	if err := r.wait(); err != nil {
		return place.DeviceBest{Row: -1}, err
	}
	return r.best[0].found()
}

// found returns the row, unless some row has no score.
func (b bestRow) found() (place.DeviceBest, error) {
	if b.nan >= 0 {
		return place.DeviceBest{Row: -1}, &place.RowError{Set: "pool", Row: int(b.nan), What: "score", Value: math.NaN()}
	}
	return place.DeviceBest{Row: int(b.row), Score: b.score, Value: b.value, Label: int(b.label), Size: b.size,
		Members: int(b.members), Nonzero: b.nonzero != 0}, nil
}

// sendVector sends vectors of features, padded with zeros, to memory of the card.
func (r *rows[T]) sendVector(to pointer, vectors ...[]float64) {
	r.wait() // an earlier vector may be on its way
	clear(r.vector)
	for i, v := range vectors {
		copy(r.vector[i*r.ld:], v)
	}
	send(r.queue, to, r.vector[:len(vectors)*r.ld])
}

// blockSums returns the sums of a number per row over blocks of rows.
func (r *rows[T]) blockSums(values pointer) []float64 {
	if r.sums == nil {
		r.sums = pinned[float64](r.queue, (r.n+sumBlock-1)/sumBlock)
	}
	r.launch("block_sums", grid{x: len(r.sums), threads: 1024}, values, r.n, address(r.sums), pointer(0))
	if r.wait() != nil {
		clear(r.sums)
	}
	return slices.Clone(r.sums)
}

// addAll adds the sums of blocks to a total, in order.
func addAll(total float64, blocks []float64) float64 {
	for _, v := range blocks {
		total += v
	}
	return total
}

func sizeOf[T matrix.Float]() int {
	var zero T
	return int(unsafe.Sizeof(zero))
}

// Check compares the size of structures with those of the kernels.
var _ = [1]struct{}{}[unsafe.Sizeof(sizes{})-56]
var _ = [1]struct{}{}[unsafe.Sizeof(bestRow{})-64]

var _ fmt.Stringer = (*Card)(nil)

// String names the card.
func (c *Card) String() string { return c.Name() }
