package cli

import (
	"fmt"
	"math"
	"slices"

	"github.com/nextbatch/nextbatch/internal/estimate"
	"github.com/nextbatch/nextbatch/internal/report"
	"github.com/nextbatch/nextbatch/internal/wire"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/learner"
)

// statusPage is the page about the status of a campaign, which its commands name like this.
func statusPage(s *campaignStatus, store []string) *report.Page {
	page := &report.Page{Title: "Where does the campaign " + s.Campaign + " stand?", Intro: []string{
		s.marked(fmt.Sprintf("Advice: %v.", s.Advice)),
		s.marked(fmt.Sprintf("Of %s: %s.", words.Count(int(s.Rows), "row", "rows"), countsText(s.Counts)) + waitingNote(s)),
		s.marked(fmt.Sprintf("The error is measured on audit rows, which are drawn at random and predicted before their label comes, and on labelled random rows that a %s held out. Intervals hold the truth with a probability of about %.0f %%. The advice is to stop once %s.", modelWord(s.Learner), 100*estimate.Coverage, ruleText(s.rule))),
	}}
	page.Sections = []report.Section{{Title: "What to do next", Steps: s.nextSteps(store)}}
	for i, t := range s.Targets {
		page.Sections = append(page.Sections, s.targetSections(i, t)...)
	}
	page.Sections = append(page.Sections,
		report.Section{Title: "Who has rows", Tables: []*report.Table{outTable(s)}},
		report.Section{Title: "What happened", Tables: []*report.Table{historyTable(s)}})
	return page
}

// ruleText says when a stop rule holds.
func ruleText(r estimate.StopRule) string {
	of := ""
	if r.Target != "" {
		of = " of " + r.Target
	}
	if r.Metric == "" {
		return fmt.Sprintf("%.0f %% more labels would lower the error%s by less than %.3g %%",
			100*estimate.MoreLabels, of, 100*r.Below)
	}
	return fmt.Sprintf("the %s%s is below %s", metricName(r.Metric), of, words.Number(r.Below))
}

// nextSteps are what the reader does now, with the commands for a campaign that is named like this.
func (s *campaignStatus) nextSteps(store []string) (steps []report.Step) {
	add := func(text, command string, args ...string) {
		steps = append(steps,
			report.Step{Text: s.marked(text),
				Command: words.CommandLine(slices.Concat([]string{"nextbatch", "campaign", command}, store, args)...)})
	}
	if n := len(s.Doubtful); n > 0 {
		add("Look again at "+words.Count(n, "label that waits", "labels that wait")+" for a second look, such as that of "+
			s.Doubtful[0].ID+". If it is right:", "confirm", s.Doubtful[0].ID)
	}
	if n := len(s.state.Handed()); n > 0 {
		add("Label "+words.Count(n, "row that is", "rows that are")+" out, and tell their labels:", "tell", "batch.csv")
	}
	switch {
	case s.Advice.Verdict == estimate.Stop:
		add("There are enough labels. This writes the table with them:", "export", "labelled.csv")
	case s.Counts.Open > 0 && s.Advice.Verdict == estimate.TooEarly:
		add("Ask for the next rows. A quarter of them are drawn at random, which shows how good the model is:", "ask",
			"--audit", "1/4", "--out", "batch.csv")
	case s.Counts.Open > 0:
		add("Ask for the next rows:", "ask", "--out", "batch.csv")
	case len(steps) == 0:
		add("No row is open. This writes the table with its labels:", "export", "labelled.csv")
	}
	return steps
}

// targetSections are the error of a target and its pictures.
func (s *campaignStatus) targetSections(i int, t wire.TargetStatus) []report.Section {
	title := "The error"
	if len(s.Targets) > 1 {
		title += " of " + t.Target
	}
	facts := &report.Table{Columns: []report.Column{{Head: "what"}, {Head: "value"}}, Facts: true}
	for _, f := range append([][2]string{{"target", t.Target}, {"labels", words.Whole(t.Labels)}},
		statusFacts(t, s.Learner)...) {
		facts.Rows = append(facts.Rows, report.Row{Cells: []report.Cell{report.Text(f[0]), report.Text(f[1])}})
	}
	sections := []report.Section{{Title: title, Tables: []*report.Table{s.markedTable(facts)}}}
	if t.Curve != nil {
		sections[0].Figures = []*report.Figure{s.curveFigure(t)}
		if audited := s.outcomeFigure(i, t.Target); audited != nil {
			sections[0].Figures = append(sections[0].Figures, audited)
		}
		sections[0].Beside = len(sections[0].Figures) == 1
		if len(t.Curve.Points) > 0 {
			sections[0].Tables = append(sections[0].Tables, s.markedTable(curveTable(t, s.Learner)))
		}
	}
	if n := len(t.Learners); n > 0 {
		sections = append(sections, report.Section{Title: "The learners of " + t.Target,
			Figures: learnersFigures(t, s.decimal()), Tables: []*report.Table{s.markedTable(learnersTable(t, n))},
			Beside: n > 1})
	}
	return sections
}

// learnersTable lists what the last of the models were made of.
func learnersTable(t wire.TargetStatus, most int) *report.Table {
	table := &report.Table{
		Title:   "Learners so far",
		Note:    "The weights of the learners in the model of each ask, and its error on labelled rows that it held out. Most of these were picked because they are unusual, so the error on the open rows is lower as a rule.",
		Columns: []report.Column{{Head: "ask"}, {Head: "labels"}, {Head: "RMSE out of fold"}, {Head: "weights"}},
	}
	shown := t.Learners[max(0, len(t.Learners)-most):]
	if n := len(t.Learners); n > len(shown) {
		table.Note = fmt.Sprintf("The last %d of %d models. ", len(shown), n) + table.Note
	}
	for _, f := range shown {
		table.Rows = append(table.Rows, report.Row{Cells: []report.Cell{report.Count(int(f.Ask)), report.Count(f.Labels),
			outOfFold(f.Error), report.Text(f.Weights())}})
	}
	return table
}

// outOfFold is the error of a blend; a network alone has none.
func outOfFold(e float64) report.Cell {
	if e == 0 {
		return report.Text("–")
	}
	return report.Measured(e)
}

// learnersFigures draws the weights of the learners over the labels, if there are several models.
func learnersFigures(t wire.TargetStatus, decimal byte) []*report.Figure {
	if len(t.Learners) < 2 {
		return nil
	}
	panel := report.Panel{XLabel: "labels", YLabel: "weight"}
	at := map[string]int{}
	for _, f := range t.Learners {
		for _, c := range f.Candidates {
			if _, known := at[c.Name]; !known && c.Weight > 0 {
				at[c.Name] = len(panel.Curves)
				panel.Curves = append(panel.Curves, report.Curve{Name: c.Name})
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
	return []*report.Figure{{Name: "learners", Title: "What the models were made of", Decimal: decimal,
		Panels: []report.Panel{panel}, Note: "The weight of each learner in the models so far."}}
}

// curveTable lists the errors of the models so far.
func curveTable(t wire.TargetStatus, kind learner.Kind) *report.Table {
	models := map[bool]string{true: "Models", false: "Networks"}[kind.Blends()]
	table := &report.Table{
		Title: models + " so far",
		Note: fmt.Sprintf("%s that predicted at least %d random rows whose labels are known.", models,
			estimate.LeastAudited),
		Columns: []report.Column{{Head: "labels"}, {Head: "random rows"}, {Head: "RMSE and its interval"}},
	}
	if kind.Blends() {
		table.Note += " Labelled rows are predicted by models of four fifths of the labels, and listed there."
	}
	for _, p := range t.Curve.Points {
		table.Rows = append(table.Rows, report.Row{Cells: []report.Cell{report.Count(p.Labels), report.Count(p.Rows),
			report.Text(p.RMSE.String())}})
	}
	return table
}

// curveFigure draws the learning curve from the first model to twice the labels of the
// current one.
func (s *campaignStatus) curveFigure(t wire.TargetStatus) *report.Figure {
	const steps = 24
	first := t.Curve.Labels
	for _, p := range t.Curve.Points {
		first = min(first, p.Labels)
	}
	fitted := report.Curve{Name: "learning curve and its 90 % interval"}
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
	panel := report.Panel{XLabel: "labels", YLabel: "RMSE of " + t.Target, X: report.Log2, Y: report.Log10,
		Curves: []report.Curve{fitted}}
	if f := t.Forecast; f != nil && f.Metric == estimate.RMSE {
		ends := []float64{fitted.X[0], fitted.X[len(fitted.X)-1]}
		panel.Curves = append(panel.Curves, report.Curve{Name: s.marked("RMSE " + words.Number(rounded(f.Wanted))), X: ends,
			Y: []float64{f.Wanted, f.Wanted}, Reference: true})
	}
	for _, p := range t.Curve.Points {
		panel.Marks = append(panel.Marks, report.Mark{Name: modelWord(s.Learner) + "s so far",
			X: float64(p.Labels), Y: p.RMSE.Value,
			Tip: s.marked(fmt.Sprintf("%s: RMSE %v on %s", words.Count(p.Labels, "label", "labels"), p.RMSE,
				words.Count(p.Rows, "random row", "random rows")))})
	}
	panel.Marks = append(panel.Marks, report.Mark{Name: "now", X: float64(t.Curve.Labels), Y: t.Curve.RMSE.Value,
		Tip: s.marked(t.ErrorOf)})
	return &report.Figure{Name: "curve", Title: "The error, with more labels", Decimal: s.decimal(),
		Panels: []report.Panel{panel},
		Note: s.marked(fmt.Sprintf("Measured on %s %s. To the right of now, the curve is a forecast.",
			words.Whole(t.Curve.Rows), randomWord(t.TargetStanding)))}
}

// outcomeFigure draws the labels of audit rows over their predictions; nil without any.
func (s *campaignStatus) outcomeFigure(target int, name string) *report.Figure {
	panel := report.Panel{XLabel: "prediction of " + name, YLabel: "label of " + name}
	low, high := math.Inf(1), math.Inf(-1)
	for _, o := range s.state.Outcomes() {
		if !o.Audit || target >= len(o.Predictions) || math.IsNaN(o.Label[target]) {
			continue
		}
		x, y := float64(o.Predictions[target].Value), o.Label[target]
		low, high = min(low, x, y), max(high, x, y)
		panel.Marks = append(panel.Marks, report.Mark{Name: "audit rows", X: x, Y: y,
			Tip: o.ID + s.marked(fmt.Sprintf(": label %s, predicted %s with %s", words.Number(y), words.Number(x),
				words.Count(o.Trained, "label", "labels")))})
	}
	if len(panel.Marks) == 0 {
		return nil
	}
	panel.Curves = []report.Curve{{Name: "label = prediction", X: []float64{low, high},
		Y: []float64{low, high}, Reference: true}}
	return &report.Figure{Name: "audit-rows", Title: "Audit rows: what was predicted, and what was measured",
		Decimal: s.decimal(), Panels: []report.Panel{panel},
		Note: s.marked(words.Count(len(panel.Marks), "audit row, predicted before its label came.",
			"audit rows, each predicted before its label came."))}
}

// outTable lists the asks with rows that are still out.
func outTable(s *campaignStatus) *report.Table {
	t := &report.Table{Columns: []report.Column{{Head: "ask"}, {Head: "person"}, {Head: "asked"}, {Head: "rows out"},
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
			end = timeText(*ask.LeaseEnd)
		}
		t.Rows = append(t.Rows, report.Row{Cells: []report.Cell{report.Count(int(ask.Ask)).Marked(s.decimal()),
			report.Text(ask.Person), report.Text(timeText(ask.Time)),
			report.Count(out).Marked(s.decimal()), report.Count(len(ask.Rows)).Marked(s.decimal()), report.Text(end)}})
	}
	if len(t.Rows) == 0 {
		t.Note = "No row is out."
	}
	return t
}

// historyTable lists the last events, the latest first.
func historyTable(s *campaignStatus) *report.Table {
	const most = 50
	t := &report.Table{Columns: []report.Column{{Head: "event"}, {Head: "time"}, {Head: "person"}, {Head: "what"}}}
	for _, e := range slices.Backward(s.log[max(0, len(s.log)-most):]) {
		what := s.marked(eventWords(e), eventNames(e)...)
		if s.state.Undone(e.Seq) {
			what = "[" + what + "]"
		}
		t.Rows = append(t.Rows, report.Row{Cells: []report.Cell{report.Count(int(e.Seq)).Marked(s.decimal()),
			report.Text(timeText(e.Time)), report.Text(e.Person), report.Text(what)}})
	}
	t.Note = "The latest first. An event in brackets has no effect: it was undone, or it undoes another one."
	if len(s.log) > most {
		t.Note = s.marked(fmt.Sprintf("The last %d of %s events. ", most, words.Whole(len(s.log)))) + t.Note
	}
	return t
}

// waitingNote says how many labels wait for a second look, and whether labels that the model has learnt from have
// changed.
func waitingNote(s *campaignStatus) (text string) {
	if n := len(s.Doubtful); n > 0 {
		text = fmt.Sprintf(" %s for a second look, and nothing here follows from %s.",
			words.Count(n, "label waits", "labels wait"), map[bool]string{true: "it", false: "them"}[n == 1])
	}
	if note := s.Model.Note(); note != "" {
		text += " The " + note + "."
	}
	return text
}
