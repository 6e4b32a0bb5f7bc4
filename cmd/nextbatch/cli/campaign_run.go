package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/internal/estimate"
	"github.com/nextbatch/nextbatch/internal/kept"
	"github.com/nextbatch/nextbatch/internal/oracle"
	"github.com/nextbatch/nextbatch/internal/report"
	"github.com/nextbatch/nextbatch/internal/wire"
	"github.com/nextbatch/nextbatch/internal/words"
)

// campaignRunning is a run of campaign run.
type campaignRunning struct {
	campaignFlags
	oracle, timeout, stop, lease string
	parallel, retries, giveUp    int
	maxLabels, batch             int
	json, accept                 bool
	threads                      int
	memory                       memory
	warned                       []string
}

func newCampaignRun() *cobra.Command {
	r := &campaignRunning{}
	c := &cobra.Command{
		Use:        "run STORE",
		SuggestFor: []string{"loop", "oracle", "auto"},
		Short:      "Let a program label rows, until there are enough labels",
		Example: `  nextbatch campaign run c.db --oracle './simulate {id}' --parallel 4 --timeout 1h --retries 2 --stop ` +
			`'rmse<0.5' --max-labels 2000
  nextbatch campaign run c.db --oracle 'python3 simulate.py' -n 16 --max-labels 500 --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			how := campaign.Run{}
			return r.campaignFlags.perform(cmd, args[0], steps{threads: r.threads, memory: &r.memory,
				check: func() (err error) {
					how, err = r.check()
					return err
				}},
				func(ctx context.Context, c *campaign.Campaign) (*answer, error) { return r.label(ctx, c, how) })
		},
		Long: `Asks for rows, runs a program, the oracle, on each of them, and tells the labels. While
it runs, the next batch is picked, so that all slots stay busy.

The program reads a row from its standard input, as a JSON object with the key "id" and
one key for each input, and prints a number, or an object such as {"y": 1.2} with a
number for each target. Exit code 75 means that the label will come later, by 'campaign
tell': the row stays out. Any other exit code than 0 is a failed attempt, with the last line
of standard error as the reason, and so is an answer that is not a number or does not
arrive in time. {id} in the command stands for the id of the row. The command is split
into words as a shell does, but no shell runs it; for pipes write --oracle 'sh -c "…"'.

Each label is stored before its row counts as done. After an interruption, even by kill
-9, the same command resumes: rows that it had out are given to the oracle again, so it may
see a row twice, but a row gets one label. No process of the oracle is left running.

The run ends when the stop rule holds, when --max-labels rows have a label or are out, when
no row is open, or when --give-up rows have failed without a label in between. Rows that are
being labelled are finished first; those that wait are returned. Ctrl-C ends it at once and
returns all rows. Stop rules: rmse<0.5, mae<0.5, q95<0.5 (in the units of the label) and
gain<2% (see 'nextbatch campaign status --help'); with several targets, rmse(NAME)<0.5
for one of them.

A label that is far from what was expected waits for a second look, as with 'campaign
tell': it is recorded, but nothing learns from it. The run goes on, and lists such labels;
they count for --max-labels. --accept is for an oracle that is sure.

Exit codes: 4 some rows failed; 1 too many rows failed; 130 interrupted; the others are those of
'nextbatch select'.`,
	}
	f := c.Flags()
	f.StringVar(&r.oracle, "oracle", "", "command that labels a row")
	f.IntVar(&r.parallel, "parallel", 1, "rows to label at the same time")
	f.StringVar(&r.timeout, "timeout", "", "how long an attempt may take, such as 90s, 1h or 2d (default no limit)")
	f.IntVar(&r.retries, "retries", 0, "further attempts at a row after a failed one")
	f.IntVar(&r.giveUp, "give-up", 10, "end after this many failed rows without a label in between; 0 means never")
	f.StringVar(&r.stop, "stop", "", "stop rule, such as 'rmse<0.5' or 'gain<2%'")
	f.IntVar(&r.maxLabels, "max-labels", 0, "end when this many rows of the campaign have a label; 0 means no limit")
	f.IntVarP(&r.batch, "batch", "n", 0, "rows to ask for at a time (default by the settings)")
	f.StringVar(&r.lease, "lease", "",
		"how long rows are out if the run is never resumed, such as 36h, 7d or 2w (default by the settings, or longer if "+
			"the timeouts take longer)")
	f.StringVar(&r.person, "person", "oracle", "in whose name rows are out; runs at the same time need different ones")
	f.BoolVar(&r.accept, "accept", false, "no label waits for a second look: the oracle is sure")
	f.BoolVar(&r.json, "json", false, "print one JSON object at the end")
	registerQuiet(c, &r.quiet)
	r.registerName(c)
	registerThreads(c, &r.threads)
	registerDevice(c)
	r.memory.register(c)
	return c
}

// label lets the program label rows.
func (r *campaignRunning) label(ctx context.Context, c *campaign.Campaign, how campaign.Run) (_ *answer, err error) {
	command, err := oracle.NewCommand(r.oracle)
	if err != nil {
		return nil, usagef("--oracle: %w", err)
	}
	defer func() { err = errors.Join(err, command.Close()) }()
	state, err := c.State(ctx)
	if err != nil {
		return nil, err
	}
	r.progress.sayDevice(ctx, state.Settings.Learner)
	counts := state.Counts()
	how.Oracle, how.Report = command.Label, r.reporter(cmp.Or(how.MaxLabels, counts.Rows-counts.Failed-counts.Retired))
	result, err := c.Run(ctx, how)
	r.progress.done()
	if result == nil {
		return nil, runError(err)
	}
	return nil, errors.Join(r.report(context.WithoutCancel(ctx), c, result), runError(err), rowsFailed(result))
}

// check returns the run that the flags describe, without the oracle.
func (r *campaignRunning) check() (how campaign.Run, err error) {
	how = campaign.Run{
		Person: r.person, Parallel: r.parallel, Retries: r.retries, GiveUp: r.giveUp, MaxLabels: int64(r.maxLabels),
		Accept: r.accept, Ask: r.asking(&r.memory),
	}
	how.Ask.Rows, how.Ask.Kept = r.batch, &kept.Features{}
	switch {
	case r.oracle == "":
		return how, usagef("--oracle must name the program that labels a row")
	case r.person == "":
		return how, usagef("--person must not be empty: it is how a run finds the rows that it has out")
	case r.parallel < 1:
		return how, usagef("--parallel must be at least 1, not %d", r.parallel)
	case r.retries < 0 || r.giveUp < 0 || r.maxLabels < 0:
		return how, usagef("--retries, --give-up and --max-labels must not be negative")
	case r.batch < 0:
		return how, usagef("-n (--batch) must be at least 1, not %d", r.batch)
	}
	if r.timeout != "" {
		if how.Timeout, err = parseLease(r.timeout); err != nil || how.Timeout < 0 {
			return how, usagef("--timeout is %q; it must be a time such as 90s, 1h or 2d", r.timeout)
		}
	}
	if r.lease != "" {
		if how.Ask.Lease, err = parseLease(r.lease); err != nil {
			return how, err
		}
	}
	if r.stop != "" {
		if _, err := estimate.ParseStopRule(r.stop); err != nil {
			return how, usagef("--stop: %w", err)
		}
		how.Stop = r.stopNow
	}
	if err := r.memory.check(); err != nil {
		return how, err
	}
	return how, nil
}

// stopNow returns why the stop rule says to stop, or nothing.
func (r *campaignRunning) stopNow(s *campaign.State) (because string, err error) {
	standing, err := s.Standing(r.stop, 0)
	if err != nil || standing.Advice.Verdict != estimate.Stop {
		return "", err
	}
	return fmt.Sprintf("%v holds: %s", standing.Rule, standing.Advice.Because), nil
}

// reporter returns the function that reports the progress towards the given number of labels.
func (r *campaignRunning) reporter(labels int64) func(campaign.Report) {
	return func(now campaign.Report) {
		switch now.Happening {
		case campaign.RunWaits:
			r.progress.say(
				"another run in the name of %q is at work; this one waits for it to end (--person NAME would work beside it)",
				r.person)
		case campaign.RunAsked:
			for _, w := range now.Batch.Result.Warnings {
				if !slices.Contains(r.warned, w) {
					r.progress.warn(w)
					r.warned = append(r.warned, w)
				}
			}
			r.progress.say("%s", askedHow(now.Batch))
		case campaign.RunTold:
			for _, w := range now.Doubts {
				//warning:waiting-in-campaign
				r.progress.warn(fmt.Sprintf("the label of row %q waits for a second look: %s", w.ID, report.WaitingText(w)))
			}
		case campaign.RunRetries:
			r.progress.say("row %q: attempt %d of %d failed: %s", now.ID, now.Attempt, r.retries+1, now.Reason)
		case campaign.RunFailed:
			r.progress.say("row %q failed: %s", now.ID, now.Reason)
		case campaign.RunDropped:
			r.progress.say("row %q: the answer is not needed any more", now.ID)
		case campaign.RunEnds:
			r.progress.say("%s; %s still being labelled", now.Reason, words.Count(now.Running, "row is", "rows are"))
		}
		detail := fmt.Sprintf("%d running, %d waiting, %d failed, %d later", now.Running, now.Waiting,
			now.Result.Failed, now.Result.Later)
		r.progress.step("rows labelled", int(now.Labelled), int(labels), detail)
	}
}

func (r *campaignRunning) report(ctx context.Context, c *campaign.Campaign, result *campaign.RunResult) error {
	out := r.stdout
	s, err := c.State(ctx)
	if err != nil {
		return err
	}
	counts := s.Counts()
	if r.json {
		return printJSON(out, wire.RunSummary{Campaign: c.Name(), RunResult: result, Counts: counts,
			Seconds: number(r.seconds())})
	}
	fmt.Fprintf(out, "ended: %s (%s)\n", result.End, shown(result.Because))
	fmt.Fprintf(out, "%s labelled, %d failed, %d to be told later, %d returned\n", words.Count(result.Told, "row", "rows"),
		result.Failed, result.Later, result.Returned)
	if result.Waiting > 0 {
		fmt.Fprintf(out,
			"%s for a second look: 'nextbatch campaign status' lists them, 'campaign confirm' and 'campaign tell --correct' "+
				"end it\n", words.Count(result.Waiting, "of these labels waits", "of these labels wait"))
	}
	fmt.Fprintf(out, "the campaign has %s: %s\n", words.Count(int(counts.Rows), "row", "rows"), report.CountsText(counts))
	return nil
}

// runError wraps an error of a run so that it gets the right exit code.
func runError(err error) error {
	if rule := (*estimate.StopRuleError)(nil); errors.As(err, &rule) {
		return usagef("--stop: %w", rule)
	}
	return err
}

// rowsFailed reports rows that failed.
func rowsFailed(result *campaign.RunResult) error {
	switch {
	case result.End == campaign.EndGaveUp:
		return errorf("gave up: %s; 'nextbatch campaign fail STORE ID --again' opens a row again", result.Because)
	case result.Failed > 0 && result.End != campaign.EndInterrupted && result.End != campaign.EndError:
		return someError{result.Failed, result.Failed + result.Told,
			errorf("%s; 'nextbatch campaign history STORE' has the reasons",
				words.Count(result.Failed, "row failed", "rows failed"))}
	}
	return nil
}
