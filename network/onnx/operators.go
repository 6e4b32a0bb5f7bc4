package onnx

import (
	"slices"

	"github.com/nextbatch/nextbatch/matrix"
)

func init() {
	operators = map[string]func(b *builder, n *node) error{
		"Gemm": gemm, "MatMul": matMul, "ai.onnx.ml.LinearRegressor": linearRegressor, "ai.onnx.ml.Scaler": scaler,
		"Add": arithmeticOf, "Sub": arithmeticOf, "Mul": arithmeticOf, "Div": arithmeticOf, "Sum": arithmeticOf,
		"Pow": pow, "Clip": clip,
		"PRelu": preluOf, "BatchNormalization": batchNormalization, "LayerNormalization": layerNormalization,
		"ReduceMean": reduce, "ReduceSum": reduce,
		"Concat": concat, "Slice": slice, "Split": split, "Gather": gather, "Transpose": transpose,
		"Flatten": flatten, "Reshape": reshape, "Squeeze": squeeze, "Unsqueeze": unsqueeze, "Shape": shapeOf,
		"Greater": compare, "GreaterOrEqual": compare, "Less": compare, "LessOrEqual": compare, "Where": where,
		"Identity": identity, "Dropout": dropout, "Cast": cast, "Constant": constantOf,
	}
}

// weightsAt returns a constant input as a matrix.
func (n *node) weightsAt(i int) (matrix.Dense[float32], error) {
	c, err := n.constantAt(i)
	if err != nil {
		return matrix.Dense[float32]{}, err
	}
	floats, err := n.floatsAt(i)
	if err != nil {
		return matrix.Dense[float32]{}, err
	}
	if len(c.shape) != 2 || len(floats) == 0 {
		return matrix.Dense[float32]{}, n.failf("weights %q have shape %v, not rows and columns", n.inputs[i], c.shape)
	}
	return matrix.View(c.shape[0], c.shape[1], floats), nil
}

// repeated returns as many numbers as columns: all the same if there is one.
func repeated(numbers []float32, columns int) ([]float32, bool) {
	if len(numbers) == 1 && columns > 1 {
		return slices.Repeat(numbers, columns), true
	}
	return numbers, len(numbers) == columns
}
