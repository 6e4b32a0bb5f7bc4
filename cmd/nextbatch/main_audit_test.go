package main

import (
	"fmt"
	"math/rand/v2"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/nextbatch/nextbatch/dataset"
)

// planted writes a table of n rows, y = a + b² + noise, in which the label of the
// named row is ten times too large.
func planted(ts *testscript.TestScript, neg bool, args []string) {
	must(ts, neg, args, 3)
	random := rand.New(rand.NewPCG(5, 6))
	id, a, b, y := dataset.NewText("id"), dataset.NewNumeric("a"), dataset.NewNumeric("b"), dataset.NewNumeric("y")
	for i := range count(ts, args[1]) {
		name := fmt.Sprintf("row%d", i)
		u, v := random.NormFloat64(), random.NormFloat64()
		label := 3 + u + v*v + 0.05*random.NormFloat64()
		if name == args[2] {
			label *= 10
		}
		id.Append([]byte(name))
		a.Append(u)
		b.Append(v)
		y.Append(label)
	}
	saveColumns(ts, args[0], id, a, b, y)
}
