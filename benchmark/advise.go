package benchmark

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/spec"
)

// Question asks whether active learning is worth it on a table. Advise replays it
// on the labelled rows: some are held out to measure errors, a few are labelled
// at the start, and methods request the labels of the others. The defaults of
// zero fields are given beside them.
type Question struct {
	Data       *dataset.Regression // the labelled rows
	Specs      []string            // methods to try; nil means AdviseSpecs
	Activation string              // of the networks; empty means relu
	Hidden     []int               // widths of their layers; nil means 512, 512
	Epochs     int                 // 0 means 256
	Rounds     int                 // batches that a method requests; 0 means 3
	Repeats    int                 // splits; 0 means 6
	Seed       uint64

	// Progress is called after each training, from the same goroutine.
	Progress func(done, total int, latest Record)
}

// AdviseSpecs returns the two best single-network methods of the paper's table of
// selection methods.
func AdviseSpecs() []string {
	return []string{spec.Default, "bait-f-p:grad>sketch(512)>train"}
}

// Confidence is the confidence level of all intervals of an Advice.
const Confidence = 0.95

// Verdict is the answer.
type Verdict uint8

const (
	TooFew Verdict = iota // there are too few labels to decide
	AsGood                // random selection is as good
	Worth                 // a method saves labels
)

func (v Verdict) String() string {
	switch v {
	case Worth:
		return "active learning is worth it"
	case AsGood:
		return "random is as good"
	}
	return "too few labels to tell"
}

// Advice is the answer, with the evidence for it.
type Advice struct {
	Verdict Verdict
	Because string // the reason, in a sentence
	Spec    string // the method to use
	Batch   int    // rows to label at once
	BatchBy string // where the batch size comes from

	// Variation compares the test errors of a network trained on all labelled
	// rows that are not held out.
	Variation Variation

	Savings *Savings // nil if there are too few rows for a replay
	Results Results  // of the replay: its learning curves
	Sizes   ReplaySizes
}

// ReplaySizes is how a replay divides the labelled rows.
type ReplaySizes struct {
	Rows, Test, Valid int // in total, to measure errors, to choose the epoch
	Start, Batch      int // labelled at the start, requested per round
	Rounds, Repeats   int
}

// Limits of a replay. The last round has a third of the rows that are not held
// out, so that methods have a choice until the end, but few enough to keep a
// replay short.
const (
	minRows    = 120
	maxRows    = 20_000
	maxAtEnd   = 768
	maxValid   = 512
	maxTrained = 4096 // for the ratio of errors
)

// worthwhile is the share of the labels that a method must save to be worth
// considering: if such a saving is ruled out, random selection is as good.
const worthwhile = 0.25

// Advise answers the question. The same question and seed give the same advice.
// If the context ends, Advise returns its error.
func (q Question) Advise(ctx context.Context) (*Advice, error) {
	q = q.withDefaults()
	if err := q.check(); err != nil {
		return nil, err
	}
	data := subset(q.Data, q.Seed)
	n := len(data.Y)
	if n < minRows {
		return tooFewRows(n), nil
	}
	r := &replay{Question: q, data: data, sizes: replaySizes(n, q.Rounds, q.Repeats)}
	return r.advise(ctx)
}

func (q Question) withDefaults() Question {
	if len(q.Specs) == 0 {
		q.Specs = AdviseSpecs()
	}
	q.Activation = cmp.Or(q.Activation, "relu")
	q.Rounds, q.Repeats = cmp.Or(q.Rounds, 3), cmp.Or(q.Repeats, 6)
	return q
}

func (q Question) check() error {
	var found []error
	for _, text := range q.Specs {
		if text == randomSpec {
			found = append(found, errors.New("random is the baseline that methods are compared with; name others"))
		}
		found = append(found, Run{DataSet: "table", Activation: q.Activation, Spec: text, BatchSize: 1}.Check())
	}
	if q.Rounds < 1 || q.Repeats < 2 {
		found = append(found, fmt.Errorf("%d rounds and %d repeats: a replay needs at least one round and two repeats", q.Rounds, q.Repeats))
	}
	if len(q.Data.Y) > 0 && slices.Min(q.Data.Y) == slices.Max(q.Data.Y) {
		found = append(found, errors.New("all labels are equal: there is nothing to learn"))
	}
	return errors.Join(found...)
}

// subset draws rows if there are more than a replay needs.
func subset(data *dataset.Regression, seed uint64) *dataset.Regression {
	if len(data.Y) <= maxRows {
		return data
	}
	split, _ := dataset.NewSplit(len(data.Y), dataset.Sizes{Train: maxRows}, seed, 0)
	rows := split.Train
	slices.Sort(rows)
	part := &dataset.Regression{X: data.X.SelectRows(rows), Encoder: data.Encoder}
	for _, row := range rows {
		part.Y = append(part.Y, data.Y[row])
	}
	return part
}

func tooFewRows(n int) *Advice {
	a := &Advice{
		Because:   fmt.Sprintf("%d rows have a label, and a replay needs at least %d", n, minRows),
		Variation: Variation{Ratio: math.NaN(), Expected: math.NaN()},
	}
	a.Spec, a.Batch, a.BatchBy = undecided(n)
	return a
}

func replaySizes(n, rounds, repeats int) ReplaySizes {
	s := ReplaySizes{Rows: n, Test: dataset.PaperSizes(n).Test, Valid: min(n/8, maxValid), Rounds: rounds, Repeats: repeats}
	last := min((n-s.Test-s.Valid)/3, maxAtEnd)
	s.Start = max(last/4, 2)
	s.Batch = max((last-s.Start)/rounds, 1)
	return s
}

// replay is a question being answered.
type replay struct {
	Question
	data  *dataset.Regression
	sizes ReplaySizes
	done  int
	of    int
}

func (r *replay) advise(ctx context.Context) (*Advice, error) {
	runs := r.runs(append([]string{randomSpec}, r.Specs...), r.sizes.Rounds, r.sizes.Batch)
	r.of = len(runs)*(r.sizes.Rounds+1) + 2
	variation, err := r.variation(ctx)
	if err != nil {
		return nil, err
	}
	a := &Advice{Sizes: r.sizes, Variation: variation}
	if a.Results, err = r.run(ctx, runs); err != nil {
		return nil, err
	}
	if a.Savings, err = Compare(a.Results, Confidence); err != nil {
		return nil, err
	}
	best := slices.MaxFunc(a.Savings.Methods, func(x, y Saving) int { return cmp.Compare(x.Gain.Value, y.Gain.Value) })
	a.decide(best)
	switch a.Verdict {
	case AsGood:
		a.Spec, a.BatchBy = randomSpec, "random selection works with any batch size"
	case TooFew:
		a.Spec, a.Batch, a.BatchBy = undecided(len(r.Data.Y))
	case Worth:
		a.Spec = best.Spec
		r.of += 2 * r.sizes.Repeats
		once, err := r.run(ctx, r.runs([]string{best.Spec}, 1, r.sizes.Rounds*r.sizes.Batch))
		if err != nil {
			return nil, err
		}
		a.chooseBatch(len(r.Data.Y), once)
	}
	return a, nil
}

// undecided is what to do if the labels do not decide: use the paper's best
// method, which was nowhere much worse than random selection, and double the
// labels.
func undecided(labelled int) (method string, batch int, by string) {
	return spec.Default, min(max(labelled, 8), maxBatch), fmt.Sprintf("as many rows as are labelled, at most %d", maxBatch)
}

// runs lists the runs of the methods, split by split.
func (r *replay) runs(specs []string, rounds, batch int) (runs []Run) {
	for split := range r.sizes.Repeats {
		for _, spec := range specs {
			runs = append(runs, Run{DataSet: "table", Activation: r.Activation, Spec: spec, BatchSize: batch, Rounds: rounds, Split: split})
		}
	}
	return runs
}

func (r *replay) run(ctx context.Context, runs []Run) (Results, error) {
	s := Settings{Seed: r.Seed, Start: r.sizes.Start, Valid: r.sizes.Valid, Hidden: r.Hidden, Epochs: r.Epochs}
	return Replay(ctx, r.data, s, runs, func(record Record) {
		r.done++
		if r.Progress != nil {
			r.Progress(r.done, r.of, record)
		}
	})
}

// variation trains on all rows that are not held out: a run that requests the
// whole pool at once.
func (r *replay) variation(ctx context.Context) (Variation, error) {
	pool := r.sizes.Rows - r.sizes.Test - r.sizes.Valid - r.sizes.Start
	run := r.runs([]string{randomSpec}, 1, min(pool, maxTrained))[:1]
	results, err := r.run(ctx, run)
	if err != nil {
		return Variation{}, err
	}
	last := results[len(results)-1]
	return NewVariation(last.Test.RMSE, last.Test.MAE, last.Labels), nil
}

// decide turns the savings of the best method into a verdict. Whether it is ahead
// at all shows in the errors themselves; the labels show what that is worth.
func (a *Advice) decide(best Saving) {
	labels := fmt.Sprintf("%s saves between %s and %s of the labels that random selection needs", best.Spec, percent(best.Share.Low), percent(best.Share.High))
	switch {
	case !(a.Savings.Slope.Low > 0):
		a.Verdict, a.Because = TooFew, "the error of random selection does not clearly fall with more labels, so there are no labels to save"
	case best.Gain.Low > 0:
		a.Verdict = Worth
		a.Because = fmt.Sprintf("the error of %s is %s to %s lower on average over the rounds, which saves about %s of the labels that random selection needs",
			best.Spec, percent(-math.Expm1(-best.Gain.Low)), percent(-math.Expm1(-best.Gain.High)), percent(best.Share.Value))
	case best.Share.High < worthwhile:
		a.Verdict, a.Because = AsGood, fmt.Sprintf("%s; a saving of %s or more is ruled out", labels, percent(worthwhile))
	default:
		a.Verdict, a.Because = TooFew, labels+", which leaves the question open"
	}
}

func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }

// tolerableLoss is the share of the gain that one large batch may lose against
// several smaller ones and still be preferred: it takes fewer rounds of lab work.
const tolerableLoss = 0.25

// maxBatch is the batch size up to which the paper's methods lost almost nothing
// (section "Comparison of Selection Methods").
const maxBatch = 1024

// chooseBatch compares one large batch with several small ones of the same total.
// The result is a multiple of the rows labelled at the start, applied to all
// labelled rows.
func (a *Advice) chooseBatch(labelled int, once Results) {
	mean := func(results Results, spec string, round int) (sum float64) {
		for _, r := range results {
			if r.Spec == spec && r.Round == round {
				sum += math.Log(r.Test.RMSE) / float64(a.Sizes.Repeats)
			}
		}
		return sum
	}
	several, random := mean(a.Results, a.Spec, a.Sizes.Rounds), mean(a.Results, randomSpec, a.Sizes.Rounds)
	size, found := a.Sizes.Batch, "several batches did better than one large one"
	if mean(once, a.Spec, 1)-several <= tolerableLoss*math.Max(0, random-several) {
		size, found = a.Sizes.Batch*a.Sizes.Rounds, "one large batch did about as well as several"
	}
	times := float64(size) / float64(a.Sizes.Start)
	a.Batch = min(max(int(times*float64(labelled)), 8), maxBatch)
	a.BatchBy = fmt.Sprintf("%s: %.2g times the labelled rows, at most %d", found, times, maxBatch)
}
