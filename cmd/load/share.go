package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	readers    = 4     // people who request the status repeatedly
	tellers    = 4     // people who tell one label after the other
	greedyJobs = 31    // predictions that the greedy client requests at a time, each of another campaign
	sharedRows = 20000 // at most, of the campaign that they share, and of each that is the greedy client's
	turns      = 2     // of each kind, one after the other, so that both meet the same machine
)

// sharing is a campaign that a few people share, with one who requests more than the others.
type sharing struct {
	*service
	rows   int
	tokens []string // of those who tell
	greedy string
	wanted []string // campaigns that the greedy client requests predictions of

	next          atomic.Int64 // row to tell
	made, refused atomic.Int64 // predictions of the greedy client
}

// answers is how long requests of one kind took.
type answers struct {
	mu    sync.Mutex
	times []time.Duration
}

func (a *answers) add(took time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.times = append(a.times, took)
}

// text is how many there were a second, and how fast.
func (a *answers) text(lasted time.Duration) string {
	if len(a.times) == 0 {
		return "none"
	}
	return fmt.Sprintf("%.0f a second, median %v, 99 %% within %v, all within %v",
		float64(len(a.times))/lasted.Seconds(), quantile(a.times, 0.5), quantile(a.times, 0.99), quantile(a.times, 1))
}

// quantile sorts times and returns the one that a part of them is within.
func quantile(times []time.Duration, part float64) time.Duration {
	slices.Sort(times)
	return times[min(len(times)-1, int(part*float64(len(times))))].Round(10 * time.Microsecond)
}

// share measures status and tell of people who make the next request as soon as they have an
// answer, without and with somebody beside them who asks for as many predictions as possible.
func (o options) share(ctx context.Context, s *service, out io.Writer) error {
	h := &sharing{service: s, rows: min(o.rows, sharedRows)}
	if err := h.create(ctx); err != nil {
		return err
	}
	for i := range tellers + 1 {
		token, err := s.addToken(fmt.Sprintf("sharer-%d", i))
		if err != nil {
			return err
		}
		h.tokens = append(h.tokens, token)
	}
	h.greedy, h.tokens = h.tokens[tellers], h.tokens[:tellers]
	var status, tell [2]answers // without and with
	var lasted [2]time.Duration
	for turn := range 2 * turns {
		with := turn % 2
		took, err := h.turn(ctx, o.lasts/turns, with == 1, &status[with], &tell[with])
		if err != nil {
			return err
		}
		lasted[with] += took
	}
	for with, who := range []string{"alone", fmt.Sprintf("beside one who wants %d predictions at a time", greedyJobs)} {
		fmt.Fprintf(out, "%d people, %s: status %s; tell %s\n", readers+tellers, who, status[with].text(lasted[with]),
			tell[with].text(lasted[with]))
	}
	fmt.Fprintf(out, "the greedy client got %d predictions of %d rows, and %d refusals\n", h.made.Load(),
		h.rows, h.refused.Load())
	return nil
}

// create makes the campaign that people share, and those that the greedy client wants predictions
// of besides: predictions of one campaign that are asked for together would be a single job.
func (h *sharing) create(ctx context.Context) error {
	rows := table(h.rows)
	for i := range greedyJobs {
		name := "share"
		if i > 0 {
			name = fmt.Sprintf("greedy-%d", i)
		}
		if _, err := h.do(ctx, h.owner, "POST", "/v1/campaigns?target=y&id=name&name="+name, "text/csv",
			rows, ""); err != nil {
			return err
		}
		h.wanted = append(h.wanted, name)
	}
	return nil
}

// turn lets people work for a while. Jobs of the greedy client that are left are cancelled.
func (h *sharing) turn(ctx context.Context, lasts time.Duration, greedy bool, status,
	tell *answers) (lasted time.Duration, err error) {
	working, stop := context.WithTimeout(ctx, lasts)
	defer stop()
	var wait, wanting sync.WaitGroup
	faults := make(chan error, readers+tellers+greedyJobs)
	try := func(group *sync.WaitGroup, do func() error) {
		group.Go(func() {
			if err := do(); err != nil {
				faults <- err
				stop()
			}
		})
	}
	if greedy {
		for _, campaign := range h.wanted {
			try(&wanting, func() error { return h.want(ctx, working, campaign) })
		}
	}
	begin := time.Now()
	for range readers {
		try(&wait, func() error { return h.look(ctx, working, status) })
	}
	for _, token := range h.tokens {
		try(&wait, func() error { return h.tellOn(ctx, working, token, tell) })
	}
	wait.Wait()
	lasted = time.Since(begin)
	wanting.Wait()
	close(faults)
	for fault := range faults {
		err = errors.Join(err, fault)
	}
	return lasted, err
}

// look reads the status until it is stopped.
func (h *sharing) look(ctx, working context.Context, status *answers) error {
	for working.Err() == nil {
		begin := time.Now()
		if _, err := h.do(ctx, h.owner, "GET", "/v1/campaigns/share", "", "", ""); err != nil {
			return fmt.Errorf("status: %w", err)
		}
		status.add(time.Since(begin))
	}
	return nil
}

// tellOn tells labels until it is stopped. When all rows have one, they get another.
func (h *sharing) tellOn(ctx, working context.Context, token string, tell *answers) error {
	for working.Err() == nil {
		n := h.next.Add(1)
		body := fmt.Sprintf(`{"accept":true,"rows":[{"id":"s%d","values":{"y":%d}}]}`, n%int64(h.rows), n%7)
		begin := time.Now()
		if _, err := h.do(ctx, token, "POST", "/v1/campaigns/share/tells", "application/json", body, ""); err != nil {
			return fmt.Errorf("tell: %w", err)
		}
		tell.add(time.Since(begin))
	}
	return nil
}

// want requests one prediction of a campaign after the other, and cancels the last.
func (h *sharing) want(ctx, working context.Context, campaign string) error {
	const pause = 250 * time.Millisecond
	path := "/v1/campaigns/" + campaign
	for working.Err() == nil {
		raw, err := h.do(ctx, h.greedy, "POST", path+"/predictions", "", "", "")
		var refused *refusal
		if errors.As(err, &refused) && refused.later() {
			h.refused.Add(1)
			time.Sleep(pause)
			continue
		}
		for {
			var job struct {
				ID, State string
				Ended     *time.Time
			}
			if err != nil {
				return fmt.Errorf("predictions: %w", err)
			}
			if err := json.Unmarshal(raw, &job); err != nil {
				return err
			}
			if job.Ended != nil {
				if job.State == "done" {
					h.made.Add(1)
				}
				break
			}
			method := "GET"
			if working.Err() != nil {
				method = "DELETE"
			}
			time.Sleep(pause)
			raw, err = h.do(ctx, h.greedy, method, path+"/jobs/"+job.ID, "", "", "")
		}
	}
	return nil
}
