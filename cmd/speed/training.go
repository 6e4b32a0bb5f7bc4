package main

import (
	"context"
	"fmt"
	"runtime"
	"unsafe"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/network"
)

// trainingSection measures whole trainings of the paper's networks, validation
// on 1024 rows after each epoch included, on all threads. The operations of the
// matrix products count, as network.Config.Work says.
func trainingSection(b *bench) {
	for _, preset := range []network.Config{network.ReLUPreset(), network.SiLUPreset()} {
		for _, inputs := range []int{10, 379} {
			for _, rows := range []int{256, 1024, 4352} {
				train(b, preset, rows, inputs)
			}
		}
	}
}

// train measures a training of so many epochs that it takes part of a second:
// the speed does not depend on their number.
func train(b *bench, c network.Config, rows, inputs int) {
	const validRows, steps = 1024, 32
	c.Training.Epochs = max(4, steps*256/rows)
	d := network.Data[float32]{
		X: random[float32](rows, inputs), Y: random[float32](rows, 1),
		ValidX: random[float32](validRows, inputs), ValidY: random[float32](validRows, 1),
	}
	op := "train-" + c.Architecture.Activation.String()
	b.note = fmt.Sprintf("%.0f bytes allocated per step", bytesPerStep(c, d))
	b.rate(op, fmt.Sprintf("%dx%d", rows, inputs), fma32, allThreads(), c.Work(inputs, rows, validRows), func(*linalg.Team) {
		_, _, err := network.Train(context.Background(), c, d, nil)
		must(err)
	})
}

// bytesPerStep is what a training of more epochs allocates more, less its longer
// history of epochs, for each step. One mini-batch of rows will do.
func bytesPerStep(c network.Config, d network.Data[float32]) float64 {
	d.X, d.Y = d.X.Slice(0, c.Training.Batch), d.Y.Slice(0, c.Training.Batch)
	few, many := c, c
	few.Training.Epochs, many.Training.Epochs = 8, 16 // of a step each
	allocated(few, d)                                 // scratch that all products share
	more := allocated(many, d) - allocated(few, d) - 8*float64(unsafe.Sizeof(network.Epoch{}))
	return max(0, more) / 8
}

func allocated(c network.Config, d network.Data[float32]) float64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _, err := network.Train(context.Background(), c, d, nil)
	must(err)
	runtime.ReadMemStats(&after)
	return float64(after.TotalAlloc - before.TotalAlloc)
}
