package spec_test

import (
	"context"
	"fmt"
	"math"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection"
	"github.com/nextbatch/nextbatch/spec"
)

// inOrder picks the rows of the pool from first to last.
type inOrder[T matrix.Float] struct{ space *selection.Space[T] }

func (inOrder[T]) Name() string { return "in-order" }

func (inOrder[T]) Init(s *selection.Space[T]) (selection.Forward, error) { return inOrder[T]{s}, nil }

func (inOrder[T]) Add([]int) error { return nil }

func (m inOrder[T]) Next() (selection.Choice, error) {
	for row := range m.space.PoolSize() {
		if m.space.Open(row) {
			return selection.Choice{Row: row, Score: 1}, nil
		}
	}
	return selection.Choice{}, &selection.Stuck{Reason: "no row is left"}
}

func init() {
	spec.RegisterMethod(spec.MethodInfo{
		Name: "in-order", Description: "the rows in their order",
		Single: func(selection.Settings) selection.Method[float32] { return inOrder[float32]{} },
		Double: func(selection.Settings) selection.Method[float64] { return inOrder[float64]{} },
	})
}

// problem has four rows around a labelled one.
var problem = nextbatch.Problem{
	Train: matrix.FromRows([][]float32{{0, 0}}),
	Pool:  matrix.FromRows([][]float32{{1, 0}, {0, 3}, {-2, 0}, {0, -0.5}}),
	Batch: 2,
}

// A method of your own.
func ExampleRegisterMethod() {
	batch, err := nextbatch.Select(context.Background(), spec.MustParse("in-order:linear"), problem)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(batch.Spec, batch.Rows())
	// Output: in-order:linear [0 1]
}

// angles has the features (sin fx, cos fx), where x is the first input and f a frequency.
func angles[T matrix.Float](_ context.Context, s spec.Source[T]) (kernel.Kernel[T], error) {
	return kernel.NewFunc(s.Inputs, 2, func(dst, rows matrix.Dense[T]) error {
		for i := range rows.Rows {
			sin, cos := math.Sincos(s.Number * float64(rows.At(i, 0)))
			dst.Set(i, 0, T(sin))
			dst.Set(i, 1, T(cos))
		}
		return nil
	})
}

func init() {
	spec.RegisterKernel(spec.KernelInfo{
		Name: "angles", Description: "sine and cosine of the first input",
		Parameter: spec.Parameter{Name: "frequency", Optional: true, Default: 1},
		Space:     spec.Explicit,
		Single:    angles[float32], Double: angles[float64],
	})
}

// A kernel of your own. As its space is Explicit, it works with methods and
// transformations that need features.
func ExampleRegisterKernel() {
	for _, text := range []string{"maxdist-tp:angles(0.5)", "bait-f-p:angles"} {
		batch, err := nextbatch.Select(context.Background(), spec.MustParse(text), problem)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(batch.Spec, batch.Rows())
	}
	// Output:
	// maxdist-tp:angles(0.5) [2 0]
	// bait-f-p:angles [1 2]
}

// onSphere divides features by their length.
type onSphere[T matrix.Float] struct{ kernel.FeatureMap[T] }

func (m onSphere[T]) Features(ctx context.Context, dst, rows matrix.Dense[T]) error {
	if err := m.FeatureMap.Features(ctx, dst, rows); err != nil {
		return err
	}
	for i := range dst.Rows {
		length := 0.
		for _, v := range dst.Row(i) {
			length = math.Hypot(length, float64(v))
		}
		for j, v := range dst.Row(i) {
			dst.Set(i, j, v/T(max(length, 1e-30)))
		}
	}
	return nil
}

func sphere[T matrix.Float](_ context.Context, s spec.Step[T]) (kernel.Kernel[T], error) {
	m, err := s.FeatureMap()
	if err != nil {
		return nil, err
	}
	return kernel.NewFeatureMap[T](onSphere[T]{m}), nil
}

func init() {
	spec.RegisterTransform(spec.TransformInfo{
		Name: "sphere", Description: "features divided by their length",
		Needs:  spec.ExplicitFeatures,
		Single: sphere[float32], Double: sphere[float64],
	})
}

// A transformation of your own.
func ExampleRegisterTransform() {
	batch, err := nextbatch.Select(context.Background(), spec.MustParse("maxdist-p:linear>sphere"), problem)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(batch.Spec, batch.Rows())
	_, err = spec.Parse("maxdist-p:grad>sphere")
	fmt.Println(err)
	// Output:
	// maxdist-p:linear>sphere [0 2]
	// spec "maxdist-p:grad>sphere", character 16: sphere needs features, and a product kernel has too many to write down: put sketch(p) before it
}
