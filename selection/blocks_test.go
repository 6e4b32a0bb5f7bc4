package selection

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/place"
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
)

// blockProblem has two whole blocks of pool rows and part of a third, and weights
// for the methods that take them: their sums round.
func blockProblem(e Entry) Problem[float64] {
	r := rand.New(rand.NewPCG(1, 2))
	normal := func(rows int) matrix.Dense[float64] {
		m := matrix.New[float64](rows, 6)
		for i := range m.Data {
			m.Data[i] = r.NormFloat64()
		}
		return m
	}
	p := Problem[float64]{Pool: normal(2*place.Block + 3000), Train: normal(40), Mode: TP, Batch: 8, Seed: 3}
	if e.Aims {
		p.Aims.Weights = make([]float64, p.Pool.Rows)
		for i := range p.Aims.Weights {
			p.Aims.Weights[i] = r.Float64()
		}
	}
	return p
}

// frozenSums are what TestFrozenSums hashes, for each set of vector loops: change the
// code, not the table.
var frozenSums = map[string]map[string]uint64{
	"go": {
		"random": 0x125b7ca21aa65893, "maxdiag": 0xe824608e728d7189, "maxdet": 0x37fb1cb63c8d09c2,
		"bait-f": 0x724735e52bcb0a6c, "bait-fb": 0x7f0fc057bc066bf1, "frankwolfe": 0x832a5cd517caab43,
		"maxdist": 0xd80d084616421272, "kmeanspp": 0x34c2c7515f2f9312, "greedy-kmeanspp": 0x9c95b6b881b58d02,
		"lcmd": 0xc2650d1b21ff79b2, "lcmd-dist": 0x2a33cc6082ce8226, "lcmd-count": 0xd5ce96ac3fa27e04,
	},
	"avx2": {
		"random": 0x125b7ca21aa65893, "maxdiag": 0xf8285a17d97d00a0, "maxdet": 0x6f6ec9d4edc1772,
		"bait-f": 0x4ada8a1f421ffadb, "bait-fb": 0xf890c599327d8224, "frankwolfe": 0x43ade1f456413548,
		"maxdist": 0x3ca4c9f84c901fd5, "kmeanspp": 0x68ec004e6775cf58, "greedy-kmeanspp": 0xc55f9d954573fb37,
		"lcmd": 0x44c756dc0d8abff0, "lcmd-dist": 0x7e0cb7707552efa2, "lcmd-count": 0x74b00a35c3272ecb,
	},
	"avx512": {
		"random": 0x125b7ca21aa65893, "maxdiag": 0x519f0a1a898aa0f5, "maxdet": 0x3c4771c6d6807ce4,
		"bait-f": 0x55d6fb0581340a69, "bait-fb": 0x83907b684141285b, "frankwolfe": 0xb39a060459f419f7,
		"maxdist": 0x7d0401c7ae0f37e0, "kmeanspp": 0x47035701c258c1f9, "greedy-kmeanspp": 0xec2c4fc7f96cfa0,
		"lcmd": 0x44d5656e7d058ccc, "lcmd-dist": 0x6b30703c49f04fa7, "lcmd-count": 0x90dcdaef76726a49,
	},
}

// TestFrozenSums freezes the batches of a pool of several blocks, with the bits of
// scores and sizes of clusters.
func TestFrozenSums(t *testing.T) {
	set := simd.For[float64]().Name()
	if set == "amx" {
		set = "avx512" // selection uses no split products, which are all that amx adds
	}
	if runtime.GOARCH != "amd64" && set == "go" {
		t.Skip("the compiler may fuse multiplications and additions here")
	}
	for _, e := range Methods() {
		p := blockProblem(e)
		m := e.New(Settings{Sigma2: 1e-3})
		want, frozen := frozenSums[set][e.Name]
		if !frozen {
			t.Errorf("%s, %s: nothing is frozen", set, e.Name)
		}
		for threads := range 3 {
			got, err := Select(linalg.WithThreads(t.Context(), threads), m, p)
			must(t, err)
			if hash := hashOf(got); hash != want {
				t.Errorf("%s, %s, %d threads: %#x, frozen %#x", set, e.Name, threads, hash, want)
			}
		}
	}
}

func hashOf(r *Result) uint64 {
	h := fnv.New64a()
	add := func(v uint64) { _ = binary.Write(h, binary.LittleEndian, v) }
	for _, p := range r.Picks {
		add(uint64(p.Row))
		add(math.Float64bits(p.Score))
		add(math.Float64bits(p.Cluster.Size))
		add(uint64(p.Cluster.Rows))
	}
	return h.Sum64()
}

// TestClusterSizesAreSumsOfBlocks compares the sizes in results with sums that follow
// the definition, row by row.
func TestClusterSizesAreSumsOfBlocks(t *testing.T) {
	for _, name := range []string{"lcmd", "maxdist", "kmeanspp", "lcmd-dist"} {
		t.Run(name, func(t *testing.T) {
			entries := Methods()
			e := entries[slices.IndexFunc(entries, func(e Entry) bool { return e.Name == name })]
			p := blockProblem(e)
			r, err := Select(t.Context(), e.New(Settings{}), p)
			must(t, err)
			for i, pick := range r.Picks {
				if got, want := pick.Cluster.Size, sizeOf(t, p, r.Rows()[:i], pick.Cluster.Centre,
					name == "lcmd-dist"); got != want {
					t.Fatalf("the cluster of pick %d has the size %v, by the definition %v", i, got, want)
				}
			}
		})
	}
}

// sizeOf is the size of the cluster around a centre when rows have been selected.
func sizeOf(t *testing.T, p Problem[float64], selected []int, centre Centre, roots bool) float64 {
	centres := p.Train.Clone()
	all := matrix.New[float64](centres.Rows+len(selected), centres.Cols)
	copy(all.Data, centres.Data)
	for i, row := range selected {
		copy(all.Row(centres.Rows+i), p.Pool.Row(row))
	}
	at := centre.Row
	if centre.Set == PoolSet {
		at = centres.Rows + slices.Index(selected, centre.Row)
	}
	if at < 0 {
		t.Fatal(fmt.Sprint("no centre ", centre))
	}
	total, block, dist := 0.0, 0.0, make([]float64, all.Rows)
	for row := range p.Pool.Rows {
		if row%place.Block == 0 {
			total, block = total+block, 0
		}
		simd.For[float64]().SqDistRows(dist, p.Pool.Row(row), all.Data, all.Stride)
		nearest := 0
		for j, d := range dist {
			if d < dist[nearest] {
				nearest = j
			}
		}
		if nearest != at || slices.Contains(selected, row) {
			continue
		}
		d, weight := dist[nearest], 1.0
		if roots {
			d = math.Sqrt(d)
		}
		if p.Aims.Weights != nil {
			weight = p.Aims.Weights[row]
		}
		block += weight * d
	}
	return total + block
}
