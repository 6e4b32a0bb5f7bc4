package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/internal/benchmark"
	"github.com/nextbatch/nextbatch/internal/estimate"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/tables"
)

// Advice is what 'nextbatch advise' found, and where.
type Advice struct {
	Name       string // of the table
	Target, ID string // its columns
	Learner    learner.Kind
	Decimal    byte // mark of the table; 0 means a point
	About      About
	Result     AdviceResult

	found *benchmark.Advice
}

// say writes a text with the numbers as the table has them.
func (a *Advice) say(format string, args ...any) string {
	return words.Textf(format, args...).In(a.Decimal)
}

// AdviceResult is what advise prints as JSON.
type AdviceResult struct {
	Verdict string `json:"verdict"` // "beats random", "no gain", "random is better" or "not enough labels"
	Answer  string `json:"answer"`  // the verdict in a sentence
	Because string `json:"because"`
	// that would probably settle it; 0 if the verdict stands, or if too many to estimate
	More    int    `json:"more_labels"`
	Repeats int    `json:"more_repeats"` // that would probably settle it without another label; 0 if none would
	Spec    string `json:"spec"`         // the method to use
	Batch   int    `json:"batch"`        // 0: any
	BatchBy string `json:"batch_by"`
	// Learner says which models suit the labels, and why, and Candidates the same as numbers; absent for a network
	// alone. With several targets they are those of the first, and Targets has those of each.
	Learner    string              `json:"learner,omitempty"`
	Candidates []learner.Candidate `json:"candidates,omitempty"`
	Targets    []AdviceTarget      `json:"targets,omitempty"`
	Labelled   int                 `json:"labelled"`
	Pool       int                 `json:"pool"`
	Ratio      fitted.Float        `json:"rmse_mae_ratio"`
	// in sample efficiency, by the paper's data sets
	Expected fitted.Float       `json:"expected_improvement"`
	Fall     *estimate.Interval `json:"random_log_rmse_reduction,omitempty"` // from the start to the last round
	Methods  []AdviceMethod     `json:"methods"`
	Replay   *Replayed          `json:"replay,omitempty"`
	About
}

// AdviceTarget is the model that suits the labels of one of several targets.
type AdviceTarget struct {
	Target     string              `json:"target"`
	Learner    string              `json:"learner"`
	Candidates []learner.Candidate `json:"candidates"`
}

// AdviceMethod compares a method with random; its intervals hold for all methods together.
type AdviceMethod struct {
	Spec       string            `json:"spec"`
	Reduction  estimate.Interval `json:"log_rmse_reduction"` // mean over the rounds after the start
	ErrorRatio estimate.Interval `json:"error_ratio"`        // the same as error of the method / error of random
	// the final error of random; null beyond the range of the replay
	Labels estimate.Interval `json:"labels_to_reach"`
}

// Replayed holds the division of the labelled rows, and the learning curves.
type Replayed struct {
	Level   fitted.Float              `json:"confidence"`
	Test    int                       `json:"test"`
	Valid   int                       `json:"valid"`
	Repeats int                       `json:"repeats"`
	Labels  []int                     `json:"labels"`
	LogRMSE map[string][]fitted.Float `json:"mean_log_rmse"` // by spec, after each round; labels have deviation 1
}

// AdviceOf completes what a replay on the labelled rows found by its result.
func AdviceOf(advice *benchmark.Advice, rows *tables.Rows, a Advice) *Advice {
	a.found, a.Result = advice, adviceResult(advice, rows, a.About)
	return &a
}

func adviceResult(advice *benchmark.Advice, rows *tables.Rows, about About) AdviceResult {
	r := AdviceResult{
		Verdict: advice.Verdict.String(), Answer: advice.Answer().String(), Because: advice.Because.String(),
		More: advice.More, Repeats: advice.Repeats, Spec: advice.Method, Batch: advice.Batch, BatchBy: advice.BatchBy,
		Labelled: rows.Train.Rows, Pool: rows.Pool.Rows,
		Ratio: fitted.Float(advice.Variation.Ratio), Expected: fitted.Float(advice.Variation.Expected),
		Methods: []AdviceMethod{}, About: about,
	}
	for i, m := range advice.Chosen {
		if i == 0 {
			r.Learner, r.Candidates = m.Learner.String(), m.Candidates
		}
		if len(advice.Chosen) > 1 {
			r.Targets = append(r.Targets, AdviceTarget{m.Target, m.Learner.String(), m.Candidates})
		}
	}
	c := advice.Comparison
	if c == nil {
		return r
	}
	fall := estimate.Interval(c.Fall)
	r.Fall = &fall
	for _, g := range c.Methods {
		ratio := estimate.Interval{Value: math.Exp(-g.Reduction.Value), Low: math.Exp(-g.Reduction.High),
			High: math.Exp(-g.Reduction.Low)}
		r.Methods = append(r.Methods, AdviceMethod{g.Spec, estimate.Interval(g.Reduction), ratio,
			estimate.Interval(g.Labels)})
	}
	r.Replay = &Replayed{fitted.Float(c.Confidence), advice.Sizes.Test, advice.Sizes.Valid, c.Splits,
		c.Labels, map[string][]fitted.Float{}}
	for _, round := range advice.Results {
		curve := r.Replay.LogRMSE[round.Spec]
		if curve == nil {
			curve = make([]fitted.Float, len(c.Labels))
			r.Replay.LogRMSE[round.Spec] = curve
		}
		curve[round.Round] += fitted.Float(math.Log(round.Test.RMSE) / float64(c.Splits))
	}
	return r
}

// Sentence begins with a capital letter, unless it begins with a spec.
func Sentence(text string) string {
	if word, _, _ := strings.Cut(text, " "); strings.Contains(word, ":") {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// Sentences are the answer and its reason.
func (a *Advice) Sentences() (texts []string) {
	for _, text := range []words.Text{a.found.Answer(), a.found.Because} {
		texts = append(texts, Sentence(text.In(a.Decimal))+".")
	}
	return texts
}

// Tables returns the advice, the comparison of each method, and the errors.
func (a *Advice) Tables() []*Table {
	facts := &Table{Columns: []Heading{{Head: "advice"}, {Head: ""}}, Facts: true}
	add := func(name, format string, args ...any) {
		facts.Rows = append(facts.Rows, Row{Cells: []Cell{Text(name), Text(a.say(format, args...))}})
	}
	for _, m := range a.found.Chosen {
		add(strings.TrimSpace("learner "+m.Target), "%v", m.Learner)
	}
	add("method", "%s", a.Result.Spec)
	add("batch", "%v", batchText(a.Result))
	c := a.found.Comparison
	if c == nil {
		return []*Table{facts}
	}
	v, sizes, last := a.found.Variation, a.found.Sizes, len(c.Labels)-1
	add("RMSE/MAE", "%.2f, of random selection with %d labels, on %d held-out rows", v.Ratio, v.Labels, sizes.Test)
	add("expected", "%v", expectedText(v.Expected))
	add("replay", "from %d to %d labels in %d rounds, on %d splits of the %d labelled rows, errors on %d rows each",
		c.Labels[0], c.Labels[last], last, c.Splits, sizes.Rows, sizes.Test)
	add("more labels", "%v", c.FallText())
	return []*Table{facts, a.gainsTable(c), a.errorsTable()}
}

// expectedText describes what the paper's data sets suggest for such a ratio of RMSE and MAE.
func expectedText(improvement float64) words.Text {
	speed := words.Textf("%.1f times as fast", 1+improvement)
	if math.Abs(improvement) < 0.05 {
		speed = words.Textf("as fast")
	}
	return words.Textf("on data sets of the paper with such a ratio, the logarithm of the error falls %v as with random "+
		"rows",
		speed)
}

func batchText(r AdviceResult) words.Text {
	if r.Batch == 0 {
		return words.Textf("any: %s", r.BatchBy)
	}
	return words.Textf("%v: %s", words.Counted(r.Batch, "row", "rows"), r.BatchBy)
}

func (a *Advice) gainsTable(c *benchmark.Comparison) *Table {
	last := len(c.Labels) - 1
	t := &Table{
		Title: "Compared with random",
		Note: a.say("Error: RMSE on held-out rows, the geometric mean over %d splits and the rounds with %d to %d labels. "+
			"Intervals hold at %.0f %% for all methods together, corrected for splits that share rows.",
			c.Splits, c.Labels[1], c.Labels[last], 100*c.Confidence),
		Columns: []Heading{{Head: "method"}, {Head: "error"}, {Head: "labels to reach the final error of random"}},
	}
	for _, g := range c.Methods {
		t.Rows = append(t.Rows, Row{Cells: []Cell{Text(g.Spec),
			Text(a.say("%v", benchmark.ReductionText(g.Reduction, c.Confidence))), Text(a.say("%v", c.LabelsText(g)))}})
	}
	return t
}

func (a *Advice) errorsTable() *Table {
	t := &Table{
		Title: "RMSE by labels",
		Note: fmt.Sprintf("On held-out rows, in units of the labels' deviation; geometric means over %d splits.",
			a.found.Comparison.Splits),
		Columns: []Heading{{Head: "method"}},
	}
	for _, n := range a.found.Comparison.Labels {
		t.Columns = append(t.Columns, Heading{Head: strconv.Itoa(n)})
	}
	for _, spec := range adviceSpecs(a.found) {
		row := Row{Cells: []Cell{Text(spec)}}
		for _, v := range a.Result.Replay.LogRMSE[spec] {
			row.Cells = append(row.Cells, Number(math.Exp(float64(v)), 4).Marked(a.Decimal))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// adviceSpecs are the methods in the order of the replay, random first.
func adviceSpecs(a *benchmark.Advice) (specs []string) {
	for _, r := range a.Results {
		if !slices.Contains(specs, r.Spec) {
			specs = append(specs, r.Spec)
		}
	}
	return specs
}

// Page is the page about the advice.
func (a *Advice) Page() *Page {
	page := &Page{Title: "Is active learning worth it for " + a.Name + "?",
		Intro: a.Sentences(), Warnings: a.Result.Warnings}
	tables := a.Tables()
	reasons := Section{Title: "Why", Tables: tables[:1]}
	if a.found.Comparison != nil {
		reasons.Figures, reasons.Beside = []*Figure{a.figure()}, true
	}
	page.Sections = []Section{{Title: "What to do next", Steps: []Step{a.nextStep()}}, reasons}
	if a.found.Comparison != nil {
		page.Sections = append(page.Sections, Section{Title: "The methods, compared", Tables: tables[1:]})
	}
	return page
}

// nextStep follows the advice.
func (a *Advice) nextStep() Step {
	if a.Result.Pool == 0 {
		return Step{Text: "Every row of the table has a label. Add rows without one, to pick from."}
	}
	args := []string{"nextbatch", "select", a.Name, "--target", a.Target}
	if a.ID != "" {
		args = append(args, "--id", a.ID)
	}
	if a.Learner != learner.Auto {
		args = append(args, "--learner", string(a.Learner))
	}
	args = append(args, "--method", a.Result.Spec, "-n", strconv.Itoa(cmp.Or(a.Result.Batch, usualBatch)),
		"--out", "batch.csv")
	return Step{Text: "Pick the next rows to label:", Command: words.CommandLine(args...)}
}

const usualBatch = 16 // rows, where any number is as good

func (a *Advice) figure() *Figure {
	var curves []Curve
	for _, spec := range adviceSpecs(a.found) {
		c := Curve{Name: spec}
		for i, v := range a.Result.Replay.LogRMSE[spec] {
			c.X, c.Y = append(c.X, float64(a.found.Comparison.Labels[i])), append(c.Y, math.Exp(float64(v)))
		}
		curves = append(curves, c)
	}
	f := LearningCurves("Replay on the labelled rows", "RMSE (labels have deviation 1)", curves)
	f.Decimal = a.Decimal
	f.Note = fmt.Sprintf("Errors on held-out rows: geometric means over %d splits. Errors differ more between splits "+
		"than between methods, which are compared split by split: the table of the methods has the intervals of the "+
		"differences.", a.found.Comparison.Splits)
	return f
}
