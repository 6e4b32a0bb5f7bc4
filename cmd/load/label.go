package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// labelling is people who ask and tell at once.
type labelling struct {
	*service
	patient bool // the service may be away for a while

	mu    sync.Mutex
	owner map[string]int     // who got a row
	told  map[string]float64 // labels that were acknowledged
	asks  atomic.Int64
}

// label makes many people ask and tell, and checks the result.
func (o options) label(ctx context.Context, s *service, out io.Writer) error {
	rows := max(2000, 400*o.labellers)
	if _, err := s.do(ctx, s.owner, "POST", "/v1/campaigns?name=label&target=y&id=name", "text/csv",
		table(rows), ""); err != nil {
		return err
	}
	const fast = `{"network":{"architecture":{"hidden":[8]},"training":{"epochs":4}},"seed":1,"spec":"random"}`
	if _, err := s.do(ctx, s.owner, "PUT", "/v1/campaigns/label/settings", "application/json", fast, ""); err != nil {
		return err
	}
	l := &labelling{service: s, patient: o.kills > 0, owner: map[string]int{}, told: map[string]float64{}}
	tokens := make([]string, o.labellers)
	for i := range tokens {
		var err error
		if tokens[i], err = s.addToken(fmt.Sprintf("labeller-%d", i)); err != nil {
			return err
		}
	}
	working, stop := context.WithCancel(ctx)
	defer stop()
	var wait sync.WaitGroup
	faults := make(chan error, o.labellers)
	for i, token := range tokens {
		wait.Go(func() {
			if err := l.work(ctx, working, i, token); err != nil {
				faults <- fmt.Errorf("labeller %d: %w", i, err)
				stop()
			}
		})
	}
	killed, err := o.disturb(working, s)
	stop()
	wait.Wait()
	close(faults)
	for fault := range faults {
		err = errors.Join(err, fault)
	}
	if err != nil {
		return err
	}
	lost, err := l.check(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(out,
		"%d people: %d asks, %d rows handed out, none twice; %d labels acknowledged, %d lost; the service was "+
			"killed %d times\n",
		o.labellers, l.asks.Load(), len(l.owner), len(l.told), lost, killed)
	if lost > 0 {
		return fmt.Errorf("%d labels are lost", lost)
	}
	return nil
}

// disturb waits, or kills the service again and again.
func (o options) disturb(ctx context.Context, s *service) (killed int, err error) {
	pause := o.lasts
	if o.kills > 0 {
		pause = o.lasts / time.Duration(o.kills)
	}
	for ; killed <= o.kills; killed++ {
		select {
		case <-ctx.Done():
			return killed, nil
		case <-time.After(pause):
		}
		if killed == o.kills {
			break
		}
		s.kill()
		if err := s.begin(); err != nil {
			return killed, err
		}
	}
	return o.kills, nil
}

// work asks and tells until it is stopped; what has begun is finished.
func (l *labelling) work(ctx, working context.Context, i int, token string) error {
	for n := 0; working.Err() == nil; n++ {
		key := fmt.Sprintf("%d-%d", i, n)
		ask, err := l.ask(ctx, token, key)
		if err != nil {
			return fmt.Errorf("ask: %w", err)
		}
		l.asks.Add(1)
		raw, err := l.again(ctx, func() ([]byte, error) {
			return l.do(ctx, token, "GET", fmt.Sprintf("/v1/campaigns/label/asks/%d", ask), "", "", "")
		})
		if err != nil {
			return fmt.Errorf("batch: %w", err)
		}
		var batch struct {
			Rows []struct {
				ID string `json:"id"`
			} `json:"rows"`
		}
		if err := json.Unmarshal(raw, &batch); err != nil {
			return err
		}
		for at, row := range batch.Rows {
			if err := l.take(row.ID, i); err != nil {
				return err
			}
			value := float64(i) + float64(n)/1024
			body := fmt.Sprintf(`{"accept":true,"rows":[{"id":%q,"values":{"y":%v}}]}`, row.ID, value)
			if _, err := l.again(ctx, func() ([]byte, error) {
				return l.do(ctx, token, "POST", "/v1/campaigns/label/tells", "application/json", body,
					fmt.Sprintf("%s-%d", key, at))
			}); err != nil {
				return fmt.Errorf("tell: %w", err)
			}
			l.mu.Lock()
			l.told[row.ID] = value
			l.mu.Unlock()
		}
	}
	return nil
}

// take notes who got a row.
func (l *labelling) take(id string, i int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if other, taken := l.owner[id]; taken {
		return fmt.Errorf("row %s was handed out to labeller %d already", id, other)
	}
	l.owner[id] = i
	return nil
}

func (l *labelling) ask(ctx context.Context, token, key string) (ask int64, err error) {
	_, err = l.again(ctx, func() ([]byte, error) {
		ask, err = l.job(ctx, token, "label", "asks", `{"rows":2}`, key)
		return nil, err
	})
	return ask, err
}

// again repeats a request while the service is away.
func (l *labelling) again(ctx context.Context, do func() ([]byte, error)) ([]byte, error) {
	for {
		raw, err := do()
		var refused *refusal
		if err == nil || !l.patient || errors.As(err, &refused) && !refused.passing() || ctx.Err() != nil {
			return raw, err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// check compares the labels of the campaign with those that were acknowledged.
func (l *labelling) check(ctx context.Context) (lost int, err error) {
	raw,
		err := l.do(ctx, l.service.owner, "GET", "/v1/campaigns/label/rows/export?status=labelled&format=jsonl", "", "", "")
	if err != nil {
		return 0, err
	}
	there := map[string]float64{}
	for line := range strings.Lines(string(raw)) {
		var row struct {
			Name string  `json:"name"`
			Y    float64 `json:"y"`
		}
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			return 0, err
		}
		there[row.Name] = row.Y
	}
	for id, value := range l.told {
		if got, ok := there[id]; !ok || math.Abs(got-value) > 1e-9 {
			lost++
		}
	}
	return lost, nil
}
