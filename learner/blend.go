package learner

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/nextbatch/nextbatch/matrix"
)

// Blend is the weighted mean of fitted candidates.
type Blend struct {
	Candidates []Candidate // all that were tried, in their order
	Error      float64     // of the blend: root mean square on the labelled rows, out of fold
	Held       []Prediction

	models  []Model
	weights []float64
}

// Candidate is what became of a learner.
type Candidate struct {
	Name   string
	Weight float64
	Error  float64  // root mean square on the labelled rows, out of fold; 0 if it was left out
	Left   string   // why it was left out; empty if it was not
	Notes  []string // as those of CrossFitted
}

// Fit cross-fits the learners and blends them.
func Fit(ctx context.Context, t Task, learners ...Learner) (*Blend, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	if len(learners) == 0 || len(learners) > MostCandidates {
		return nil, fmt.Errorf("there are %d learners; a blend takes from 1 to %d", len(learners), MostCandidates)
	}
	t.folds = cutFolds(t.X.Rows, t.Seed)
	b := &Blend{}
	var crossed []*CrossFitted
	for _, l := range learners {
		c := Candidate{Name: l.Name(), Left: l.Refuses(t.X.Rows, t.X.Cols)}
		if c.Left == "" {
			fitted, err := l.CrossFit(ctx, &t)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", l.Name(), err)
			}
			c.Notes = fitted.Notes
			if e := rootMeanSquare(residuals(fitted.Held, t.Labels)); math.IsNaN(e) || math.IsInf(e, 0) {
				c.Left = "its predictions are not finite"
			} else {
				c.Error = e
				crossed = append(crossed, fitted)
			}
		}
		b.Candidates = append(b.Candidates, c)
	}
	if len(crossed) == 0 {
		return nil, fmt.Errorf("no learner could learn from %d labels: %s", t.X.Rows, b.reasons())
	}
	b.blend(crossed, t.Labels)
	return b, nil
}

// reasons lists why candidates were left out.
func (b *Blend) reasons() string {
	var list []string
	for _, c := range b.Candidates {
		if c.Left != "" {
			list = append(list, c.Name+": "+c.Left)
		}
	}
	return strings.Join(list, "; ")
}

// blend finds the weights, and keeps the candidates that have one.
func (b *Blend) blend(crossed []*CrossFitted, labels []float64) {
	errors := matrix.New[float64](len(labels), len(crossed))
	for k, c := range crossed {
		for i, e := range residuals(c.Held, labels) {
			errors.Set(i, k, e)
		}
	}
	weights, at := blendWeights(errors), 0
	var held [][]Prediction
	for i := range b.Candidates {
		if b.Candidates[i].Left != "" {
			continue
		}
		if w := weights[at]; w > 0 {
			b.Candidates[i].Weight = w
			b.models, b.weights = append(b.models, crossed[at].Model), append(b.weights, w)
			held = append(held, crossed[at].Held)
		}
		at++
	}
	b.Held = mixed(held, b.weights, len(labels))
	b.Error = rootMeanSquare(residuals(b.Held, labels))
}

// Predict implements Model.
func (b *Blend) Predict(ctx context.Context, rows matrix.Dense[float32]) ([]Prediction, error) {
	return mixture(ctx, b.models, b.weights, rows)
}

// residuals returns predictions minus labels.
func residuals(list []Prediction, labels []float64) []float64 {
	off := make([]float64, len(list))
	for i, p := range list {
		off[i] = p.Mean - labels[i]
	}
	return off
}

func rootMeanSquare(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x * x
	}
	return sqrt(sum / float64(len(v)))
}
