package benchmark

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/internal/choice"
	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/internal/sets"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/spec"
)

// Question asks which model suits a table, and whether active learning is worth it. Advise replays it
// on the labelled rows: some are held out to measure errors, a few are labelled
// at the start, and methods request the labels of the others. The defaults of
// zero fields are given beside them.
type Question struct {
	Data       *sets.Regression      // the labelled rows
	Unlabelled matrix.Dense[float32] // rows of the pool, which a blend is chosen for; may be empty
	Learner    learner.Kind          // the model to fit; empty means a network alone
	Specs      []string              // methods to try; nil means those of AdviseSpecs
	Activation string                // of the networks; empty means the default of network.Config
	Hidden     []int                 // widths of their layers; nil means that of network.Config
	Epochs     int                   // 0 means that of network.Config
	Rounds     int                   // batches that a method requests; 0 means AdviseRounds
	Repeats    int                   // splits; 0 means AdviseRepeats
	Weights    []float64             // of several targets, as in Settings
	Seed       uint64

	// Fitting, unless nil, is called while the blend is chosen (learner.Options.Shown).
	Fitting func(learner string, fold, folds int)
	// Progress is called after each round of the replay, from the same goroutine.
	Progress func(done, total int, latest Record)
}

// What a question means whose numbers are not set.
const (
	AdviseRounds  = 3
	AdviseRepeats = 10
)

// AdviseSpecs returns the methods that are tried for a learner: the default one of a blend of so many labels, or the
// two best single-network methods of the paper's table of selection methods.
func AdviseSpecs(kind learner.Kind, labels int) []string {
	if kind.Blends() {
		return []string{nextbatch.DefaultSpec(kind, labels)}
	}
	return []string{spec.Default, "bait-f-p:grad>sketch(512)>train"}
}

// confidence is the confidence level of all intervals of an Advice.
const confidence = 0.9

// Advice is the answer, with the evidence for it.
type Advice struct {
	Judgement
	Method  string // the method to use
	Batch   int    // rows to label at once; 0 means any number
	BatchBy string // where the batch size comes from

	// Chosen says for each target which models a blend of all labels consists of; empty for a network alone, and if
	// there are too few labels for a blend.
	Chosen []Chosen

	// Variation compares the errors of random selection after the last round.
	Variation Variation

	Comparison *Comparison // nil if there are too few rows for a replay
	Results    Results     // of the replay: its learning curves
	Sizes      ReplaySizes
}

// Chosen is the model that suits the labels of a target.
type Chosen struct {
	Target     string     // its name; empty if there is one without a name
	Learner    words.Text // what was chosen, and why (learner.ChoiceText)
	Candidates []learner.Candidate
	Notes      []string // what went wrong without ending the fit
}

// ReplaySizes is how a replay divides the labelled rows.
type ReplaySizes struct {
	Rows, Test, Valid int // in total, to measure errors, to choose the epoch of a network alone
	Start, Batch      int // labelled at the start, requested per round
	Rounds, Repeats   int
}

// Limits of a replay: fewer rows decide nothing, and more would take long.
const (
	minRows  = 100
	maxRows  = 20_000
	maxAtEnd = 1024
	maxValid = 512
)

// Advise answers the question. The same question and seed give the same advice.
// If the context ends, Advise returns its error.
func (q Question) Advise(ctx context.Context) (*Advice, error) {
	q = q.withDefaults()
	if err := q.check(); err != nil {
		return nil, err
	}
	data := subset(q.Data, q.Seed)
	n := data.X.Rows
	r := &replay{Question: q, data: data, sizes: replaySizes(n, q.Rounds, q.Repeats, q.Learner)}
	if n >= minRows && r.sizes.Batch < 1 {
		return nil, fmt.Errorf("%d rounds are too many for %d labelled rows", q.Rounds, n)
	}
	if err := r.choose(ctx); err != nil {
		return nil, err
	}
	if n < minRows {
		return r.tooFewRows(), nil
	}
	return r.advise(ctx)
}

// Forecast returns about how many seconds Advise takes, measured on a few rows: least if a blend gives up its networks
// after their first fold, and most if they get a weight. Both are 0 if that is not known.
func (q Question) Forecast(ctx context.Context) (least, most float64, err error) {
	q = q.withDefaults()
	if q.check() != nil {
		return 0, 0, nil // Advise says what is wrong
	}
	data := subset(q.Data, q.Seed)
	n := data.X.Rows
	pace, err := learner.Measure(ctx, network.Sample{X: data.X, Y: data.Y, Targets: data.Targets},
		learner.Options{Kind: q.Learner, Network: q.networks(data)})
	if pace == nil {
		return 0, 0, err
	}
	if q.Learner.Blends() {
		least, most = pace.Seconds(n, 1), pace.Seconds(n, learner.NetworkFolds(n))
	}
	if n < minRows {
		return least, most, nil
	}
	sizes := replaySizes(n, q.Rounds, q.Repeats, q.Learner)
	for round := range sizes.Rounds + 1 {
		labels, each := sizes.Start+round*sizes.Batch, float64(sizes.Repeats)
		alone, with := pace.Seconds(labels, 0), pace.Seconds(labels, replayedFolds)
		if !q.Learner.Blends() {
			alone = with
		}
		kernels := float64(q.trained()) // methods that need a network whatever its weight
		most += each * float64(1+len(q.Specs)) * with
		least += each * (kernels*with + (float64(1+len(q.Specs))-kernels)*alone)
	}
	return least, most, nil
}

// trained counts the methods whose kernels need a trained network.
func (q Question) trained() (n int) {
	for _, text := range q.Specs {
		if s, err := spec.Parse(text); err == nil && s.TrainedNetworks() > 0 {
			n++
		}
	}
	return n
}

// networks is how networks are fitted to all labels.
func (q Question) networks(data *sets.Regression) network.Options {
	s := Settings{Hidden: q.Hidden, Epochs: q.Epochs}.WithDefaults()
	o := network.Options{Config: s.network(q.Activation, 0, 0), Targets: data.TargetNames(), Columns: columnsOf(data)}
	o.Config.Seed = q.Seed
	return o
}

func (q Question) withDefaults() Question {
	if len(q.Specs) == 0 {
		q.Specs = AdviseSpecs(q.Learner, q.Data.X.Rows)
	}
	q.Activation = cmp.Or(q.Activation, choice.DefaultChoice().Activation)
	q.Rounds, q.Repeats = cmp.Or(q.Rounds, AdviseRounds), cmp.Or(q.Repeats, AdviseRepeats)
	return q
}

func (q Question) check() error {
	found := []error{q.Learner.Check("the learner")}
	for i, text := range q.Specs {
		if slices.Contains(q.Specs[:i], text) {
			found = append(found, fmt.Errorf("method %s is named twice", text))
		}
		if text == randomSpec {
			found = append(found, errors.New("random is the baseline that methods are compared with; name others"))
		}
		found = append(found, Run{DataSet: "table", Activation: q.Activation,
			Spec: JoinSpec(q.Learner, text), BatchSize: 1}.Check())
	}
	if q.Rounds < 1 || q.Repeats < 3 {
		found = append(found,
			fmt.Errorf("%d rounds and %d repeats: a replay needs at least one round and three repeats", q.Rounds, q.Repeats))
	}
	for target := range q.Data.Labels().Cols {
		if _, y := encode.Labelled(q.Data.Labels(), target); len(y) > 0 && slices.Min(y) == slices.Max(y) {
			found = append(found, errors.New("all labels of a target are equal: there is nothing to learn"))
		}
	}
	return errors.Join(found...)
}

// subset draws rows if there are more than a replay needs.
func subset(data *sets.Regression, seed uint64) *sets.Regression {
	if data.X.Rows <= maxRows {
		return data
	}
	split, _ := sets.NewSplit(data.X.Rows, sets.Sizes{Train: maxRows}, seed, 0)
	rows := split.Train
	slices.Sort(rows)
	return &sets.Regression{X: data.X.SelectRows(rows), Y: data.Labels().SelectRows(rows).Data, Targets: data.Targets,
		Names: data.Names, Encoder: data.Encoder}
}

func (r *replay) tooFewRows() *Advice {
	n := r.data.X.Rows
	a := &Advice{
		Chosen: r.chosen,
		Judgement: Judgement{Because: words.Textf("%d rows have a label, and a replay needs at least %d", n, minRows),
			More: minRows - n, NoReplay: true},
		Variation: Variation{Ratio: math.NaN(), Expected: math.NaN()},
		Method:    r.usual(), Batch: (n + 3) / 4, BatchBy: "a quarter of the labelled rows",
	}
	return a
}

// replaySizes divides n rows: a fifth to measure errors, a tenth to choose the epoch of a network alone,
// and two thirds of the others are labelled by the end, so that methods have a choice in
// every round. They come in equal parts, of which the first is there at the start.
func replaySizes(n, rounds, repeats int, kind learner.Kind) ReplaySizes {
	s := ReplaySizes{Rows: n, Test: sets.PaperSizes(n).Test, Rounds: rounds, Repeats: repeats}
	if !kind.Blends() {
		s.Valid = min(n/10, maxValid)
	}
	last := min(2*(n-s.Test-s.Valid)/3, maxAtEnd)
	s.Batch = last / (rounds + 1)
	s.Start = last - rounds*s.Batch
	return s
}

// replay is a question being answered.
type replay struct {
	Question
	data   *sets.Regression
	sizes  ReplaySizes
	chosen []Chosen
	blend  learner.Options // of the replay
	done   int
	of     int
}

func (r *replay) advise(ctx context.Context) (*Advice, error) {
	runs := r.runs(append([]string{randomSpec}, r.Specs...))
	r.of = len(runs) * (r.sizes.Rounds + 1)
	a := &Advice{Sizes: r.sizes, Chosen: r.chosen}
	var err error
	if a.Results, err = r.run(ctx, runs); err != nil {
		return nil, err
	}
	if a.Comparison, err = Compare(a.Results, SplitSizes{Test: r.sizes.Test, Learn: r.sizes.Rows - r.sizes.Test},
		confidence); err != nil {
		return nil, err
	}
	a.Judgement = a.Comparison.Judge(r.sizes.Rows)
	a.Variation = lastVariation(a.Results)
	a.recommend(r.usual())
	return a, nil
}

// usual is the default method of the learner.
func (r *replay) usual() string { return nextbatch.DefaultSpec(r.Learner, r.Data.X.Rows) }

// recommend names a method and a batch size. Where the labels do not decide, it is the
// usual method of the learner, which was nowhere much worse than random selection, or the most promising one if that
// was not tried.
func (a *Advice) recommend(usual string) {
	switch a.Verdict {
	case Beats:
		a.Method = a.Spec
	case Unclear:
		tried := a.Comparison.Methods
		a.Method = slices.MaxFunc(tried, func(x, y Gain) int {
			return cmp.Compare(x.Reduction.Value,
				y.Reduction.Value)
		}).Spec
		if slices.ContainsFunc(tried, func(g Gain) bool { return g.Spec == usual }) {
			a.Method = usual
		}
	default:
		a.Method, a.BatchBy = randomSpec, "random selection works with any batch size"
		return
	}
	a.Batch, a.BatchBy = a.Sizes.Batch, "the batch size of the replay"
}

// Answer says in a sentence, without its full stop, what to do and why.
func (a *Advice) Answer() words.Text {
	do := "let nextbatch choose the next rows (method " + a.Method + ")"
	if a.Method == randomSpec {
		do = "draw the next rows at random"
	}
	return words.Textf("%s: %v", do, a.Judgement.because())
}

// lastVariation compares the errors of random selection after its last round, in
// geometric means over the splits.
func lastVariation(results Results) Variation {
	var rmse, mae, splits float64
	labels := 0
	for _, r := range results {
		if r.Spec == randomSpec && r.Round == r.Rounds {
			rmse += math.Log(r.Test.RMSE)
			mae += math.Log(r.Test.MAE)
			splits++
			labels = r.Labels
		}
	}
	return newVariation(math.Exp(rmse/splits), math.Exp(mae/splits), labels)
}

// runs lists the runs of the methods, split by split.
func (r *replay) runs(specs []string) (runs []Run) {
	for split := range r.sizes.Repeats {
		for _, spec := range specs {
			runs = append(runs, Run{DataSet: "table", Activation: r.Activation, Spec: JoinSpec(r.Learner, spec),
				BatchSize: r.sizes.Batch, Rounds: r.sizes.Rounds, Split: split})
		}
	}
	return runs
}

func (r *replay) run(ctx context.Context, runs []Run) (Results, error) {
	s := Settings{Seed: r.Seed, Start: r.sizes.Start, Valid: cmp.Or(r.sizes.Valid, NoValidation), Hidden: r.Hidden,
		Epochs: r.Epochs, Weights: r.Weights, Blend: r.blend, noDimension: r.Learner.Blends()}
	results, err := Replay(ctx, r.data, s, runs, func(record Record) {
		r.done++
		if r.Progress != nil {
			_, record.Spec = SplitSpec(record.Spec)
			r.Progress(r.done, r.of, record)
		}
	})
	for i := range results { // all have the learner of the question
		_, results[i].Spec = SplitSpec(results[i].Spec)
	}
	return results, err
}
