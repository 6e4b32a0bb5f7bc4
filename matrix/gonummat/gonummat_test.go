package gonummat_test

import (
	"fmt"
	"reflect"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/matrix/gonummat"
)

var (
	_ mat.Matrix = gonummat.View[float32]{}
	_ mat.Matrix = gonummat.View[float64]{}
)

// strided returns a 3 x 4 view inside a larger matrix of distinct numbers that
// float32 holds exactly.
func strided[T matrix.Float]() matrix.Dense[T] {
	d := matrix.New[T](5, 9)
	for i := range d.Data {
		d.Data[i] = T(i) / 8
	}
	return d.Block(1, 4, 2, 6)
}

func caught(f func()) (value any) {
	defer func() { value = recover() }()
	f()
	return nil
}

func TestOf(t *testing.T) {
	t.Run("float32", testOf[float32])
	t.Run("float64", testOf[float64])
}

func testOf[T matrix.Float](t *testing.T) {
	d := strided[T]()
	v := gonummat.Of(d)
	if rows, cols := v.Dims(); rows != 3 || cols != 4 {
		t.Fatalf("%d x %d", rows, cols)
	}
	if rows, cols := v.T().Dims(); rows != 4 || cols != 3 {
		t.Fatalf("transposed: %d x %d", rows, cols)
	}
	d.Set(2, 1, 77)
	for i := range 3 {
		for j := range 4 {
			if want := float64(d.At(i, j)); v.At(i, j) != want || v.T().At(j, i) != want {
				t.Errorf("element %d, %d is %v, transposed %v, want %v", i, j, v.At(i, j), v.T().At(j, i), want)
			}
		}
	}
	for _, test := range []struct {
		i, j int
		want error
	}{{-1, 0, mat.ErrRowAccess}, {3, 0, mat.ErrRowAccess}, {0, -1, mat.ErrColAccess}, {0, 4, mat.ErrColAccess}} {
		if got := caught(func() { v.At(test.i, test.j) }); got != test.want {
			t.Errorf("At(%d, %d): panic value %v, want %v", test.i, test.j, got, test.want)
		}
	}
}

func TestGonumCalculatesWithViews(t *testing.T) {
	a, b := strided[float32](), strided[float64]()
	var got mat.Dense
	got.Mul(gonummat.Of(a), gonummat.Of(b).T())
	for i := range 3 {
		for j := range 3 {
			want := 0.0
			for k := range 4 {
				want += float64(a.At(i, k)) * b.At(j, k)
			}
			if got.At(i, j) != want {
				t.Errorf("element %d, %d is %v, want %v", i, j, got.At(i, j), want)
			}
		}
	}
}

func TestShareIsTheSameMemory(t *testing.T) {
	d := strided[float64]()
	outside := d.Data[4] // after the first row, before the second
	s := gonummat.Share(d)
	if !mat.Equal(s, gonummat.Of(d)) {
		t.Errorf("%v", mat.Formatted(s))
	}
	s.Set(2, 3, 77)
	if d.At(2, 3) != 77 {
		t.Error("gonum wrote to a copy")
	}
	s.Scale(2, s)
	if d.Data[4] != outside {
		t.Error("gonum wrote between the rows")
	}
	d.Set(0, 0, 5)
	if s.At(0, 0) != 5 {
		t.Error("gonum reads a copy")
	}
	if n := len(s.RawMatrix().Data); n != 2*9+4 {
		t.Errorf("gonum sees %d elements", n)
	}
}

func TestShareOfEmptyMatrices(t *testing.T) {
	if s := gonummat.Share(matrix.Dense[float64]{}); !s.IsEmpty() {
		t.Error("0x0 is not empty")
	}
	for _, d := range []matrix.Dense[float64]{matrix.New[float64](3, 0), matrix.New[float64](0, 3)} {
		if got := caught(func() { gonummat.Share(d) }); got != mat.ErrZeroLength {
			t.Errorf("%v: panic value %v", d.Shape(), got)
		}
	}
}

// element hides every fast path.
type element struct{ mat.Matrix }

func TestFromEveryKindOfMatrix(t *testing.T) {
	t.Run("float32", testFrom[float32])
	t.Run("float64", testFrom[float64])
}

func testFrom[T matrix.Float](t *testing.T) {
	sources := map[string]mat.Matrix{
		"view of float32":    gonummat.Of(strided[float32]()),
		"view of float64":    gonummat.Of(strided[float64]()),
		"shared":             gonummat.Share(strided[float64]()),
		"part of a Dense":    gonummat.Share(strided[float64]()).Slice(1, 3, 1, 4),
		"transposed view":    gonummat.Of(strided[float32]()).T(),
		"transposed Dense":   gonummat.Share(strided[float64]()).T(),
		"element by element": element{gonummat.Of(strided[float64]())},
		"vector":             mat.NewVecDense(3, []float64{1, 2, 4}),
		"symmetric":          mat.NewSymDense(2, []float64{1, 2, -9, 4}),
		"triangular":         mat.NewTriDense(2, mat.Upper, []float64{1, 2, -9, 4}),
		"no columns":         gonummat.Of(matrix.New[float32](3, 0)),
		"empty":              new(mat.Dense),
	}
	for name, m := range sources {
		got := gonummat.From[T](m)
		got.MustBeValid(name)
		if rows, cols := m.Dims(); got.Rows != rows || got.Cols != cols {
			t.Errorf("%s: %v, want %dx%d", name, got.Shape(), rows, cols)
			continue
		}
		for i := range got.Rows {
			for j := range got.Cols {
				if got.At(i, j) != T(m.At(i, j)) {
					t.Errorf("%s: element %d, %d is %v, want %v", name, i, j, got.At(i, j), m.At(i, j))
				}
			}
		}
	}
}

func TestFromRoundsToFloat32(t *testing.T) {
	m := mat.NewDense(1, 1, []float64{1.0 / 3})
	if got := gonummat.From[float32](m).At(0, 0); got != float32(1.0/3) {
		t.Errorf("got %v", got)
	}
}

func TestCopy(t *testing.T) {
	whole := matrix.New[float64](5, 6)
	before := whole.Clone()
	dst := whole.Block(1, 4, 1, 5)
	gonummat.Copy(dst, gonummat.Of(strided[float32]()))
	for i := range 5 {
		for j := range 6 {
			inside := i >= 1 && i < 4 && j >= 1 && j < 5
			if inside == (whole.At(i, j) == before.At(i, j)) {
				t.Errorf("element %d, %d is %v", i, j, whole.At(i, j))
			}
		}
	}
	want := matrix.ShapeError{Op: "gonummat.Copy", Got: matrix.Shape{Rows: 4, Cols: 3},
		Want: matrix.Shape{Rows: 3, Cols: 4}}
	if got := caught(func() { gonummat.Copy(dst, gonummat.Of(strided[float32]()).T()) }); !reflect.DeepEqual(got, want) {
		t.Errorf("panic value %v, want %v", got, want)
	}
}

func TestCopyOntoItself(t *testing.T) {
	d := strided[float64]()
	want := d.Clone()
	gonummat.Copy(d, gonummat.Share(d))
	if !reflect.DeepEqual(d.Clone(), want) {
		t.Errorf("got %v, want %v", d.Clone(), want)
	}
}

func TestViewsBeyondTheirDataAreRefused(t *testing.T) {
	bad := matrix.Dense[float64]{Rows: 2, Cols: 2, Stride: 2, Data: make([]float64, 3)}
	for op, f := range map[string]func(){
		"gonummat.Of":    func() { gonummat.Of(bad) },
		"gonummat.Share": func() { gonummat.Share(bad) },
		"gonummat.Copy":  func() { gonummat.Copy(bad, mat.NewDense(2, 2, nil)) },
	} {
		want := matrix.LayoutError{Op: op, Shape: bad.Shape(), Stride: 2, Len: 3}
		if got := caught(f); !reflect.DeepEqual(got, want) {
			t.Errorf("panic value %v, want %v", got, want)
		}
	}
}

func Example() {
	d := matrix.FromRows([][]float64{{2, 1}, {1, 3}})

	// Gonum solves in the memory of d: nothing is copied.
	var solution mat.VecDense
	if err := solution.SolveVec(gonummat.Share(d), mat.NewVecDense(2, []float64{5, 10})); err != nil {
		fmt.Println(err)
		return
	}
	x := gonummat.From[float32](&solution)
	fmt.Println(x.Shape(), x.Data)
	// Output: 2x1 [1 3]
}
