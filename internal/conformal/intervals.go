package conformal

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/nextbatch/nextbatch/internal/words"
)

// Intervals whose length follows the predicted deviation. Rows i = 1 … n were
// predicted by networks that were not fitted to them, s is the standard deviation
// of PredictStd, and t its root mean square over the held-out rows of the same networks:
//
//	g(x) = (s(x)/t + β)/(1 + β)        β > 0 is the floor; g = 1, its limit, is constant
//	R_i  = |y_i - ŷ_i|/g(x_i)
//
// and the interval at x is ŷ(x) ± R_(k)·g(x), where R_(k) is number k = ⌈(n + 1)·coverage⌉
// of the R_i in ascending order (radius.go). Such normalised scores are from
// Papadopoulos, Gammerman and Vovk (2008) and Lei and others (2018, section 5.2).
//
// With cross-fitting every labelled row is held out once, so that few
// labels suffice: cross-conformal prediction (Vovk 2015). Unlike CV+ (Barber, Candès,
// Ramdas and Tibshirani 2021), whose intervals combine the predictions of all folds,
// ours are centred at the prediction of the model, and the networks of the folds are
// not kept. CV+ guarantees 1 - 2·(1 - coverage) whatever the training does; ours have
// the coverage itself where leaving a fold out hardly changes a prediction (Steinberger
// and Leeb 2023), and tend to be too long otherwise, because a fold's networks learn
// from fewer rows.
//
// The floor is chosen by the interval score (Gneiting and Raftery 2007), the length 2h
// of an interval plus a penalty for a label beyond it,
//
//	2·h + 2/(1 - coverage)·max(0, |y - ŷ| - h),
//
// at a coverage of 0.9, in each fold with the R_(k) of the other folds. Intervals stay
// constant unless the best floor scores better by more than one standard error.

// floors are the values of β to choose from.
var floors = []float64{0.1, 0.3, 1, 3}

// constantLength is the floor of intervals of constant length.
const constantLength = 0

// DefaultCoverage is the probability that intervals contain the label with, where nobody asks
// for another. The floor is chosen for it.
const DefaultCoverage = 0.9

// Intervals describes how the intervals of a model are made.
type Intervals struct {
	Rows    int     `json:"rows"`    // held-out rows that they are based on
	Folds   int     `json:"folds"`   // of cross-fitting; 0 where the held-out rows are the validation rows
	Floor   float64 `json:"floor"`   // β; 0 for intervals of constant length
	Typical float64 `json:"typical"` // t: root mean square of the predicted deviations, in the units of the labels
	// Random is how many of the rows were drawn at random, and count more than the others; 0 means that all count alike,
	// or as many rows of the pool as they stand for.
	Random int `json:"random,omitempty"`
	// Outside is how many of the rows some models of a blend did not hold out, so that the others judge them.
	Outside int `json:"outside,omitempty"`

	// ConstantScore and AdaptiveScore are the mean interval scores, for a coverage of
	// 0.9, of constant intervals and of those with the best floor. Both are 0 where
	// there are too few rows to compute them.
	ConstantScore float64 `json:"constant_score"`
	AdaptiveScore float64 `json:"adaptive_score"`
}

// Adaptive reports whether the length of an interval depends on the row.
func (i Intervals) Adaptive() bool { return i.Floor != constantLength }

// Basis describes which width the intervals have and which held-out rows they come from.
func (i Intervals) Basis() string { return i.basis("") }

// basis is Basis with something to say about the folds.
func (i Intervals) basis(folds string) string {
	width := "constant width"
	if i.Adaptive() {
		width = "adaptive width"
	}
	switch {
	case i.Rows == 0:
		return "none, as no rows were held out"
	case i.Folds > 0:
		basis := fmt.Sprintf("%s, cross-fitted on %d labelled rows%s", width, i.Rows, folds)
		if i.Random > 0 {
			basis += fmt.Sprintf(" (of which %d were drawn at random and count most)", i.Random)
		}
		return basis
	}
	return fmt.Sprintf("%s, from %d validation rows", width, i.Rows)
}

// String describes which intervals are in use, and why.
func (i Intervals) String() string { return i.Text().String() }

// Text is String as a text.
func (i Intervals) Text() words.Text {
	basis, change := i.basis(fmt.Sprintf(" in %d folds", i.Folds)), 100*(i.AdaptiveScore/i.ConstantScore-1)
	if i.Folds == 0 && i.Rows > 0 {
		basis += " (not cross-fitted)"
	}
	switch {
	case i.Rows == 0:
		return words.Textf("%s", basis)
	case i.ConstantScore == 0:
		return words.Textf("%s: too few to compare with adaptive ones", basis)
	case i.Adaptive():
		return words.Textf("%s: their interval score is %.1f %% better than with constant width", basis, -change)
	case change < 0:
		return words.Textf("%s: adaptive ones score %.1f %% better, which is less than one standard error", basis, -change)
	}
	return words.Textf("%s: adaptive ones score %.1f %% worse", basis, change)
}

// Outcome is a prediction for a held-out row.
type Outcome struct {
	Row      int     // of the sample
	Fold     int     // that the row was held out in
	Residual float64 // prediction minus label, in the units of the labels
	Weight   float64 // how many rows like those to come the row stands for; only LearnWeighted reads it
	Relative float64 // s/t, the predicted deviation relative to its root mean square
}

// Outcomes compares predictions for the given rows, and the deviations that were predicted
// for them, with the labels that they have.
func Outcomes(means, deviations, labels []float64, rows []int, fold int) []Outcome {
	typical := RootMeanSquare(deviations)
	list := make([]Outcome, 0, len(labels))
	for i, y := range labels {
		if math.IsNaN(y) {
			continue
		}
		one := Outcome{Row: rows[i], Fold: fold, Residual: means[i] - y, Relative: 1}
		if typical > 0 {
			one.Relative = deviations[i] / typical
		}
		list = append(list, one)
	}
	return list
}

// Learn chooses the intervals by the outcomes of held-out rows, and returns them with the R_i in
// ascending order. Typical is t of the model that predicts new rows.
func Learn(held []Outcome, folds int, typical float64) (Intervals, []float64) {
	n := Intervals{Rows: len(held), Folds: folds, Typical: typical}
	if len(held) == 0 {
		return n, nil
	}
	n.Floor, n.ConstantScore, n.AdaptiveScore = chooseFloor(held)
	if typical == 0 { // no deviation is predicted at all
		n.Floor = constantLength
	}
	return n, sortedScores(held, n.Floor)
}

// LearnWeighted is Learn for rows that count by their weights, of mean about 1. It also returns the
// weights in the order of the R_i; nil if all are 1.
func LearnWeighted(held []Outcome, folds int, typical float64) (n Intervals, scores, weights []float64) {
	n, scores = Learn(held, folds, typical)
	if !slices.ContainsFunc(held, func(o Outcome) bool { return o.Weight != 1 }) {
		return n, scores, nil
	}
	order := slices.Clone(held)
	size := func(o Outcome) float64 { return math.Abs(o.Residual) / growth(o.Relative, n.Floor) }
	slices.SortStableFunc(order, func(a, b Outcome) int { return cmp.Compare(size(a), size(b)) })
	for _, o := range order {
		weights = append(weights, o.Weight)
	}
	return n, scores, weights
}

// Stretch returns g for a row whose predicted deviation is s/t.
func (i Intervals) Stretch(relative float64) float64 { return growth(relative, i.Floor) }

// growth is g.
func growth(relative, floor float64) float64 {
	if floor == constantLength {
		return 1
	}
	return (relative + floor) / (1 + floor)
}

// chooseFloor returns the floor and the mean interval scores that it was chosen by,
// zeros if there are too few rows.
func chooseFloor(held []Outcome) (floor, constant, adaptive float64) {
	plain := intervalScores(held, constantLength)
	if plain == nil {
		return constantLength, 0, 0
	}
	constant, adaptive = mean(plain), math.Inf(1)
	for _, candidate := range floors {
		scores := intervalScores(held, candidate)
		if m := mean(scores); m < adaptive {
			adaptive = m
			if gain, deviation := pairedGain(plain, scores); gain > deviation {
				floor = candidate
			} else {
				floor = constantLength
			}
		}
	}
	return floor, constant, adaptive
}

// intervalScores returns the interval score of each row, with R_(k) of the other
// folds, or nil if one of them has too few rows for that.
func intervalScores(held []Outcome, floor float64) []float64 {
	var scores []float64
	for fold := range 1 + slices.MaxFunc(held, func(a, b Outcome) int { return a.Fold - b.Fold }).Fold {
		others := slices.DeleteFunc(slices.Clone(held), func(o Outcome) bool { return o.Fold == fold })
		r, err := Radius(sortedScores(others, floor), DefaultCoverage)
		if err != nil {
			return nil
		}
		for _, o := range held {
			if o.Fold != fold {
				continue
			}
			h := r * growth(o.Relative, floor)
			scores = append(scores, 2*h+2/(1-DefaultCoverage)*max(0, math.Abs(o.Residual)-h))
		}
	}
	return scores
}

// sortedScores returns the R_i in ascending order.
func sortedScores(held []Outcome, floor float64) []float64 {
	scores := make([]float64, len(held))
	for i, o := range held {
		scores[i] = math.Abs(o.Residual) / growth(o.Relative, floor)
	}
	slices.Sort(scores)
	return scores
}

// pairedGain returns the mean of a - b and its standard error.
func pairedGain(a, b []float64) (gain, deviation float64) {
	n, squares := float64(len(a)), 0.0
	gain = mean(a) - mean(b)
	for i := range a {
		off := a[i] - b[i] - gain
		squares += off * off
	}
	return gain, math.Sqrt(squares) / n
}

func mean(v []float64) (sum float64) {
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}

// RootMeanSquare returns the root of the mean of squares.
func RootMeanSquare(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x * x
	}
	return math.Sqrt(sum / float64(len(v)))
}
