package main

import (
	"fmt"
	"math/rand/v2"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/dataset/source"
)

// kinds writes a table of which every other row is of a rare kind, and each kind has a
// label of its own: whoever covers the kinds beats random selection.
func kinds(ts *testscript.TestScript, neg bool, args []string) {
	must(ts, neg, args, 2)
	random := rand.New(rand.NewPCG(1, 2))
	effect := make([]float64, 42)
	for i := range effect {
		effect[i] = random.NormFloat64()
	}
	id, kind, y := dataset.NewText("id"), dataset.NewText("kind"), dataset.NewNumeric("y")
	for i := range count(ts, args[1]) {
		k := random.IntN(2)
		if i%2 == 0 {
			k = 2 + random.IntN(40)
		}
		id.Append(fmt.Appendf(nil, "r%03d", i))
		kind.Append(fmt.Appendf(nil, "k%02d", k))
		y.Append(effect[k] + 0.1*random.NormFloat64())
	}
	saveColumns(ts, args[0], id, kind, y)
}

// noise writes a table with labels that have nothing to do with the inputs.
func noise(ts *testscript.TestScript, neg bool, args []string) {
	must(ts, neg, args, 2)
	random := rand.New(rand.NewPCG(3, 4))
	id, a, b, y := dataset.NewText("id"), dataset.NewNumeric("a"), dataset.NewNumeric("b"), dataset.NewNumeric("y")
	for i := range count(ts, args[1]) {
		id.Append(fmt.Appendf(nil, "r%03d", i))
		a.Append(random.NormFloat64())
		b.Append(random.NormFloat64())
		y.Append(random.NormFloat64())
	}
	saveColumns(ts, args[0], id, a, b, y)
}

func saveColumns(ts *testscript.TestScript, name string, columns ...dataset.Column) {
	t, err := dataset.NewTable(columns...)
	ts.Check(err)
	ts.Check(source.WriteFile(ts.MkAbs(name), t))
}
