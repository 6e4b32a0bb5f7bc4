package transform

// The sketch of the leaf kernel. Its features are many and nearly all 0, so neither they nor
// a random matrix with a row for each are formed. Each leaf of each tree has one random place
// among the p features and a random sign, both from a hash (the count sketch), and a row adds
// up what its leaves have. The expected inner product of two rows is their kernel, with a
// variance no larger than that of a sketch by normal numbers.

import (
	"context"
	"math"
	"math/bits"

	"github.com/nextbatch/nextbatch/internal/kernels"
	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/program"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/matrix"
)

// hashed is the node of a leaf kernel. Its part holds the number of the leaf in each tree.
type hashed[T matrix.Float] struct {
	key   uint64
	p     int
	value T // of a leaf
}

func (d drawing[T]) hashed(f kernels.SameLeaf[T], factor float64) node[T] {
	if d.from == nil {
		panic(rng.NilError{Op: "transform"})
	}
	key := mixed(math.Float64bits(d.from.NormFloat64())) ^ math.Float64bits(d.from.NormFloat64())
	return hashed[T]{key: key, p: d.p, value: T(factor / math.Sqrt(float64(len(f.Sizes))))}
}

// place returns the feature of a leaf, and its value.
func (n hashed[T]) place(tree, leaf int) (int, T) {
	h := mixed(n.key + mixed(uint64(tree)<<32|uint64(leaf)))
	at, _ := bits.Mul64(h, uint64(n.p)) // from the upper bits
	if h&1 == 0 {
		return int(at), -n.value
	}
	return int(at), n.value
}

// mixed is a bijection of 64 bits that changes half of them for each one that differs
// (SplitMix64).
func mixed(v uint64) uint64 {
	v += 0x9e3779b97f4a7c15
	v = (v ^ v>>30) * 0xbf58476d1ce4e5b9
	v = (v ^ v>>27) * 0x94d049bb133111eb
	return v ^ v>>31
}

func (n hashed[T]) sketch(ctx context.Context, _ *sketch[T], dst matrix.Dense[T], parts []matrix.Dense[T],
	add bool, _ int) error {
	linalg.TeamOf(ctx).Run(dst.Rows, &hashJob[T]{n, dst, parts[0], add})
	return nil
}

// describe reports that only the CPU computes it.
func (n hashed[T]) describe(*program.Program, program.Value, []program.Value, program.Value, bool) bool {
	return false
}

// hashJob adds up the leaves of rows. Each of its parts is one row.
type hashJob[T matrix.Float] struct {
	node        hashed[T]
	dst, leaves matrix.Dense[T]
	add         bool
}

func (j *hashJob[T]) Do(i, _ int) {
	dst := j.dst.Row(i)
	if !j.add {
		clear(dst)
	}
	for tree, leaf := range j.leaves.Row(i) {
		at, value := j.node.place(tree, int(leaf))
		dst[at] += value
	}
}
