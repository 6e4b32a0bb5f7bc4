package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/spf13/cobra"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/internal/estimate"
	"github.com/nextbatch/nextbatch/internal/report"
	"github.com/nextbatch/nextbatch/internal/wire"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/learner"
)

// campaignStanding is a run of campaign status.
type campaignStanding struct {
	campaignFlags
	stop, page string
	json, gain bool
	threads    int
	memory     memory
}

func newCampaignStatus() *cobra.Command {
	s := &campaignStanding{}
	c := &cobra.Command{
		Use:   "status STORE",
		Short: "Show where a campaign stands, and whether to stop",
		Example: `  nextbatch campaign status c.db
  nextbatch campaign status c.db --stop 'rmse<0.5' --report status.html
  until nextbatch campaign status c.db --stop 'mae<0.2'; do …; done`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s.progress = newProgress(cmd.ErrOrStderr(), s.quiet)
			return s.run(cmd.Context(), args[0], cmd.OutOrStdout())
		},
		Long: `Counts the rows, estimates the error of the current model with an interval, fits a
learning curve, forecasts how many labels a smaller error takes, and advises whether
to go on. All of it is based on audit rows: they were drawn at random and predicted
before their label was known. Labelled rows that were drawn at random and that a
model held out of its training count as well: audit rows, and with 'nextbatch
campaign settings --random-start' the rows that the campaign started with. Intervals
are 90 % confidence intervals.

--stop names the error to reach, in the units of the label: rmse<0.5, mae<0.5,
q95<0.5 (the error that 95 % of the rows stay below), or gain<2% (10 % more labels
would lower the RMSE by less than that, whatever the size of a batch); rmse(NAME)<0.5
for one of several targets. Without --stop the advice follows gain<2%. It is stop only
if the upper limit of the interval is below the number, and too early to tell while
the interval holds it, or while a label that waits for a second look decides.

--gain fits nine models to random rows alone, to estimate how many random labels
the same error would have taken. The answer is stored; later calls print it.

Labels that wait for a second look (see 'nextbatch campaign confirm') are listed, with
their age; nothing above follows from them. Where labels that the model has learnt from
were corrected, undone or confirmed since, the line "model" says so: the next ask fits
a new one.

Exit codes: 0 done, with --stop: the rule says stop; 6 with --stop: go on, or too
early to tell; the others are those of 'nextbatch select'.`,
	}
	f := c.Flags()
	f.StringVar(&s.stop, "stop", "", "the stop rule, such as 'rmse<0.5' or 'gain<2%'")
	f.BoolVar(&s.gain, "gain", false, "measure the gain over random selection; this trains models")
	f.StringVar(&s.page, "report", "", "write a page with the learning curve to this file: .html")
	f.BoolVar(&s.json, "json", false, "print one JSON object")
	registerQuiet(c, &s.quiet)
	s.registerName(c)
	registerThreads(c, &s.threads)
	registerDeviceWith(c, "gain")
	s.memory.register(c)
	return c
}

// stopError reports that a stop rule does not hold yet.
type stopError struct {
	rule    string
	verdict estimate.Verdict
}

func (e stopError) Error() string {
	return fmt.Sprintf("the stop rule %s does not hold: %s", e.rule, e.verdict)
}

func (s *campaignStanding) run(ctx context.Context, address string, out io.Writer) (err error) {
	if s.stop != "" {
		if _, err := estimate.ParseStopRule(s.stop); err != nil {
			return usagef("--stop: %w", err)
		}
	}
	if err := checkDistinct([]flagged{{"STORE", address}}, []flagged{{"--report", s.page}}); err != nil {
		return err
	}
	if err := errors.Join(s.memory.check(), checkOutput("--report", s.page, ".html")); err != nil {
		return err
	}
	if ctx, err = withThreads(ctx, s.threads); err != nil {
		return err
	}
	return s.with(ctx, address, func(c *campaign.Campaign) error {
		if err := s.measureGain(ctx, c); err != nil {
			return err
		}
		status, err := statusOf(ctx, c, s.stop)
		if wrong := (*estimate.StopRuleError)(nil); errors.As(err, &wrong) {
			return usagef("--stop: %w", err)
		}
		if err != nil {
			return err
		}
		if s.page != "" {
			if err := writePage(s.page, s.progress, statusPage(status, s.inCommands(address))); err != nil {
				return err
			}
		}
		if s.json {
			err = printJSON(out, status.CampaignStatus)
		} else {
			err = printStatus(out, status)
		}
		if err == nil && s.stop != "" && status.Advice.Verdict != estimate.Stop {
			return stopError{status.Rule, status.Advice.Verdict}
		}
		return err
	})
}

// measureGain runs the gain meter; that there are too few audit rows for it is no failure.
func (s *campaignStanding) measureGain(ctx context.Context, c *campaign.Campaign) error {
	if !s.gain {
		return nil
	}
	defer s.memory.begin()() // only here, as limiting garbage would take half of the time of a status alone
	err := c.MeasureGain(ctx, s.asking(&s.memory))
	s.progress.done()
	if few := (*estimate.TooFewError)(nil); errors.As(err, &few) {
		s.progress.say("%v", few)
		return nil
	}
	return err
}

// campaignStatus is what status prints, and where its page comes from.
type campaignStatus struct {
	wire.CampaignStatus
	rule  estimate.StopRule
	state *campaign.State
	log   []campaign.Event
}

// decimal is the decimal mark of the campaign's table; 0 means a point.
func (s *campaignStatus) decimal() byte { return s.state.Created.Style().Decimal }

// marked writes the numbers of a text as the table does. Names in it, and those of the campaign, its targets and its
// labels that wait, stay.
func (s *campaignStatus) marked(text string, names ...string) string {
	names = append(append(names, s.Campaign), s.state.Created.Targets...)
	for _, w := range s.Doubtful {
		names = append(names, w.ID)
	}
	return words.MarkedIn(text, s.decimal(), names...)
}

func (s *campaignStatus) markedTable(t *report.Table) *report.Table {
	return t.Map(func(text string) string { return s.marked(text) })
}

func statusOf(ctx context.Context, c *campaign.Campaign, stop string) (*campaignStatus, error) {
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
	s := &campaignStatus{wire.CampaignStatus{
		Campaign: c.Name(), Counts: found.Counts, Learner: found.Learner, Coverage: estimate.Coverage, Advice: found.Advice,
		Rule:     found.Rule.String(),
		Doubtful: found.Doubtful, Model: found.Model,
		Created: log[0].Time, Events: state.Seq, Asks: len(state.Asks), Version: thisBuild().Version,
	}, found.Rule, state, log}
	for _, t := range found.Targets {
		s.Targets = append(s.Targets, wire.TargetStatus{TargetStanding: t, ErrorOf: errorOf(t, found.Learner)})
	}
	if only := s.Targets[0]; len(s.Targets) == 1 {
		s.ErrorOf, s.Forecast = only.ErrorOf, only.Forecast
		if only.Curve != nil {
			e := only.Curve.RMSE
			s.Error, s.Interval = new(number(e.Value)), &[2]number{number(e.Low), number(e.High)}
		}
	}
	return s, nil
}

// errorOf describes on which rows an error is estimated, or why there is none.
func errorOf(t campaign.TargetStanding, kind learner.Kind) string {
	if t.Curve == nil {
		return fmt.Sprintf("too few audit rows to tell: it takes %d that were predicted and then labelled, and there are %d",
			estimate.LeastAudited, t.Audited)
	}
	return fmt.Sprintf("RMSE of the %s with %s on rows like the open ones, from %s %s", modelWord(kind),
		words.Count(t.Labels, "label", "labels"), words.Whole(t.Curve.Rows), randomWord(t))
}

// randomWord names the rows that estimates are based on.
func randomWord(t campaign.TargetStanding) string {
	if t.HeldOut > 0 {
		return "audit and held-out random rows"
	}
	return "audit rows"
}

func printStatus(out io.Writer, s *campaignStatus) error {
	line := func(name, text string) { fmt.Fprintf(out, "%-9s %s\n", name, shown(text)) }
	line("campaign", s.marked(fmt.Sprintf("%s, since %s, %s", s.Campaign, timeText(s.Created),
		words.Count(s.Asks, "ask", "asks"))))
	line("rows", s.marked(words.Whole(int(s.Rows))+": "+countsText(s.Counts)))
	for i, text := range waitingFacts(s.Doubtful, s.state.Now, s.decimal()) {
		line(map[bool]string{true: "waiting"}[i == 0], text)
	}
	for i, text := range unlikelyFacts(s.state.Unlikely(), s.decimal()) {
		line(map[bool]string{true: "unlikely"}[i == 0], text)
	}
	for _, t := range s.Targets {
		if len(s.Targets) > 1 {
			line("target", s.marked(t.Target+", "+words.Count(t.Labels, "label", "labels")))
		}
		for _, fact := range statusFacts(t, s.Learner) {
			line(fact[0], s.marked(fact[1]))
		}
	}
	if note := s.Model.Note(); note != "" {
		line("model", s.marked(note))
	}
	line("advice", s.marked(s.Advice.String()))
	only := s.Targets[0]
	if len(s.Targets) > 1 {
		return nil
	}
	if only.Curve != nil && len(only.Curve.Points) > 0 {
		fmt.Fprintln(out)
		if err := printTable(out, s.markedTable(curveTable(only, s.Learner))); err != nil {
			return err
		}
	}
	if len(only.Learners) > 1 {
		fmt.Fprintln(out)
		return printTable(out, s.markedTable(learnersTable(only, 10)))
	}
	return nil
}

// statusFacts are the names and values of what is known about a target.
func statusFacts(t wire.TargetStatus, kind learner.Kind) (facts [][2]string) {
	add := func(name, format string, args ...any) {
		facts = append(facts, [2]string{name, fmt.Sprintf(format, args...)})
	}
	if noise := t.Noise.String(); noise != "" {
		add("noise", "%s", noise)
	}
	if text := learnerNow(t, kind); text != "" {
		add("learner", "%s", text)
	}
	if t.Curve == nil {
		add("error", "%s", t.ErrorOf)
		return facts
	}
	add("error", "RMSE %v, MAE %v, 95 %% quantile %v", t.Curve.RMSE, t.Curve.MAE, t.Curve.Q95)
	add("", "%s", t.ErrorOf)
	if t.Next != nil {
		add("next", "%.0f %% more labels would lower the RMSE by %s", 100*estimate.MoreLabels, percentText(*t.Next))
	}
	if t.Forecast != nil {
		add("forecast", "%s", forecastText(*t.Forecast))
	}
	switch {
	case t.Gain == nil:
		add("gain", "not measured yet; --gain does so")
	case t.Gain.Labels != t.Labels:
		add("gain", "%v (measured with %s)", t.Gain, words.Count(t.Gain.Labels, "label", "labels"))
	default:
		add("gain", "%v", t.Gain)
	}
	return facts
}

// learnerNow says what is fitted, and what the last ask chose; empty for a campaign that has only had networks.
func learnerNow(t wire.TargetStatus, kind learner.Kind) string {
	n := len(t.Learners)
	switch {
	case !kind.Blends() && n == 0:
		return ""
	case !kind.Blends():
		return string(learner.NetworkAlone)
	case n == 0:
		return fmt.Sprintf("%s; no model has been fitted yet", kind)
	}
	last := t.Learners[n-1]
	return fmt.Sprintf("%s; ask %d, with %s: %s", kind, last.Ask,
		words.Count(last.Labels, "label", "labels"), last.Learner)
}

func percentText(i estimate.Interval) string {
	return fmt.Sprintf("%s %% (%s to %s %%)", words.Brief(100*i.Value), words.Brief(100*i.Low), words.Brief(100*i.High))
}

// forecastText is the forecast with its cost.
func forecastText(f estimate.Forecast) string {
	f.Wanted = rounded(f.Wanted)
	text := fmt.Sprintf("%s: %v", metricName(f.Metric), f)
	if f.Cost != nil && f.Cost.High > 0 && !math.IsInf(f.Cost.High, 0) {
		text += fmt.Sprintf("; the labels that are missing cost %v", *f.Cost)
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
