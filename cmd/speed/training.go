package main

import (
	"context"
	"fmt"
	"runtime"
	"unsafe"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/network"
)

// trainingSection measures complete trainings of the paper's networks on all
// threads, including validation on 1024 rows after each epoch. Only the operations
// of matrix products count; see network.Config.Work.
func trainingSection(b *bench) {
	for _, preset := range []network.Config{network.ReLUPreset(), network.SiLUPreset()} {
		for _, inputs := range []int{10, 379} {
			for _, rows := range []int{256, 1024, 4352} {
				train(b, preset, rows, inputs)
			}
		}
	}
}

// train measures a training with few enough epochs that it takes a fraction of a
// second: the speed does not depend on their number.
func train(b *bench, c network.Config, rows, inputs int) {
	const validRows, steps = 1024, 32
	c.Training.Epochs = max(4, steps*256/rows)
	d := network.Data{
		X: random[float32](rows, inputs), Y: random[float32](rows, 1),
		ValidX: random[float32](validRows, inputs), ValidY: random[float32](validRows, 1),
	}
	op := "train-" + c.Architecture.Activation.String()
	b.note = fmt.Sprintf("%.0f bytes allocated per step", bytesPerStep(c, d))
	b.rate(op, fmt.Sprintf("%dx%d", rows, inputs), fma32, allThreads(),
		c.Work(inputs, rows, validRows), func(*linalg.Team) {
			_, _, err := network.Train(context.Background(), c, d, nil)
			must(err)
		})
}

// bytesPerStep is how much more a training with more epochs allocates per
// additional step, not counting its longer history of epochs. One mini-batch of
// rows suffices.
func bytesPerStep(c network.Config, d network.Data) float64 {
	d.X, d.Y = d.X.Slice(0, c.Training.Batch), d.Y.Slice(0, c.Training.Batch)
	few, many := c, c
	few.Training.Epochs, many.Training.Epochs = 8, 16 // one step each
	allocated(few, d)                                 // allocates the scratch memory that all products share
	more := allocated(many, d) - allocated(few, d) - 8*float64(unsafe.Sizeof(network.Epoch{}))
	return max(0, more) / 8
}

func allocated(c network.Config, d network.Data) float64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _, err := network.Train(context.Background(), c, d, nil)
	must(err)
	runtime.ReadMemStats(&after)
	return float64(after.TotalAlloc - before.TotalAlloc)
}
