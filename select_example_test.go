package nextbatch_test

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/spec"
	"github.com/nextbatch/nextbatch/tables"
)

// Two tables: rows with a label and rows without. A network learns the labels,
// and the default method picks eight rows to label next.
func ExampleSelect() {
	labelled, candidates := matrix.New[float32](30, 2), matrix.New[float32](400, 2)
	fill := func(m matrix.Dense[float32], step float64) {
		for i := range m.Rows {
			m.Set(i, 0, float32(math.Mod(float64(i)*step, 1)))
			m.Set(i, 1, float32(math.Mod(float64(i)*step*step, 1)))
		}
	}
	fill(labelled, 0.618)
	fill(candidates, 0.755)
	labels := make([]float64, labelled.Rows)
	for i := range labels {
		labels[i] = math.Sin(6 * float64(labelled.At(i, 0)))
	}

	sample := network.Sample{X: labelled, Y: labels, Unlabelled: candidates} // all count for the scaling of inputs
	model, err := network.Fit(context.Background(), sample, network.Options{Config: network.Config{
		Architecture: network.Architecture{Hidden: []int{32}},
		Training:     network.Training{Epochs: 30},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	train, err := model.Inputs(labelled)
	if err != nil {
		fmt.Println(err)
		return
	}
	pool, err := model.Inputs(candidates)
	if err != nil {
		fmt.Println(err)
		return
	}
	batch, err := nextbatch.Select(context.Background(), spec.MustParse(spec.Default), nextbatch.Problem{
		Models: nextbatch.Models(model.Ensemble()), Train: train, Pool: pool, Batch: 8, Seed: 1,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(batch.Rows()), "rows by", batch.Spec)
	// Output: 8 rows by lcmd-tp:grad>sketch(512)
}

// Bring features from any framework: no network is needed.
func ExampleSelect_features() {
	train := matrix.FromRows([][]float32{{1, 0}})
	pool := matrix.FromRows([][]float32{{1, 0.1}, {0, 2}, {1, 0}, {-3, 0}})
	batch, err := nextbatch.Select(context.Background(), spec.MustParse("maxdist-tp:features"), nextbatch.Problem{
		Train: train, Pool: pool, Batch: 2,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, pick := range batch.Picks {
		fmt.Printf("row %d, %.3g from the nearest label\n", pick.Row, pick.Distance)
	}
	// Output:
	// row 3, 4 from the nearest label
	// row 1, 2.24 from the nearest label
}

// A table as users have it: words among the inputs, and empty labels. The rows with an
// empty label are the candidates.
func ExampleNewProblem() {
	const text = `name,temperature,material,y
a,21,steel,1.5
b,24,brass,2.5
c,30,steel,2.25
d,22,steel,
e,90,brass,
f,25,brass,
`
	table, err := source.ReadCSV(context.Background(), strings.NewReader(text), source.Options{ID: "name"})
	if err != nil {
		fmt.Println(err)
		return
	}
	rows, err := tables.Tables{Input: tables.Input{Table: table, TargetColumns: []string{"y"}},
		NotInputs: []string{"name"}}.Rows(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	// no network: scaled by mean and deviation
	problem, err := nextbatch.NewProblem(context.Background(), rows, nil, network.Architecture{})
	if err != nil {
		fmt.Println(err)
		return
	}
	problem.Batch = 2
	batch, err := nextbatch.Select(context.Background(), spec.MustParse("maxdist-tp:linear"), problem)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("inputs:", rows.Encoder.Features())
	for _, row := range batch.Rows() {
		fmt.Println("label row", rows.PoolRows[row])
	}
	// Output:
	// inputs: [temperature material=steel]
	// label row 4
	// label row 5
}
