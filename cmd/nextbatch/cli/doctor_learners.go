package cli

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/internal/stats"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
)

// examineLearners fits a Gaussian process, trees and a small blend.
func examineLearners() (tests []healthCheck) {
	for _, of := range []struct {
		kind learner.Kind
		most float64 // error of a sound learner, three times (trees: 1.6 times) what is usual
	}{{learner.GaussianOnly, 0.3}, {learner.TreesOnly, 0.6}, {learner.InContext, 0.5}, {learner.Auto, 0.3}} {
		begin := time.Now()
		c := within("learner "+string(of.kind)+" on new rows", learnerError(of.kind), of.most)
		c.Seconds = number(time.Since(begin).Seconds())
		tests = append(tests, c)
	}
	return tests
}

// learnerError fits a learner to generated rows and returns its error on others, as a share of the deviation of the
// labels. It is infinite if the model differs between one thread and all.
func learnerError(kind learner.Kind) float64 {
	const rows, labelled = 400, 100
	x, y := friedman(1, "doctor learners", rows)
	predict := func(threads int) ([]float64, error) {
		ctx, err := withThreads(context.Background(), threads)
		if err != nil {
			return nil, err
		}
		small := network.Config{Architecture: network.Architecture{Hidden: []int{64, 64}},
			Training: network.Training{Epochs: 32}}
		m, _, err := fitted.Learn(ctx, network.Sample{X: x.Slice(0, labelled), Y: y[:labelled]},
			learner.Options{Kind: kind, Network: network.Options{Config: small}})
		if err != nil {
			return nil, err
		}
		return m.Predict(ctx, x.Slice(labelled, rows))
	}
	all, err := predict(0)
	one, failed := predict(1)
	scale, wrong := encode.FitLabelScaler(y[labelled:])
	if err != nil || failed != nil || wrong != nil || !slices.Equal(all, one) {
		return math.Inf(1)
	}
	return stats.Measure(matrix.View(1, len(all), all), y[labelled:]).RMSE / scale.Deviation
}
