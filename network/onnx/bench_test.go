package onnx

import (
	"testing"

	"github.com/nextbatch/nextbatch/internal/kernels"
	"github.com/nextbatch/nextbatch/internal/transform"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
)

// BenchmarkFeatures computes ll and grad>sketch(512) of 100,000 rows of a 10-512-512-1, by
// the native network and by the same one from ONNX.
func BenchmarkFeatures(b *testing.B) {
	mlp, err := network.NewMLP(10, network.Architecture{}, 1, 0)
	if err != nil {
		b.Fatal(err)
	}
	raw, err := marshalMLP(mlp)
	if err != nil {
		b.Fatal(err)
	}
	net, err := Parse(raw, Options{})
	if err != nil {
		b.Fatal(err)
	}
	x := normals(1, 100_000, 10)
	for name, taps := range map[string]kernel.Taps[float32]{"native": network.NewTaps(mlp, kernel.BlockRows,
		nil), "onnx": net.Taps()} {
		last, err := kernels.NewLastLayers(taps, 1)
		if err != nil {
			b.Fatal(err)
		}
		sketch, err := transform.Sketch(kernels.NewGrad(taps), 512, transform.Seeded(1, "sketch"), transform.Paper)
		if err != nil {
			b.Fatal(err)
		}
		for kind, k := range map[string]kernel.FeatureMap[float32]{"ll": last, "sketch": sketch} {
			dst := matrix.New[float32](x.Rows, k.Dim())
			b.Run(kind+"/"+name, func(b *testing.B) {
				for b.Loop() {
					if err := k.Features(b.Context(), dst, x); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
