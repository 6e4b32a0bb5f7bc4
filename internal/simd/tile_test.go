package simd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// TestMulTiles compares every micro-kernel of every set with a float64 triple loop,
// for all row and column counts and both element orders of A, with guard values
// around C.
func TestMulTiles(t *testing.T) {
	t.Run("float32", func(t *testing.T) { testMulTiles[float32](t, 1e-5) })
	t.Run("float64", func(t *testing.T) { testMulTiles[float64](t, 1e-13) })
}

func testMulTiles[T Float](t *testing.T, tol float64) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, s := range Available[T]() {
		t.Run(s.Name(), func(t *testing.T) {
			for rows := 1; rows <= s.TileRows(); rows++ {
				for cols := 1; cols <= 3*s.TileCols()+1; cols++ {
					k := r.IntN(12)
					c := newTileCase(s, r, rows, cols, k)
					c.check(t, s, tol)
				}
			}
		})
	}
}

type tileCase[T Float] struct {
	rows, cols, k, rs, ks, ldc int
	alpha, beta                T
	a, b, c                    []T
}

func newTileCase[T Float](s *Set[T], r *rand.Rand, rows, cols, k int) tileCase[T] {
	c := tileCase[T]{rows: rows, cols: cols, k: k, rs: k + r.IntN(4), ks: 1, ldc: cols + r.IntN(3)}
	if r.IntN(2) == 0 {
		c.rs, c.ks = 1, rows+r.IntN(4)
	}
	c.alpha = []T{1, -1, 0.5}[r.IntN(3)]
	c.beta = []T{0, 1, -0.25}[r.IntN(3)]
	if k > 0 {
		c.a = random[T](r, (rows-1)*c.rs+(k-1)*c.ks+1)
	}
	c.b = random[T](r, (cols+s.TileCols()-1)/s.TileCols()*s.TileCols()*k)
	c.c = random[T](r, (rows-1)*c.ldc+cols)
	return c
}

func (c tileCase[T]) check(t *testing.T, s *Set[T], tol float64) {
	t.Helper()
	got := guarded(c.c)
	if c.beta == 0 && c.rows > 0 {
		got.body[0] = T(math.NaN()) // must not be read
	}
	s.MulTiles(got.body, c.ldc, c.rows, c.cols, c.alpha, c.a, c.rs, c.ks, c.b, c.k, c.beta, Ahead{})
	got.check(t)
	for i := range c.rows {
		for j := range c.ldc {
			at := i*c.ldc + j
			if at >= len(c.c) {
				continue
			}
			want := float64(c.c[at])
			if j < c.cols {
				sum := 0.0
				for p := range c.k {
					sum += float64(c.a[i*c.rs+p*c.ks]) * float64(c.b[(j/s.TileCols()*c.k+p)*s.TileCols()+j%s.TileCols()])
				}
				want = float64(c.alpha) * sum
				if c.beta != 0 {
					want += float64(c.beta) * float64(c.c[at])
				}
			}
			if !(math.Abs(float64(got.body[at])-want) <= tol*(1+math.Abs(want))) {
				t.Fatalf("%d x %d, k = %d, rs %d, ks %d, ldc %d, beta %v: c[%d,%d] = %v, want %v",
					c.rows, c.cols, c.k, c.rs, c.ks, c.ldc, c.beta, i, j, got.body[at], want)
			}
		}
	}
}

// TestMulTilesNotFinite puts NaN and infinity into one element of A or B: it
// reaches its row or column of C and nothing else.
func TestMulTilesNotFinite(t *testing.T) {
	t.Run("float32", testMulTilesNotFinite[float32])
	t.Run("float64", testMulTilesNotFinite[float64])
}

func testMulTilesNotFinite[T Float](t *testing.T) {
	r := rand.New(rand.NewPCG(19, 20))
	for _, s := range Available[T]() {
		for rows := 1; rows <= s.TileRows(); rows++ {
			cols, k := 1+r.IntN(2*s.TileCols()), 1+r.IntN(9)
			c := newTileCase(s, r, rows, cols, k)
			c.rs, c.ks, c.alpha, c.beta = k, 1, 1, 0
			row, col, p := r.IntN(rows), r.IntN(cols), r.IntN(k)
			c.a = random[T](r, rows*k)
			for _, bad := range []float64{math.NaN(), math.Inf(1)} {
				inA, inB := append([]T(nil), c.a...), append([]T(nil), c.b...)
				inA[row*k+p] = T(bad)
				inB[(col/s.TileCols()*k+p)*s.TileCols()+col%s.TileCols()] = T(bad)
				gotA, gotB := make([]T, len(c.c)), make([]T, len(c.c))
				s.MulTiles(gotA, c.ldc, rows, cols, 1, inA, k, 1, c.b, k, 0, Ahead{})
				s.MulTiles(gotB, c.ldc, rows, cols, 1, c.a, k, 1, inB, k, 0, Ahead{})
				for i := range rows {
					for j := range cols {
						at := i*c.ldc + j
						if finite(gotA[at]) == (i == row) || finite(gotB[at]) == (j == col) {
							t.Fatalf("%s, %dx%dx%d, %v: c[%d,%d] = %v and %v", s.Name(), rows, k, cols, bad, i, j, gotA[at], gotB[at])
						}
					}
				}
			}
		}
	}
}

func finite[T Float](v T) bool { return v-v == 0 }

// TestMulTilesOutside passes strides that lead outside the slices, some of them
// only if the product does not overflow.
func TestMulTilesOutside(t *testing.T) {
	for _, s := range Available[float64]() {
		const rows, k = 3, 2
		nr := s.TileCols()
		a, b, c := make([]float64, rows*k), make([]float64, k*nr), make([]float64, rows*nr)
		run := func(ldc, cols, rs, ks, k int) func() {
			return func() { s.MulTiles(c, ldc, rows, cols, 1, a, rs, ks, b, k, 0, Ahead{}) }
		}
		run(nr, nr, k, 1, k)()
		for _, bad := range []int{-1, nr + 1, math.MaxInt/4 + 1, math.MaxInt/2 + 1, math.MaxInt} {
			mustPanic(t, fmt.Sprintf("%s, stride %d of c", s.Name(), bad), run(bad, nr, k, 1, k))
			mustPanic(t, fmt.Sprintf("%s, stride %d of a", s.Name(), bad), run(nr, nr, bad, 1, k))
			mustPanic(t, fmt.Sprintf("%s, step %d of a", s.Name(), bad), run(nr, nr, k, bad, k))
			mustPanic(t, fmt.Sprintf("%s, %d products", s.Name(), bad), run(nr, nr, 0, 0, bad))
		}
		mustPanic(t, s.Name()+", a column too many", run(nr, nr+1, k, 1, k))
		mustPanic(t, s.Name()+", a row too many", func() {
			most := s.TileRows() + 1
			s.MulTiles(make([]float64, most*nr), nr, most, nr, 1, make([]float64, most*k), k, 1, b, k, 0, Ahead{})
		})
		mustPanic(t, s.Name()+", a panel too wide",
			func() { s.PackPanel(make([]float64, 2*nr), make([]float64, 2*nr), nr+1, 1, nr+1) })
	}
}

// TestPackPanel compares both ways of packing with their definitions.
func TestPackPanel(t *testing.T) {
	t.Run("float32", testPackPanel[float32])
	t.Run("float64", testPackPanel[float64])
}

func testPackPanel[T Float](t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, s := range Available[T]() {
		for k := range 40 {
			for _, cols := range []int{1, s.TileCols() - 1, s.TileCols()} {
				t.Run(fmt.Sprintf("%s/k=%d/cols=%d", s.Name(), k, cols), func(t *testing.T) {
					nr, ld := s.TileCols(), cols+k+r.IntN(3)
					src := random[T](r, ld*(cols+k))
					plain, trans := guarded(make([]T, k*nr)), guarded(make([]T, k*nr))
					s.PackPanel(plain.body, src, ld, k, cols)
					s.PackPanelT(trans.body, src, ld, k, cols)
					plain.check(t)
					trans.check(t)
					for p := range k {
						for j := range nr {
							var wantPlain, wantTrans T
							if j < cols {
								wantPlain, wantTrans = src[p*ld+j], src[j*ld+p]
							}
							if plain.body[p*nr+j] != wantPlain || trans.body[p*nr+j] != wantTrans {
								t.Fatalf("row %d, column %d is wrong", p, j)
							}
						}
					}
				})
			}
		}
	}
}
