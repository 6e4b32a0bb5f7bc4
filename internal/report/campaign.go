package report

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/internal/estimate"
	"github.com/nextbatch/nextbatch/internal/wire"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/learner"
)

// Standing is where a campaign stands: as JSON, as lines and tables, and as a page.
type Standing struct {
	wire.CampaignStatus
	rule  estimate.StopRule
	state *campaign.State
	log   []campaign.Event
	space string // how many candidates the space has; empty if they are the rows of a table
}

// decimal is the decimal mark of the campaign's table; 0 means a point.
func (s *Standing) decimal() byte { return s.state.Created.Style().Decimal }

// say writes a text with the numbers as the table has them.
func (s *Standing) say(format string, args ...any) string {
	return words.Textf(format, args...).In(s.decimal())
}

// StandingOf returns where a campaign stands by a stop rule, such as rmse<0.5. Version is that of the program.
func StandingOf(ctx context.Context, c *campaign.Campaign, stop, version string) (*Standing, error) {
	state, err := c.State(ctx)
	if err != nil {
		return nil, err
	}
	log, err := c.History(ctx)
	if err != nil {
		return nil, err
	}
	found, err := c.Standing(ctx, stop)
	if err != nil {
		return nil, err
	}
	s := &Standing{wire.CampaignStatus{
		Campaign: c.Name(), Counts: found.Counts, Learner: found.Learner, Coverage: estimate.Coverage, Advice: found.Advice,
		Rule:     found.Rule.String(),
		Doubtful: found.Doubtful, Model: found.Model,
		Created: log[0].Time, Events: state.Seq, Asks: len(state.Asks), Version: version,
	}, found.Rule, state, log, found.Space}
	for _, t := range found.Targets {
		s.Targets = append(s.Targets, wire.TargetStatus{TargetStanding: t,
			ErrorOf: errorOf(t, found.Learner).String()})
	}
	if only := s.Targets[0]; len(s.Targets) == 1 {
		s.ErrorOf, s.Forecast = only.ErrorOf, only.Forecast
		if only.Curve != nil {
			e := only.Curve.RMSE
			s.Error, s.Interval = new(fitted.Float(e.Value)), &[2]fitted.Float{fitted.Float(e.Low), fitted.Float(e.High)}
		}
	}
	return s, nil
}

// errorOf describes on which rows an error is estimated, or why there is none.
func errorOf(t campaign.TargetStanding, kind learner.Kind) words.Text {
	if t.Curve == nil {
		return words.Textf("too few audit rows to tell: it takes %d that were predicted and then labelled, and there are %d",
			estimate.LeastAudited, t.Audited)
	}
	return words.Textf("RMSE of the %s with %v on rows like the open ones, from %s %s", ModelWord(kind),
		words.Counted(t.Labels, "label", "labels"), words.Num(words.Whole(t.Curve.Rows)), randomWord(t))
}

// randomWord names the rows that estimates are based on.
func randomWord(t campaign.TargetStanding) string {
	if t.HeldOut > 0 {
		return "audit and held-out random rows"
	}
	return "audit rows"
}

// statusFacts are the names and values of what is known about a target.
func (s *Standing) statusFacts(t wire.TargetStatus) (facts []Fact) {
	add := func(name, format string, args ...any) {
		if text := s.say(format, args...); text != "" {
			facts = append(facts, Fact{name, text})
		}
	}
	add("noise", "%v", t.Noise)
	add("learner", "%v", learnerNow(t, s.Learner))
	of := errorOf(t.TargetStanding, s.Learner)
	if t.Curve == nil {
		add("error", "%v", of)
		return facts
	}
	add("error", "RMSE %v, MAE %v, 95 %% quantile %v", t.Curve.RMSE, t.Curve.MAE, t.Curve.Q95)
	add("", "%v", of)
	if t.Next != nil {
		add("next", "%.0f %% more labels would lower the RMSE by %v", 100*estimate.MoreLabels, percentText(*t.Next))
	}
	if t.Forecast != nil {
		add("forecast", "%v", forecastText(*t.Forecast))
	}
	switch {
	case t.Gain == nil:
		add("gain", "not measured yet; --gain does so")
	case t.Gain.Labels != t.Labels:
		add("gain", "%v (measured with %v)", *t.Gain, words.Counted(t.Gain.Labels, "label", "labels"))
	default:
		add("gain", "%v", *t.Gain)
	}
	return facts
}

// learnerNow says what is fitted, and what the last ask chose; empty for a campaign that has only had networks.
func learnerNow(t wire.TargetStatus, kind learner.Kind) words.Text {
	n := len(t.Learners)
	switch {
	case !kind.Blends() && n == 0:
		return words.Text{}
	case !kind.Blends():
		return words.Textf("%s", learner.NetworkAlone)
	case n == 0:
		return words.Textf("%s; no model has been fitted yet", kind)
	}
	last := t.Learners[n-1]
	return words.Textf("%s; ask %d, with %v: %v", kind, last.Ask, words.Counted(last.Labels, "label", "labels"),
		chosenText(last.Chosen))
}

// chosenText says what was chosen, and why.
func chosenText(c campaign.Chosen) words.Text {
	if c.Error == 0 { // a network alone
		return words.Textf("%s", c.Learner)
	}
	return learner.ChoiceText(c.Candidates, c.Error)
}

func percentText(i estimate.Interval) words.Text {
	part := func(v float64) words.Num { return words.Num(words.Brief(100 * v)) }
	return words.Textf("%s %% (%s to %s %%)", part(i.Value), part(i.Low), part(i.High))
}

// forecastText is the forecast with its cost.
func forecastText(f estimate.Forecast) words.Text {
	f.Wanted = rounded(f.Wanted)
	text := words.Textf("%s: %v", metricName(f.Metric), f)
	if f.Cost != nil && f.Cost.High > 0 && !math.IsInf(f.Cost.High, 0) {
		text = words.Textf("%v; the labels that are missing cost %v", text, *f.Cost)
	}
	return text
}

func metricName(m estimate.Metric) string {
	return map[estimate.Metric]string{estimate.RMSE: "RMSE", estimate.MAE: "MAE", estimate.Q95: "95 % quantile"}[m]
}

// rounded is a number with three digits.
func rounded(v float64) float64 {
	if v == 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return v
	}
	scale := math.Pow(10, 2-math.Floor(math.Log10(math.Abs(v))))
	return math.Round(v*scale) / scale
}

// Lines are names and values, line by line; a line without a name belongs to the one before.
func (s *Standing) Lines() (list []Fact) {
	add := func(name string, texts ...string) {
		for i, text := range texts {
			list = append(list, Fact{map[bool]string{true: name}[i == 0], text})
		}
	}
	add("campaign", s.say("%s, since %s, %v", s.Campaign, TimeText(s.Created), words.Counted(s.Asks, "ask", "asks")))
	add("rows", s.say("%s: %v", words.Num(words.Whole(int(s.Rows))), CountsText(s.Counts)))
	if s.space != "" {
		add("space", s.space)
	}
	add("waiting", waitingFacts(s.Doubtful, s.state.Now, s.decimal())...)
	add("unlikely", unlikelyFacts(s.state.Unlikely(), s.decimal())...)
	for _, t := range s.Targets {
		if len(s.Targets) > 1 {
			add("target", s.say("%s, %v", t.Target, words.Counted(t.Labels, "label", "labels")))
		}
		for _, fact := range s.statusFacts(t) {
			add(fact.Name, fact.Value)
		}
	}
	if note := s.say("%v", s.Model.Note()); note != "" {
		add("model", note)
	}
	add("advice", s.say("%v", s.Advice))
	return list
}

// Words are the lines as text.
func (s *Standing) Words() (list Said) {
	for _, line := range s.Lines() {
		list.add("%s", strings.TrimPrefix(line.Name+": "+line.Value, ": "))
	}
	return list
}

// WritePage writes the page about the campaign.
func (s *Standing) WritePage(w io.Writer) error {
	return s.Page([]string{"STORE", "--campaign", s.Campaign}).Write(w)
}

// Curve draws the learning curve of the first target, in PNG.
func (s *Standing) Curve() ([]byte, error) {
	if s.Targets[0].Curve == nil {
		return nil, fmt.Errorf("there is no learning curve yet: %s", s.Advice)
	}
	return s.curveFigure(s.Targets[0]).PNG()
}

// Tables are the models so far, for a campaign with one target.
func (s *Standing) Tables() (list []*Table) {
	only := s.Targets[0]
	if len(s.Targets) == 1 && only.Curve != nil && len(only.Curve.Points) > 0 {
		list = append(list, s.curveTable(only))
	}
	if len(s.Targets) == 1 && len(only.Learners) > 1 {
		list = append(list, s.learnersTable(only, 10))
	}
	return list
}

// Page is the page about the campaign, which its commands name like this.
func (s *Standing) Page(store []string) *Page {
	page := &Page{Title: "Where does the campaign " + s.Campaign + " stand?", Intro: []string{
		s.say("Advice: %v.", s.Advice),
		s.say("Of %v: %v.%v", words.Counted(int(s.Rows), "row", "rows"), CountsText(s.Counts), waitingNote(s)),
		s.say("The error is measured on audit rows, which are drawn at random and predicted before their label comes, "+
			"and on labelled random rows that a %s held out. Intervals hold the truth with a probability of about %.0f %%. "+
			"The advice is to stop once %v.", ModelWord(s.Learner), 100*estimate.Coverage, ruleText(s.rule)),
	}}
	page.Sections = []Section{{Title: "What to do next", Steps: s.nextSteps(store)}}
	for i, t := range s.Targets {
		page.Sections = append(page.Sections, s.targetSections(i, t)...)
	}
	page.Sections = append(page.Sections,
		Section{Title: "Who has rows", Tables: []*Table{outTable(s)}},
		Section{Title: "What happened", Tables: []*Table{historyTable(s)}})
	return page
}

// ruleText says when a stop rule holds.
func ruleText(r estimate.StopRule) words.Text {
	of := ""
	if r.Target != "" {
		of = " of " + r.Target
	}
	if r.Metric == "" {
		return words.Textf("%.0f %% more labels would lower the error%s by less than %.3g %%",
			100*estimate.MoreLabels, of, 100*r.Below)
	}
	return words.Textf("the %s%s is below %s", metricName(r.Metric), of, words.Num(words.Number(r.Below)))
}

// nextSteps are what the reader does now, with commands.
func (s *Standing) nextSteps(store []string) (steps []Step) {
	add := func(text words.Text, command string, args ...string) {
		steps = append(steps,
			Step{Text: text.In(s.decimal()),
				Command: words.CommandLine(slices.Concat([]string{"nextbatch", "campaign", command}, store, args)...)})
	}
	if n := len(s.Doubtful); n > 0 {
		add(words.Textf("Look again at %v for a second look, such as that of %s. If it is right:",
			words.Counted(n, "label that waits", "labels that wait"), s.Doubtful[0].ID), "confirm", s.Doubtful[0].ID)
	}
	if n := len(s.state.Handed()); n > 0 {
		add(words.Textf("Label %v out, and tell their labels:", words.Counted(n, "row that is", "rows that are")), "tell",
			"batch.csv")
	}
	switch {
	case s.Advice.Verdict == estimate.Stop:
		add(words.Textf("There are enough labels. This writes the table with them:"), "export", "labelled.csv")
	case s.Counts.Open > 0 && s.Advice.Verdict == estimate.TooEarly:
		add(words.Textf("Ask for the next rows. A quarter of them are drawn at random, which shows how good the model is:"),
			"ask", "--audit", "1/4", "--out", "batch.csv")
	case s.Counts.Open > 0:
		add(words.Textf("Ask for the next rows:"), "ask", "--out", "batch.csv")
	case len(steps) == 0:
		add(words.Textf("No row is open. This writes the table with its labels:"), "export", "labelled.csv")
	}
	return steps
}

// targetSections are the error of a target and its pictures.
func (s *Standing) targetSections(i int, t wire.TargetStatus) []Section {
	title := "The error"
	if len(s.Targets) > 1 {
		title += " of " + t.Target
	}
	facts := factTable(append([]Fact{{"target", t.Target}, {"labels", s.say("%s", words.Num(words.Whole(t.Labels)))}},
		s.statusFacts(t)...))
	sections := []Section{{Title: title, Tables: []*Table{facts}}}
	if t.Curve != nil {
		sections[0].Figures = []*Figure{s.curveFigure(t)}
		if audited := s.outcomeFigure(i, t.Target); audited != nil {
			sections[0].Figures = append(sections[0].Figures, audited)
		}
		sections[0].Beside = len(sections[0].Figures) == 1
		if len(t.Curve.Points) > 0 {
			sections[0].Tables = append(sections[0].Tables, s.curveTable(t))
		}
	}
	if n := len(t.Learners); n > 0 {
		sections = append(sections, Section{Title: "The learners of " + t.Target,
			Figures: learnersFigures(t, s.decimal()), Tables: []*Table{s.learnersTable(t, n)},
			Beside: n > 1})
	}
	return sections
}

// learnersTable lists what the last of the models were made of.
func (s *Standing) learnersTable(t wire.TargetStatus, most int) *Table {
	table := &Table{
		Title: "Learners so far",
		Note: "The weights of the learners in the model of each ask, and its error on labelled rows that it held out. " +
			"Most of these were picked because they are unusual, so the error on the open rows is lower as a rule.",
		Columns: []Heading{{Head: "ask"}, {Head: "labels"}, {Head: "RMSE out of fold"}, {Head: "weights"}},
	}
	shown := t.Learners[max(0, len(t.Learners)-most):]
	if n := len(t.Learners); n > len(shown) {
		table.Note = fmt.Sprintf("The last %d of %d models. ", len(shown), n) + table.Note
	}
	for _, f := range shown {
		table.Rows = append(table.Rows, Row{Cells: []Cell{s.cell(Count(int(f.Ask))), s.cell(Count(f.Labels)),
			s.cell(outOfFold(f.Error)), Text(s.say("%v", f.Weights()))}})
	}
	return table
}

// cell is the cell of a number as the table has it.
func (s *Standing) cell(c Cell) Cell { return c.Marked(s.decimal()) }

// outOfFold is the error of a blend; a network alone has none.
func outOfFold(e float64) Cell {
	if e == 0 {
		return Text("–")
	}
	return Measured(e)
}

// learnersFigures draws the weights of the learners over the labels, if there are several models.
func learnersFigures(t wire.TargetStatus, decimal byte) []*Figure {
	if len(t.Learners) < 2 {
		return nil
	}
	panel := Panel{XLabel: "labels", YLabel: "weight"}
	at := map[string]int{}
	for _, f := range t.Learners {
		for _, c := range f.Candidates {
			if _, known := at[c.Name]; !known && c.Weight > 0 {
				at[c.Name] = len(panel.Curves)
				panel.Curves = append(panel.Curves, Curve{Name: c.Name})
			}
		}
	}
	for _, f := range t.Learners {
		weights := make([]float64, len(panel.Curves))
		for _, c := range f.Candidates {
			if k, known := at[c.Name]; known {
				weights[k] = c.Weight
			}
		}
		for k, w := range weights {
			curve := &panel.Curves[k]
			curve.X, curve.Y = append(curve.X, float64(f.Labels)), append(curve.Y, w)
		}
	}
	return []*Figure{{Name: "learners", Title: "What the models were made of", Decimal: decimal,
		Panels: []Panel{panel}, Note: "The weight of each learner in the models so far."}}
}

// curveTable lists the errors of the models so far.
func (s *Standing) curveTable(t wire.TargetStatus) *Table {
	models := map[bool]string{true: "Models", false: "Networks"}[s.Learner.Blends()]
	table := &Table{
		Title: models + " so far",
		Note: fmt.Sprintf("%s that predicted at least %d random rows whose labels are known.", models,
			estimate.LeastAudited),
		Columns: []Heading{{Head: "labels"}, {Head: "random rows"}, {Head: "RMSE and its interval"}},
	}
	if s.Learner.Blends() {
		table.Note += " Labelled rows are predicted by models of four fifths of the labels, and listed there."
	}
	for _, p := range t.Curve.Points {
		table.Rows = append(table.Rows, Row{Cells: []Cell{s.cell(Count(p.Labels)), s.cell(Count(p.Rows)),
			Text(s.say("%v", p.RMSE))}})
	}
	return table
}

// curveFigure draws the learning curve from the first model to twice the labels of the
// current one.
func (s *Standing) curveFigure(t wire.TargetStatus) *Figure {
	const steps = 24
	first := t.Curve.Labels
	for _, p := range t.Curve.Points {
		first = min(first, p.Labels)
	}
	fitted := Curve{Name: "learning curve and its 90 % interval"}
	low, high := math.Log(math.Max(2, float64(first)/1.25)), math.Log(2*float64(t.Curve.Labels))
	for i := range steps + 1 {
		labels := int(math.Round(math.Exp(low + (high-low)*float64(i)/steps)))
		if n := len(fitted.X); n > 0 && fitted.X[n-1] == float64(labels) {
			continue
		}
		e := t.Curve.ErrorAt(estimate.RMSE, labels)
		fitted.X, fitted.Y = append(fitted.X, float64(labels)), append(fitted.Y, e.Value)
		fitted.Low, fitted.High = append(fitted.Low, e.Low), append(fitted.High, e.High)
	}
	panel := Panel{XLabel: "labels", YLabel: "RMSE of " + t.Target, X: Log2, Y: Log10,
		Curves: []Curve{fitted}}
	if f := t.Forecast; f != nil && f.Metric == estimate.RMSE {
		ends := []float64{fitted.X[0], fitted.X[len(fitted.X)-1]}
		panel.Curves = append(panel.Curves, Curve{Name: s.say("RMSE %s", words.Num(words.Number(rounded(f.Wanted)))), X: ends,
			Y: []float64{f.Wanted, f.Wanted}, Reference: true})
	}
	for _, p := range t.Curve.Points {
		panel.Marks = append(panel.Marks, Mark{Name: ModelWord(s.Learner) + "s so far",
			X: float64(p.Labels), Y: p.RMSE.Value,
			Tip: s.say("%v: RMSE %v on %v", words.Counted(p.Labels, "label", "labels"), p.RMSE,
				words.Counted(p.Rows, "random row", "random rows"))})
	}
	panel.Marks = append(panel.Marks, Mark{Name: "now", X: float64(t.Curve.Labels), Y: t.Curve.RMSE.Value,
		Tip: s.say("%v", errorOf(t.TargetStanding, s.Learner))})
	return &Figure{Name: "curve", Title: "The error, with more labels", Decimal: s.decimal(),
		Panels: []Panel{panel},
		Note: s.say("Measured on %s %s. To the right of now, the curve is a forecast.",
			words.Num(words.Whole(t.Curve.Rows)), randomWord(t.TargetStanding))}
}

// outcomeFigure draws the labels of audit rows over their predictions; nil without any.
func (s *Standing) outcomeFigure(target int, name string) *Figure {
	panel := Panel{XLabel: "prediction of " + name, YLabel: "label of " + name}
	low, high := math.Inf(1), math.Inf(-1)
	for _, o := range s.state.Outcomes() {
		if !o.Audit || target >= len(o.Predictions) || math.IsNaN(o.Label[target]) {
			continue
		}
		x, y := float64(o.Predictions[target].Value), o.Label[target]
		low, high = min(low, x, y), max(high, x, y)
		panel.Marks = append(panel.Marks, Mark{Name: "audit rows", X: x, Y: y,
			Tip: s.say("%s: label %s, predicted %s with %v", o.ID, words.Num(words.Number(y)), words.Num(words.Number(x)),
				words.Counted(o.Trained, "label", "labels"))})
	}
	if len(panel.Marks) == 0 {
		return nil
	}
	panel.Curves = []Curve{{Name: "label = prediction", X: []float64{low, high},
		Y: []float64{low, high}, Reference: true}}
	return &Figure{Name: "audit-rows", Title: "Audit rows: what was predicted, and what was measured",
		Decimal: s.decimal(), Panels: []Panel{panel},
		Note: s.say("%v", words.Counted(len(panel.Marks), "audit row, predicted before its label came.",
			"audit rows, each predicted before its label came."))}
}

// outTable lists the asks with rows that are still out.
func outTable(s *Standing) *Table {
	t := &Table{Columns: []Heading{{Head: "ask"}, {Head: "person"}, {Head: "asked"}, {Head: "rows out"},
		{Head: "of"}, {Head: "lease ends"}}}
	handed := s.state.Handed()
	for _, ask := range s.state.Asks {
		out := 0
		for _, h := range handed {
			if h.Ask == ask.Ask {
				out++
			}
		}
		if out == 0 {
			continue
		}
		end := "never"
		if ask.LeaseEnd != nil {
			end = TimeText(*ask.LeaseEnd)
		}
		t.Rows = append(t.Rows, Row{Cells: []Cell{s.cell(Count(int(ask.Ask))),
			Text(ask.Person), Text(TimeText(ask.Time)),
			s.cell(Count(out)), s.cell(Count(len(ask.Rows))), Text(end)}})
	}
	if len(t.Rows) == 0 {
		t.Note = "No row is out."
	}
	return t
}

// historyTable lists the last events, the latest first.
func historyTable(s *Standing) *Table {
	const most = 50
	t := &Table{Columns: []Heading{{Head: "event"}, {Head: "time"}, {Head: "person"}, {Head: "what"}}}
	for _, e := range slices.Backward(s.log[max(0, len(s.log)-most):]) {
		what := s.say("%v", EventWords(e))
		if s.state.Undone(e.Seq) {
			what = "[" + what + "]"
		}
		t.Rows = append(t.Rows, Row{Cells: []Cell{s.cell(Count(int(e.Seq))),
			Text(TimeText(e.Time)), Text(e.Person), Text(what)}})
	}
	t.Note = "The latest first. An event in brackets has no effect: it was undone, or it undoes another one."
	if len(s.log) > most {
		t.Note = s.say("The last %d of %s events. ", most, words.Num(words.Whole(len(s.log)))) + t.Note
	}
	return t
}

// waitingNote says how many labels wait for a second look, and whether labels that the model has learnt from have
// changed.
func waitingNote(s *Standing) words.Text {
	var texts []words.Text
	if n := len(s.Doubtful); n > 0 {
		texts = append(texts, words.Textf(" %v for a second look, and nothing here follows from %s.",
			words.Counted(n, "label waits", "labels wait"), map[bool]string{true: "it", false: "them"}[n == 1]))
	}
	if note := s.Model.Note(); note.String() != "" {
		texts = append(texts, words.Textf(" The %v.", note))
	}
	return words.Joined(texts, "")
}
