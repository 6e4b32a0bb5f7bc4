package space

import (
	"math"
	"slices"
	"testing"

	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/matrix"
)

// TestSumsOverShards adds up a pool shard by shard, cut at multiples of blocks: the
// moments of BAIT, weighted and conditioned, and the sums of FrankWolfe.
func TestSumsOverShards(t *testing.T) {
	pool, root := matrix.New[float64](2*sumBlock+77, 6), matrix.New[float64](6, 6)
	weights64 := make([]float64, pool.Rows)
	for i, v := range [][]float64{pool.Data, root.Data, weights64} {
		rng.FillNormal(rng.New(uint64(i), "blocks test"), v)
	}
	for i, v := range weights64 {
		weights64[i] = math.Abs(v)
	}
	s := mustSpace(t, Source[float64]{Pool: pool})
	for name, a := range map[string]matrix.Dense[float64]{"features": {}, "posterior features": root} {
		for _, weights := range [][]float64{nil, weights64} {
			whole, shards := matrix.New[float64](6, 6), matrix.New[float64](6, 6)
			addMoments(s, whole, exactRows(pool), weights, a)
			eachShard(pool.Rows, func(from, to int) {
				var part []float64
				if weights != nil {
					part = weights[from:to]
				}
				addMoments(s, shards, exactRows(pool.Slice(from, to)), part, a)
			})
			if !slices.Equal(whole.Data, shards.Data) {
				t.Errorf("moments of %s, weighted %v: %v, over shards %v", name, weights != nil, whole.Data, shards.Data)
			}
		}
	}
	sums := func(u []float64, r float64, from, to int) float64 {
		directions, err := newMemoryRows(s, &set[float64]{rows: pool.Slice(from, to),
			diag: s.pool.diag[from:to]}, nil).Directions()
		must(t, err)
		return directions.Sums(u, r)
	}
	u, uShards, rShards := make([]float64, 6), make([]float64, 6), 0.0
	r := sums(u, 0, 0, pool.Rows)
	eachShard(pool.Rows, func(from, to int) { rShards = sums(uShards, rShards, from, to) })
	if r != rShards || !slices.Equal(u, uShards) {
		t.Errorf("FrankWolfe's sums: %v %v, over shards %v %v", r, u, rShards, uShards)
	}
}

func eachShard(n int, visit func(from, to int)) {
	cuts := []int{0, sumBlock, n}
	for i, from := range cuts[:len(cuts)-1] {
		visit(from, cuts[i+1])
	}
}
