package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/internal/worker"
)

func newWorker() *cobra.Command {
	m := memory{}
	c := &cobra.Command{
		Use:     "worker",
		Short:   "Answer requests of another program on standard input and output",
		Example: "  nextbatch worker <requests >answers",
		Args:    cobra.NoArgs,
		Long: `Reads requests from standard input and writes answers to standard output, in a
binary format, until the input ends. The Python package starts it and keeps it
running, so that a call takes milliseconds; other programs can do the same. The
page docs/worker.md describes the format.

An interrupt (Ctrl-C) does not end the worker, because a terminal sends it to every
program in the foreground: a client cancels its request instead.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			signal.Ignore(os.Interrupt)
			signal.Reset(syscall.SIGTERM) // there is nothing to clean up
			if err := m.check(); err != nil {
				return err
			}
			defer m.begin()()
			build := thisBuild()
			s := worker.Server{
				Version: build.Version, Platform: build.Platform, Available: m.forRequests,
				OpenStore: func(ctx context.Context, address string) (campaign.Store, error) {
					return openStore(ctx, address, false)
				},
				NewStore: func(address string) campaign.Store { return &newStore{address: address} },
			}
			if err := s.Serve(context.WithoutCancel(cmd.Context()), cmd.InOrStdin(), cmd.OutOrStdout()); err != nil {
				return dataError{err}
			}
			return nil
		},
	}
	registerDevice(c)
	m.register(c)
	return c
}
