package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/internal/audit"
	"github.com/nextbatch/nextbatch/internal/report"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/tables"
)

// auditFlags are the flags of audit.
type auditFlags struct {
	columns        columnFlags
	net            networkFlags
	learner        learner.Kind
	folds, repeats int
	most           int
	level          float64
	json, quiet    bool
	page, out      string
}

// auditing is one run of the command audit.
type auditing struct {
	auditFlags
	run
	path   string
	config network.Config
	rows   *tables.Rows
	names  []string           // of the labelled rows
	places []int              // their rows of the table, or of the campaign
	waits  []campaign.Waiting // labels of a campaign that are not among them yet
	style  dataset.Style      // of the table
}

func newAudit() *cobra.Command {
	a := &auditFlags{}
	c := &cobra.Command{
		Use:        "audit TABLE",
		SuggestFor: []string{"check", "outliers", "clean"},
		Short:      "Find labels that look wrong",
		Example: `  nextbatch audit table.csv --target y --id name
  nextbatch audit table.csv --target y --id name --out suspects.csv --report audit.html`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r := &auditing{auditFlags: *a, run: newRun(cmd, a.quiet), path: args[0]}
			return r.perform(cmd.Context(), steps{check: r.check, threads: r.net.threads, memory: &r.columns.memory,
				read: r.read, compute: r.compute})
		},
		Long: `Predicts every labelled row by models that were fitted to other rows, and lists
the labels that disagree most with their predictions, in units of the error that is
typical for such a row. The p-value is corrected for the number of labels: it is
the probability that the worst label of a table without errors looks this wrong. Only
p-values up to 0.1 are shown: a large one does not mean that the label is right.
Labels that look wrong are left out of a second training, so that they do not
mislead it.

--learner auto blends a Gaussian process, trees and networks, by their errors on
rows that they have not seen; the answer names the blend.

A label on this list may be right: the row may be unlike all others. Measure it
again before you change it.`,
	}
	a.columns.registerTarget(c)
	registerRange(c.Flags(), &a.columns.Ranges)
	registerLearner(c.Flags(), &a.learner)
	a.register(c)
	registerQuiet(c, &a.quiet)
	a.columns.register(c)
	a.columns.registerInputs(c)
	a.net.registerOne(c)
	return c
}

// register registers the flags that audits of tables and of campaigns have.
func (a *auditFlags) register(c *cobra.Command) {
	f := c.Flags()
	f.IntVar(&a.folds, "folds", 0,
		fmt.Sprintf("parts that the rows are divided into; each is predicted from the others (default %d, and %d for a network alone)", learner.DefaultFolds, audit.DefaultFolds))
	f.IntVar(&a.repeats, "repeats", audit.DefaultRepeats, "divisions into parts, whose predictions are averaged")
	f.IntVar(&a.most, "most", 20, "labels to list at most; 0 lists all")
	f.Float64Var(&a.level, "level", 0.05, "p-value up to which a label is called suspect")
	f.StringVarP(&a.out, "out", "o", "", "write the labels to this file: "+strings.Join(tableExtensions(), ", "))
	f.StringVar(&a.page, "report", "", "write a page with the labels and their predictions to this .html file")
	f.BoolVar(&a.json, "json", false, "print one JSON object")
	registerDevice(c)
}

func (a *auditing) compute(ctx context.Context) (*answer, error) {
	o := audit.Options{Learner: a.learner, Ranges: a.rows.Ranges,
		Network: network.Options{Config: a.config, Columns: &a.rows.Encoder, Targets: a.rows.Targets},
		Folds:   a.folds, Repeats: a.repeats}
	a.progress.sayDevice(ctx, a.learner)
	if err := a.progress.foretell(ctx, "the audit", func(ctx context.Context) (least, most float64, err error) {
		return audit.Forecast(ctx, fitted.Sample(a.rows), o)
	}); err != nil {
		return nil, err
	}
	a.watch(&o)
	reports, err := audit.Labels(ctx, fitted.Sample(a.rows), o)
	a.progress.done()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if reports == nil {
		return nil, dataError{err}
	}
	if err != nil {
		a.progress.warn(err.Error())
	}
	if note := reports[0].TrainingNote; note != "" {
		a.progress.warn(note)
	}
	for _, r := range reports {
		for _, note := range r.Notes {
			a.progress.warn(note)
		}
	}
	return a.answer(reports, a.results(reports)), nil
}

// watch shows the progress of an audit.
func (a *auditing) watch(o *audit.Options) {
	what := "networks trained"
	if a.learner.Blends() {
		what = "blends fitted"
	}
	o.Progress = func(done, of int) { a.progress.step("audit", done, of, what) }
	o.Fitting = func(done, of int, learner string, fold, folds int) {
		rows := fmt.Sprintf("fold %d of %d", fold, folds)
		if fold == 0 {
			rows = "all rows"
		}
		a.progress.step("audit", done, of, fmt.Sprintf("%s, now %s, %s", what, learner, rows))
	}
}

// answer is the result as a table, a page, and JSON or text.
func (a *auditing) answer(reports []*audit.Report, result auditResult) *answer {
	found := &answer{}
	if a.out != "" {
		found.save = append(found.save, func() error { return a.write(result) })
	}
	found.savePage(a.page, a.progress, func() (*report.Page, error) {
		return auditPage(a.path, a.rows.Targets, reports,
			result, a.names), nil
	})
	if a.json {
		found.json = result
	}
	found.text = func(out io.Writer) error {
		if err := printWaiting(out, a.waits, a.style.Decimal); err != nil {
			return err
		}
		for _, one := range result.each() {
			fmt.Fprintln(out, one.answer())
			if one.Learner != "" {
				fmt.Fprintf(out, "learner  %s\n", one.marked(one.Learner))
			}
			fmt.Fprintln(out)
			if a.out != "" {
				continue
			}
			if err := printTable(out, auditTable(one)); err != nil {
				return err
			}
		}
		return nil
	}
	return found
}

// write writes the labels that disagree most to the file of --out.
func (a *auditing) write(result auditResult) error {
	table, err := a.table(result)
	if err != nil {
		return err
	}
	if err := source.WriteFile(a.out, table); err != nil {
		return err
	}
	a.progress.say("%s written to %s", words.Count(table.Rows(), "label", "labels"), a.out)
	return nil
}

// results describes the findings. With several targets they are those of the first, and
// hold the results of all.
func (a *auditing) results(reports []*audit.Report) auditResult {
	list := make([]auditResult, len(reports))
	for k, r := range reports {
		list[k] = a.result(r)
		if len(reports) > 1 {
			list[k].Target = a.rows.Targets[k]
			list[k].Answer = a.rows.Targets[k] + ": " + list[k].Answer
		}
	}
	first := list[0]
	if len(list) > 1 {
		first.Targets = list
	}
	first.Waiting = a.waits
	return first
}

// each returns the results of each target.
func (r auditResult) each() []auditResult {
	if r.Targets != nil {
		return r.Targets
	}
	return []auditResult{r}
}

// check reads the flags.
func (a *auditing) check() (err error) {
	a.config, err = a.net.config()
	switch err := errors.Join(err, a.net.checkLearner(a.learner)); {
	case err != nil:
		return err
	case a.columns.target == "":
		return usagef("name the target column with --target")
	}
	if err := errors.Join(a.checkNumbers(), a.columns.check()); err != nil {
		return err
	}
	return a.checkFiles(flagged{"TABLE", a.path})
}

// checkNumbers checks the flags that are numbers.
func (a *auditing) checkNumbers() error {
	switch {
	case a.folds == 1 || a.folds < 0 || a.repeats < 1 || a.most < 0:
		return usagef("--folds must be at least 2, --repeats at least 1 and --most not negative")
	case !(a.level > 0 && a.level < 1):
		return usagef("--level must be between 0 and 1, not %v", a.level)
	}
	return nil
}

// checkFiles checks the flags that name files, which are not what is read.
func (a *auditing) checkFiles(read flagged) error {
	if err := checkDistinct([]flagged{read}, []flagged{{"--out", a.out}, {"--report", a.page}}); err != nil {
		return err
	}
	return errors.Join(checkOutput("--out", a.out, tableExtensions()...), checkOutput("--report", a.page, ".html"))
}

// read reads the rows and the names of those that have a label.
func (a *auditing) read(ctx context.Context) error {
	table, rows, err := a.columns.rows(ctx, a.path, a.progress, func(table *dataset.Table, z tables.Sizes) error {
		if a.learner.Blends() {
			return a.columns.memory.admit("fitting a model", blendNeed(table, z, a.learner, a.config, 1),
				"--learner trees", "fewer rows")
		}
		return a.columns.memory.admit("training a network", trainingNeed(table, z, a.config, 1, 0),
			"narrower layers (--hidden)", "fewer rows")
	})
	if err != nil {
		return err
	}
	a.rows, a.names, a.places = rows, make([]string, rows.Train.Rows), rows.TrainRows
	a.style = table.Origin().Style
	for i, row := range rows.TrainRows {
		a.names[i] = strconv.Itoa(row)
	}
	if ids, err := table.Column(a.columns.id); err == nil {
		for i, row := range rows.TrainRows {
			a.names[i] = ids.Format(row)
		}
	}
	return nil
}

// auditResult is what audit prints as JSON.
type auditResult struct {
	Target string `json:"target,omitempty"` // of several
	// with several, the results of each; the others here are those of the first
	Targets  []auditResult `json:"targets,omitempty"`
	Answer   string        `json:"answer"`
	Labels   int           `json:"labels"`   // that were examined
	Suspects int           `json:"suspects"` // with a p-value of at most level
	Level    float64       `json:"level"`
	RMSE     number        `json:"rmse"`     // of cross-fitted predictions, on all labels
	LeftOut  int           `json:"left_out"` // labels that the second training did without
	// Learner says which candidates were blended, and why, and Candidates the same as numbers; absent for a network alone.
	Learner    string              `json:"learner,omitempty"`
	Candidates []learner.Candidate `json:"candidates,omitempty"`
	Found      []auditFinding      `json:"findings"`
	// labels of a campaign that wait for a second look, and were not examined
	Waiting  []campaign.Waiting `json:"waiting,omitempty"`
	Seed     uint64             `json:"seed"`
	Warnings []string           `json:"warnings"`
	Seconds  float64            `json:"seconds"`
	Version  string             `json:"version"`

	decimal byte // mark of the table; 0 means a point
}

// marked writes the numbers of a sentence as the table does; names in it stay.
func (r auditResult) marked(text string, names ...string) string {
	return words.MarkedIn(text, r.decimal, names...)
}

// answer is the sentence with its numbers as the table writes them.
func (r auditResult) answer() string {
	names := []string{r.Target}
	for _, f := range r.Found {
		names = append(names, f.ID)
	}
	return r.marked(r.Answer, names...)
}

type auditFinding struct {
	ID         string `json:"id"`
	Row        int    `json:"row"` // of the table, or of the campaign, from 0
	Label      number `json:"label"`
	Prediction number `json:"prediction"`
	Low        number `json:"low"`
	High       number `json:"high"`
	Score      number `json:"score"` // the error over the error that is typical for such a row
	P          number `json:"p"`
}

func (a *auditing) result(r *audit.Report) auditResult {
	result := auditResult{Labels: r.Labels, Suspects: len(r.Suspects(a.level)), Level: a.level, RMSE: number(r.RMSE),
		LeftOut: r.LeftOut, Learner: r.Learner, Candidates: r.Candidates,
		Found: []auditFinding{}, Seed: a.net.seed, Warnings: append([]string{}, a.progress.warnings...), Seconds: a.seconds(),
		Version: thisBuild().Version, decimal: a.style.Decimal}
	shownFindings := r.Findings
	if a.most > 0 {
		shownFindings = r.Findings[:min(max(a.most, result.Suspects), len(r.Findings))]
	}
	for _, f := range shownFindings {
		result.Found = append(result.Found, auditFinding{a.names[f.Row], a.places[f.Row], number(f.Label),
			number(f.Prediction), number(f.Low), number(f.High), number(f.Score), number(f.P)})
	}
	result.Answer = r.Answer(a.level, func(row int) string { return a.names[row] })
	return result
}

// table holds the labels that disagree most, for a file.
func (a *auditing) table(r auditResult) (*dataset.Table, error) {
	row, label, prediction := dataset.NewNumeric("row"), dataset.NewNumeric("label"), dataset.NewNumeric("prediction")
	low, high, score, p := dataset.NewNumeric("low"), dataset.NewNumeric("high"), dataset.NewNumeric("score"),
		dataset.NewNumeric("p")
	columns := []dataset.Column{row, label, prediction, low, high, score, p}
	taken := map[string]bool{}
	for _, c := range columns {
		taken[c.Name()] = true
	}
	ids, targets := dataset.NewText(ownName(a.columns.id, taken)),
		dataset.NewText(ownName("target", map[string]bool{a.columns.id: true}))
	for _, one := range r.each() {
		for _, f := range one.Found {
			ids.Append([]byte(f.ID))
			targets.Append([]byte(one.Target))
			for column, v := range map[*dataset.Numeric]number{row: number(f.Row), label: f.Label, prediction: f.Prediction,
				low: f.Low, high: f.High, score: f.Score, p: f.P} {
				column.Append(float64(v))
			}
		}
	}
	if r.Targets != nil {
		columns = append([]dataset.Column{targets}, columns...)
	}
	if a.columns.id != "" {
		columns = append([]dataset.Column{ids}, columns...)
	}
	t, err := dataset.NewTable(columns...)
	if err != nil {
		return nil, err
	}
	return t.WrittenLike(a.style), nil
}

// judges names what the labels were compared with.
func (r auditResult) judges() string {
	if r.Learner == "" {
		return "networks"
	}
	return "models"
}

func auditTable(r auditResult) *report.Table {
	t := &report.Table{
		Title: "Labels that disagree most",
		Note: r.marked("Predictions are those of " + r.judges() +
			" that have not seen the row; the interval holds a right label with a probability of 95 %. " +
			"Score: the error over the median error of such rows. The p-value is corrected for the number of labels; it is shown where it is at most 0.1. " +
			"A larger one does not mean that the label is right, only that its error is not unusual among so many."),
		Columns: []report.Column{{Head: "row or id"}, {Head: "label"}, {Head: "prediction and its interval"},
			{Head: "score"}, {Head: "p"}},
	}
	for _, f := range r.Found {
		t.Rows = append(t.Rows, report.Row{Cells: []report.Cell{report.Text(f.ID),
			report.Measured(float64(f.Label)).Marked(r.decimal),
			report.Text(r.marked(words.Estimate(float64(f.Prediction), float64(f.Low), float64(f.High)))),
			report.Number(float64(f.Score), 1).Marked(r.decimal), report.Text(r.marked(pText(float64(f.P))))}})
	}
	return t
}

func pText(p float64) string {
	if p > audit.ShownP {
		return "–"
	}
	return fmt.Sprintf("%.2g", p)
}

func auditPage(path string, targets []string, reports []*audit.Report, result auditResult,
	names []string) *report.Page {
	page := &report.Page{Title: "Which labels of " + path + " look wrong?", Warnings: result.Warnings}
	for k, one := range result.each() {
		page.Intro = append(page.Intro, one.answer(),
			one.marked(fmt.Sprintf("%s labels of %s were compared with the predictions of %s that had not seen them. The RMSE over all of them, wrong ones included, is %s.", words.Whole(one.Labels), targets[k], one.judges(), words.Number(float64(one.RMSE))), targets[k]))
		if one.Learner != "" {
			page.Intro = append(page.Intro, "Learner: "+one.marked(one.Learner)+".")
		}
		table, of := auditTable(one), ""
		if len(reports) > 1 {
			of = ": " + targets[k]
		}
		title := table.Title + of
		table.Title = "" // it is that of the section
		figure := auditFigure(targets[k], reports[k], one, names)
		if k > 0 {
			figure.Name += "-" + strconv.Itoa(k+1)
		}
		page.Sections = append(page.Sections,
			report.Section{Title: title, Tables: []*report.Table{table}},
			report.Section{Title: "Labels and predictions" + of, Figures: []*report.Figure{figure}})
	}
	page.Intro = append(page.Intro,
		"A label on this list may be right: the row may be unlike all others. Measure it again before you change it.")
	return page
}

// auditFigure draws all labels over their predictions, suspects on top.
func auditFigure(target string, r *audit.Report, result auditResult, names []string) *report.Figure {
	panel := report.Panel{XLabel: "prediction of " + target, YLabel: "label of " + target}
	low, high := r.Findings[0].Label, r.Findings[0].Label
	for i := len(r.Findings) - 1; i >= 0; i-- {
		f := r.Findings[i]
		low, high = min(low, f.Label, f.Prediction), max(high, f.Label, f.Prediction)
		mark := report.Mark{Name: "other labels", X: f.Prediction, Y: f.Label}
		if i < result.Suspects {
			mark.Name = "suspect labels"
		}
		mark.Tip = fmt.Sprintf("%s: label %s, prediction %s, p-value %s", names[f.Row], result.marked(words.Number(f.Label)),
			result.marked(words.Number(f.Prediction)), result.marked(pText(f.P)))
		panel.Marks = append(panel.Marks, mark)
	}
	panel.Curves = []report.Curve{{Name: "label = prediction", X: []float64{low, high},
		Y: []float64{low, high}, Reference: true}}
	return &report.Figure{Name: "audit", Decimal: result.decimal, Panels: []report.Panel{panel},
		Note: result.marked(fmt.Sprintf("All %s labels; suspects have a p-value of at most %v.",
			words.Whole(result.Labels), result.Level))}
}
