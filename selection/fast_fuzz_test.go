package selection

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection/internal/hardrows"
	"github.com/nextbatch/nextbatch/selection/internal/nearest"
	"github.com/nextbatch/nextbatch/selection/internal/space"
)

// forceFast has every bound used, whether it pays or not. Pieces of rows have fixed
// sizes; problems of more than 1024 rows have several of each but the largest kind.
func forceFast(t testing.TB) {
	wasPays, wasRows := nearest.Pays, space.LeastByteRows
	nearest.Pays.Work, nearest.Pays.Reads, space.LeastByteRows = 0, math.Inf(1), 0
	t.Cleanup(func() { nearest.Pays, space.LeastByteRows = wasPays, wasRows })
}

// fuzzed is a problem as bytes describe it.
type fuzzed struct {
	method, rows             uint8
	pool, train, cols, batch int
	seed                     uint64
	double, tp, limits       bool
	target                   uint8 // 0: none; 1: weights; 2: rows
	data                     []byte
}

// FuzzFastIsPlain compares every method with its plain version, with all bounds in
// use: picks, their scores and reasons, removals, fallbacks and errors are the same.
// The first features are taken from data, so that rows can be equal, collinear or of
// very different sizes.
func FuzzFastIsPlain(f *testing.F) {
	for method := range len(Methods()) {
		f.Add(uint8(method), uint8(method), uint16(150), uint8(40), uint8(70), uint8(12), uint64(method), uint8(1+method%2),
			[]byte{1, 2, 3, 1, 2, 3, 200})
	}
	f.Add(uint8(9), uint8(1), uint16(1300), uint8(60), uint8(100), uint8(30), uint64(1), uint8(2), []byte{})
	f.Add(uint8(2), uint8(4), uint16(1100), uint8(20), uint8(64), uint8(20), uint64(1), uint8(1),
		[]byte{0, 0, 0, 255, 255, 128})
	f.Fuzz(func(t *testing.T, method, rows uint8, pool uint16, train, cols, batch uint8, seed uint64,
		flags uint8, data []byte) {
		forceFast(t)
		z := fuzzed{method: method, rows: rows, pool: 1 + int(pool)%1300, train: int(train), cols: 1 + int(cols)%130,
			batch: 1 + int(batch)%48,
			seed:  seed, double: flags&1 != 0, tp: flags&2 != 0, limits: flags&4 != 0, target: flags >> 3 % 3, data: data}
		if z.double {
			mustBePlain[float64](t, z)
		} else {
			mustBePlain[float32](t, z)
		}
	})
}

func mustBePlain[T matrix.Float](t *testing.T, z fuzzed) {
	entries := Methods()
	entry := entries[int(z.method)%len(entries)]
	p := problemOf[T](z, entry)
	m := entry.New(Settings{Sigma2: 1e-3})
	got, gotErr := Select(t.Context(), m, p)
	p.Plain = true
	want, wantErr := Select(t.Context(), m, p)
	if (gotErr == nil) != (wantErr == nil) || gotErr != nil && gotErr.Error() != wantErr.Error() {
		t.Fatalf("%s: %v, plain %v", entry.Name, gotErr, wantErr)
	}
	if gotErr != nil {
		return
	}
	if !slices.Equal(got.Picks, want.Picks) || !slices.Equal(got.Removed, want.Removed) ||
		fmt.Sprint(got.Fallbacks, got.Notes, got.Missing, got.Short) != fmt.Sprint(want.Fallbacks, want.Notes,
			want.Missing, want.Short) {
		t.Fatalf("%s: %+v, plain %+v", entry.Name, got, want)
	}
}

// problemOf makes the problem.
func problemOf[T matrix.Float](z fuzzed, entry Entry) Problem[T] {
	kinds := hardrows.All()
	names := slices.Sorted(maps.Keys(kinds))
	kind := kinds[names[int(z.rows)%len(names)]]
	p := Problem[T]{Pool: hardrows.Matrix[T](kind, z.pool, z.cols, z.seed),
		Train: hardrows.Matrix[T](kind, z.train, z.cols, z.seed+1),
		Batch: z.batch, Seed: z.seed}
	for i, b := range z.data {
		if i < len(p.Pool.Data) {
			p.Pool.Data[i] = T(math.Ldexp(float64(int(b%16)-8), int(b/16)*4-32))
		}
	}
	if z.tp && z.train > 0 {
		p.Mode = TP
	}
	if entry.Aims {
		switch z.target {
		case 1:
			p.Aims.Weights = make([]float64, z.pool)
			for i := range p.Aims.Weights {
				p.Aims.Weights[i] = float64(1 + i%3)
			}
		case 2:
			p.Aims.Rows = hardrows.Matrix[T](kind, 1+z.train, z.cols, z.seed+2)
		}
	}
	if z.limits {
		p.Constraints = limitsOf(z)
	}
	return p
}

func limitsOf(z fuzzed) Constraints {
	r := rand.New(rand.NewPCG(z.seed, 3))
	c := Constraints{Cost: make([]float64, z.pool), Budget: float64(z.batch) / 2, Group: make([]int, z.pool),
		PerGroup: 1 + r.IntN(4)}
	for i := range z.pool {
		c.Cost[i], c.Group[i] = float64(r.IntN(10))/10, r.IntN(12)
		if r.IntN(20) == 0 {
			c.Exclude = append(c.Exclude, i)
		}
	}
	return c
}
