// Package cli is the command line of nextbatch: flags, progress and exit codes.
// Results go to standard output, everything else to standard error.
package cli

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/nextbatch/nextbatch/internal/simd"
)

// Exit codes.
const (
	exitOK          = 0
	exitFailure     = 1
	exitUsage       = 2
	exitData        = 3
	exitPartial     = 4
	exitMemory      = 5
	exitGoOn        = 6 // a stop rule does not hold yet
	exitInterrupted = 130
)

// Run runs the command line and returns the exit code. Ctrl-C or SIGTERM ends
// it after an orderly cleanup, a second one at once.
func Run(args []string, out, log io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	end := func() {}
	root := newRoot(out, log)
	check := root.PersistentPreRunE
	root.PersistentPreRunE = func(cmd *cobra.Command, args []string) (err error) {
		if err := check(cmd, args); err != nil {
			return err
		}
		end, err = withDevice(cmd, log)
		return err
	}
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	end()
	if err == nil {
		return exitOK
	}
	return explain(log, err)
}

func newRoot(out, log io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:           "nextbatch",
		Short:         "Which rows of a table should you label next?",
		Args:          cobra.NoArgs,
		Version:       thisBuild().String(),
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(*cobra.Command, []string) error {
			if err := simd.OverrideError(); err != nil {
				return usageError{err}
			}
			return nil
		},
	}
	root.SetOut(out)
	root.SetErr(log)
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(newSelect(), newMerge(), newAdvise(), newAudit(), newFit(), newPredict(), newEvaluate(), newFeatures(),
		newGram(), newCandidates(), newSpecs(), newDoctor(), newDemo(), newData(), newBench(), newCampaign(), newServe(),
		newToken(), newWorker(), newMCP(), newMan(), newVersion())
	wrapArgs(root)
	return root
}

// wrapArgs turns wrong arguments of any command into a usage error.
func wrapArgs(c *cobra.Command) {
	check := c.Args
	c.Args = func(cmd *cobra.Command, args []string) error {
		if check == nil {
			return nil
		}
		if cmd.HasSubCommands() && len(args) > 0 {
			return unknownCommand(cmd, args[0])
		}
		if err := check(cmd, args); err != nil {
			return usageError{err}
		}
		return nil
	}
	for _, sub := range c.Commands() {
		wrapArgs(sub)
	}
}
