package report

import (
	"fmt"
	"strconv"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/internal/audit"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/learner"
)

// About is what the answers of commands say about their run.
type About struct {
	Seed     uint64   `json:"seed"`
	Warnings []string `json:"warnings"`
	Seconds  float64  `json:"seconds"`
	Version  string   `json:"version"`
}

// Audit is what an audit found, and where.
type Audit struct {
	Name    string   // of the table or of the campaign
	Targets []string // their names
	Reports []*audit.Report
	IDs     []string           // of the rows that have a label
	ID      string             // their column; empty if there is none
	Rows    []int              // of the table, or of the campaign
	Waiting []campaign.Waiting // labels of a campaign that are not among them yet
	Level   float64            // p-value up to which a label is called suspect
	Most    int                // labels to list at most, beside those that are suspect; 0 means all
	Style   dataset.Style      // of the table
	About   About
}

// AuditResult is what audit prints as JSON.
type AuditResult struct {
	Target string `json:"target,omitempty"` // of several
	// with several, the results of each; the others here are those of the first
	Targets  []AuditResult `json:"targets,omitempty"`
	Answer   string        `json:"answer"`
	Labels   int           `json:"labels"`   // that were examined
	Suspects int           `json:"suspects"` // with a p-value of at most level
	Level    float64       `json:"level"`
	RMSE     fitted.Float  `json:"rmse"`     // of cross-fitted predictions, on all labels
	LeftOut  int           `json:"left_out"` // labels that the second training did without
	// Learner says which candidates were blended, and why, and Candidates the same as numbers; absent for a network alone.
	Learner    string              `json:"learner,omitempty"`
	Candidates []learner.Candidate `json:"candidates,omitempty"`
	Found      []AuditFinding      `json:"findings"`
	// labels of a campaign that wait for a second look, and were not examined
	Waiting []campaign.Waiting `json:"waiting,omitempty"`
	About

	answer, chosen words.Text // Answer and Learner
	decimal        byte       // mark of the table; 0 means a point
}

// Result describes the findings. With several targets they are those of the first, and hold the results of all.
func (a *Audit) Result() AuditResult {
	list := make([]AuditResult, len(a.Reports))
	for k, r := range a.Reports {
		list[k] = a.result(r)
		if len(a.Reports) > 1 {
			list[k].Target = a.Targets[k]
			list[k].answer = words.Textf("%s: %v", a.Targets[k], list[k].answer)
		}
	}
	for k, one := range list {
		list[k].Answer = one.answer.String()
	}
	first := list[0]
	if len(list) > 1 {
		first.Targets = list
	}
	first.Waiting = a.Waiting
	return first
}

func (a *Audit) result(r *audit.Report) AuditResult {
	result := AuditResult{Labels: r.Labels, Suspects: len(r.Suspects(a.Level)), Level: a.Level, RMSE: fitted.Float(r.RMSE),
		LeftOut: r.LeftOut, Learner: r.Learner.String(), Candidates: r.Candidates,
		Found: []AuditFinding{}, About: a.About, chosen: r.Learner, decimal: a.Style.Decimal}
	listed := r.Findings
	if a.Most > 0 {
		listed = r.Findings[:min(max(a.Most, result.Suspects), len(r.Findings))]
	}
	for _, f := range listed {
		result.Found = append(result.Found, AuditFinding{a.IDs[f.Row], a.Rows[f.Row], fitted.Float(f.Label),
			fitted.Float(f.Prediction), fitted.Float(f.Low), fitted.Float(f.High), fitted.Float(f.Score), fitted.Float(f.P)})
	}
	result.answer = r.Answer(a.Level, func(row int) string { return a.IDs[row] })
	return result
}

// Each returns the results of each target.
func (r AuditResult) Each() []AuditResult {
	if r.Targets != nil {
		return r.Targets
	}
	return []AuditResult{r}
}

// say writes a text with the numbers as the table has them.
func (r AuditResult) say(format string, args ...any) string {
	return words.Textf(format, args...).In(r.decimal)
}

// Sentence is the answer with its numbers as the table writes them.
func (r AuditResult) Sentence() string { return r.say("%v", r.answer) }

// Chosen is what was chosen for a blend, and why, with numbers as the table writes them; empty for a network alone.
func (r AuditResult) Chosen() string { return r.say("%v", r.chosen) }

// AuditFinding is a label that disagrees with its prediction.
type AuditFinding struct {
	ID         string       `json:"id"`
	Row        int          `json:"row"` // of the table, or of the campaign, from 0
	Label      fitted.Float `json:"label"`
	Prediction fitted.Float `json:"prediction"`
	Low        fitted.Float `json:"low"`
	High       fitted.Float `json:"high"`
	Score      fitted.Float `json:"score"` // the error over the error that is typical for such a row
	P          fitted.Float `json:"p"`
}

// File holds the labels that disagree most, for a file.
func (a *Audit) File(r AuditResult) (*dataset.Table, error) {
	row, label, prediction := dataset.NewNumeric("row"), dataset.NewNumeric("label"), dataset.NewNumeric("prediction")
	low, high, score, p := dataset.NewNumeric("low"), dataset.NewNumeric("high"), dataset.NewNumeric("score"),
		dataset.NewNumeric("p")
	columns := []dataset.Column{row, label, prediction, low, high, score, p}
	var taken []string
	for _, c := range columns {
		taken = append(taken, c.Name())
	}
	ids, targets := dataset.NewText(words.FreeName(a.ID, taken...)), dataset.NewText(words.FreeName("target", a.ID))
	for _, one := range r.Each() {
		for _, f := range one.Found {
			ids.Append([]byte(f.ID))
			targets.Append([]byte(one.Target))
			for column, v := range map[*dataset.Numeric]fitted.Float{row: fitted.Float(f.Row), label: f.Label,
				prediction: f.Prediction, low: f.Low, high: f.High, score: f.Score, p: f.P} {
				column.Append(float64(v))
			}
		}
	}
	if r.Targets != nil {
		columns = append([]dataset.Column{targets}, columns...)
	}
	if a.ID != "" {
		columns = append([]dataset.Column{ids}, columns...)
	}
	t, err := dataset.NewTable(columns...)
	if err != nil {
		return nil, err
	}
	return t.WrittenLike(a.Style), nil
}

// judges names what the labels were compared with.
func (r AuditResult) judges() string {
	if r.Learner == "" {
		return "networks"
	}
	return "models"
}

// Table lists the labels that disagree most.
func (r AuditResult) Table() *Table {
	t := &Table{
		Title: "Labels that disagree most",
		Note: r.say("Predictions are those of %s that have not seen the row; the interval holds a right label with a "+
			"probability of 95 %%. Score: the error over the median error of such rows. The p-value is corrected for the "+
			"number of labels; it is shown where it is at most %v. A larger one does not mean that the label is right, only "+
			"that its error is not unusual among so many.", r.judges(), audit.ShownP),
		Columns: []Heading{{Head: "row or id"}, {Head: "label"}, {Head: "prediction and its interval"},
			{Head: "score"}, {Head: "p"}},
	}
	for _, f := range r.Found {
		t.Rows = append(t.Rows, Row{Cells: []Cell{Text(f.ID),
			Measured(float64(f.Label)).Marked(r.decimal),
			Text(r.say("%v", words.Estimate(float64(f.Prediction), float64(f.Low), float64(f.High)))),
			Number(float64(f.Score), 1).Marked(r.decimal), Text(r.say("%s", pText(float64(f.P))))}})
	}
	return t
}

func pText(p float64) words.Num {
	if p > audit.ShownP {
		return "–"
	}
	return words.Num(fmt.Sprintf("%.2g", p))
}

// Page is the page about the audit.
func (a *Audit) Page(result AuditResult) *Page {
	page := &Page{Title: "Which labels of " + a.Name + " look wrong?", Warnings: result.Warnings}
	for k, one := range result.Each() {
		page.Intro = append(page.Intro, one.Sentence(),
			one.say("%s labels of %s were compared with the predictions of %s that had not seen them. The RMSE over all of "+
				"them, wrong ones included, is %s.", words.Num(words.Whole(one.Labels)), a.Targets[k], one.judges(),
				words.Num(words.Number(float64(one.RMSE)))))
		if chosen := one.Chosen(); chosen != "" {
			page.Intro = append(page.Intro, "Learner: "+chosen+".")
		}
		table, of := one.Table(), ""
		if len(a.Reports) > 1 {
			of = ": " + a.Targets[k]
		}
		title := table.Title + of
		table.Title = "" // it is that of the section
		figure := auditFigure(a.Targets[k], a.Reports[k], one, a.IDs)
		if k > 0 {
			figure.Name += "-" + strconv.Itoa(k+1)
		}
		page.Sections = append(page.Sections,
			Section{Title: title, Tables: []*Table{table}},
			Section{Title: "Labels and predictions" + of, Figures: []*Figure{figure}})
	}
	page.Intro = append(page.Intro,
		"A label on this list may be right: the row may be unlike all others. Measure it again before you change it.")
	return page
}

// auditFigure draws all labels over their predictions, suspects on top.
func auditFigure(target string, r *audit.Report, result AuditResult, names []string) *Figure {
	panel := Panel{XLabel: "prediction of " + target, YLabel: "label of " + target}
	low, high := r.Findings[0].Label, r.Findings[0].Label
	for i := len(r.Findings) - 1; i >= 0; i-- {
		f := r.Findings[i]
		low, high = min(low, f.Label, f.Prediction), max(high, f.Label, f.Prediction)
		mark := Mark{Name: "other labels", X: f.Prediction, Y: f.Label}
		if i < result.Suspects {
			mark.Name = "suspect labels"
		}
		mark.Tip = result.say("%s: label %s, prediction %s, p-value %s", names[f.Row], words.Num(words.Number(f.Label)),
			words.Num(words.Number(f.Prediction)), pText(f.P))
		panel.Marks = append(panel.Marks, mark)
	}
	panel.Curves = []Curve{{Name: "label = prediction", X: []float64{low, high},
		Y: []float64{low, high}, Reference: true}}
	return &Figure{Name: "audit", Decimal: result.decimal, Panels: []Panel{panel},
		Note: result.say("All %s labels; suspects have a p-value of at most %v.",
			words.Num(words.Whole(result.Labels)), result.Level)}
}
