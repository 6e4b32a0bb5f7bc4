package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/nextbatch/nextbatch/internal/benchmark"
	"github.com/nextbatch/nextbatch/internal/postgresdb"
)

// queue is the work of a process. One goroutine takes runs and rescues those of lost
// processes; each run has a goroutine of its own.
type queue struct {
	*Store
	jobs   int
	do     func(context.Context, *benchmark.Claim) error
	cancel context.CancelCauseFunc
	ended  chan struct{} // is sent to when a run has ended, so that another can begin
	runs   sync.WaitGroup

	mu      sync.Mutex
	busy    map[int64]bool  // runs under way
	lacking map[string]bool // data sets that this process cannot load
}

// errDone ends the work because none is left.
var errDone = errors.New("no work is left")

// Work implements benchmark.Queue.
func (s *Store) Work(ctx context.Context, jobs int, wait bool, do func(context.Context, *benchmark.Claim) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// Once the work ends, nothing waits for a server that restarts.
	defer s.leaving.Store(false)
	defer context.AfterFunc(ctx, func() { s.leaving.Store(true) })()
	q := &queue{Store: s, jobs: jobs, do: do, cancel: cancel, ended: make(chan struct{}, 1), busy: map[int64]bool{},
		lacking: map[string]bool{}}
	cancel(q.distribute(ctx, wait))
	q.runs.Wait() // the runs under way end with the context
	if err := context.Cause(ctx); !errors.Is(err, errDone) {
		return err
	}
	return nil
}

// distribute starts runs until the work ends, and returns why it does. It waits for a server
// that restarts.
func (q *queue) distribute(ctx context.Context, wait bool) error {
	ticker := time.NewTicker(q.times.check)
	defer ticker.Stop()
	suspects := map[holder]time.Time{}
	reached := time.Now()
	for {
		err := q.turn(ctx, wait, suspects)
		if err != nil {
			clear(suspects) // a server that restarts has lost all locks
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, errDone):
			return err
		case err == nil:
			reached = time.Now()
		case !postgresdb.Lost(err) || time.Since(reached) > q.times.patience:
			return q.lost(err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-q.ended:
		case <-ticker.C:
		}
	}
}

// turn starts as many runs as this process has jobs for, and frees those of lost processes. Once the context has
// ended it takes none: they would be free again at once, and taken again without end.
func (q *queue) turn(ctx context.Context, wait bool, suspects map[holder]time.Time) error {
	for ctx.Err() == nil && q.underWay() < q.jobs {
		claim, err := q.take()
		if err != nil {
			return err
		}
		if claim == nil {
			break
		}
		q.start(ctx, claim)
	}
	if left, err := q.left(ctx); err != nil || left == 0 && !wait {
		return cmp.Or(err, errDone)
	}
	return q.rescue(ctx, suspects)
}

// take claims the first run that is free, and returns nil if there is none. Processes that take runs at the
// same time pass over the rows that others have locked. A process that does not seem alive, because it has just lost
// the connection that shows it, takes none: others would free the run at once.
func (q *queue) take() (*benchmark.Claim, error) {
	c := &benchmark.Claim{}
	busy, lacking := q.refused()
	r := &c.Run
	err := q.once(func(ctx context.Context, tx pgx.Tx) error {
		return tx.QueryRow(ctx, `UPDATE benchmark_runs SET owner = $1::integer, failure = NULL WHERE id = (
				SELECT id FROM benchmark_runs WHERE queued AND owner IS NULL AND id <> ALL ($2) AND dataset <> ALL ($3) AND
				$1::integer IN `+alive+`
				ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED)
			RETURNING id, dataset, activation, spec, compat, batch, rounds, split`, q.process, busy, lacking).
			Scan(&c.Key, &r.DataSet, &r.Activation, &r.Spec, &r.Compat, &r.BatchSize, &r.Rounds, &r.Split)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return c, err
}

// refused returns the runs and the data sets of which this process takes no run. It may be at
// work on a run that is free: after its connection was lost for some time, others have
// freed the run.
func (q *queue) refused() (busy []int64, lacking []string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	// nil would be NULL
	return slices.AppendSeq([]int64{}, maps.Keys(q.busy)), slices.AppendSeq([]string{}, maps.Keys(q.lacking))
}

// underWay counts the runs of this process.
func (q *queue) underWay() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.busy)
}

// start performs a run in a goroutine of its own.
func (q *queue) start(ctx context.Context, c *benchmark.Claim) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.busy[c.Key] = true
	q.runs.Go(func() {
		defer q.exit(c)
		if err := q.perform(ctx, c); err != nil {
			q.cancel(err)
		}
	})
}

// exit notes that a run has ended.
func (q *queue) exit(c *benchmark.Claim) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.busy, c.Key)
	select {
	case q.ended <- struct{}{}:
	default: // a signal is waiting already
	}
}

// perform works on a run for as long as one may take at a stretch; one that takes longer goes
// back into the queue, and resumes after its last round. An error ends the work.
func (q *queue) perform(ctx context.Context, c *benchmark.Claim) error {
	ctx, stop := context.WithTimeout(ctx, q.times.job)
	defer stop()
	if err := c.Run.CheckSize(); err != nil {
		return q.damaged(err)
	}
	if err := q.resume(c); err != nil {
		return err
	}
	return q.settle(ctx, c, q.do(ctx, c))
}

// settle decides whether a run whose work ended with an error or nil is done, failed or queued again.
func (q *queue) settle(ctx context.Context, c *benchmark.Claim, err error) error {
	var broken *benchmark.StoreError
	var lacks *benchmark.SetError
	switch {
	case err == nil:
		return q.Release(c, nil)
	case errors.Is(err, benchmark.ErrTaken):
		return nil
	case errors.As(err, &broken):
		return err
	case ctx.Err() != nil && !q.stuck(ctx, c):
		return q.Release(c, nil)
	case ctx.Err() != nil:
		err = fmt.Errorf("no round was finished within %v", q.times.job)
	case errors.As(err, &lacks):
		return q.leave(c, lacks)
	}
	return q.Release(c, err)
}

// stuck reports whether a run took too long, although no round was finished.
func (q *queue) stuck(ctx context.Context, c *benchmark.Claim) bool {
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return false
	}
	now := &benchmark.Claim{Key: c.Key}
	return q.resume(now) == nil && len(now.Done) == len(c.Done)
}

// leave leaves the runs on a data set that this process lacks to others.
func (q *queue) leave(c *benchmark.Claim, lacks *benchmark.SetError) error {
	q.mu.Lock()
	q.lacking[c.Run.DataSet] = true
	q.mu.Unlock()
	return q.write(func(ctx context.Context, tx pgx.Tx, _ bool) error {
		_,
			err := tx.Exec(ctx,
			"UPDATE benchmark_runs SET owner = NULL, failure = $3 WHERE queued AND dataset = $1 AND (owner IS NULL OR owner = "+
				"$2)",
			c.Run.DataSet, q.process, storable(fmt.Sprintf("%v (on %s)", lacks, q.host)))
		return err
	})
}

// left counts the runs that this process may get, now or after another one dies.
func (q *queue) left(ctx context.Context) (n int, err error) {
	ctx, stop := context.WithTimeout(ctx, attempt)
	defer stop()
	_, lacking := q.refused()
	err = q.db.QueryRow(ctx, "SELECT count(*) FROM benchmark_runs WHERE queued AND dataset <> ALL ($1)", lacking).Scan(&n)
	return n, err
}

// holder is a process that owns a run.
type holder struct {
	Run     int64
	Process int32
}

// rescue frees the runs that nobody works on, for longer than from one check to the next: after
// a restart of the server each process needs a moment to show that it is alive. This process may
// own a run without working on it, if the server's answer was lost. Suspects keeps since when
// nobody seems to work on a run.
func (q *queue) rescue(ctx context.Context, suspects map[holder]time.Time) error {
	ctx, stop := context.WithTimeout(ctx, attempt)
	defer stop()
	rows,
		err := q.db.Query(ctx,
		"SELECT id, owner FROM benchmark_runs WHERE queued AND owner IS NOT NULL AND (owner = $1 OR owner NOT IN "+alive+")",
		q.process)
	if err != nil {
		return err
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[holder])
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(h holder) bool { return h.Process == q.process && q.working(h.Run) })
	maps.DeleteFunc(suspects, func(h holder, _ time.Time) bool { return !slices.Contains(list, h) })
	var runs []int64
	var owners []int32
	for _, h := range list {
		since, before := suspects[h]
		if !before {
			suspects[h] = time.Now()
		} else if time.Since(since) > q.times.check {
			runs, owners = append(runs, h.Run), append(owners, h.Process)
		}
	}
	return q.free(runs, owners)
}

// working reports whether this process is at work on a run.
func (q *queue) working(run int64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.busy[run]
}

// free frees runs that still have these owners. A row that another process has locked is left to that
// process, or to the next check.
func (q *queue) free(runs []int64, owners []int32) error {
	if len(runs) == 0 {
		return nil
	}
	return q.once(func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE benchmark_runs SET owner = NULL WHERE id IN (
			SELECT id FROM benchmark_runs WHERE (id, owner) IN (SELECT * FROM unnest($1::bigint[], $2::integer[])) 
			FOR UPDATE SKIP LOCKED)`, runs, owners)
		return err
	})
}
