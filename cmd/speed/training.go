package main

import (
	"context"
	"fmt"

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
	const validRows, steps = 1024, 48
	c.Training.Epochs = max(4, steps*256/rows)
	d := network.Data[float32]{
		X: random[float32](rows, inputs), Y: random[float32](rows, 1),
		ValidX: random[float32](validRows, inputs), ValidY: random[float32](validRows, 1),
	}
	op := "train-" + c.Architecture.Activation.String()
	b.rate(op, fmt.Sprintf("%dx%d", rows, inputs), fma32, linalg.Threads(), c.Work(inputs, rows, validRows), func() {
		_, _, err := network.Train(context.Background(), c, d, nil)
		must(err)
	})
}
