package campaign

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/internal/estimate"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/learner"
)

// Standing is where a campaign stands: the error of the current model, what more
// labels would bring, and whether to stop. It follows from rows that were drawn at random:
// audit rows and, if they were, those that the campaign started with. The other rows were
// picked because they are unusual.
type Standing struct {
	Counts
	Learner learner.Kind     `json:"learner,omitempty" doc:"auto, gp, trees or in-context is fitted; absent for a network alone"`
	Targets []TargetStanding `json:"targets"`
	// Advice is that of the stop rule.
	Rule   estimate.StopRule `json:"-"`
	Advice estimate.Advice   `json:"advice"`
	// Doubtful are the labels that wait for a second look, the oldest first. Nothing here follows from them.
	Doubtful []Waiting `json:"doubtful" doc:"labels that wait for a second look, the oldest first"`
	// Model is nil before a model was fitted; State.Standing does not know it.
	Model *ModelStanding `json:"model,omitempty" doc:"the model of the last ask, whose errors are estimated"`
	// Space is how many candidates the space has that asks draw from; empty where they are rows of a table.
	Space string `json:"-"`
}

// TargetStanding is where a campaign stands with one target.
type TargetStanding struct {
	Target  string             `json:"target"`
	Labels  int                `json:"labels"`   // rows that have one
	Audited int                `json:"audited"`  // audit rows among them with a prediction from before
	HeldOut int                `json:"held_out"` // random rows among them that a model had held out
	Random  int                `json:"random"`   // rows among them that were drawn at random, for the gain meter
	Noise   Noise              `json:"noise"`    // of repeated measurements
	Curve   *estimate.Curve    `json:"curve"`    // nil if there are too few audit rows
	Next    *estimate.Interval `json:"next" doc:"share by which 10 % more labels lower the RMSE"`
	// of the error in the stop rule, or of an RMSE that is a tenth smaller than the present one
	Forecast *estimate.Forecast `json:"forecast"`
	Gain     *estimate.Gain     `json:"gain"` // as Campaign.MeasureGain found it last; nil before
	Advice   estimate.Advice    `json:"advice"`
	// Learners are the models of the asks so far, in their order, where any of them was a blend.
	Learners []Fitted `json:"learners,omitempty"`
}

// Standing returns where the campaign stands by a stop rule, such as "rmse<0.5"; an empty one means "gain<2%". The cost
// of a label, 0 where it is not known, is for the forecast. Labels that wait for a second look
// do not count; the advice is given only if it would be the same if they did.
func (s *State) Standing(stop string, costPerLabel float64) (*Standing, error) {
	rule := estimate.DefaultRule
	if stop != "" {
		var err error
		if rule, err = estimate.ParseStopRule(stop); err != nil {
			return nil, err
		}
	}
	e := evidence{s}
	found, err := e.standing(rule, costPerLabel)
	if waiting := s.Waiting(); err == nil && len(waiting) > 0 {
		found.Advice, err = e.despite(waiting, found.Advice, rule)
	}
	return found, err
}

// evidence is what a state says about errors.
type evidence struct{ *State }

// mostDeciding is how many of the labels that wait are tried one by one.
const mostDeciding = 20

// despite returns advice that was found without the labels that wait for a second look if it is the same with them.
// Otherwise it is too early to tell, because of a label that would change it alone or of all together.
func (s evidence) despite(waiting []Waiting, without estimate.Advice, rule estimate.StopRule) (estimate.Advice, error) {
	with, err := evidence{s.withWaiting(waiting...)}.standing(rule, 0)
	if err != nil || with.Advice.Verdict == without.Verdict {
		return without, err
	}
	advice := estimate.Advice{Verdict: estimate.TooEarly,
		Because: words.Textf("%v for a second look: without them the advice would be %q, with them %q; together they decide",
			words.Counted(len(waiting), "label waits", "labels wait"), without.Verdict, with.Advice.Verdict)}
	for _, w := range waiting[:min(len(waiting), mostDeciding)] {
		one, err := evidence{s.withWaiting(w)}.standing(rule, 0)
		if err != nil {
			return advice, err
		}
		if one.Advice.Verdict != without.Verdict {
			advice.Because = words.Textf(
				"the label of %s, %s, waits for a second look and decides: without it the advice would be %q, with it %q", w.ID,
				words.Num(words.Grouped(float64(w.Value))), without.Verdict, one.Advice.Verdict)
			break
		}
	}
	return advice, nil
}

// standing is Standing without a look at the labels that wait.
func (s evidence) standing(rule estimate.StopRule, costPerLabel float64) (*Standing, error) {
	all := &Standing{Counts: s.Counts(), Rule: rule, Doubtful: append([]Waiting{}, s.Waiting()...)}
	if s.Settings.Learner.Blends() {
		all.Learner = s.Settings.Learner
	}
	var names []string
	var advice []estimate.Advice
	outcomes, noise, rows := s.Outcomes(), s.Noise(), int(all.Rows-all.Failed-all.Retired)
	for i, name := range s.Created.Targets {
		t := TargetStanding{Target: name, Labels: s.labelsOf(i), Noise: noise[i], Learners: s.fitted(i)}
		audited, heldOut := auditedOf(outcomes, i), s.heldOut(i)
		t.Audited, t.HeldOut, t.Random = len(audited), len(estimate.Latest(heldOut)), len(s.randomRows(i))
		if err := t.estimate(slices.Concat(audited, heldOut), rule, rows, costPerLabel); err != nil {
			return nil, fmt.Errorf("target %q: %w", name, err)
		}
		if rule.Concerns(name) {
			names, advice = append(names, name), append(advice, t.Advice)
		}
		all.Targets = append(all.Targets, t)
	}
	switch {
	case len(names) == 0:
		return nil, &estimate.StopRuleError{Text: rule.String(),
			Problem: fmt.Sprintf("the campaign has no target %q", rule.Target)}
	case len(s.Created.Targets) == 1:
		all.Advice = advice[0]
	default:
		all.Advice = estimate.Together(names, advice)
	}
	return all, nil
}

// estimate fills in what follows from the audit rows, in a campaign in which that many rows can have a label.
func (t *TargetStanding) estimate(audited []estimate.Audited, rule estimate.StopRule, rows int, cost float64) error {
	curve, err := estimate.FitCurve(audited, t.Labels)
	if few := (*estimate.TooFewError)(nil); errors.As(err, &few) {
		t.Advice = rule.Judge(nil, rows)
		return nil
	}
	if err != nil {
		return err
	}
	t.Curve, t.Next, t.Advice = curve, new(curve.Gain()), rule.Judge(curve, rows)
	switch {
	case rule.Metric != "" && rule.Concerns(t.Target):
		t.Forecast = new(curve.Forecast(rule.Metric, rule.Below, cost, rows))
	case curve.RMSE.Value > 0:
		t.Forecast = new(curve.ForecastLess(cost, rows))
	}
	return nil
}

// labelsOf counts the rows with a label of a target.
func (s evidence) labelsOf(target int) (n int) {
	for _, ref := range s.With(StatusLabelled) {
		if !math.IsNaN(s.Label(ref.Row)[target]) {
			n++
		}
	}
	return n
}

// randomRows returns the rows with a label of a target that were drawn at random.
func (s evidence) randomRows(target int) (list []estimate.Random) {
	for _, ref := range s.With(StatusLabelled) {
		if label := s.Label(ref.Row)[target]; s.isRandom(ref.Row) && !math.IsNaN(label) {
			list = append(list, estimate.Random{Row: ref.Row, Label: label})
		}
	}
	return list
}

// auditedOf returns the predictions of a target for audit rows, and their labels.
func auditedOf(outcomes []Outcome, target int) (list []estimate.Audited) {
	for _, o := range outcomes {
		if o.Audit && target < len(o.Predictions) && !math.IsNaN(o.Label[target]) {
			list = append(list, estimate.Audited{Row: o.Row, Labels: o.Trained, Prediction: float64(o.Predictions[target].Value),
				Label: o.Label[target]})
		}
	}
	return list
}

// learntFrom returns how many labels stand behind a prediction for a held-out row. A network is the one that made it; a
// blend had it made by models that learnt from four of five folds, and is itself better than these.
func (a *Asked) learntFrom() int {
	if a.Chosen != nil {
		return a.Trained * 4 / 5
	}
	return a.Trained
}

// heldOut returns the predictions of models for random rows that they had held out, and
// their labels.
func (s evidence) heldOut(target int) (list []estimate.Audited) {
	seen := map[string]bool{} // models
	for _, a := range s.Asks {
		if seen[a.Model] {
			continue
		}
		seen[a.Model] = len(a.HeldOut) > 0
		for _, held := range a.HeldOut {
			v := float64(held.Values[target])
			if s.Status(held.Row) == StatusLabelled && s.isRandom(held.Row) && !math.IsNaN(v) {
				list = append(list, estimate.Audited{
					Row: held.Row, Labels: a.learntFrom(), Prediction: v,
					Label: s.Label(held.Row)[target]})
			}
		}
	}
	return list
}

// Standing returns where the campaign stands by a stop rule, such as "rmse<0.5"; an empty one means "gain<2%". Nothing
// is trained.
func (c *Campaign) Standing(ctx context.Context, stop string) (*Standing, error) {
	s, err := c.State(ctx)
	if err != nil {
		return nil, err
	}
	cost, err := c.meanCost(ctx, s)
	if err != nil {
		return nil, err
	}
	found, err := s.Standing(stop, cost)
	if err != nil {
		return nil, err
	}
	if found.Model, err = c.modelStanding(ctx, s); err != nil {
		return nil, err
	}
	if s.fromSpace() {
		of, err := c.sampled(ctx, s)
		if err != nil {
			return nil, err
		}
		found.Space = of.Count.String()
	}
	gains, err := c.gains(ctx)
	for i := range found.Targets {
		found.Targets[i].Gain = gains[found.Targets[i].Target]
	}
	return found, err
}

// meanCost returns the mean cost of a row; 0 where costs are not known.
func (c *Campaign) meanCost(ctx context.Context, s *State) (float64, error) {
	if s.Settings.CostColumn == "" || s.fromSpace() && s.Total() == 0 {
		return 0, nil
	}
	t, err := c.readRows(ctx, s, []string{s.Settings.CostColumn})
	if err != nil {
		return 0, err
	}
	costs, err := t.rows.Numeric(s.Settings.CostColumn)
	if err != nil {
		return 0, err
	}
	sum, n := 0.0, 0
	for row := range costs.Len() {
		if !costs.Missing(row) {
			sum += costs.Float(row)
			n++
		}
	}
	return sum / float64(max(1, n)), nil
}

// gainBlob is the key of what the gain meter found last, by target.
const gainBlob = "gain"

func (c *Campaign) gains(ctx context.Context) (map[string]*estimate.Gain, error) {
	raw, err := c.store.Blob(ctx, c.name, gainBlob)
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var found map[string]*estimate.Gain
	if err := json.Unmarshal(raw, &found); err != nil {
		return nil, fmt.Errorf("the measured gain cannot be read: %w", err)
	}
	return found, nil
}

// MeasureGain estimates, for each target, how many random labels the error of the
// current model would have taken, and keeps the answer for Standing. It fits nine
// models to random rows alone, with the campaign's settings. With too few of these the error is a
// *estimate.TooFewError. Of the ask, only the functions and the trainer have an effect.
func (c *Campaign) MeasureGain(ctx context.Context, a Ask) error {
	s, err := c.State(ctx)
	if err != nil {
		return err
	}
	rows, err := c.candidates(ctx, s)
	if err != nil {
		return err
	}
	a.Trainer = c.shelf().trainer(ctx, a)
	models := 0
	e, outcomes, found := evidence{s}, s.Outcomes(), map[string]*estimate.Gain{}
	for i, name := range s.Created.Targets {
		curve, err := estimate.FitCurve(slices.Concat(auditedOf(outcomes, i), e.heldOut(i)), e.labelsOf(i))
		if err != nil {
			return err
		}
		train := rows.trainOn(s, i, a)
		if found[name], err = estimate.MeasureGain(ctx, e.randomRows(i), curve,
			func(ctx context.Context, learn, test []int64) ([]float64, error) {
				list, err := train(ctx, learn, test)
				if models++; a.Compared != nil {
					a.Compared(models)
				}
				return list, err
			}); err != nil {
			return err
		}
	}
	raw, err := json.Marshal(found)
	if err != nil {
		return err
	}
	return c.store.PutBlob(ctx, c.name, Blob{gainBlob, raw})
}

// trainOn returns a function that fits models for one target to some rows alone.
func (r *candidates) trainOn(s *State, target int, a Ask) estimate.Train {
	one := *s // with this target only
	one.Created.Targets, one.Settings.Weights, one.Settings.Ranges = s.Created.Targets[target:target+1], nil,
		dataset.Ranges{s.Settings.Ranges.Of(target)}
	return func(ctx context.Context, learn, test []int64) ([]float64, error) {
		labels := dataset.NewNumeric(one.Created.Targets[0])
		known := map[int64]float64{}
		for _, row := range learn {
			known[row] = s.Label(row)[target]
		}
		for _, row := range r.numbers {
			label, learnt := known[row]
			if !learnt {
				label = math.NaN()
			}
			labels.Append(label)
		}
		part := *r
		part.created, part.labels, part.labelled, part.out = &one.Created, []*dataset.Numeric{labels}, len(learn), nil
		request, err := part.request(&one)
		if err != nil {
			return nil, err
		}
		a.into(&request, a.Trainer)
		f, err := request.Fit(ctx)
		if err != nil {
			return nil, err
		}
		return part.predictions(ctx, f, test)
	}
}

// predictions returns the predictions of a model with one target for rows, NaN for rows that
// were dropped.
func (r *candidates) predictions(ctx context.Context, f *fitted.Fitted, rows []int64) ([]float64, error) {
	at := make([]int, len(rows))
	for i, row := range rows {
		at[i] = r.at(row)
	}
	found, err := predict(ctx, f, at)
	if err != nil {
		return nil, err
	}
	list := nans(len(rows))
	for i, p := range found {
		if len(p) > 0 {
			list[i] = float64(p[0].Value)
		}
	}
	return list, nil
}
