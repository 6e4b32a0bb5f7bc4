package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/nextbatch/nextbatch/benchmark"
	"github.com/nextbatch/nextbatch/internal/postgresdb"
)

// ticket is a job of River: an offer to work on a run. It counts if the run still has its
// number.
type ticket struct {
	Run    int64  `json:"run"`
	Number int64  `json:"number"`
	Set    string `json:"set"`
}

const (
	ticketKind  = "nextbatch_run"
	ticketQueue = "nextbatch"
)

// Kind implements river.JobArgs.
func (ticket) Kind() string { return ticketKind }

// enqueue gives new tickets to the runs that the condition selects, in the order in which they
// were planned.
func (s *Store) enqueue(ctx context.Context, tx pgx.Tx, condition string, args ...any) error {
	rows, err := tx.Query(ctx, "UPDATE benchmark_runs r SET ticket = ticket + 1, queued = true WHERE "+condition+" RETURNING id, ticket, dataset", args...)
	if err != nil {
		return err
	}
	tickets, err := pgx.CollectRows(rows, pgx.RowToStructByPos[ticket])
	if err != nil || len(tickets) == 0 {
		return err
	}
	slices.SortFunc(tickets, func(a, b ticket) int { return cmp.Compare(a.Run, b.Run) })
	jobs := make([]river.InsertManyParams, len(tickets))
	for i, t := range tickets {
		jobs[i] = river.InsertManyParams{Args: t, InsertOpts: &river.InsertOpts{Queue: ticketQueue}}
	}
	_, err = s.river.InsertManyFastTx(ctx, tx, jobs)
	return err
}

// queue is the work of a process: River calls it with tickets.
type queue struct {
	river.WorkerDefaults[ticket]
	*Store
	do     func(context.Context, *benchmark.Claim) error
	cancel context.CancelCauseFunc
	change chan struct{} // is sent to when a run may have left the queue

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
	q := &queue{Store: s, do: do, cancel: cancel, change: make(chan struct{}, 1), busy: map[int64]bool{}, lacking: map[string]bool{}}
	client, err := q.client(jobs)
	if err != nil {
		return err
	}
	if err := client.Start(ctx); err != nil {
		return postgresdb.Ended(ctx, s.lost(err))
	}
	stopped := client.Stopped()
	q.cancel(q.watch(ctx, wait))
	for !q.idle() { // the runs under way end with the context
		time.Sleep(10 * time.Millisecond)
	}
	// If the database is gone, River tries for some time to tell it that it stops; others will
	// notice anyway.
	select {
	case <-stopped:
	case <-time.After(s.times.stop):
	}
	if err := context.Cause(ctx); !errors.Is(err, errDone) {
		return err
	}
	return nil
}

// client returns a client of River that works. Its name tells others which process took
// a ticket.
func (q *queue) client(jobs int) (*river.Client[pgx.Tx], error) {
	workers := river.NewWorkers()
	if err := river.AddWorkerSafely(workers, q); err != nil {
		return nil, err
	}
	return river.NewClient(riverpgxv5.New(q.db.Pool), &river.Config{
		ID: strconv.Itoa(int(q.process)), Logger: silent, Workers: workers, FetchOnlyKnownKinds: true,
		Queues: map[string]river.QueueConfig{ticketQueue: {MaxWorkers: jobs}},
		// One connection less for each process, where there may be hundreds; a run takes
		// minutes, so it does not matter that one that is planned later is noticed after a second.
		PollOnly: true, FetchPollInterval: q.times.check, FetchCooldown: min(10*time.Millisecond, q.times.check),
		JobTimeout: q.times.job, RescueStuckJobsAfter: q.times.job + time.Hour,
	})
}

// watch gives the runs of lost processes new tickets, and returns why the work ends.
func (q *queue) watch(ctx context.Context, wait bool) error {
	ticker := time.NewTicker(q.times.check)
	defer ticker.Stop()
	var suspects map[holder]time.Time
	reached := time.Now()
	for {
		left, err := q.left(ctx)
		if err == nil && left == 0 && !wait {
			return errDone
		}
		if err == nil {
			suspects, err = q.rescue(ctx, suspects)
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			reached = time.Now()
		case !postgresdb.Lost(err) || time.Since(reached) > q.times.patience:
			return q.lost(err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-q.change:
		case <-ticker.C:
		}
	}
}

// left counts the runs that this process may get, now or after another one dies.
func (q *queue) left(ctx context.Context) (n int, err error) {
	q.mu.Lock()
	lacking := slices.Collect(maps.Keys(q.lacking))
	q.mu.Unlock()
	err = q.db.QueryRow(ctx, "SELECT count(*) FROM benchmark_runs WHERE queued AND dataset <> ALL ($1)", append([]string{}, lacking...)).Scan(&n)
	return n, err
}

// held selects the tickets that count and that a process took from River, with the process.
const held = `SELECT r.id AS run, (j.attempted_by[array_upper(j.attempted_by, 1)])::integer AS process
	FROM (SELECT args, attempted_by FROM river_job WHERE kind = '` + ticketKind + `' AND queue = '` + ticketQueue + `' AND state = 'running' OFFSET 0) j
	JOIN benchmark_runs r ON r.id = (j.args->>'run')::bigint AND r.ticket = (j.args->>'number')::bigint AND r.queued`

// holder is a process that took the ticket of a run.
type holder struct {
	Run     int64
	Process int32
}

// rescue gives new tickets to the runs whose tickets nobody works on, for longer than from
// one check to the next: after a restart of the server each process needs a moment to show
// that it is alive. It returns since when which tickets are suspect.
func (q *queue) rescue(ctx context.Context, before map[holder]time.Time) (suspects map[holder]time.Time, err error) {
	rows, err := q.db.Query(ctx, "SELECT run, process FROM ("+held+") held WHERE process = $1 OR process NOT IN "+alive, q.process)
	if err != nil {
		return nil, err
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[holder])
	if err != nil {
		return nil, err
	}
	suspects = map[holder]time.Time{}
	var runs []int64
	var processes []int32
	for _, h := range list {
		if h.Process == q.process && q.working(h.Run) {
			continue
		}
		suspects[h] = time.Now()
		if since, known := before[h]; known {
			suspects[h] = since
		}
		if time.Since(suspects[h]) > q.times.check {
			runs, processes = append(runs, h.Run), append(processes, h.Process)
		}
	}
	if len(runs) == 0 {
		return suspects, nil
	}
	return suspects, q.once(func(ctx context.Context, tx pgx.Tx) error { return q.reissue(ctx, tx, runs, processes) })
}

// reissue gives new tickets to runs if the processes still hold the old ones.
func (q *queue) reissue(ctx context.Context, tx pgx.Tx, runs []int64, processes []int32) error {
	// The rows are locked in one order, and the tickets checked once they are: of several
	// processes that notice a loss, one gives the run a new ticket.
	if _, err := tx.Exec(ctx, "SELECT FROM benchmark_runs WHERE id = ANY ($1) ORDER BY id FOR UPDATE", runs); err != nil {
		return err
	}
	const lost = "(SELECT run FROM (" + held + ") held JOIN unnest($1::bigint[], $2::integer[]) l (run, process) USING (run, process))"
	if _, err := tx.Exec(ctx, "UPDATE benchmark_runs SET owner = NULL WHERE id IN "+lost+" AND owner = ANY ($2)", runs, processes); err != nil {
		return err
	}
	return q.enqueue(ctx, tx, "id IN "+lost, runs, processes)
}

// Timeout implements river.Worker: a run that takes longer goes back into the queue, and
// resumes after its last round.
func (q *queue) Timeout(*river.Job[ticket]) time.Duration { return q.times.job }

// Work implements river.Worker. Its error decides what becomes of the ticket.
func (q *queue) Work(ctx context.Context, job *river.Job[ticket]) error {
	defer q.signal()
	if !q.enter(job.Args) {
		return river.JobSnooze(q.times.later)
	}
	defer q.exit(job.Args)
	claim, err := q.take(job.Args)
	switch {
	case errors.Is(err, benchmark.ErrFinished), errors.Is(err, errStale):
		return nil
	case errors.Is(err, benchmark.ErrTaken):
		return river.JobSnooze(q.times.later)
	case err != nil:
		q.cancel(err)
		return river.JobSnooze(0)
	}
	return q.settle(ctx, claim, q.do(ctx, claim))
}

// signal makes watch count the runs that are left.
func (q *queue) signal() {
	select {
	case q.change <- struct{}{}:
	default: // a signal is waiting already
	}
}

// enter reports whether this process can work on a run. It may be at work on it already:
// after the connection was lost for some time, others have given the run a new ticket.
func (q *queue) enter(t ticket) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.lacking[t.Set] || q.busy[t.Run] {
		return false
	}
	q.busy[t.Run] = true
	return true
}

func (q *queue) exit(t ticket) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.busy, t.Run)
}

// working reports whether this process is at work on a run. A ticket that it took without knowing,
// as the server's answer was lost, is not worked on.
func (q *queue) working(run int64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.busy[run]
}

// idle reports whether no run is under way.
func (q *queue) idle() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.busy) == 0
}

// errStale means that a ticket counts no more.
var errStale = errors.New("the run has another ticket")

// take claims the run of a ticket.
func (q *queue) take(t ticket) (*benchmark.Claim, error) {
	c := &benchmark.Claim{Key: t.Run}
	err := q.write(func(ctx context.Context, tx pgx.Tx, _ bool) error {
		r := &c.Run
		err := tx.QueryRow(ctx, `SELECT dataset, activation, spec, compat, batch, rounds, split FROM benchmark_runs
			WHERE id = $1 AND ticket = $2 AND queued FOR UPDATE`, t.Run, t.Number).Scan(&r.DataSet, &r.Activation, &r.Spec, &r.Compat, &r.BatchSize, &r.Rounds, &r.Split)
		if errors.Is(err, pgx.ErrNoRows) {
			return fault{errStale}
		}
		if err != nil {
			return err
		}
		return q.own(ctx, tx, t.Run)
	})
	if err != nil {
		return nil, err
	}
	if err := c.Run.CheckSize(); err != nil {
		return nil, q.damaged(err)
	}
	return c, q.resume(c)
}

// settle releases a claim, and decides what becomes of its ticket.
func (q *queue) settle(ctx context.Context, c *benchmark.Claim, err error) error {
	var broken *benchmark.StoreError
	var lacks *benchmark.SetError
	switch {
	case err == nil:
		return q.release(c, nil, nil)
	case errors.Is(err, benchmark.ErrTaken):
		return river.JobSnooze(q.times.later) // by then the ticket counts no more, or is needed again
	case errors.As(err, &broken):
		q.cancel(err)
		return river.JobSnooze(0)
	case ctx.Err() != nil && !q.stuck(ctx, c):
		return q.release(c, nil, river.JobSnooze(0))
	case ctx.Err() != nil:
		err = fmt.Errorf("no round was finished within %v", q.times.job)
	case errors.As(err, &lacks):
		return q.leave(c, lacks)
	}
	return q.release(c, err, river.JobCancel(err))
}

// release gives up a claim, and returns what becomes of its ticket.
func (q *queue) release(c *benchmark.Claim, failure, outcome error) error {
	if err := q.Release(c, failure); err != nil {
		q.cancel(err)
	}
	return outcome
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
	err := q.write(func(ctx context.Context, tx pgx.Tx, _ bool) error {
		_, err := tx.Exec(ctx, "UPDATE benchmark_runs SET owner = NULL, failure = $3 WHERE queued AND dataset = $1 AND (owner IS NULL OR owner = $2)",
			c.Run.DataSet, q.process, storable(fmt.Sprintf("%v (on %s)", lacks, q.host)))
		return err
	})
	if err != nil {
		q.cancel(err)
	}
	return river.JobSnooze(q.times.later)
}
