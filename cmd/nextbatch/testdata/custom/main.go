// Command custom is nextbatch with one more kernel: the logarithms of the inputs.
package main

import (
	"context"
	"math"
	"os"

	"github.com/nextbatch/nextbatch/cmd/nextbatch/cli"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/spec"
)

func main() {
	spec.RegisterKernel(spec.KernelInfo{Name: "logs", Description: "log(1 + |x|) of each input, with its sign",
		Space: spec.Explicit}, spec.KernelMaker{Single: logs[float32], Double: logs[float64]})
	os.Exit(cli.Run(os.Args[1:], os.Stdout, os.Stderr))
}

func logs[T matrix.Float](_ context.Context, s spec.Source[T]) (kernel.Kernel[T], error) {
	return kernel.NewFunc(s.Inputs, s.Inputs, func(dst, rows matrix.Dense[T]) error {
		for i := range rows.Rows {
			for j, v := range rows.Row(i) {
				dst.Set(i, j, T(math.Copysign(math.Log1p(math.Abs(float64(v))), float64(v))))
			}
		}
		return nil
	})
}
