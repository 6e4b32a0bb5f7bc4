//go:build !network64

package network

import (
	"flag"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/internal/conformal"
	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/internal/golden"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/internal/sets"
)

// The flags give the figures of docs/intervals.md, which takes long:
//
//	go test ./network -run IntervalsOnRealData -v -timeout 0 -intervals-labels 128,512,2048 \
//	  -intervals-splits 3 -intervals-epochs 64
var (
	intervalSets = flag.String("intervals-sets", "diamonds,fried,poker,protein,sgemm",
		"data sets that intervals are measured on")
	intervalLabels = flag.String("intervals-labels", "64", "numbers of labels")
	intervalSplits = flag.Int("intervals-splits", 1, "random draws of the labels")
	intervalEpochs = flag.Int("intervals-epochs", 16, "epochs of training")
)

const intervalsCoverage = 0.9

// kinds of intervals that are compared, in the order of the table.
var intervalKinds = [...]string{"constant, validation rows", "constant, cross-fitted", "in use"}

// measured is the coverage of intervals on test rows and their mean length, in
// deviations of the labels.
type measured struct{ coverage, length float64 }

// TestIntervalsOnRealData measures coverage and length of constant and adaptive
// intervals on rows of real data sets, as markdown.
func TestIntervalsOnRealData(t *testing.T) {
	t.Parallel()
	dir := golden.Data(t)
	fmt.Printf("| data set | labels | %s |\n|---|---|%s\n", strings.Join(intervalKinds[:], " | "),
		strings.Repeat("---|", len(intervalKinds)))
	for name := range strings.SplitSeq(*intervalSets, ",") {
		r, err := sets.Load(t.Context(), name, dir)
		if err != nil {
			t.Fatal(err)
		}
		for text := range strings.SplitSeq(*intervalLabels, ",") {
			labels, err := strconv.Atoi(text)
			if err != nil {
				t.Fatal(err)
			}
			var sum [len(intervalKinds)]measured
			adaptive := 0
			for split := range *intervalSplits {
				found, used := measureIntervals(t, r, labels, uint64(split))
				for i, m := range found {
					sum[i].coverage += m.coverage / float64(*intervalSplits)
					sum[i].length += m.length / float64(*intervalSplits)
				}
				if used {
					adaptive++
				}
			}
			fmt.Printf("| %s | %d |", name, labels)
			for i, m := range sum {
				fmt.Printf(" %.1f %%, %.2f", 100*m.coverage, m.length)
				if i == len(sum)-1 {
					fmt.Printf("; adaptive in %d of %d", adaptive, *intervalSplits)
				}
				fmt.Print(" |")
				if i > 0 && (m.coverage < 0.6 || !(m.length > 0)) {
					t.Errorf("%s, %d labels, %s: coverage %.3f, length %.3f", name, labels, intervalKinds[i], m.coverage, m.length)
				}
			}
			fmt.Println()
		}
	}
}

// measureIntervals fits to random rows of a set and measures on 2000 others. It also
// reports whether the model uses adaptive intervals.
func measureIntervals(t *testing.T, r *sets.Regression, labels int,
	split uint64) (found [len(intervalKinds)]measured, adaptive bool) {
	t.Helper()
	order := rng.New(split, "intervals on real data", uint64(labels)).Perm(r.X.Rows)
	train, test, pool := order[:labels], order[labels:labels+2000], order[labels+2000:labels+7000]
	all := Sample{X: r.X, Y: r.Y, Targets: 1}
	s := Sample{X: r.X.SelectRows(train), Y: all.choose(train), Targets: 1, Unlabelled: r.X.SelectRows(pool)}
	o := Options{Config: Config{Training: Training{Epochs: *intervalEpochs}, Seed: split}}
	m, err := Fit(t.Context(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	o.Folds = 5
	targets, diverged, err := crossFit(t.Context(), s, o)
	if err != nil || diverged != nil {
		t.Fatal(err, diverged)
	}
	held := targets[0]
	u, err := m.PredictStd(t.Context(), r.X.SelectRows(test))
	if err != nil {
		t.Fatal(err)
	}
	y := all.choose(test)
	used, scores := conformal.Learn(held, o.Folds, m.intervals.Typical)
	var crossed []float64
	for _, one := range held {
		crossed = append(crossed, math.Abs(one.Residual))
	}
	slices.Sort(crossed)
	for i, kind := range []struct {
		scores    []float64
		intervals conformal.Intervals
	}{{absolute(m.Residuals()), conformal.Intervals{}}, {crossed, conformal.Intervals{}}, {scores, used}} {
		radius, err := conformal.Radius(kind.scores, intervalsCoverage)
		if err != nil {
			t.Fatal(err)
		}
		found[i] = measureLength(u, y, m.intervals.Typical, radius, kind.intervals)
	}
	return found, used.Adaptive()
}

func measureLength(u Uncertain, y []float64, typical, radius float64, intervals conformal.Intervals) (m measured) {
	scaler, _ := encode.FitLabelScaler(y)
	for i, v := range y {
		h := radius * intervals.Stretch(u.Std[i]/typical)
		m.length += 2 * h / scaler.Deviation / float64(len(y))
		if math.Abs(u.Mean[i]-v) <= h {
			m.coverage += 1 / float64(len(y))
		}
	}
	return m
}
