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
	a.columns.registerLabelSD(c.Flags())
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
		fmt.Sprintf("parts that the rows are divided into; each is predicted from the others (default %d, and %d for a "+
			"network alone)", learner.DefaultFolds, audit.DefaultFolds))
	f.IntVar(&a.repeats, "repeats", audit.DefaultRepeats, "divisions into parts, whose predictions are averaged")
	f.IntVar(&a.most, "most", 20, "labels to list at most; 0 lists all")
	f.Float64Var(&a.level, "level", 0.05, "p-value up to which a label is called suspect")
	f.StringVarP(&a.out, "out", "o", "", "write the labels to this file: "+strings.Join(tableExtensions(), ", "))
	f.StringVar(&a.page, "report", "", "write a page with the labels and their predictions to this .html file")
	f.BoolVar(&a.json, "json", false, "print one JSON object")
	registerDevice(c)
}

func (a *auditing) compute(ctx context.Context) (*answer, error) {
	o := audit.Options{Learner: a.learner,
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
		a.progress.warn(r.Notes...)
	}
	return a.answer(&report.Audit{Name: a.path, Targets: a.rows.Targets, Reports: reports, IDs: a.names,
		ID: a.columns.id, Rows: a.places, Waiting: a.waits, Level: a.level, Most: a.most, Style: a.style,
		About: a.about(a.net.seed)}), nil
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
func (a *auditing) answer(of *report.Audit) *answer {
	found, result := &answer{}, of.Result()
	if a.out != "" {
		found.save = append(found.save, func() error { return a.write(of, result) })
	}
	found.savePage(a.page, a.progress, func() (*report.Page, error) { return of.Page(result), nil })
	if a.json {
		found.json = result
	}
	found.text = func(out io.Writer) error {
		if err := printWaiting(out, a.waits, a.style.Decimal); err != nil {
			return err
		}
		for _, one := range result.Each() {
			fmt.Fprintln(out, one.Sentence())
			if one.Learner != "" {
				fmt.Fprintf(out, "learner  %s\n", one.Chosen())
			}
			fmt.Fprintln(out)
			if a.out != "" {
				continue
			}
			if err := printTable(out, one.Table()); err != nil {
				return err
			}
		}
		return nil
	}
	return found
}

// write writes the labels that disagree most to the file of --out.
func (a *auditing) write(of *report.Audit, result report.AuditResult) error {
	table, err := of.File(result)
	if err != nil {
		return err
	}
	if err := source.WriteFile(a.out, table); err != nil {
		return err
	}
	a.progress.say("%s written to %s", words.Count(table.Rows(), "label", "labels"), a.out)
	return nil
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
	table, rows, err := a.columns.rows(ctx, a.path, a.progress, new(fitted.Options), func(table *dataset.Table,
		z tables.Sizes) error {
		need := fitNeed(table, z, fitted.Choices{Learner: a.learner, Network: a.config}, 0)
		if a.learner.Blends() {
			return a.columns.memory.admit("fitting a model", need, "--learner trees", "fewer rows")
		}
		return a.columns.memory.admit("training a network", need, "narrower layers (--hidden)", "fewer rows")
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
