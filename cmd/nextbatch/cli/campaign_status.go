package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/internal/estimate"
	"github.com/nextbatch/nextbatch/internal/report"
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
			how := steps{check: func() error { return s.check(args[0]) }, threads: s.threads}
			if s.gain { // only here, as limiting garbage would take half of the time of a status alone
				how.memory = &s.memory
			}
			return s.campaignFlags.perform(cmd, args[0], how,
				func(ctx context.Context, c *campaign.Campaign) (*answer, error) { return s.compute(ctx, c, args[0]) })
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

func (s *campaignStanding) check(address string) error {
	if s.stop != "" {
		if _, err := estimate.ParseStopRule(s.stop); err != nil {
			return usagef("--stop: %w", err)
		}
	}
	if err := checkDistinct([]flagged{{"STORE", address}}, []flagged{{"--report", s.page}}); err != nil {
		return err
	}
	return errors.Join(s.memory.check(), checkOutput("--report", s.page, ".html"))
}

func (s *campaignStanding) compute(ctx context.Context, c *campaign.Campaign, address string) (*answer, error) {
	if err := s.measureGain(ctx, c); err != nil {
		return nil, err
	}
	status, err := report.StandingOf(ctx, c, s.stop, thisBuild().Version)
	if wrong := (*estimate.StopRuleError)(nil); errors.As(err, &wrong) {
		return nil, usagef("--stop: %w", err)
	}
	if err != nil {
		return nil, err
	}
	found := printed(s.json, status.CampaignStatus, func(out io.Writer) error { return printStatus(out, status) })
	found.savePage(s.page, s.progress, func() (*report.Page, error) { return status.Page(s.inCommands(address)), nil })
	if s.stop != "" && status.Advice.Verdict != estimate.Stop {
		found.short = stopError{status.Rule, status.Advice.Verdict}
	}
	return found, nil
}

// measureGain runs the gain meter; it is not a failure if there are too few audit rows.
func (s *campaignStanding) measureGain(ctx context.Context, c *campaign.Campaign) error {
	if !s.gain {
		return nil
	}
	err := c.MeasureGain(ctx, s.asking(&s.memory))
	s.progress.done()
	if few := (*estimate.TooFewError)(nil); errors.As(err, &few) {
		s.progress.say("%v", few)
		return nil
	}
	return err
}

func printStatus(out io.Writer, s *report.Standing) error {
	for _, line := range s.Lines() {
		fmt.Fprintf(out, "%-9s %s\n", line.Name, shown(line.Value))
	}
	for _, t := range s.Tables() {
		fmt.Fprintln(out)
		if err := printTable(out, t); err != nil {
			return err
		}
	}
	return nil
}
