package learner

import (
	"flag"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/conformal"
	"github.com/nextbatch/nextbatch/internal/golden"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
)

var (
	labelsFlag = flag.Int("labels", 64, "labelled rows of TestBlendOnRealTables")
	seedsFlag  = flag.Int("seeds", 1, "random sets of labelled rows of TestBlendOnRealTables")
	tablesFlag = flag.String("tables", "airfoil,autompg,concrete,energy,yacht", "tables of TestBlendOnRealTables, or all")
	nets       = flag.Bool("networks", false, "networks are candidates in TestBlendOnRealTables, too")
)

// TestBlendOnRealTables: on random rows of real tables, the geometric mean of the errors of a blend, in
// deviations of the label, is below that of each candidate alone.
//
//	go test ./learner -run RealTables -v -tables all -labels 256 -seeds 2 -networks -timeout 2h
func TestBlendOnRealTables(t *testing.T) {
	candidates := []Learner{Process{}, ExtraTrees{}, Boosting{}}
	if *nets {
		candidates = append(candidates, Network{Options: network.Options{Config: smooth()}})
	}
	sums, count := make([]float64, len(candidates)+1), 0
	for _, file := range realTables(t) {
		x, y := golden.Table(t, file)
		for seed := range *seedsFlag {
			order := rng.New(uint64(seed), "learner: real tables").Perm(len(y))
			if len(order) < *labelsFlag+50 {
				continue // too few rows to measure errors on
			}
			train, test := order[:*labelsFlag], order[*labelsFlag:min(len(order), *labelsFlag+2000)]
			sample := network.Sample{X: x.SelectRows(train), Y: pick(y, train), Unlabelled: x.SelectRows(test)}
			errors := testErrors(t, sample, uint64(seed), candidates, x.SelectRows(test), pick(y, test))
			for k, e := range errors {
				sums[k] += math.Log(e)
			}
			count++
			t.Logf("%s, seed %d: %.3f", filepath.Base(file), seed, errors)
		}
	}
	for k := range sums {
		sums[k] = math.Exp(sums[k] / float64(count))
	}
	blend := sums[len(candidates)]
	for k, c := range candidates {
		t.Logf("%-11s %.4f", c.Name(), sums[k])
		if sums[k] <= blend {
			t.Errorf("the error of the blend is %.4f, that of %s alone %.4f", blend, c.Name(), sums[k])
		}
	}
	t.Logf("%-11s %.4f", "blend", blend)
}

// testErrors returns the errors of each candidate alone and, last, of their blend.
func testErrors(t *testing.T, s network.Sample, seed uint64, candidates []Learner, x matrix.Dense[float32], y []float64) (errors []float64) {
	t.Helper()
	unit := deviation(y)
	for k := range len(candidates) + 1 {
		some := candidates
		if k < len(candidates) {
			some = candidates[k : k+1]
		}
		m, err := fitBlend(t.Context(), s, Options{Kind: Auto, Network: network.Options{Config: network.Config{Seed: seed}}}, func(int) []Learner { return some })
		if err != nil {
			t.Fatal(err)
		}
		p, err := m.Predict(t.Context(), x)
		if err != nil {
			t.Fatal(err)
		}
		for i := range p {
			p[i] -= y[i]
		}
		errors = append(errors, conformal.RootMeanSquare(p)/unit)
	}
	return errors
}

func realTables(t *testing.T) (files []string) {
	t.Helper()
	folder := filepath.Join(golden.Data(t), "tables")
	if *tablesFlag == "all" {
		files, err := filepath.Glob(filepath.Join(folder, "*.csv.gz"))
		if err != nil {
			t.Fatal(err)
		}
		return files
	}
	for name := range strings.SplitSeq(*tablesFlag, ",") {
		files = append(files, filepath.Join(folder, name+".csv.gz"))
	}
	return files
}

// deviation returns the standard deviation of numbers.
func deviation(v []float64) float64 {
	m := 0.0
	for _, x := range v {
		m += x / float64(len(v))
	}
	off := make([]float64, len(v))
	for i, x := range v {
		off[i] = x - m
	}
	return conformal.RootMeanSquare(off)
}
