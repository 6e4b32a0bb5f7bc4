package estimate

import (
	"context"
	"fmt"
	"math"

	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/internal/words"
)

// The gain meter: how many random labels the error of the current model would have
// taken. The labelled rows that were drawn at random are divided into three parts. Each
// part in turn is predicted by models that are fitted to all, half and a quarter of
// the other two, nine small models in total. A learning curve through their errors is
// extrapolated to the error of the current model. Curves flatten on the way: on four
// real data sets the slope from 768 to 1280 labels was between half and all of that from 256
// to 768, with one exception. So slopes of all, three quarters and half of the fitted
// one are taken to be equally likely beyond the largest of these models.
//
// The two errors come from the same rows, so they are correlated; their intervals are
// combined as if they were independent, so the interval of the gain is too wide if anything.

// leastRandom is how many labelled random rows the gain meter needs: the smallest of its
// models is then fitted to eight.
const leastRandom = 48

const gainParts = 3

// GainNetworks is how many models the gain meter fits for each target.
const GainNetworks = gainParts * gainParts

// flattening lists the shares of the slope that may remain beyond the data.
var flattening = [...]float64{1, 0.75, 0.5}

// Random is a labelled row that was drawn at random.
type Random struct {
	Row   int64 // of the campaign
	Label float64
}

// Gain compares a campaign with random selection.
type Gain struct {
	Labels int      `json:"labels"` // of the campaign
	Rows   int      `json:"rows"`   // random rows that the comparison is based on
	Random Interval `json:"random"` // random labels for the error of the current model
	Factor Interval `json:"factor"` // Random over Labels; above 1 the campaign has saved labels
}

// widestGain is the ratio of the limits of the factor beyond which it is meaningless.
const widestGain = 10

// Clear reports whether there are enough random rows for a meaningful factor.
func (g Gain) Clear() bool { return g.Factor.bounded() && g.Factor.High <= widestGain*g.Factor.Low }

// String describes the gain.
func (g Gain) String() string { return g.Text().String() }

// Text is the gain in a clause.
func (g Gain) Text() words.Text {
	switch {
	case !g.Clear() && g.Factor.Low > 1:
		return words.Textf("the same error would have taken at least %s times as many random labels; %d random rows are "+
			"too few to tell how many more", words.Num(words.Brief(g.Factor.Low)), g.Rows)
	case !g.Clear():
		return words.Textf("%d random rows are too few to tell how many random labels the same error would have taken",
			g.Rows)
	case g.Factor.Low > 1:
		return words.Textf("the same error would have taken %v times as many random labels", g.Factor)
	case g.Factor.High < 1:
		return words.Textf("random selection would have needed fewer labels for the same error: %v times as many", g.Factor)
	}
	return words.Textf(
		"the same error would have taken %v times as many random labels; a gain over random selection is not certain yet",
		g.Factor)
}

// Train fits a model to some labelled rows of the campaign and returns its
// predictions for others, in their order.
type Train func(ctx context.Context, learn, predict []int64) ([]float64, error)

// MeasureGain compares the campaign with models that are fitted to random rows alone.
// Rows without a label do not count. With fewer than leastRandom rows the error is a
// *TooFewError.
func MeasureGain(ctx context.Context, random []Random, current *Curve, train Train) (*Gain, error) {
	labels, rows := map[int64]float64{}, []int64{}
	for _, r := range random {
		if _, twice := labels[r.Row]; !twice && !math.IsNaN(r.Label) {
			labels[r.Row] = r.Label
			rows = append(rows, r.Row)
		}
	}
	if len(rows) < leastRandom {
		return nil, &TooFewError{"what random selection would have taken", len(rows), leastRandom}
	}
	audited, err := predictRandom(ctx, rows, labels, train)
	if err != nil {
		return nil, err
	}
	c, err := FitCurve(audited, audited[len(audited)-1].Labels)
	if err != nil {
		return nil, err
	}
	return gainOver(c, current), nil
}

// predictRandom returns the predictions of the models, the largest last.
func predictRandom(ctx context.Context, rows []int64, labels map[int64]float64,
	train Train) (audited []Audited, err error) {
	order := rng.New(0, "gain meter").Perm(len(rows))
	for halvings := gainParts - 1; halvings >= 0; halvings-- {
		for part := range gainParts {
			var learn, test []int64
			for i, k := range order {
				if i%gainParts == part {
					test = append(test, rows[k])
				} else {
					learn = append(learn, rows[k])
				}
			}
			learn = learn[:len(learn)>>halvings]
			predictions, err := train(ctx, learn, test)
			if err != nil {
				return nil, err
			}
			if len(predictions) != len(test) {
				return nil, fmt.Errorf("the gain meter got %d predictions for %d rows", len(predictions), len(test))
			}
			for i, row := range test {
				audited = append(audited, Audited{Row: row, Labels: len(learn), Prediction: predictions[i], Label: labels[row]})
			}
		}
	}
	return audited, nil
}

// gainOver compares the current model with a learning curve of random selection.
func gainOver(random, current *Curve) *Gain {
	g := &Gain{Labels: current.Labels, Rows: random.Rows}
	var both []scenario
	shares := make([]float64, levels)
	for k := range shares {
		shares[k] = (float64(k) + 0.5) / levels
	}
	for _, now := range quantilesAt(current.grids[RMSE], func(s scenario) float64 { return s.level }, shares...) {
		for _, s := range random.grids[RMSE] {
			s.level -= now // so that the wanted error is 1
			s.weight /= levels * float64(len(flattening))
			for _, share := range flattening {
				flat := s
				if s.level > 0 { // the random rows do not reach the error
					flat.slope *= share
				}
				both = append(both, flat)
			}
		}
	}
	g.Random = over(both, func(s scenario) float64 { return s.labelsFor(1, random.Labels) })
	n := float64(current.Labels)
	g.Factor = Interval{g.Random.Value / n, g.Random.Low / n, g.Random.High / n}
	return g
}
