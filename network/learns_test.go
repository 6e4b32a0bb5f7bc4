//go:build !network64

package network_test

import (
	"context"
	"flag"
	"math"
	"slices"
	"testing"

	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/internal/golden"
	"github.com/nextbatch/nextbatch/internal/sets"
	"github.com/nextbatch/nextbatch/internal/stats"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
)

var learnSplits = flag.Int("learn", 0,
	"train on this many splits of the real data sets and compare with the paper; takes minutes")

// TestLearnsAsInThePaper trains the paper's network on random rows of real data
// sets, 256 and 4352, and prints the mean test RMSE in standard deviations of
// the label. The second must agree with what the paper's table "lasterror" says
// of random selection. 5 splits take some minutes:
//
//	go test -run LearnsAsInThePaper -v -timeout 1h ./network -learn 5
func TestLearnsAsInThePaper(t *testing.T) {
	t.Parallel()
	if *learnSplits == 0 {
		t.Skip("pass -learn 5 to run it")
	}
	learnt := []struct {
		name             string
		paper, tolerance float64
	}{
		{"fried", 0.221, 0.03},
		{"diamonds", 0.166, 0.05},
		{"protein", 0.727, 0.03},
		{"sgemm", 0.100, 0.03},
	}
	dir := golden.Data(t)
	for _, set := range learnt {
		data, err := sets.Load(t.Context(), set.name, dir)
		if err != nil {
			t.Fatal(err)
		}
		few, many := 0.0, 0.0
		for id := range uint32(*learnSplits) {
			split, err := sets.PublishedSplit(data.X.Rows, sets.PaperSizes(data.X.Rows), id)
			if err != nil {
				t.Fatal(err)
			}
			s := newTask(t, data, split)
			few += s.rmse(t, split.Train, uint64(id)) / float64(*learnSplits)
			many += s.rmse(t, slices.Concat(split.Train, split.Pool[:4096]), uint64(id)) / float64(*learnSplits)
		}
		off := many/set.paper - 1
		t.Logf("%-9s 256 rows %.3f   4352 rows %.3f   paper %.3f   %+.1f %%", set.name, few, many, set.paper, 100*off)
		if math.Abs(off) > set.tolerance {
			t.Errorf("%s differs by more than %.0f %%", set.name, 100*set.tolerance)
		}
	}
}

// task is a data set, scaled as the paper does for one split.
type task struct {
	x     matrix.Dense[float32]
	y     []float32
	split sets.Split
}

func newTask(t *testing.T, data *sets.Regression, split sets.Split) task {
	t.Helper()
	inputs, err := encode.FitScaler(data.X, encode.Population, split.Train, split.Pool)
	if err != nil {
		t.Fatal(err)
	}
	labels, err := encode.FitLabelScaler(data.Y)
	if err != nil {
		t.Fatal(err)
	}
	s := task{x: matrix.New[float32](data.X.Rows, data.X.Cols), y: make([]float32, len(data.Y)), split: split}
	encode.Scale(s.x, data.X, inputs)
	for i, y := range data.Y {
		s.y[i] = float32((y - labels.Mean) / labels.Deviation)
	}
	return s
}

// rmse trains on the given rows and returns the RMSE on the test rows.
func (s task) rmse(t *testing.T, rows []int, seed uint64) float64 {
	t.Helper()
	c := network.ReLUPreset()
	c.Seed = seed
	d := network.Data{}
	d.X, d.Y = s.rows(rows)
	d.ValidX, d.ValidY = s.rows(s.split.Valid)
	net, _, err := network.Train(context.Background(), c, d, nil)
	if err != nil {
		t.Fatal(err)
	}
	x, y := s.rows(s.split.Test)
	z := matrix.New[float32](x.Rows, 1)
	net.Predict(t.Context(), z, x)
	return stats.Measure(matrix.Converted[float64](matrix.View(1, z.Rows, z.Data)),
		matrix.Converted[float64](y).Data).RMSE
}

func (s task) rows(index []int) (x, y matrix.Dense[float32]) {
	return s.x.SelectRows(index), matrix.View(len(s.y), 1, s.y).SelectRows(index)
}
