package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/internal/conformal"
	"github.com/nextbatch/nextbatch/internal/kept"
	"github.com/nextbatch/nextbatch/internal/options"
	"github.com/nextbatch/nextbatch/internal/report"
	"github.com/nextbatch/nextbatch/internal/source/formats"
	"github.com/nextbatch/nextbatch/internal/wire"
	"github.com/nextbatch/nextbatch/internal/words"
)

// campaignAsking is a run of campaign ask.
type campaignAsking struct {
	campaignFlags
	batch         int
	lease, audit  string
	must, exclude []string
	limits        limitFlags
	flags         *pflag.FlagSet
	out           string
	json          bool
	threads       int
	memory        memory
	kept          *kept.Features // nil where none are kept
	address       string
	wanted        campaign.Ask

	showPredictions bool // to the person who labels the rows
}

func newCampaignAsk() *cobra.Command {
	a := &campaignAsking{}
	c := &cobra.Command{
		Use:        "ask STORE",
		SuggestFor: []string{"select", "next", "pick"},
		Short:      "Ask for rows to label, which are then out with you",
		Example: `  nextbatch campaign ask c.db -n 32 --out batch.csv
  nextbatch campaign ask c.db -n 96 --lease 14d --person ada --request plate-7 --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			a.address = args[0]
			return a.campaignFlags.perform(cmd, a.address,
				steps{check: a.check, threads: a.threads, memory: &a.memory}, a.compute)
		},
		Long: `Fits a model to the labelled rows, unless there are no new labels since the last
ask, picks rows, and hands them out: nobody else gets them before the lease ends. Rows
that are out count as selected. As long as fewer rows have a label than a model
needs, the batch is spread over the inputs.

Of a campaign in a file, features that networks compute are kept in STORE.features: if
rows are added and the model stays the same, the next ask computes only theirs. That
file may be deleted at any time.

The file of --out has the inputs of each row and an empty column for each target.
Fill it in, over days if you like, and give it to 'nextbatch campaign tell'. What the
model predicts is not in it, as it might steer the person who labels the rows, unless
--show-predictions puts it into the reasons. If the name ends in .xlsx, the file is an
Excel workbook, in which the columns to fill in are coloured.

A row whose lease has ended is open again and may be handed out to somebody else;
a late label is still accepted.

--same, --runs, --min-per-group, --at-most-groups, --replicates, --replicate-share, --plate
and --controls apply to this ask in place of the settings. -n counts measurements, and the
file has a line for each, with its run, replicate, plate and well where there are any.

--must and --exclude take ids, separated by commas, or @FILE with one id per line.

Exit codes: 4 the batch was handed out but is smaller than requested, or there is no
row left to ask for; the others are those of 'nextbatch select'.`,
	}
	f := c.Flags()
	f.IntVarP(&a.batch, "batch", "n", 0,
		"rows to ask for, or measurements if rows are measured several times (default by the settings)")
	f.StringVar(&a.lease, "lease", "",
		"how long the rows are out, such as 36h, 7d or 2w; never for no end (default by the settings)")
	f.StringVar(&a.audit, "audit", "", "share of audit rows, such as 1/8 or 0.125 (default by the settings)")
	f.StringSliceVar(&a.must, "must", nil, "rows that must be in the batch")
	f.StringSliceVar(&a.exclude, "exclude", nil, "rows that may not be picked")
	f.StringVarP(&a.out, "out", "o", "", "write the batch to this file: "+strings.Join(tableExtensions(), ", "))
	f.BoolVar(&a.showPredictions, "show-predictions", false, "name predictions in the reasons of the file of --out")
	f.BoolVar(&a.json, "json", false, "print one JSON object")
	a.limits.registerWhole(f)
	a.flags = f
	a.registerChange(c)
	registerThreads(c, &a.threads)
	registerDevice(c)
	a.memory.register(c)
	return c
}

func (a *campaignAsking) check() (err error) {
	if a.wanted, err = a.ask(); err != nil {
		return err
	}
	if err := checkDistinct([]flagged{{"STORE", a.address}}, []flagged{{"--out", a.out}}); err != nil {
		return err
	}
	return errors.Join(a.memory.check(), checkOutput("--out", a.out, tableExtensions()...))
}

func (a *campaignAsking) compute(ctx context.Context, c *campaign.Campaign) (*answer, error) {
	a.kept = a.keeps(ctx, a.address)
	a.wanted.Kept = a.kept
	if err := a.sayDevice(ctx, c); err != nil {
		return nil, err
	}
	batch, err := c.Ask(ctx, a.by(), a.wanted)
	a.progress.done()
	if errors.Is(err, campaign.ErrNothingOpen) {
		return a.nothing(ctx, c, err)
	}
	if err != nil {
		return nil, err
	}
	batch.Result.Version, batch.Result.Timings.Total = thisBuild().Version, number(a.seconds())
	return a.answer(ctx, c, batch)
}

// nothing answers an ask that finds no open row. In JSON it is a batch without rows and without a number.
func (a *campaignAsking) nothing(ctx context.Context, c *campaign.Campaign, why error) (*answer, error) {
	s, err := c.State(ctx)
	if err != nil {
		return nil, err
	}
	rows := cmp.Or(a.batch, s.Settings.Batch, campaign.DefaultBatch)
	if !a.json {
		return nil, partialError{0, rows, why.Error()}
	}
	r := &nextbatch.Result{
		Indices: []int{}, IDs: []string{}, Scores: []number{}, Reasons: []string{},
		Nearest: []string{}, Distances: []number{},
		Apart: [][]nextbatch.Apart{}, Predictions: []fitted.Prediction{}, Coverage: conformal.DefaultCoverage,
		Missing: rows, Short: why.Error(),
		Fallbacks: []nextbatch.FallbackEntry{}, Warnings: []string{}, Metrics: nextbatch.Metrics{ValidRMSE: []number{}},
		Version: thisBuild().Version,
	}
	event := campaign.AskEvent{Person: a.by().Person, Asked: &campaign.Asked{}}
	return &answer{json: wire.AskedOf(c.Name(), &campaign.Batch{AskEvent: event, Result: r}),
		short: partialError{0, rows, why.Error()}}, nil
}

// ask returns what the flags ask for.
func (a *campaignAsking) ask() (ask campaign.Ask, err error) {
	ask = a.asking(&a.memory)
	if a.batch < 0 {
		return ask, usagef("-n (--batch) must be at least 1, not %d", a.batch)
	}
	ask.Rows = a.batch
	options.Copy(&ask.Overrides, &a.limits, func(option string) bool { return a.flags.Changed(ofOption(option)) })
	if a.lease != "" {
		if ask.Lease, err = parseLease(a.lease); err != nil {
			return ask, err
		}
	}
	if a.audit != "" {
		if ask.Audit, err = orShare(a.audit, nil); err != nil {
			return ask, err
		}
	}
	if ask.Must, err = list(a.must); err != nil {
		return ask, err
	}
	ask.Exclude, err = list(a.exclude)
	return ask, err
}

// answer is the batch as a table, and JSON or text. The features of its rows wait for the next ask once it is out.
func (a *campaignAsking) answer(ctx context.Context, c *campaign.Campaign, b *campaign.Batch) (*answer, error) {
	a.progress.warn(b.Result.Warnings...)
	a.progress.say("%s", askedHow(b))
	a.sayChosen(b)
	a.sayKept()
	found := &answer{done: func(error) { a.keep(ctx, a.address) }}
	if a.out != "" {
		s, err := c.State(ctx)
		if err != nil {
			return nil, err
		}
		t, err := report.AskedFile(ctx, c, s, b, a.showPredictions)
		if err != nil {
			return nil, err
		}
		found.save = append(found.save, func() error {
			if err := formats.WriteToFill(a.out, t, s.Created.Targets...); err != nil {
				return err
			}
			a.progress.say("%s written to %s", report.AskedText(b.Rows), a.out)
			return nil
		})
	} else {
		found.text = func(out io.Writer) error { return printAsked(out, b) }
	}
	if a.json {
		found.json = wire.AskedOf(c.Name(), b)
	}
	if b.Result.Missing > 0 {
		found.short = partialError{len(b.Rows), len(b.Rows) + b.Result.Missing, b.Result.Short}
	}
	return found, nil
}

// sayChosen says what a blend chose for each target.
func (a *campaignAsking) sayChosen(b *campaign.Batch) {
	if len(b.Result.Targets) == 0 && b.Result.Learner != "" {
		a.progress.say("learner: %s", b.Result.Learner)
	}
	for _, t := range b.Result.Targets {
		if t.Learner != "" {
			a.progress.say("learner of %s: %s", t.Target, t.Learner)
		}
	}
}

// askedHow describes how a batch was picked.
func askedHow(b *campaign.Batch) string {
	word := report.ModelWord(b.Learner)
	model := fmt.Sprintf("by a %s with %s", word, words.Count(b.Trained, "label", "labels"))
	switch {
	case b.Model == "":
		model = fmt.Sprintf("without a %s, as too few rows have a label for one", word)
	case b.Kept:
		model += ", which was kept from an earlier ask"
	}
	audits := map[int64]bool{}
	for _, row := range b.Rows {
		if row.Audit {
			audits[row.Row] = true
		}
	}
	return fmt.Sprintf("ask %d (event %d): %s by %s, %s; %s; %s%s", b.Ask, b.Seq, report.AskedText(b.Rows), b.Spec, model,
		words.Count(len(audits), "audit row", "audit rows"), report.LeaseText(b.LeaseEnd), again(b.Repeated))
}

func printAsked(out io.Writer, b *campaign.Batch) error {
	r := *b.Result
	r.Measurements = r.Lines()
	for i, row := range b.Rows {
		r.Measurements[i].Plate, r.Measurements[i].Well = row.Plate, row.Well
	}
	return printBatch(out, &r)
}

// campaignPredicting is a run of campaign predict.
type campaignPredicting struct {
	campaignFlags
	out     string
	threads int
	memory  memory
}

func newCampaignPredict() *cobra.Command {
	p := &campaignPredicting{}
	c := &cobra.Command{
		Use:     "predict STORE",
		Short:   "Predict label and interval of every open row",
		Example: "  nextbatch campaign predict c.db --out predicted.csv",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.campaignFlags.perform(cmd, args[0], steps{check: func() error { return p.check(args[0]) },
				threads: p.threads, memory: &p.memory}, p.compute)
		},
		Long: `Predicts the labels of all open rows with the current model, and fits it first
if there are new labels. The columns low and high are a 90 % prediction interval. With
several targets, the columns begin with their names. Without --out, prints CSV.`,
	}
	c.Flags().StringVarP(&p.out, "out", "o", "", "write to this file instead of standard output: "+
		strings.Join(tableExtensions(), ", "))
	registerQuiet(c, &p.quiet)
	p.registerName(c)
	registerThreads(c, &p.threads)
	registerDevice(c)
	p.memory.register(c)
	return c
}

func (p *campaignPredicting) check(address string) error {
	if err := checkDistinct([]flagged{{"STORE", address}}, []flagged{{"--out", p.out}}); err != nil {
		return err
	}
	return errors.Join(p.memory.check(), checkOutput("--out", p.out, tableExtensions()...))
}

func (p *campaignPredicting) compute(ctx context.Context, c *campaign.Campaign) (*answer, error) {
	if err := p.sayDevice(ctx, c); err != nil {
		return nil, err
	}
	predicted, err := c.Predict(ctx, p.asking(&p.memory))
	p.progress.done()
	if err != nil {
		return nil, err
	}
	s, err := c.State(ctx)
	if err != nil {
		return nil, err
	}
	p.progress.warn(predicted.Warnings...)
	p.progress.say("%s, by a %s with %s", words.Count(len(predicted.Rows), "open row", "open rows"),
		report.ModelWord(predicted.Learner), words.Count(predicted.Trained, "label", "labels"))
	for i, how := range predicted.Intervals {
		p.progress.say("intervals of %s: %s", shown(s.Created.Targets[i]), how.Why)
	}
	t, err := predictedTable(s, predicted)
	if err != nil {
		return nil, err
	}
	return tableAnswer(p.out, t), nil
}

// predictedTable has a line for each open row.
func predictedTable(s *campaign.State, p *campaign.Predicted) (*dataset.Table, error) {
	ids := dataset.NewText(cmp.Or(s.Created.IDColumn, campaign.RowColumn))
	for _, row := range p.Rows {
		ids.Append([]byte(row.ID))
	}
	columns := []dataset.Column{ids}
	for target, name := range s.Created.Targets {
		prefix := ""
		if len(s.Created.Targets) > 1 {
			prefix = name + "_"
		}
		columns = append(columns, predictionColumns(prefix, target, p.Predictions)...)
	}
	t, err := dataset.NewTable(columns...)
	if err != nil {
		return nil, err
	}
	return t.WrittenLike(s.Created.Style()), nil
}
