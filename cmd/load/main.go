// Command load puts a service under load, from a process of its own, with tokens: `make
// load`. It measures how fast status and rows are while a selection runs, and how fast status
// and tell are without and with a greedy client; lets many people ask and tell at once, and
// can kill the service again and again while they do. At the end it checks that no row was handed out twice and no
// label that was acknowledged is lost.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/nextbatch/nextbatch/cmd/nextbatch/cli"
)

// asService is the variable that turns this program into the service that it loads.
const asService = "NEXTBATCH_LOAD_SERVICE"

func main() {
	if os.Getenv(asService) != "" {
		os.Exit(cli.Run(os.Args[1:], os.Stdout, os.Stderr))
	}
	var o options
	flag.IntVar(&o.rows, "rows", 1000000, "rows of the campaign that is read")
	flag.IntVar(&o.rate, "rate", 1000, "requests a second that read")
	flag.IntVar(&o.labellers, "labellers", 100, "people who ask and tell")
	flag.DurationVar(&o.lasts, "lasts", time.Minute, "how long each part lasts")
	flag.IntVar(&o.kills, "kill", 0, "how often to kill the service while people ask and tell")
	flag.Parse()
	folder, err := os.MkdirTemp("", "nextbatch-load-*")
	if err == nil {
		defer os.RemoveAll(folder)
		err = o.run(context.Background(), folder, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

type options struct {
	rows, rate, labellers, kills int
	lasts                        time.Duration
}

// run runs all parts.
func (o options) run(ctx context.Context, folder string, out io.Writer) error {
	s, err := startService(folder)
	if err != nil {
		return err
	}
	defer s.kill()
	if err := o.read(ctx, s, out); err != nil {
		return fmt.Errorf("reading: %w", err)
	}
	if err := o.share(ctx, s, out); err != nil {
		return fmt.Errorf("sharing: %w", err)
	}
	if err := o.label(ctx, s, out); err != nil {
		return fmt.Errorf("labelling: %w", err)
	}
	return nil
}

// table returns rows with some labels.
func table(rows int) string {
	r := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	b.WriteString("name,a,b,c,colour,y\n")
	for i := range rows {
		x, y := r.Float64(), r.Float64()
		fmt.Fprintf(&b, "s%d,%.4f,%.4f,%.4f,%s,", i, x, y, r.Float64(), []string{"red", "green", "blue"}[i%3])
		if i < 64 {
			fmt.Fprintf(&b, "%.4f", x+2*y)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// read measures status and rows while selections run.
func (o options) read(ctx context.Context, s *service, out io.Writer) error {
	if _, err := s.do(ctx, s.owner, "POST", "/v1/campaigns?name=read&target=y&id=name", "text/csv",
		table(o.rows), ""); err != nil {
		return err
	}
	// reads the rows for the first time
	if _, err := s.do(ctx, s.owner, "GET", "/v1/campaigns/read/rows?limit=1", "", "", ""); err != nil {
		return err
	}
	limited, cancel := context.WithCancel(ctx)
	defer cancel()
	selections, selecting := 0, make(chan error, 1)
	go func() {
		for limited.Err() == nil {
			if _, err := s.job(limited, s.owner, "read", "asks", `{"rows":32}`, ""); err != nil && limited.Err() == nil {
				selecting <- err
				return
			}
			selections++
		}
		selecting <- nil
	}()
	times, err := o.pace(ctx, func(i int) error {
		path := "/v1/campaigns/read"
		if i%2 == 0 {
			path = fmt.Sprintf("/v1/campaigns/read/rows?offset=%d&limit=50", i*7919%max(1, o.rows-50))
		}
		_, err := s.do(ctx, s.owner, "GET", path, "", "", "")
		return err
	})
	if err != nil {
		return err
	}
	cancel()
	if err := <-selecting; err != nil {
		return fmt.Errorf("the selection beside: %w", err)
	}
	fmt.Fprintf(out,
		"status and rows of %d, %d requests a second for %v, %d selections beside: median %v, 99 %% within %v, all "+
			"within %v\n",
		o.rows, o.rate, o.lasts, selections, quantile(times, 0.5), quantile(times, 0.99), quantile(times, 1))
	return nil
}

// pace makes requests at a fixed rate, whether or not earlier ones have been answered, and
// returns how long each took from the moment when it was due.
func (o options) pace(ctx context.Context, do func(i int) error) (times []time.Duration, err error) {
	var mu sync.Mutex
	var wait sync.WaitGroup
	begin := time.Now()
	for i := range int(o.lasts.Seconds() * float64(o.rate)) {
		due := begin.Add(time.Duration(i) * time.Second / time.Duration(o.rate))
		time.Sleep(time.Until(due))
		wait.Go(func() {
			fault := do(i)
			took := time.Since(due)
			mu.Lock()
			defer mu.Unlock()
			if times = append(times, took); fault != nil && err == nil {
				err = fault
			}
		})
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	wait.Wait()
	return times, err
}

var client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 512}}
