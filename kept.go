package nextbatch

// Features that are kept from one selection to the next. What a network and a sketch compute
// from a row depends on that row alone, and it does so to the last bit, in whatever blocks the
// rows come (Model, kernel.FeatureMap). So a pool that gains rows needs only those of the new
// ones. Rows are found by their inputs, as the network sees them: if the scaling changes, or
// a category gets another level, they are other rows. Transformations that are fitted on
// labelled rows come after what is kept.

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/maphash"
	"sync"
	"unsafe"

	"github.com/nextbatch/nextbatch/forecast"
	"github.com/nextbatch/nextbatch/internal/footprint"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/spec"
)

// KeptFeatures keeps the features of rows in memory, for selections that use the same
// networks, kernel and seed. Those of other networks take their place. The zero value is
// empty and ready to use. It may be used from several goroutines: while one selection uses
// it, others compute all features themselves.
type KeptFeatures struct {
	Limit int64 // most bytes that it takes; 0 means as many as the rows need

	// File, unless empty, is the path of what Write has written, in an earlier process for
	// instance. A selection finds the features in it if they are those of the same networks,
	// kernel and seed, and of the same Program, which stands for everything else that their bits
	// depend on: the build and its instruction set. A file that is absent, damaged or of
	// another kind has no effect.
	File, Program string

	inUse  sync.Mutex // held by the selection that uses it
	key    string
	inputs int // of a row
	width  int // of a row: its inputs, then what was computed from them
	seed   maphash.Seed
	index  map[uint64]int32 // by the hash of the inputs
	parts  []matrix.Dense[float32]
	rows   int
	fresh  int  // rows that were neither read nor written
	full   bool // the limit kept rows out

	mu               sync.Mutex
	reused, computed int64
}

// UsualKept is a limit for programs that keep features beside other work: those of half a
// million rows with the usual sketch.
const UsualKept = 1 << 30

// keptPart is the number of rows that memory is allocated for at a time.
const keptPart = 1 << 10

// Counts returns for how many rows features were found, and for how many they were
// computed, in all selections so far.
func (k *KeptFeatures) Counts() (reused, computed int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.reused, k.computed
}

func (k *KeptFeatures) count(reused, computed int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.reused, k.computed = k.reused+int64(reused), k.computed+int64(computed)
}

// Clear frees the memory, unless a selection is using it.
func (k *KeptFeatures) Clear() {
	if k.inUse.TryLock() {
		k.reset("", 0, 0)
		k.inUse.Unlock()
	}
}

func (k *KeptFeatures) reset(key string, inputs, width int) {
	k.key, k.inputs, k.width, k.rows, k.parts = key, inputs, width, 0, nil
	k.seed, k.index = maphash.MakeSeed(), map[uint64]int32{}
	k.fresh, k.full = 0, false
}

// take lets a selection use what is kept under a key, for rows of this width, and reports
// whether it may. The selection unlocks inUse.
func (k *KeptFeatures) take(key string, inputs, width int) bool {
	if !k.inUse.TryLock() {
		return false
	}
	if k.key != key || k.inputs != inputs || k.width != width {
		k.reset(key, inputs, width)
		if k.load() != nil {
			k.reset(key, inputs, width) // what the file lacks is computed
		}
	}
	return true
}

// row returns a kept row.
func (k *KeptFeatures) row(at int32) []float32 { return k.parts[at/keptPart].Row(int(at % keptPart)) }

// find returns what was computed from inputs, or nil.
func (k *KeptFeatures) find(inputs []float32) []float32 {
	at, known := k.index[maphash.Bytes(k.seed, bits(inputs))]
	if !known {
		return nil
	}
	row := k.row(at)
	if !bytes.Equal(bits(row[:len(inputs)]), bits(inputs)) {
		return nil // another row with the same hash
	}
	return row[len(inputs):]
}

// add returns where to write what is computed from inputs, or nil if it is not kept.
func (k *KeptFeatures) add(inputs []float32) []float32 {
	hash := maphash.Bytes(k.seed, bits(inputs))
	if _, taken := k.index[hash]; taken {
		return nil
	}
	if k.rows == len(k.parts)*keptPart && !k.grow() {
		return nil
	}
	row := k.row(int32(k.rows))
	copy(row, inputs)
	k.index[hash] = int32(k.rows)
	k.rows++
	k.fresh++
	return row[len(inputs):]
}

// grow allocates memory for keptPart more rows, unless that would exceed the limit.
func (k *KeptFeatures) grow() bool {
	if k.full = k.Limit > 0 && keptBytes(k.rows+keptPart, k.width) > k.Limit; k.full {
		return false
	}
	k.parts = append(k.parts, matrix.New[float32](keptPart, k.width))
	return true
}

// bits returns the bytes of numbers.
func bits(row []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(row))), len(row)*4)
}

// keptBytes is the memory of so many kept rows.
func keptBytes(rows, width int) int64 {
	const entry = 32 // of the index
	return footprint.Bytes(float64(rows) * (float64(width)*4 + entry))
}

// keptMemory forecasts the memory of the features that a request keeps.
func (r *Request) keptMemory(z forecast.Sizes) int64 {
	s := r.Spec
	first, ok := keptTransforms(s)
	if !ok {
		return 0
	}
	s.Transforms = s.Transforms[:first]
	width, _ := forecast.Width(s, z)
	width += z.Inputs
	need := keptBytes(max(z.Train+z.Pool+z.Aims, r.Kept.rowsInFile(width))+keptPart, width)
	if r.Kept.Limit > 0 {
		need = min(need, r.Kept.Limit)
	}
	return need
}

// keptTransforms returns how many of the first transformations of a spec depend on the
// networks and the seed alone, and whether what they give is kept: the features of one kernel
// that is computed in float32.
func keptTransforms(s spec.Spec) (n int, ok bool) {
	if s.TrainedNetworks() == 0 || s.Kernel.Info().Train || s.Kernel.Info().Labels || s.Double() && !s.SketchesInSingle() {
		return 0, false
	}
	merged := s.Members() == 1
	for n < s.SinglePart() && !s.Transforms[n].Info().Train && !s.Transforms[n].Info().Labels {
		merged = merged || s.Transforms[n].Info().Ensemble
		n++
	}
	return n, merged
}

// inSingle returns the kernels of the spec in float32, after the first transforms
// transformations. What depends on the networks and the seed alone is kept, if the problem
// asks for it.
func (c *composer) inSingle(transforms int) ([]kernel.Kernel[float32], error) {
	first, ok := keptTransforms(c.spec)
	if c.kept == nil || !ok {
		return transformed(c, c.base32, makeSingle, transforms)
	}
	members, err := transformed(c, c.base32, makeSingle, first)
	if err != nil {
		return nil, err
	}
	e, f := kernel.Decompose(members[0])
	width := e.Inputs()
	for _, w := range e.Widths() {
		width += w
	}
	key := fmt.Sprint(c.problem.Networks, " ", c.spec.Kernel, c.spec.Transforms[:first], c.spec.Compat, c.problem.kernelSeed())
	if c.kept.take(key, e.Inputs(), width) {
		c.release = c.kept.inUse.Unlock
		members[0] = kernel.Compose[float32](&keptEmbedding{Embedding: e, kept: c.kept, count: &c.embedding, members: c.spec.Members()}, f)
	}
	return apply(c, members, makeSingle, first, transforms)
}

// keptEmbedding is an embedding whose parts are kept.
type keptEmbedding struct {
	kernel.Embedding[float32]
	kept    *KeptFeatures
	count   *embedding
	members int // networks that a row goes through
	rows    kernel.Scratch[float32]
	parts   []kernel.Scratch[float32]
}

// Describe describes the embedding itself: a device computes all features.
func (e *keptEmbedding) Describe(p *kernel.Program, rows kernel.Value) ([]kernel.Value, bool) {
	return kernel.DescribeEmbedding(p, e.Embedding, rows)
}

func (e *keptEmbedding) Embed(ctx context.Context, rows matrix.Dense[float32]) ([]matrix.Dense[float32], error) {
	found, missing := make([][]float32, rows.Rows), make([]int, 0, rows.Rows)
	for i := range found {
		if found[i] = e.kept.find(rows.Row(i)); found[i] == nil {
			missing = append(missing, i)
		}
	}
	computed, err := e.compute(ctx, rows, missing)
	if err != nil {
		return nil, err
	}
	e.kept.count(rows.Rows-len(missing), len(missing))
	if len(missing) == rows.Rows {
		return computed, nil
	}
	e.count.passed((rows.Rows - len(missing)) * e.members)
	return e.joined(found, missing, computed), nil
}

// compute returns the parts of some of the rows, and keeps them.
func (e *keptEmbedding) compute(ctx context.Context, rows matrix.Dense[float32], which []int) ([]matrix.Dense[float32], error) {
	if len(which) == 0 {
		return nil, nil
	}
	some := rows
	if len(which) < rows.Rows {
		some = e.rows.Matrix(len(which), rows.Cols)
		for i, row := range which {
			copy(some.Row(i), rows.Row(row))
		}
	}
	parts, err := e.Embedding.Embed(ctx, some)
	if err != nil && some.Rows < rows.Rows {
		return e.Embedding.Embed(ctx, rows) // whose error counts rows from the start of the block
	}
	if err != nil {
		return nil, err
	}
	for i := range some.Rows {
		dst := e.kept.add(some.Row(i))
		for _, part := range parts {
			if dst != nil {
				dst = dst[copy(dst, part.Row(i)):]
			}
		}
	}
	return parts, nil
}

// joined returns the parts of all rows of a block: those that were found, and those of the
// missing rows.
func (e *keptEmbedding) joined(found [][]float32, missing []int, computed []matrix.Dense[float32]) []matrix.Dense[float32] {
	widths := e.Widths()
	if e.parts == nil {
		e.parts = make([]kernel.Scratch[float32], len(widths))
	}
	parts, from := make([]matrix.Dense[float32], len(widths)), 0
	for p, width := range widths {
		parts[p] = e.parts[p].Matrix(len(found), width)
		for i, row := range found {
			if row != nil {
				copy(parts[p].Row(i), row[from:from+width])
			}
		}
		for i, row := range missing {
			copy(parts[p].Row(row), computed[p].Row(i))
		}
		from += width
	}
	return parts
}

// nameOf identifies a model and the weights of its targets by all their bits; empty if the
// model cannot be written.
func nameOf(m *network.Model, weights []float64) string {
	raw, err := m.MarshalBinary()
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(fmt.Append(raw, weights))
	return hex.EncodeToString(sum[:])
}
