package matrix_test

import (
	"fmt"
	"math"
	"reflect"
	"testing"

	"github.com/nextbatch/nextbatch/matrix"
)

const guard = -999

// padded returns a view of numbers i·100 + j with the given stride, inside data
// whose other elements are guards.
func padded[T matrix.Float](rows, cols, stride int) matrix.Dense[T] {
	data := make([]T, rows*stride+3)
	for i := range data {
		data[i] = guard
	}
	d := matrix.Dense[T]{Rows: rows, Cols: cols, Stride: stride, Data: data}
	for i := range rows {
		for j := range cols {
			d.Set(i, j, T(i*100+j))
		}
	}
	return d
}

// mustKeepGuards fails if anything outside the elements of d has changed.
func mustKeepGuards[T matrix.Float](t *testing.T, d matrix.Dense[T]) {
	t.Helper()
	for k, v := range d.Data {
		inside := k/d.Stride < d.Rows && k%d.Stride < d.Cols
		if !inside && v != guard {
			t.Fatalf("element %d, outside %v with stride %d, became %v", k, d.Shape(), d.Stride, v)
		}
	}
}

func caught(f func()) (value any) {
	defer func() { value = recover() }()
	f()
	return nil
}

func mustPanic(t *testing.T, what string, want any, f func()) {
	t.Helper()
	if got := caught(f); !reflect.DeepEqual(got, want) {
		t.Errorf("%s: panic value %#v, want %#v", what, got, want)
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	for _, shape := range []matrix.Shape{{}, {Rows: 3}, {Cols: 3}, {Rows: 1, Cols: 1}, {Rows: 5, Cols: 7}} {
		d := matrix.New[float32](shape.Rows, shape.Cols)
		d.MustBeValid("test")
		if d.Shape() != shape || d.Stride != shape.Cols || len(d.Data) != shape.Rows*shape.Cols {
			t.Errorf("New%v: %v, stride %d, %d elements", shape, d.Shape(), d.Stride, len(d.Data))
		}
	}
	for _, shape := range []matrix.Shape{
		{Rows: -1, Cols: 2},
		{Rows: 2, Cols: -1},
		{Rows: -2, Cols: -2},
		{Rows: math.MaxInt, Cols: 2},
		{Rows: math.MaxInt/2 + 1, Cols: 4}, // the product wraps to zero
	} {
		want := matrix.LayoutError{Op: "matrix.New", Shape: shape, Stride: shape.Cols, Len: math.MaxInt}
		mustPanic(t, shape.String(), want, func() { matrix.New[float64](shape.Rows, shape.Cols) })
	}
}

func TestZeroValueIsTheEmptyMatrix(t *testing.T) {
	t.Parallel()
	var d matrix.Dense[float64]
	d.MustBeValid("test")
	if c := d.Clone(); c.Shape() != (matrix.Shape{}) {
		t.Errorf("its copy is %v", c.Shape())
	}
	if b := d.Block(0, 0, 0, 0); b.Shape() != (matrix.Shape{}) {
		t.Errorf("its block is %v", b.Shape())
	}
}

func TestView(t *testing.T) {
	t.Parallel()
	data := []float64{1, 2, 3, 4, 5, 6, 7}
	d := matrix.View(2, 3, data)
	if d.At(1, 2) != 6 {
		t.Errorf("last element is %v", d.At(1, 2))
	}
	d.Set(0, 1, 20)
	if data[1] != 20 {
		t.Error("a view wrote to a copy")
	}
	matrix.View[float64](3, 0, nil)
	mustPanic(t, "too little data",
		matrix.LayoutError{Op: "matrix.View", Shape: matrix.Shape{Rows: 2, Cols: 4}, Stride: 4, Len: 7},
		func() { matrix.View(2, 4, data) })
}

func TestMustBeValid(t *testing.T) {
	t.Parallel()
	tests := []struct {
		rows, cols, stride, data int
		fits                     bool
	}{
		{0, 0, 0, 0, true},
		{0, 5, 5, 0, true},
		{4, 0, 9, 0, true},
		{2, 3, 3, 6, true},
		{2, 3, 5, 8, true}, // the last row needs no padding
		{2, 3, 5, 7, false},
		{1, 3, 3, 2, false},
		{1, 3, 100, 3, true},
		{2, 3, 2, 100, false},
		{1, 3, 2, 100, false},
		{-1, 3, 3, 9, false},
		{3, -1, 3, 9, false},
		{3, 0, -1, 9, false},
		{3, 3, math.MaxInt, 9, false},
		{5, 3, math.MaxInt/2 + 1, 9, false}, // 4·stride wraps to zero
		{math.MaxInt, math.MaxInt, math.MaxInt, 9, false},
	}
	for _, test := range tests {
		d := matrix.Dense[float32]{Rows: test.rows, Cols: test.cols, Stride: test.stride, Data: make([]float32, test.data)}
		var want any
		if !test.fits {
			want = matrix.LayoutError{Op: "op", Shape: d.Shape(), Stride: test.stride, Len: test.data}
		}
		mustPanic(t, fmt.Sprintf("%+v", test), want, func() { d.MustBeValid("op") })
	}
}

func TestFromRows(t *testing.T) {
	t.Parallel()
	rows := [][]float32{{1, 2, 3}, {4, 5, 6}}
	d := matrix.FromRows(rows)
	rows[0][0] = 9
	if d.At(0, 0) != 1 || d.At(1, 2) != 6 {
		t.Errorf("got %v", d.Data)
	}
	if e := matrix.FromRows[float32](nil); e.Shape() != (matrix.Shape{}) {
		t.Errorf("no rows give %v", e.Shape())
	}
	if e := matrix.FromRows([][]float32{{}, {}}); e.Shape() != (matrix.Shape{Rows: 2}) {
		t.Errorf("two empty rows give %v", e.Shape())
	}
	mustPanic(t, "ragged", matrix.ShapeError{Op: "matrix.FromRows, row 1",
		Got: matrix.Shape{Rows: 1, Cols: 1}, Want: matrix.Shape{Rows: 1, Cols: 2}},
		func() { matrix.FromRows([][]float32{{1, 2}, {3}}) })
}

func TestRow(t *testing.T) {
	t.Parallel()
	d := padded[float64](3, 4, 7)
	row := d.Row(2)
	if !reflect.DeepEqual(row, []float64{200, 201, 202, 203}) {
		t.Errorf("row 2 is %v", row)
	}
	_ = append(d.Row(0), 1) // must not grow into the padding
	mustKeepGuards(t, d)
	for _, i := range []int{-1, 3, math.MaxInt, math.MinInt} {
		mustPanic(t, "Row", matrix.IndexError{Op: "matrix.Row", Index: i, Limit: 3}, func() { d.Row(i) })
	}
}

func TestAtAndSet(t *testing.T) {
	t.Parallel()
	d := padded[float32](3, 4, 7)
	d.Set(1, 3, 5)
	if d.At(1, 3) != 5 || d.Data[7+3] != 5 {
		t.Errorf("got %v", d.Data)
	}
	mustKeepGuards(t, d)
	// Column 4 of row 1 lies within the data, but in the padding.
	mustPanic(t, "At column", matrix.IndexError{Op: "matrix.At", Index: 4, Limit: 4}, func() { d.At(1, 4) })
	mustPanic(t, "At row", matrix.IndexError{Op: "matrix.At", Index: 3, Limit: 3}, func() { d.At(3, 0) })
	mustPanic(t, "Set column", matrix.IndexError{Op: "matrix.Set", Index: -1, Limit: 4}, func() { d.Set(1, -1, 0) })
	mustPanic(t, "Set row", matrix.IndexError{Op: "matrix.Set", Index: -1, Limit: 3}, func() { d.Set(-1, 1, 0) })
	mustKeepGuards(t, d)
}

func TestBlock(t *testing.T) {
	t.Parallel()
	d := padded[float64](4, 5, 8)
	for r0 := range 5 {
		for r1 := r0; r1 <= 4; r1++ {
			for c0 := range 6 {
				for c1 := c0; c1 <= 5; c1++ {
					checkBlock(t, d, r0, r1, c0, c1)
				}
			}
		}
	}
	b := d.Block(1, 3, 2, 4)
	b.Set(1, 1, 7)
	if d.At(2, 3) != 7 {
		t.Error("a block wrote to a copy")
	}
	_ = append(b.Data, 1)
	if d.At(2, 4) != 204 {
		t.Error("a block grew into its neighbour")
	}
	mustKeepGuards(t, d)
}

func checkBlock(t *testing.T, d matrix.Dense[float64], r0, r1, c0, c1 int) {
	t.Helper()
	b := d.Block(r0, r1, c0, c1)
	b.MustBeValid("test")
	if b.Shape() != (matrix.Shape{Rows: r1 - r0, Cols: c1 - c0}) {
		t.Fatalf("block [%d:%d, %d:%d] is %v", r0, r1, c0, c1, b.Shape())
	}
	for i := range b.Rows {
		if got, want := b.Row(i), d.Row(r0 + i)[c0:c1]; len(got) != len(want) || len(got) > 0 && &got[0] != &want[0] {
			t.Fatalf("block [%d:%d, %d:%d], row %d is %v, want %v", r0, r1, c0, c1, i, got, want)
		}
	}
	matrix.Copy(b.Clone(), b)
}

func TestBlockRefuses(t *testing.T) {
	t.Parallel()
	d := padded[float64](4, 5, 8)
	for _, r := range [][4]int{{-1, 2, 0, 1}, {2, 1, 0, 1}, {0, 5, 0, 1}, {0, 1, -1, 2}, {0, 1, 2, 1}, {0, 1, 0, 6}} {
		want := matrix.ShapeError{
			Op:  fmt.Sprintf("matrix.Block [%d:%d, %d:%d]", r[0], r[1], r[2], r[3]),
			Got: matrix.Shape{Rows: r[1] - r[0], Cols: r[3] - r[2]}, Want: d.Shape(),
		}
		mustPanic(t, "Block", want, func() { d.Block(r[0], r[1], r[2], r[3]) })
	}
	mustPanic(t, "Slice", matrix.ShapeError{Op: "matrix.Block [3:5, 0:5]",
		Got: matrix.Shape{Rows: 2, Cols: 5}, Want: d.Shape()}, func() { d.Slice(3, 5) })
}

func TestSliceIsRows(t *testing.T) {
	t.Parallel()
	d := padded[float64](4, 5, 8)
	s := d.Slice(1, 3)
	if s.Rows != 2 || s.At(0, 0) != 100 || s.At(1, 4) != 204 {
		t.Errorf("%v, %v", s.Shape(), s.Data)
	}
}

func TestCloneDropsPadding(t *testing.T) {
	t.Parallel()
	d := padded[float32](3, 4, 9)
	c := d.Clone()
	if c.Stride != 4 || len(c.Data) != 12 || c.At(2, 3) != 203 {
		t.Errorf("stride %d, %v", c.Stride, c.Data)
	}
	c.Set(0, 0, 1)
	if d.At(0, 0) != 0 {
		t.Error("the copy writes to the original")
	}
}

func TestSelectRows(t *testing.T) {
	t.Parallel()
	d := padded[float64](4, 3, 5)
	s := d.SelectRows([]int{3, 0, 3})
	if want := matrix.FromRows([][]float64{{300, 301, 302}, {0, 1, 2}, {300, 301, 302}}); !reflect.DeepEqual(s, want) {
		t.Errorf("got %v, want %v", s, want)
	}
	if s := d.SelectRows(nil); s.Shape() != (matrix.Shape{Cols: 3}) {
		t.Errorf("no rows give %v", s.Shape())
	}
	mustPanic(t, "beyond", matrix.IndexError{Op: "matrix.Row", Index: 4, Limit: 4},
		func() { d.SelectRows([]int{1, 4}) })
}

func TestCopyKeepsPadding(t *testing.T) {
	t.Parallel()
	src, dst := padded[float64](3, 4, 4), padded[float64](3, 4, 6)
	src.Set(2, 3, 5)
	matrix.Copy(dst, src)
	if !reflect.DeepEqual(dst.Clone(), src.Clone()) {
		t.Errorf("got %v", dst.Data)
	}
	mustKeepGuards(t, dst)
	mustPanic(t, "shapes", matrix.ShapeError{Op: "matrix.Copy",
		Got: matrix.Shape{Rows: 2, Cols: 4}, Want: matrix.Shape{Rows: 3, Cols: 4}},
		func() { matrix.Copy(dst.Slice(0, 2), src) })
}

func TestConvert(t *testing.T) {
	t.Parallel()
	values := [][]float64{{1.0 / 3, math.MaxFloat64}, {math.Inf(-1), 0x1p-149}}
	src := matrix.FromRows(values)
	dst := padded[float32](2, 2, 5)
	matrix.Convert(dst, src)
	for i, row := range values {
		for j, v := range row {
			if dst.At(i, j) != float32(v) {
				t.Errorf("%v became %v, want %v", v, dst.At(i, j), float32(v))
			}
		}
	}
	mustKeepGuards(t, dst)
	src.Set(0, 0, math.NaN())
	if got := matrix.Converted[float32](src); got.At(0, 0) == got.At(0, 0) {
		t.Errorf("NaN became %v", got.At(0, 0))
	}
	mustPanic(t, "shapes", matrix.ShapeError{Op: "matrix.Convert",
		Got: matrix.Shape{Rows: 2, Cols: 2}, Want: matrix.Shape{Rows: 1, Cols: 2}},
		func() { matrix.Convert(dst, src.Slice(0, 1)) })
}

func TestConvertedThereAndBackIsExact(t *testing.T) {
	t.Parallel()
	d := padded[float32](5, 3, 4)
	d.Set(4, 2, 1.0/3)
	if back := matrix.Converted[float32](matrix.Converted[float64](d)); !reflect.DeepEqual(back, d.Clone()) {
		t.Errorf("got %v, want %v", back.Data, d.Data)
	}
}

func TestMessages(t *testing.T) {
	t.Parallel()
	a, b := matrix.Shape{Rows: 2, Cols: 3}, matrix.Shape{Rows: 4, Cols: 5}
	for want, err := range map[string]error{
		"op: shape 2x3 does not fit 4x5": matrix.ShapeError{Op: "op", Got: a, Want: b},
		"op: 2x3 with stride 4 does not fit into 6 elements": matrix.LayoutError{Op: "op",
			Shape: a, Stride: 4, Len: 6},
		"op: index -1 is out of range [0, 3)": matrix.IndexError{Op: "op", Index: -1, Limit: 3},
		"matrix.Copy: shape 2x3 does not fit 4x5": caught(func() {
			matrix.MustMatch("matrix.Copy", a,
				b)
		}).(error),
		"matrix.Row: index 0 is out of range [0, 0)": caught(func() {
			matrix.New[float32](0,
				2).Row(0)
		}).(error),
		"matrix.At: index 2 is out of range [0, 2)": caught(func() {
			matrix.New[float32](1,
				2).At(0, 2)
		}).(error),
		"matrix.View: 1x1 with stride 1 does not fit into 0 elements": caught(func() {
			matrix.View[float32](1, 1,
				nil)
		}).(error),
	} {
		if err.Error() != want {
			t.Errorf("message %q, want %q", err, want)
		}
	}
	matrix.MustMatch("op", a, a)
}

// TestAlloc covers sizes around the one from which Alloc asks for huge pages.
func TestAlloc(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 1<<20 - 1, 1 << 20, 1<<20 + 1, 3<<20 + 12345} {
		data := matrix.Alloc[float64](n)
		if len(data) != n {
			t.Fatalf("%d elements, want %d", len(data), n)
		}
		for i, v := range data {
			if v != 0 {
				t.Fatalf("element %d of %d is %v", i, n, v)
			}
			data[i] = 1
		}
	}
}

func ExampleDense_Block() {
	d := matrix.FromRows([][]float64{
		{1, 2, 3},
		{4, 5, 6},
		{7, 8, 9},
	})
	corner := d.Block(1, 3, 1, 3)
	corner.Set(0, 0, 50) // a block is a view: this writes to d
	fmt.Println(corner.Shape(), d.Row(1))
	// Output: 2x2 [4 50 6]
}

func TestStack(t *testing.T) {
	t.Parallel()
	got := matrix.Stack(padded[float32](2, 3, 5), matrix.Dense[float32]{}, padded[float32](1, 3, 3))
	want := matrix.FromRows([][]float32{{0, 1, 2}, {100, 101, 102}, {0, 1, 2}})
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
}
