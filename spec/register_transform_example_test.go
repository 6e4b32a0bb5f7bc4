package spec_test

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/spec"
)

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
		Needs: spec.ExplicitFeatures,
	}, spec.TransformMaker{Single: sphere[float32], Double: sphere[float64]})
}

// A transformation of your own.
func ExampleRegisterTransform() {
	problem := nextbatch.Problem{
		Train: matrix.FromRows([][]float32{{0, 0}}),
		Pool:  matrix.FromRows([][]float32{{1, 0}, {0, 3}, {-2, 0}, {0, -0.5}}),
		Batch: 2,
	}
	batch, err := nextbatch.Select(context.Background(), spec.MustParse("maxdist-p:linear>sphere"), problem)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(batch.Spec, batch.Rows())
	_, err = spec.Parse("maxdist-p:grad>sphere")
	fmt.Println(strings.ReplaceAll(err.Error(), ": ", "\n"))
	// Output:
	// maxdist-p:linear>sphere [0 2]
	// spec "maxdist-p:grad>sphere", character 16
	// sphere needs features, and a product kernel has too many to write down
	// put sketch(p) before it
}
