package cli

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/nextbatch/nextbatch/internal/benchmark"
	"github.com/nextbatch/nextbatch/internal/sets"
	"github.com/nextbatch/nextbatch/internal/words"
)

// benchWorker is the command bench worker: the flags of bench run that say how runs are
// performed, and its own.
type benchWorker struct {
	benchRun
	threads int
	wait    bool
}

func newBenchWorker() *cobra.Command {
	b := &benchWorker{}
	c := &cobra.Command{
		Use:   "worker DATABASE",
		Short: "Work on the runs that 'bench run --results postgres://…' queued, on any machine",
		Example: `  nextbatch bench worker postgres://user@host/database
  nextbatch bench worker postgres://user@host/database --data /srv/data --jobs 1 --threads 8
  nextbatch bench worker postgres://user@host/database --wait`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			b.results = args[0]
			r := newRun(cmd, b.quiet)
			return r.perform(cmd.Context(), steps{check: b.check, threads: b.threads, memory: &b.columns.memory,
				compute: func(ctx context.Context) (*answer, error) { return nil, b.compute(ctx, cmd) }})
		},
		Long: `Takes runs from the queue in a PostgreSQL database, performs their rounds and writes
each as soon as it is done. Start as many workers on as many machines as you like, and
stop them in any way: others resume their runs after the last finished round, and
the results are those of a single process.

A worker ends when all runs are done. It waits while others work on the last ones, to take
over if they die. A run on a data set that this machine lacks is left to others.

Keep the password out of the command line, where other users can see it: put it into
PGPASSWORD or the file .pgpass.`,
	}
	b.registerWork(c)
	registerThreads(c, &b.threads)
	c.Flags().BoolVar(&b.wait, "wait", false, "wait for runs that are queued later, until Ctrl-C")
	return c
}

func (b *benchWorker) check() error {
	if !isDatabase(b.results) {
		return usagef("%s is not the address of a database, such as postgres://user@host/database; several 'nextbatch "+
			"bench run' can share a file", addressText(b.results))
	}
	return b.checkWork()
}

func (b *benchWorker) compute(ctx context.Context, cmd *cobra.Command) error {
	store, err := openWork(ctx, b.results)
	if err != nil {
		return err
	}
	err = b.work(ctx, cmd, store)
	return errors.Join(err, store.Close())
}

func (b *benchWorker) work(ctx context.Context, cmd *cobra.Command, store benchmark.Store) error {
	runs, err := b.planned(ctx, store)
	if err != nil {
		return dataError{err}
	}
	settings, err := store.Settings(ctx)
	if err != nil {
		return dataError{err}
	}
	if err := b.prepare(ctx, cmd, settings, runs); err != nil {
		return err
	}
	return b.perform(ctx, cmd, store, settings, runs, func(bench *benchmark.Bench, p *benchProgress) error {
		done := 0
		bench.Watch = func(e benchmark.Event) {
			p.watch(e)
			if e.Record != nil && e.Record.Round.Round == e.Record.Rounds {
				done++
			}
		}
		err := bench.Work(ctx, store.(benchmark.Queue), b.wait)
		p.done()
		if err != nil {
			return err
		}
		p.say("this worker finished %s", words.Count(done, "run", "runs"))
		if failure := p.deviceFailure(); failure != nil && done == 0 {
			return errorf("all runs of this worker failed: %w; the next 'bench run' tries them again", failure)
		}
		if failed := len(p.failed); failed > 0 {
			return someError{failed, done + failed,
				errorf("%s; 'nextbatch bench status' tells why, and the next 'bench run' tries them again",
					words.Count(failed, "run failed", "runs failed"))}
		}
		return nil
	})
}

// planned returns the runs that are not finished. While none is planned, a worker with --wait
// waits.
func (b *benchWorker) planned(ctx context.Context, store benchmark.Store) (runs []benchmark.Run, err error) {
	for {
		list, err := store.Status(ctx)
		if err != nil {
			return nil, err
		}
		if len(list) == 0 && !b.wait {
			return nil, errorf("%s holds no runs yet; 'nextbatch bench run --results' queues some, and --wait waits for them",
				addressText(b.results))
		}
		for _, s := range list {
			if !s.Finished() {
				runs = append(runs, s.Run)
			}
		}
		if len(list) > 0 {
			return runs, nil
		}
		select {
		case <-ctx.Done():
			return nil, benchStopped{}
		case <-time.After(time.Second):
		}
	}
}

// prepare reads the user's tables, and checks that the runs whose data this machine
// has fit into memory.
func (b *benchWorker) prepare(ctx context.Context, cmd *cobra.Command, settings benchmark.Settings,
	runs []benchmark.Run) error {
	b.settings = settings
	if err := b.readOwn(ctx); err != nil {
		return err
	}
	var known []benchmark.Run
	for _, r := range runs {
		_, err := sets.Find(r.DataSet)
		if err == nil || r.DataSet == benchmark.GeneratedSet || b.isOwn(r.DataSet) {
			known = append(known, r)
		}
	}
	return b.admit(cmd, settings, known)
}
