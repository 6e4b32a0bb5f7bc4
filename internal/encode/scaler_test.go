package encode

import (
	"errors"
	"math"
	"reflect"
	"testing"

	"github.com/nextbatch/nextbatch/matrix"
)

func TestScalerByHand(t *testing.T) {
	t.Parallel()
	x := matrix.FromRows([][]float64{{1, 0.1}, {3, 0.1}, {100, 7}, {5, 0.1}})
	for divisor, want := range map[divisor]float64{Population: math.Sqrt(8. / 3), Sample: 2} {
		s, err := FitScaler(x, divisor, []int{0}, []int{1, 3})
		if err != nil {
			t.Fatal(err)
		}
		if s.Mean[0] != 3 || math.Abs(s.Deviation[0]-want) > 1e-15 || s.Deviation[1] != 0 {
			t.Errorf("divisor %d: %+v", divisor, s)
		}
		got := matrix.New[float64](4, 2)
		Scale(got, x, s)
		for row := range 4 {
			if v := 5 * math.Tanh((x.At(row, 0)-3)/want/5); math.Abs(got.At(row, 0)-v) > 1e-14 || got.At(row, 1) != 0 {
				t.Errorf("divisor %d, row %d: %v, want %v and 0", divisor, row, got.Row(row), v)
			}
		}
	}
}

func TestScalerSingleRow(t *testing.T) {
	t.Parallel()
	s, err := FitScaler(matrix.FromRows([][]float32{{4}}), Sample)
	if err != nil || s.Deviation[0] != 0 {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestScalerRefuses(t *testing.T) {
	t.Parallel()
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e200} {
		x := matrix.FromRows([][]float64{{1, 2}, {3, 4}, {5, bad}})
		_, err := FitScaler(x, Population)
		at := (*RangeError)(nil)
		if !errors.As(err, &at) || at.Row != 2 || at.Column != 1 {
			t.Errorf("%v: %v", bad, err)
		}
		if _, err := FitScaler(x, Population, []int{0, 1}); err != nil {
			t.Errorf("%v: rows outside the fit were counted: %v", bad, err)
		}
	}
	if _, err := FitScaler(matrix.New[float32](3, 2), Population, nil); err == nil {
		t.Error("fitted to no rows")
	}
}

// TestFitScalerAll: several matrices give the scaler of their stack, bit for bit.
func TestFitScalerAll(t *testing.T) {
	t.Parallel()
	x := matrix.New[float32](50, 3)
	for i := range x.Data {
		x.Data[i] = float32(math.Sin(float64(i*i))) * float32(math.Pow(10, float64(i%3)))
	}
	want, err := FitScaler(x, Population)
	if err != nil {
		t.Fatal(err)
	}
	got, err := FitScalerAll(Population, x.Slice(0, 7), matrix.Dense[float32]{}, x.Slice(7, 49), x.Slice(49, 50))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v (%v)", got, want, err)
	}
	if _, err := FitScalerAll(Population, matrix.Dense[float32]{}); err == nil {
		t.Error("no rows have a scaler")
	}
	x.Set(30, 1, float32(math.Inf(1)))
	at := (*RangeError)(nil)
	if _, err := FitScalerAll(Population, x.Slice(0, 20), x.Slice(20, 50)); !errors.As(err, &at) ||
		at.Row != 30 || at.Column != 1 {
		t.Errorf("%v", err)
	}
}
