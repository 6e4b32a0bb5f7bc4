package postgres

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nextbatch/nextbatch/internal/postgresdb/postgrestest"

	"github.com/nextbatch/nextbatch/internal/benchmark"
	"github.com/nextbatch/nextbatch/internal/benchmark/storetest"
	"github.com/nextbatch/nextbatch/internal/rng"
)

// The environment of a helper process: helperAddress names the database, and with helperStays
// the process waits for more work until it is killed.
const (
	helperAddress = "NEXTBATCH_TEST_RESULTS"
	helperStays   = "NEXTBATCH_TEST_STAYS"
)

// TestHelperProcess is not a test: other tests start it as a separate process that works on
// the queue and prints a line per round.
func TestHelperProcess(t *testing.T) {
	address := os.Getenv(helperAddress)
	if address == "" {
		t.Skip("only other tests start it")
	}
	s := opened(t, address)
	storetest.Join(t, s)
	fmt.Println("ready")
	for planned := 0; planned == 0; time.Sleep(10 * time.Millisecond) {
		planned = number(t, s, "SELECT count(*) FROM benchmark_runs")
	}
	b := bench(s)
	b.Watch = func(benchmark.Event) {
		fmt.Println("round")
		time.Sleep(20 * time.Millisecond) // so that all processes get work
	}
	if err := b.Work(context.Background(), s, os.Getenv(helperStays) != ""); err != nil {
		t.Fatal(err)
	}
}

// worker starts a process, and sends when it is ready and after each round that it finished.
func worker(t *testing.T, environment ...string) (*exec.Cmd, <-chan struct{}) {
	t.Helper()
	c := exec.Command(os.Args[0], "-test.run=^TestHelperProcess$")
	c.Env = append(os.Environ(), environment...)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	steps := make(chan struct{}, 1000)
	go func() {
		defer close(steps)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if text := lines.Text(); text == "ready" || text == "round" {
				steps <- struct{}{}
			}
		}
	}()
	return c, steps
}

// Of 8 processes 3 are killed without a chance to clean up, at random moments: before their
// first round, or after some. The results are those of one process.
func TestKilledWorkers(t *testing.T) {
	runs := slices.Concat(storetest.Runs(t, 0, 1, 2, 3), storetest.Learners(t, 0))
	want := alone(t, runs)
	address := postgrestest.Schema(t)
	planner := opened(t, address)
	storetest.Join(t, planner)
	const kills = 3
	var workers [8]*exec.Cmd
	var steps [8]<-chan struct{}
	for i := range workers {
		environment := []string{helperAddress + "=" + address}
		if i < kills {
			environment = append(environment, helperStays+"=1")
		}
		workers[i], steps[i] = worker(t, environment...)
	}
	for i := range steps {
		<-steps[i] // ready
	}
	if err := planner.Plan(runs); err != nil {
		t.Fatal(err)
	}
	draw := rng.New(uint64(time.Now().UnixNano()), "kills") // at other moments each time
	var all sync.WaitGroup
	var killed, worked atomic.Int32
	for i, c := range workers {
		rounds, pause := draw.IntN(4), time.Duration(draw.IntN(60))*time.Millisecond
		if i == 0 {
			rounds = max(1, rounds)
		}
		all.Go(func() {
			if i < kills {
				if took(steps[i], rounds) && rounds > 0 {
					worked.Add(1)
				}
				time.Sleep(pause)
				_ = c.Process.Kill()
			}
			for range steps[i] {
			}
			switch err := c.Wait(); {
			case err != nil && i < kills:
				killed.Add(1)
			case err != nil:
				t.Errorf("a process that was left alone: %v", err)
			}
		})
	}
	all.Wait()
	if n := killed.Load(); n != kills || worked.Load() == 0 {
		t.Errorf("%d processes were killed, not %d, of which %d had finished a round", n, kills, worked.Load())
	}
	storetest.MustBeSame(t, "after kills", storetest.Outcomes(t, planner), want)
}

// took waits until a process has finished n rounds, and returns false if it does not get
// that much work.
func took(steps <-chan struct{}, rounds int) bool {
	late := time.After(30 * time.Second)
	for range rounds {
		select {
		case <-steps:
		case <-late:
			return false
		}
	}
	return true
}

// proxy stands between a process and the server, and can cut all connections.
type proxy struct {
	net.Listener
	network, server string

	mu    sync.Mutex
	down  bool
	conns []net.Conn
}

// newProxy returns a proxy and the address of the database behind it.
func newProxy(t *testing.T, address string) (*proxy, string) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{network: "tcp", server: u.Host}
	query := u.Query()
	if folder := query.Get("host"); folder != "" {
		p.network, p.server = "unix", filepath.Join(folder, ".s.PGSQL.5432")
		query.Del("host")
	}
	if p.Listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close(); p.cut() })
	go p.serve()
	u.Host, u.RawQuery = p.Addr().String(), query.Encode()
	return p, u.String()
}

func (p *proxy) serve() {
	for {
		here, err := p.Accept()
		if err != nil {
			return
		}
		there, err := net.Dial(p.network, p.server)
		p.mu.Lock()
		if err != nil || p.down {
			_ = here.Close()
			if err == nil {
				_ = there.Close()
			}
		} else {
			p.conns = append(p.conns, here, there)
			go func() { _, _ = io.Copy(there, here); _ = there.Close() }()
			go func() { _, _ = io.Copy(here, there); _ = here.Close() }()
		}
		p.mu.Unlock()
	}
}

// cut ends all connections and refuses new ones.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = true
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.conns = nil
}

func (p *proxy) up() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = false
}

// While the server is gone for a moment, the work waits, and then goes on.
func TestServerRestarts(t *testing.T) {
	t.Parallel()
	runs := storetest.Runs(t, 0, 1)
	p, address := newProxy(t, postgrestest.Schema(t))
	s := joined(t, address, runs)
	b := bench(s)
	b.Jobs = 2
	rounds := 0
	b.Watch = func(benchmark.Event) {
		if rounds++; rounds == 7 || rounds == 21 {
			p.cut()
			time.AfterFunc(500*time.Millisecond, p.up)
		}
	}
	if summary, err := b.Run(t.Context(), runs); err != nil || summary.Done != len(runs) {
		t.Fatalf("%+v, %v", summary, err)
	}
	storetest.MustBeSame(t, "after two restarts", storetest.Outcomes(t, s), alone(t, runs))
}

// ownServer starts a PostgreSQL server for the test alone, and returns its address and a function that
// crashes and restarts it.
func ownServer(t *testing.T) (address string, restart func()) {
	t.Helper()
	postgrestest.Schema(t) // skips the test where there is no server
	if here, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb"); here == nil &&
		os.Getenv("NEXTBATCH_REQUIRE_POSTGRES") != "1" {
		t.Skip("Debian's PostgreSQL is not installed")
	}
	folder, script := t.TempDir(), filepath.Join("..", "..", "..", ".ci", "postgres")
	if err := os.Chmod(filepath.Dir(folder), 0o711); err != nil { // the server is another user
		t.Fatal(err)
	}
	run := func(verb string) string {
		c, told := exec.Command(script, verb, folder), &strings.Builder{}
		c.Stderr = told
		out, err := c.Output()
		if err != nil {
			t.Errorf("%s %s: %v\n%s", script, verb, err, told)
		}
		return strings.TrimSpace(string(out))
	}
	if address = run("start"); address == "" {
		t.FailNow()
	}
	t.Cleanup(func() { run("stop") })
	return address, func() { run("restart") }
}

// A real server that crashes and starts again loses nothing that was acknowledged.
func TestServerCrashes(t *testing.T) {
	t.Parallel()
	address, restart := ownServer(t)
	runs := storetest.Runs(t, 0, 1)
	s := joined(t, address, runs)
	s.times.patience, s.times.job = 5*time.Minute, 10*time.Minute // a server that has crashed takes its time
	b := bench(s)
	b.Jobs = 2
	rounds := 0
	b.Watch = func(benchmark.Event) {
		if rounds++; rounds == 7 || rounds == 21 {
			restart()
		}
	}
	if summary, err := b.Run(t.Context(), runs); err != nil || summary.Done != len(runs) {
		t.Fatalf("%+v, %v", summary, err)
	}
	if rounds < 21 {
		t.Errorf("%d rounds are too few for two crashes", rounds)
	}
	storetest.MustBeSame(t, "after two crashes", storetest.Outcomes(t, s), alone(t, runs))
}

// If the server stays away, the work ends with an error that says how to go on, and another
// process completes it.
func TestServerStaysAway(t *testing.T) {
	t.Parallel()
	runs := storetest.Runs(t, 0)
	direct := postgrestest.Schema(t)
	p, address := newProxy(t, direct)
	s := joined(t, address, runs)
	s.times.patience = 300 * time.Millisecond
	b := bench(s)
	rounds := 0
	b.Watch = func(benchmark.Event) {
		if rounds++; rounds == 6 {
			p.cut()
		}
	}
	_, err := b.Run(t.Context(), runs)
	if at := (*benchmark.StoreError)(nil); !errors.As(err, &at) ||
		!strings.Contains(err.Error(), "the connection is lost") ||
		!strings.Contains(err.Error(), "the same command resumes") {
		t.Fatalf("the error is %v", err)
	}
	other := opened(t, direct)
	storetest.Join(t, other)
	if n := len(storetest.Outcomes(t, other)); n != 6 {
		t.Errorf("%d rounds, want 6", n)
	}
	if summary, err := bench(other).Run(t.Context(), runs); err != nil || summary.Done != len(runs) {
		t.Fatalf("%+v, %v", summary, err)
	}
	storetest.MustBeSame(t, "completed by another", storetest.Outcomes(t, other), alone(t, runs))
}
