// Package kept keeps features from one selection to the next. What a network and a sketch compute
// from a row depends on that row alone, and it does so to the last bit, in whatever blocks the
// rows come (nextbatch.Model, kernel.FeatureMap). So a pool that gains rows needs only those of the new
// ones. Rows are found by their inputs, as the network sees them: if the scaling changes, or
// a category gets another level, they are other rows. Transformations that are fitted on
// labelled rows come after what is kept.
package kept

import (
	"bytes"
	"hash/maphash"
	"sync"
	"unsafe"

	"github.com/nextbatch/nextbatch/internal/footprint"
	"github.com/nextbatch/nextbatch/matrix"
)

// Features keeps the features of rows in memory, for selections that use the same
// networks, kernel and seed. Those of other networks take their place. The zero value is
// empty and ready to use. It may be used from several goroutines: while one selection uses
// it, others compute all features themselves.
type Features struct {
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

// UsualLimit is a limit for programs that keep features beside other work: those of half a
// million rows with the usual sketch.
const UsualLimit = 1 << 30

// partRows is the number of rows that memory is allocated for at a time.
const partRows = 1 << 10

// Counts returns for how many rows features were found, and for how many they were
// computed, in all selections so far.
func (k *Features) Counts() (reused, computed int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.reused, k.computed
}

func (k *Features) count(reused, computed int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.reused, k.computed = k.reused+int64(reused), k.computed+int64(computed)
}

// Clear frees the memory, unless a selection is using it.
func (k *Features) Clear() {
	if k.inUse.TryLock() {
		k.reset("", 0, 0)
		k.inUse.Unlock()
	}
}

func (k *Features) reset(key string, inputs, width int) {
	k.key, k.inputs, k.width, k.rows, k.parts = key, inputs, width, 0, nil
	k.seed, k.index = maphash.MakeSeed(), map[uint64]int32{}
	k.fresh, k.full = 0, false
}

// take lets a selection use what is kept under a key, for rows of this width, and reports
// whether it may. The selection unlocks inUse.
func (k *Features) take(key string, inputs, width int) bool {
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
func (k *Features) row(at int32) []float32 { return k.parts[at/partRows].Row(int(at % partRows)) }

// find returns what was computed from inputs, or nil.
func (k *Features) find(inputs []float32) []float32 {
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
func (k *Features) add(inputs []float32) []float32 {
	hash := maphash.Bytes(k.seed, bits(inputs))
	if _, taken := k.index[hash]; taken {
		return nil
	}
	if k.rows == len(k.parts)*partRows && !k.grow() {
		return nil
	}
	row := k.row(int32(k.rows))
	copy(row, inputs)
	k.index[hash] = int32(k.rows)
	k.rows++
	k.fresh++
	return row[len(inputs):]
}

// grow allocates memory for partRows more rows, unless that would exceed the limit.
func (k *Features) grow() bool {
	if k.full = k.Limit > 0 && bytesOf(k.rows+partRows, k.width) > k.Limit; k.full {
		return false
	}
	k.parts = append(k.parts, matrix.New[float32](partRows, k.width))
	return true
}

// bits returns the bytes of numbers.
func bits(row []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(row))), len(row)*numberBytes)
}

// numberBytes is the size of a number.
const numberBytes = 4

// bytesOf is the memory of kept rows.
func bytesOf(rows, width int) int64 {
	const entry = 32 // of the index
	return footprint.Bytes(float64(rows) * (float64(width)*numberBytes + entry))
}
