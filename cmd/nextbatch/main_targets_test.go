package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/nextbatch/nextbatch/dataset"
)

// twoTargets writes a table with the targets y and z, whose units differ: of five rows, one
// has both labels, one y alone, one z alone, and two have none.
func twoTargets(ts *testscript.TestScript, neg bool, args []string) {
	must(ts, neg, args, 2)
	random := rand.New(rand.NewPCG(7, 8))
	id, a, b := dataset.NewText("id"), dataset.NewNumeric("u"), dataset.NewNumeric("v")
	y, z := dataset.NewNumeric("y"), dataset.NewNumeric("z")
	for i := range count(ts, args[1]) {
		u, v := random.NormFloat64(), random.NormFloat64()
		labels := []float64{100 + 10*u*v, (u - v) / 1000}
		if i%5 > 1 {
			labels[0] = math.NaN()
		}
		if i%5 == 1 || i%5 > 2 {
			labels[1] = math.NaN()
		}
		id.Append(fmt.Appendf(nil, "row%d", i))
		a.Append(u)
		b.Append(v)
		y.Append(labels[0])
		z.Append(labels[1])
	}
	saveColumns(ts, args[0], id, a, b, y, z)
}
