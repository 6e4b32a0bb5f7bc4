package kernels_test

import (
	"context"
	"math"
	"testing"

	"github.com/nextbatch/nextbatch/internal/kernels"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
)

// TestPrincipalPlaneOfPointsInAPlane: rows that vary along two directions keep
// their distances, and the first direction is the one in which they vary most.
func TestPrincipalPlaneOfPointsInAPlane(t *testing.T) {
	t.Parallel()
	stream := rng.New(1, "plane test")
	u, v := []float64{0.6, 0, 0.8, 0}, []float64{0, 1, 0, 0}
	x := matrix.New[float64](300, 4)
	for i := range x.Rows {
		a, b := 3*stream.NormFloat64(), stream.NormFloat64()
		for j := range x.Cols {
			x.Set(i, j, 7+a*u[j]+b*v[j])
		}
	}
	p, err := kernels.PrincipalPlane(context.Background(), kernel.NewLinear[float64](4), x.Slice(0, 40), x)
	if err != nil {
		t.Fatal(err)
	}
	if sum := p.Share[0] + p.Share[1]; math.Abs(sum-1) > 1e-9 || p.Share[0] < 0.75 {
		t.Errorf("shares %v", p.Share)
	}
	for i := 1; i < x.Rows; i++ {
		if want, got := distance(x.Row(i), x.Row(0)), distance(p.At.Row(i), p.At.Row(0)); math.Abs(got-want) > 1e-8 {
			t.Fatalf("row %d is at distance %v from row 0 in the plane, want %v", i, got, want)
		}
	}
}

func distance(a, b []float64) (d float64) {
	for i := range a {
		d = math.Hypot(d, a[i]-b[i])
	}
	return d
}

// TestPrincipalPlaneWithoutFeatures: a kernel with infinitely many features has a
// plane, too, and a sample of equal rows places every row at the origin.
func TestPrincipalPlaneWithoutFeatures(t *testing.T) {
	t.Parallel()
	k, err := kernels.NewLaplace[float32](1, 1)
	if err != nil {
		t.Fatal(err)
	}
	x := matrix.New[float32](8, 1)
	for i := range x.Rows {
		x.Set(i, 0, float32(i))
	}
	p, err := kernels.PrincipalPlane(context.Background(), k, x, x)
	if err != nil || !(p.Share[0] > p.Share[1] && p.Share[1] > 0) {
		t.Errorf("shares %v, error %v", p.Share, err)
	}
	p, err = kernels.PrincipalPlane(context.Background(), k, matrix.New[float32](5, 1), x)
	if err != nil || p.Share != [2]float64{} || p.At.At(3, 0) != 0 {
		t.Errorf("a sample of equal rows: %+v, %v", p, err)
	}
}
