//go:build linux && (amd64 || arm64)

package cuda

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
)

// Training on a card. An epoch is a graph: five launches or so per step, those of the
// validation, and the choice of the best epoch. The host draws the orders of the rows and
// reads the reports some epochs later; nothing waits for it within an epoch.

const (
	mostLayers  = 8    // as kLayers
	mostOutputs = 64   // as kMostOutputs
	mostBeside  = 1024 // networks at once
	validBlock  = 1024 // rows that are validated at once
	headRows    = 8    // of a block of the kernel head
	smallTile   = 32
	inFlight    = 4 // epochs that the card may be ahead of the host
)

// Networks are trained in up to mostGroups groups, each of at least groupSize. Tests set them.
var mostGroups, groupSize = 4, 8

// The structs below are those of kernels/training.cu.

type layer struct {
	in, rows, out, slope, grad, below, slopeBelow                 pointer
	inStride, rowsStride, outStride, gradStride, belowStride, off int64
	inputs, outputs, ldIn, ldOut                                  int32
	scale, next                                                   float32
}

type parameters struct {
	weights, first, second pointer
	stride                 int64
}

type learning struct {
	layers [mostLayers]layer
	first  [mostLayers + 1]int32
	count  int32
}

type adamConstants struct{ beta1, gain1, beta2, gain2, eps float32 }

type adamStep struct{ keep, rate, root, _ float32 } // the card reads four at a time

type labels struct {
	y, rows, factor, squares                        pointer
	stride, rowsStride, factorStride, squaresStride int64
}

type course struct {
	weights, best                                               pointer
	stride                                                      int64
	state, bestError, squares, validSquares                     pointer
	factors, report, epoch                                      pointer
	squaresStride, validStride, factorsStride                   int64
	batches, blocks, validBlocks, validLabels, networks, recent int32
}

// report is what the card writes about an epoch of a network.
type report struct{ loss, validRMSE, diverged float64 }

// CannotTrain implements network.Device.
func (c *Card) CannotTrain(t *network.DeviceTraining) string {
	net := t.Networks[0]
	switch {
	case net.Layers() > mostLayers:
		return fmt.Sprintf("it trains at most %d layers, and there are %d", mostLayers, net.Layers())
	case net.Outputs() > mostOutputs:
		return fmt.Sprintf("it trains at most %d outputs, and there are %d", mostOutputs, net.Outputs())
	}
	s := planTraining(t)
	if most := max(max(s.rows, s.validRows)*padded(s.sizes[0]), s.parameters()); most > math.MaxInt32 {
		return fmt.Sprintf("a table of %d numbers is too long for it", most)
	}
	return ""
}

// TrainNetworks implements network.Device. It trains as many networks at once as the
// memory of the card allows.
func (c *Card) TrainNetworks(ctx context.Context, t *network.DeviceTraining) error {
	for first := 0; first < len(t.Networks) && ctx.Err() == nil; {
		s, rest := planTraining(t), len(t.Networks)-first
		groups := s.groups(c.Room(), rest)
		many := s.fitting(c.Room()/int64(groups), ceilDiv(rest, groups))
		end := min(first+groups*many, len(t.Networks))
		if err := c.trainGroups(t, s, first, end, many); err != nil {
			return err
		}
		first = end
	}
	return nil
}

// trainGroups trains the networks from first to end in groups of many, all at the same time:
// while one group computes, another waits for memory.
func (c *Card) trainGroups(t *network.DeviceTraining, s trainingShape, first, end, many int) error {
	var (
		turn   sync.Mutex
		failed error
		wait   sync.WaitGroup
	)
	task := *t
	task.Ended = func(first, epoch int, reports []network.DeviceEpoch) bool {
		turn.Lock()
		defer turn.Unlock()
		return t.Ended(first, epoch, reports) && failed == nil
	}
	for from := first; from < end; from += many {
		wait.Go(func() {
			group := &training{queue: c.newQueue(), trainingShape: s, task: &task, first: from, many: min(many, end-from)}
			group.less = "train with smaller mini-batches or fewer hidden units"
			err := group.run()
			group.end()
			turn.Lock()
			defer turn.Unlock()
			failed = cmp.Or(failed, err)
		})
	}
	wait.Wait()
	return failed
}

// trainingShape is what the networks of a training have in common, and their sizes in
// memory.
type trainingShape struct {
	sizes            []int // d_0 … d_L
	offsets          []int // of layers among the parameters, and their number
	rows, batch      int
	batches, epochs  int
	blocks           int // of the kernel head per mini-batch
	validRows, chunk int
	validBlocks      int
	keepSlopes       bool
	ownData          bool // each network has rows of its own
}

func planTraining(t *network.DeviceTraining) trainingShape {
	net, d := t.Networks[0], t.Data[0]
	s := trainingShape{sizes: net.Sizes(), offsets: []int{0}, rows: d.X.Rows, batch: min(t.Training.Batch, d.X.Rows),
		epochs: t.Training.Epochs, ownData: len(t.Data) > 1,
		validRows: d.ValidX.Rows, chunk: min(validBlock, d.ValidX.Rows),
		keepSlopes: net.Architecture().Activation != network.ReLU}
	for l := range net.Layers() {
		s.offsets = append(s.offsets, s.offsets[l]+(s.sizes[l]+1)*padded(s.sizes[l+1]))
	}
	s.batches, s.blocks = s.rows/s.batch, ceilDiv(s.batch, headRows)
	for from := 0; from < s.validRows; from += s.chunk {
		s.validBlocks += ceilDiv(min(s.chunk, s.validRows-from), headRows)
	}
	return s
}

func (s *trainingShape) layers() int     { return len(s.sizes) - 1 }
func (s *trainingShape) parameters() int { return s.offsets[s.layers()] }
func (s *trainingShape) used() int       { return s.batches * s.batch } // rows of an epoch

// bytes returns the memory for all networks together, and for each.
func (s *trainingShape) bytes() (shared, each int64) {
	widest := 0
	hidden := 0
	for _, d := range s.sizes[1:s.layers()] {
		widest = max(widest, padded(d))
		hidden += padded(d)
	}
	perUnit := 2 // x̃ and g
	if s.keepSlopes {
		perUnit = 3
	}
	data := 4 * int64(s.rows+s.validRows) * int64(padded(s.sizes[0])+padded(s.sizes[s.layers()]))
	shared = 16 * int64(s.epochs) * int64(s.batches)
	each = 4*(4*int64(s.parameters())+int64(s.batch)*int64(perUnit*hidden+padded(s.sizes[s.layers()]))+2*int64(s.chunk)*
		int64(widest)+int64(s.used()+s.batches)) +
		8*int64(s.batches*s.blocks+s.validBlocks+2)
	if s.ownData {
		return shared, each + data
	}
	return shared + data, each
}

const trainingSlack = 1 << 16 // bytes of small buffers

// fitting returns how many networks fit into room bytes: at least one, which may fail.
func (s *trainingShape) fitting(room int64, networks int) int {
	shared, each := s.bytes()
	return int(max(1, min((room-shared-trainingSlack)/each, int64(networks), mostBeside)))
}

// groups returns in how many groups networks are trained at the same time: each has the data for
// itself, and room for one network at least.
func (s *trainingShape) groups(room int64, networks int) int {
	shared, each := s.bytes()
	return int(max(1, min(int64(mostGroups), int64(networks/groupSize), room/(shared+each+trainingSlack))))
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }

// training is the training of some networks at once.
type training struct {
	*queue
	trainingShape
	task        *network.DeviceTraining
	first, many int // networks of the task
	stopped     bool

	params      parameters
	best        pointer
	x, y        pointer
	validX      pointer
	validY      pointer
	drawn       pointer // orders of the rows of an epoch, then 2/n of each mini-batch
	inputs      []pointer
	grads       []pointer
	slopes      []pointer
	validInputs [2]pointer
	steps       pointer
	course      course

	exec    uintptr
	events  [inFlight]uintptr
	staged  [inFlight][]uint32 // orders and factors, in pinned memory
	reports []report           // of recent epochs, in pinned memory
}

// run trains to the end and writes the best parameters to the networks.
func (t *training) run() error {
	t.place()
	t.exec = t.capture(t.recordEpoch)
	for i := range t.events {
		t.events[i] = t.newEvent()
		t.staged[i] = pinned[uint32](t.queue, t.many*(t.used()+t.batches))
	}
	for e := 0; e < t.epochs && t.err == nil && !t.stopped; e++ {
		t.startEpoch(e)
		if e >= inFlight-1 {
			t.endEpoch(e - inFlight + 1)
		}
		if t.stopped || e == t.epochs-1 {
			for late := max(0, e-inFlight+2); late <= e; late++ {
				t.endEpoch(late)
			}
		}
	}
	t.fetchBest()
	return t.err
}

// place allocates the memory of the card and fills it.
func (t *training) place() {
	n := t.parameters()
	t.x = t.sendData(t.scale(0), func(d network.Data) matrix.Dense[float32] { return d.X })
	t.y = t.sendData(1, func(d network.Data) matrix.Dense[float32] { return d.Y })
	size := 4 * t.many * n
	t.params = parameters{weights: t.alloc(size), first: t.alloc(size), second: t.alloc(size), stride: int64(n)}
	t.best = t.alloc(size)
	t.drawn = t.alloc(4 * t.many * (t.used() + t.batches))
	t.inputs, t.grads, t.slopes = []pointer{t.x}, nil, nil
	widest := 0
	for l, width := range t.sizes[1:] {
		rows := 4 * t.many * padded(width)
		t.grads = append(t.grads, t.alloc(rows*t.batch))
		if l == t.layers()-1 {
			break
		}
		widest = max(widest, rows)
		t.inputs = append(t.inputs, t.alloc(rows*t.batch))
		if t.keepSlopes {
			t.slopes = append(t.slopes, t.alloc(rows*t.batch))
		}
	}
	if t.validRows > 0 {
		t.validX = t.sendData(t.scale(0), func(d network.Data) matrix.Dense[float32] { return d.ValidX })
		t.validY = t.sendData(1, func(d network.Data) matrix.Dense[float32] { return d.ValidY })
		if widest > 0 {
			t.validInputs = [2]pointer{t.alloc(widest * t.chunk), t.alloc(widest * t.chunk)}
		}
	}
	t.placeCourse()
	t.placeWeights()
}

// sendData sends a part of the data, times a factor: once, or for each network.
func (t *training) sendData(factor float32, part func(network.Data) matrix.Dense[float32]) pointer {
	copies := 1
	if t.ownData {
		copies = t.many
	}
	shape := part(t.task.Data[0])
	all := matrix.New[float32](copies*shape.Rows, shape.Cols)
	for k := range copies {
		from := part(t.task.DataOf(t.first + k))
		for i := range from.Rows {
			to := all.Row(k*shape.Rows + i)
			for j, v := range from.Row(i) {
				to[j] = factor * v
			}
		}
	}
	return sendRows(t.queue, all)
}

// dataStride leads from the rows of a network to those of the next one.
func (t *training) dataStride(rows, cols int) int64 {
	if !t.ownData {
		return 0
	}
	return int64(rows * padded(cols))
}

func (t *training) placeCourse() {
	t.reports = pinned[report](t.queue, inFlight*t.many)
	counted := 0
	for i := range t.validRows {
		for _, y := range t.task.Data[0].ValidY.Row(i) {
			if y == y {
				counted++
			}
		}
	}
	t.course = course{
		weights: t.params.weights, best: t.best, stride: t.params.stride,
		state: t.alloc(4 * t.many), bestError: t.alloc(8 * t.many),
		squares: t.alloc(8 * t.many * t.batches * t.blocks), validSquares: t.alloc(8 * t.many * t.validBlocks),
		factors: t.factors(), report: address(t.reports), epoch: t.alloc(4),
		squaresStride: int64(t.batches * t.blocks), validStride: int64(t.validBlocks), factorsStride: int64(t.batches),
		batches: int32(t.batches), blocks: int32(t.blocks), validBlocks: int32(t.validBlocks), validLabels: int32(counted),
		networks: int32(t.many), recent: inFlight,
	}
	worst := make([]float64, t.many)
	for i := range worst {
		worst[i] = math.Inf(1)
	}
	send(t.queue, t.course.bestError, worst)
	steps := make([]adamStep, len(t.task.Steps))
	for i, s := range t.task.Steps {
		steps[i] = adamStep{keep: s.Keep, rate: s.Rate, root: s.Root}
	}
	t.steps = t.alloc(16 * len(steps))
	send(t.queue, t.steps, steps)
	t.wait() // for memory of the host
}

// factors is where 2/n of each mini-batch is.
func (t *training) factors() pointer { return t.drawn + pointer(4*t.many*t.used()) }

// placeWeights sends the initial weights, which are the best ones before the first epoch.
func (t *training) placeWeights() {
	host := make([]float32, t.many*t.parameters())
	t.eachRow(host, func(padded, row []float32) { copy(padded, row) })
	send(t.queue, t.params.weights, host)
	send(t.queue, t.best, host)
	t.wait()
}

// fetchBest writes the best parameters to the networks.
func (t *training) fetchBest() {
	host := make([]float32, t.many*t.parameters())
	if fetch(t.queue, host, t.best) == nil {
		t.eachRow(host, func(padded, row []float32) { copy(row, padded) })
	}
}

// eachRow visits the rows of W̃ of all layers of all networks, beside their places in the
// layout of the card.
func (t *training) eachRow(host []float32, visit func(padded, row []float32)) {
	for i, net := range t.task.Networks[t.first : t.first+t.many] {
		for l := range t.layers() {
			at, ld, w := i*t.parameters()+t.offsets[l], padded(t.sizes[l+1]), net.Weights(l)
			for r := range w.Rows {
				visit(host[at+r*ld:at+r*ld+w.Cols], w.Row(r))
			}
			visit(host[at+w.Rows*ld:at+w.Rows*ld+w.Cols], net.Bias(l))
		}
	}
}

// scale returns σ_w/√d for the inputs of layer l, as package network does.
func (t *training) scale(l int) float32 {
	return float32(t.task.Networks[0].Architecture().SigmaW / math.Sqrt(float64(t.sizes[l])))
}

// layer describes layer l in the step of a mini-batch.
func (t *training) layer(l, batch int) layer {
	in, out := padded(t.sizes[l]), padded(t.sizes[l+1])
	y := layer{in: t.inputs[l], grad: t.grads[l], gradStride: int64(t.batch * out),
		inStride: int64(t.batch * in), outStride: int64(t.batch * out), belowStride: int64(t.batch * in),
		off:    int64(t.offsets[l]),
		inputs: int32(t.sizes[l]), outputs: int32(t.sizes[l+1]), ldIn: int32(in), ldOut: int32(out), scale: t.scale(l)}
	if l == 0 {
		y.rows, y.rowsStride, y.inStride = t.drawn+pointer(4*batch*t.batch), int64(t.used()), t.dataStride(t.rows, t.sizes[0])
	} else {
		y.below = t.grads[l-1]
		if t.keepSlopes {
			y.slopeBelow = t.slopes[l-1]
		}
	}
	if l+1 < t.layers() {
		y.out, y.next = t.inputs[l+1], t.scale(l+1)
		if t.keepSlopes {
			y.slope = t.slopes[l]
		}
	}
	return y
}

// recordEpoch launches everything that an epoch consists of.
func (t *training) recordEpoch() {
	for b := range t.batches {
		t.recordStep(b)
	}
	block := 0
	for from := 0; from < t.validRows; from += t.chunk {
		many := min(t.chunk, t.validRows-from)
		t.recordValidation(from, many, block)
		block += ceilDiv(many, headRows)
	}
	c := &t.course
	all := grid{x: min(ceilDiv(t.parameters(), 1024), 4*t.card.processors), y: t.many, threads: 256}
	t.launch("check_parameters", all, unsafe.Pointer(c))
	t.launch("judge_epoch", grid{x: t.many, threads: 256}, unsafe.Pointer(c))
	t.launch("keep_best", all, unsafe.Pointer(c))
}

// recordStep launches a step: forward, the last layer, backward, and Adam for all layers.
func (t *training) recordStep(b int) {
	last := t.layers() - 1
	layers := make([]layer, t.layers())
	for l := range layers {
		layers[l] = t.layer(l, b)
	}
	for l := range last {
		t.launchHidden(&layers[l], t.batch)
	}
	t.launchHead(&layers[last], &labels{y: t.y, stride: t.dataStride(t.rows, t.sizes[last+1]),
		rows: t.drawn + pointer(4*b*t.batch), rowsStride: int64(t.used()),
		factor: t.factors() + pointer(4*b), factorStride: int64(t.batches),
		squares: t.course.squares + pointer(8*b*t.blocks), squaresStride: int64(t.batches * t.blocks)}, t.batch)
	for l := last - 1; l > 0; l-- {
		y := &layers[l]
		g := t.tiled("backward", t.batch, int(y.inputs))
		t.launch(g.kernel, g.grid, unsafe.Pointer(y), unsafe.Pointer(&t.params), int32(t.batch))
	}
	t.launchLearn(layers, b)
}

func (t *training) launchHidden(y *layer, rows int) {
	a := t.task.Networks[0].Architecture()
	g := t.tiled("hidden", rows, int(y.outputs))
	t.launch(g.kernel, g.grid, unsafe.Pointer(y), unsafe.Pointer(&t.params), int32(rows),
		int32(a.Activation), float32(*a.SigmaB))
}

func (t *training) launchHead(y *layer, of *labels, rows int) {
	sigmaB := float32(*t.task.Networks[0].Architecture().SigmaB)
	t.launch("head", grid{x: ceilDiv(rows, headRows), y: t.many, threads: 32 * headRows}, unsafe.Pointer(y),
		unsafe.Pointer(&t.params), unsafe.Pointer(of), int32(rows), sigmaB)
}

// launchLearn launches the gradients and Adam of all layers. Those that would leave most of
// a large tile empty have smaller ones of their own.
func (t *training) launchLearn(layers []layer, b int) {
	tile := t.tileFor(func(tile int) int { return tilesOf(layers, tile) })
	groups := map[int]*learning{tile: {}, smallTile: {}}
	for _, y := range layers {
		own := tile
		if tiles := tilesOf([]layer{y}, tile); 2*y.inputs*y.outputs < int32(tiles*tile*tile) {
			own = smallTile
		}
		g := groups[own]
		g.layers[g.count] = y
		g.count++
		g.first[g.count] = g.first[g.count-1] + int32(tilesOf([]layer{y}, own))
	}
	h := t.task.Training
	constants := &adamConstants{float32(*h.Beta1), float32(1 - *h.Beta1), float32(*h.Beta2),
		float32(1 - *h.Beta2), float32(h.Eps)}
	sigmaB := float32(*t.task.Networks[0].Architecture().SigmaB)
	for tile, all := range groups {
		if all.count == 0 {
			continue
		}
		g := t.ofTile("learn", tile, int(all.first[all.count]))
		t.launch(g.kernel, g.grid, unsafe.Pointer(all), unsafe.Pointer(&t.params), int32(t.batch), sigmaB,
			unsafe.Pointer(constants), t.steps, t.course.epoch, int32(b), int32(t.batches))
	}
}

// tilesOf returns how many tiles the parameters of layers have.
func tilesOf(layers []layer, tile int) (n int) {
	for _, y := range layers {
		n += ceilDiv(int(y.inputs), tile) * ceilDiv(int(y.outputs), tile)
	}
	return n
}

// recordValidation launches the validation of some rows.
func (t *training) recordValidation(from, rows, block int) {
	in, stride := t.validX+pointer(4*from*padded(t.sizes[0])), t.dataStride(t.validRows, t.sizes[0])
	for l := range t.layers() {
		ldIn, ldOut := padded(t.sizes[l]), padded(t.sizes[l+1])
		y := &layer{in: in, inStride: stride, off: int64(t.offsets[l]),
			inputs: int32(t.sizes[l]), outputs: int32(t.sizes[l+1]), ldIn: int32(ldIn), ldOut: int32(ldOut), scale: t.scale(l)}
		if l == t.layers()-1 {
			t.launchHead(y, &labels{y: t.validY + pointer(4*from*ldOut), stride: t.dataStride(t.validRows, t.sizes[l+1]),
				squares: t.course.validSquares + pointer(8*block), squaresStride: int64(t.validBlocks)}, rows)
			return
		}
		y.out, y.outStride, y.next = t.validInputs[l%2], int64(t.chunk*ldOut), t.scale(l+1)
		t.launchHidden(y, rows)
		in, stride = y.out, y.outStride
	}
}

// tiledGrid is a kernel of products and its grid.
type tiledGrid struct {
	kernel string
	grid   grid
}

// tiled returns the kernel for a product with the given numbers of rows and columns.
func (t *training) tiled(kernel string, rows, cols int) tiledGrid {
	count := func(tile int) int { return ceilDiv(rows, tile) * ceilDiv(cols, tile) }
	tile := t.tileFor(count)
	return t.ofTile(kernel, tile, count(tile))
}

func (t *training) ofTile(kernel string, tile, tiles int) tiledGrid {
	name := fmt.Sprintf("%s_%d", kernel, tile)
	threads := 128
	if tile == 128 {
		threads = 256
	}
	return tiledGrid{name, grid{x: tiles, y: t.many, threads: threads, shared: sharedOf(name)}}
}

// forcedTile is set by tests.
var forcedTile int

// tileFor returns the largest tile that still fills the card. The result does not depend
// on it.
func (t *training) tileFor(count func(tile int) int) int {
	switch {
	case forcedTile > 0:
		return forcedTile
	case count(128)*t.many >= 3*t.card.processors/2 && sharedOf("backward_128") <= t.card.shared:
		return 128
	case count(64)*t.many >= t.card.processors:
		return 64
	}
	return smallTile
}

// sharedOf returns the shared memory that a kernel is launched with, where that is more
// than kernels have without asking. See Stage in kernels/training.cu.
func sharedOf(kernel string) int {
	const deep, pitch = 32, 36
	if kernel == "inner_products" {
		return 4 * 128 * pitch * 4
	}
	name, text, _ := strings.Cut(kernel, "_")
	shape, ok := map[string]struct{ tile, stages int }{"32": {32, 3}, "64": {64, 4}, "128": {128, 3}}[text]
	if !ok {
		return 0
	}
	along, across := shape.tile*pitch, deep*(shape.tile+8)
	switch name {
	case "hidden":
		return 4 * shape.stages * (along + across)
	case "backward":
		return 4 * shape.stages * 2 * along
	case "learn":
		return 4 * shape.stages * 2 * across
	}
	return 0
}

// startEpoch draws the orders of an epoch and starts it.
func (t *training) startEpoch(epoch int) {
	staged := t.staged[epoch%inFlight]
	workers := min(t.many, runtime.GOMAXPROCS(0))
	var wait sync.WaitGroup
	for w := range workers {
		wait.Go(func() {
			rows := make([]int, t.rows)
			for i := w; i < t.many; i += workers {
				t.task.Order(t.first+i, rows)
				t.stage(staged, i, rows)
			}
		})
	}
	wait.Wait()
	send(t.queue, t.drawn, staged)
	t.replay(t.exec)
	t.record(t.events[epoch%inFlight])
}

// stage writes the order of a network, and 2/n of its mini-batches.
func (t *training) stage(to []uint32, network int, rows []int) {
	order := to[network*t.used() : (network+1)*t.used()]
	for i := range order {
		order[i] = uint32(rows[i])
	}
	factors := to[t.many*t.used()+network*t.batches:][:t.batches]
	for b := range factors {
		factors[b] = math.Float32bits(float32(2 / float64(t.known(network, rows[b*t.batch:(b+1)*t.batch]))))
	}
}

// known counts the labels of rows that are not missing.
func (t *training) known(network int, rows []int) int {
	y := t.task.DataOf(t.first + network).Y
	if y.Cols == 1 {
		return len(rows)
	}
	n := 0
	for _, row := range rows {
		for _, v := range y.Row(row) {
			if v == v {
				n++
			}
		}
	}
	return n
}

// endEpoch waits for an epoch and reports it.
func (t *training) endEpoch(epoch int) {
	if t.await(t.events[epoch%inFlight]) != nil {
		return
	}
	found := t.reports[epoch%inFlight*t.many:][:t.many]
	list := make([]network.DeviceEpoch, t.many)
	for i, r := range found {
		list[i] = network.DeviceEpoch{Loss: r.loss, ValidRMSE: r.validRMSE, Diverged: r.diverged != 0}
	}
	if !t.task.Ended(t.first, epoch+1, list) {
		t.stopped = true
	}
}

// end frees what the training holds.
func (t *training) end() {
	t.dropGraph(t.exec)
	for _, e := range t.events {
		t.dropEvent(e)
	}
	t.close()
}
