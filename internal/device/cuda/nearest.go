//go:build linux && (amd64 || arm64)

package cuda

import (
	"math"
	"unsafe"

	"github.com/nextbatch/nextbatch/internal/place"
	"github.com/nextbatch/nextbatch/matrix"
)

// nearest is the search for the nearest centre of each row. Sizes of clusters are kept as
// integers, so that rows join and leave them in any order and without rounding.
type nearest[T matrix.Float] struct {
	*rows[T]
	dist, labels pointer
	sizes        sizes
	clusters     int
	largest      pointer
	centre       pointer
	staged       []T     // pinned: a centre on its way
	values       pointer // for draws and gains
	scale        pointer
	draws        pointer // numbers for the draws of a walk, and sums of blocks of rows
	blocks       pointer
	centres      pointer // all of them, and their squared distances from the newest
	between      pointer
	length       pointer // of the newest
	rough        rough
}

// Nearest implements place.DeviceRows.
func (r *rows[T]) Nearest(size place.Size) place.DeviceNearest[T] {
	r.sendMarks()
	f := &nearest[T]{rows: r}
	f.dist, f.labels = r.alloc(r.n*sizeOf[T]()), r.alloc(4*r.n)
	if sizeOf[T]() == 4 {
		r.launch("fill_f32", r.elementwise(), f.dist, r.n, float32(math.Inf(1)))
	} else {
		r.launch("fill_f64", r.elementwise(), f.dist, r.n, math.Inf(1))
	}
	r.launch("fill_i32", r.elementwise(), f.labels, r.n, int32(unknownLabel))
	many := r.pool.Centres
	f.sizes = sizes{hi: r.alloc(8 * many), lo: r.alloc(8 * many), rows: r.alloc(4 * many),
		open: r.alloc(4 * many), kind: int32(size)}
	f.setScale(size)
	f.largest = r.alloc(16)
	f.centre = r.alloc(r.ld * sizeOf[T]())
	f.centres, f.between = r.alloc(many*r.ld*sizeOf[T]()), r.alloc(many*sizeOf[T]())
	f.length, f.rough = r.alloc(8), r.roughen()
	f.staged = pinned[T](r.queue, r.ld)
	r.nearest = f
	return f
}

// setScale chooses the unit of the integers: the largest power of two with which all rows
// together stay below 2^62.
func (f *nearest[T]) setScale(size place.Size) {
	weight := 1.0
	for _, w := range f.pool.Weights {
		weight = max(weight, w)
	}
	square := 4 * f.pool.Largest
	if square == 0 {
		square = 1
	}
	most := square
	switch size {
	case place.Distance:
		most = math.Sqrt(square)
	case place.Count:
		most = 1
	}
	unit := func(most float64) float64 {
		_, exponent := math.Frexp(most * float64(f.n+1))
		return math.Ldexp(1, min(61-exponent, 1000))
	}
	f.sizes.scale, f.sizes.openScale = unit(most*weight), unit(square)
}

// fewCentres is the number of centres up to which each is added by itself.
const fewCentres = 16

// Add implements place.DeviceNearest.
func (f *nearest[T]) Add(centres matrix.Dense[T], first int) {
	f.sendMarks()
	if centres.Rows <= fewCentres {
		for i := range centres.Rows {
			f.addOne(centres.Row(i), first+i)
		}
		return
	}
	f.clusters = max(f.clusters, first+centres.Rows)
	at := f.centres + pointer(first*f.ld*sizeOf[T]())
	sendRowsTo(f.queue, at, centres)
	if f.kind == "f64" {
		f.launch("add_centres_f64", grid{x: (f.n + 63) / 64, threads: 256},
			f.x, f.ld, f.n, at, int32(centres.Rows), int32(first), f.dist, f.labels, f.flags, f.weights, f.sizes)
		return
	}
	f.addMany(at, centres.Rows, first)
}

// AddRow implements place.DeviceNearest.
func (f *nearest[T]) AddRow(row, label int) {
	f.sendMarks()
	f.addPlaced(f.x+pointer(row*f.ld*sizeOf[T]()), label)
}

// addOne adds a centre that is not on the card.
func (f *nearest[T]) addOne(centre []T, label int) {
	f.wait() // the centre before may be on its way
	clear(f.staged)
	copy(f.staged, centre)
	send(f.queue, f.centre, f.staged)
	f.addPlaced(f.centre, label)
}

// addPlaced adds a centre that is on the card, after its distances from the others.
func (f *nearest[T]) addPlaced(at pointer, label int) {
	f.launchCentre(at, f.clusters, label, 0)
	f.clusters = max(f.clusters, label+1)
}

// launchCentre adds a centre to some others. On a walk, it is the row of the walk.
func (f *nearest[T]) launchCentre(at pointer, others, label int, walk pointer) {
	f.launch("centre_distances_"+f.kind, f.warps(others), f.centres, f.ld, int32(others), at, int32(label),
		f.between, f.length, walk)
	shared := f.ld*sizeOf[T]() + f.rough.bytes()
	if shared > mostShared {
		shared = 0
	}
	f.launch("add_centre_"+f.kind, f.groups(shared), f.x, f.ld, f.n, at, int32(label), f.between, f.margin(), f.length,
		unsafe.Pointer(&f.rough), f.dist, f.labels, f.flags, f.weights, f.sizes, walk)
}

// margin is 4 and what rounding may change, with room to spare.
func (f *nearest[T]) margin() any {
	if f.kind == "f32" {
		return float32(4 * (1 + 4*float64(f.ld+32)/(1<<24)))
	}
	return 4 * (1 + 4*float64(f.ld+32)/(1<<53))
}

// addMany adds centres by inner products of blocks of rows.
func (f *nearest[T]) addMany(centres pointer, many, first int) {
	const tile, shared = 128, 4 * 128 * 36 * 4
	width := (many + tile - 1) / tile * tile
	rows := min(f.n, sumBlock)
	products := f.alloc(4 * rows * width)
	squares, offs := f.alloc(4*f.n), f.alloc(4*f.n)
	centreSquares, centreOffs := f.alloc(4*many), f.alloc(4*many)
	f.launch("squares_f32", f.warps(f.n), f.x, f.ld, f.n, squares, offs)
	f.launch("squares_f32", f.warps(many), centres, f.ld, many, centreSquares, centreOffs)
	// Each of ld additions is off by 2^-23; twice that, because a product counts twice, and a
	// margin.
	share := float32(4 * float64(f.ld) / (1 << 23))
	f.eachBlock(func(from, count int) {
		x := f.x + pointer(4*from*f.ld)
		f.launch("inner_products", grid{x: width / tile, y: (count + tile - 1) / tile, threads: 256, shared: shared},
			x, f.ld, int32(count), centres, int32(many), products, width)
		f.launch("settle_centres", f.warps(count), x, f.ld, count, centres, int32(many), int32(first), products, width,
			squares+pointer(4*from), offs+pointer(4*from), centreSquares, centreOffs, share,
			f.dist+pointer(4*from), f.labels+pointer(4*from), f.flags+pointer(from), weightsFrom(f.weights, from), f.sizes)
	})
	for _, p := range []pointer{products, squares, offs, centreSquares, centreOffs} {
		f.free(p)
	}
}

// weightsFrom returns the weights from a row on, if there are weights.
func weightsFrom(weights pointer, row int) pointer {
	if weights == 0 {
		return 0
	}
	return weights + pointer(8*row)
}

// Farthest implements place.DeviceNearest.
func (f *nearest[T]) Farthest(ahead int) ([]place.DeviceBest, error) {
	return f.search("farthest", ahead, func(walk pointer) { f.launchFarthest(0, walk) })
}

// FarthestInLargest implements place.DeviceNearest.
func (f *nearest[T]) FarthestInLargest(ahead int) ([]place.DeviceBest, error) {
	return f.search("largest", ahead, func(walk pointer) {
		f.launch("largest_cluster", grid{x: 1, threads: 1024}, f.sizes, int32(f.clusters), f.largest, walk)
		f.launchFarthest(f.largest, walk)
	})
}

// search finds a row and goes ahead.
func (f *nearest[T]) search(name string, ahead int, find func(walk pointer)) ([]place.DeviceBest, error) {
	best, err := f.goAhead(name, ahead, f.clusters, f.addTaken, find)
	f.clusters += len(best) - 1
	return best, err
}

// addTaken takes the row of a walk and makes it a centre.
func (f *nearest[T]) addTaken(walk pointer) {
	f.take(walk, 0)
	f.launchCentre(f.x, f.pool.Centres, 0, walk)
}

func (f *nearest[T]) launchFarthest(largest, walk pointer) {
	f.launch("farthest_"+f.kind, f.scan(), f.n, f.dist, f.labels, f.flags, f.price, f.sizes, largest, f.tops,
		f.arrived, address(f.best), walk)
}

// At implements place.DeviceNearest.
func (f *nearest[T]) At(row int) place.DeviceBest {
	f.sendMarks()
	f.launch("row_at_"+f.kind, grid{x: 1, threads: 1}, row, f.dist, f.labels, f.sizes, address(f.best))
	best, _ := f.answer()
	return best
}

// cluster is Cluster of selection.cu.
type cluster struct {
	size, open, far float64
	rows, top       int64
}

// Sum implements place.DeviceNearest.
func (f *nearest[T]) Sum(sums []place.DeviceCluster, first int) {
	f.sendMarks()
	many := len(sums)
	far, top, hi, lo, to := f.alloc(8*many), f.alloc(8*many), f.alloc(8*many), f.alloc(8*many), f.alloc(40*many)
	f.clear(top, 8*many, 0xff)
	f.launch("far_in_cluster_"+f.kind, f.elementwise(), f.n, int32(first), int32(many), f.dist,
		f.labels, f.flags, f.price, far)
	f.launch("top_in_cluster_"+f.kind, f.elementwise(), f.n, int32(first), int32(many), f.dist, f.labels, f.flags, f.price,
		far, top, f.sizes, hi, lo)
	f.launch("sum_clusters", grid{x: (many + 127) / 128, threads: 128}, f.sizes, int32(first),
		int32(many), far, top, hi, lo, to)
	host := make([]cluster, many)
	err := fetch(f.queue, host, to)
	for _, p := range []pointer{far, top, hi, lo, to} {
		f.free(p)
	}
	for i, c := range host {
		sums[i] = place.DeviceCluster{Size: c.size, Open: c.open, Far: c.far, Rows: int(c.rows), Top: int(c.top)}
		if err != nil {
			sums[i] = place.DeviceCluster{Top: -1}
		}
	}
}

// forValues allocates memory for a number per row, once.
func (f *nearest[T]) forValues() {
	if f.values == 0 {
		f.values = f.alloc(8 * f.n)
	}
}

// Weigh implements place.DeviceNearest.
func (f *nearest[T]) Weigh(centres bool, scale []float64) []float64 {
	f.sendMarks()
	f.forValues()
	dist, scales := f.dist, pointer(0)
	if !centres {
		dist = 0
	}
	if scale != nil {
		if f.scale == 0 {
			f.scale = f.alloc(8 * f.pool.Centres)
		}
		send(f.queue, f.scale, scale)
		f.wait()
		scales = f.scale
	}
	f.launch("weigh_"+f.kind, f.elementwise(), f.n, dist, f.labels, f.flags, f.weights, scales, f.values, pointer(0))
	return f.blockSums(f.values)
}

// Draws implements place.DeviceNearest.
func (f *nearest[T]) Draws(us []float64) ([]place.DeviceBest, error) {
	f.forValues()
	blocks := (f.n + sumBlock - 1) / sumBlock
	if f.draws == 0 {
		f.draws, f.blocks = f.alloc(8*2*(mostSteps+1)), f.alloc(8*blocks)
	}
	send(f.queue, f.draws, us)
	f.wait()
	return f.search("draws", len(us)/2-1, func(walk pointer) {
		f.launch("weigh_"+f.kind, f.elementwise(), f.n, f.dist, f.labels, f.flags, f.weights, pointer(0), f.values, walk)
		f.launch("block_sums", grid{x: blocks, threads: 1024}, f.values, f.n, f.blocks, walk)
		f.launch("walk_draw_"+f.kind, grid{x: 1, threads: 1024}, walk, f.values, f.n, f.blocks, int32(blocks), f.draws,
			f.dist, f.labels, f.sizes, address(f.best))
	})
}

// Draw implements place.DeviceNearest.
func (f *nearest[T]) Draw(block int, u float64) place.DeviceBest {
	f.launch("draw_row_"+f.kind, grid{x: 1, threads: 1024}, f.values, min((block+1)*sumBlock, f.n), block*sumBlock, u,
		f.dist, f.labels, f.sizes, address(f.best))
	best, _ := f.answer()
	return best
}

// Gains implements place.DeviceNearest.
func (f *nearest[T]) Gains(sums []float64, centres matrix.Dense[T]) {
	f.forValues()
	f.launch("weighted_"+f.kind, f.elementwise(), f.n, f.dist, f.weights, f.values)
	sums[0] = addAll(sums[0], f.blockSums(f.values))
	for i := range centres.Rows {
		clear(f.staged)
		copy(f.staged, centres.Row(i))
		send(f.queue, f.centre, f.staged)
		f.launch("gain_"+f.kind, f.pass(f.ld*sizeOf[T]()), f.x, f.ld, f.n, f.centre, f.dist, f.weights, f.values)
		sums[1+i] = addAll(sums[1+i], f.blockSums(f.values))
	}
}
