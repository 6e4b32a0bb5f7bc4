package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/internal/wire"
)

// restart ends a service and starts another one with what it left.
func (v *service) restart(t *testing.T, change func(*Options)) *service {
	t.Helper()
	v.server.Close()
	options := v.server.options
	change(&options)
	next := New(options)
	t.Cleanup(next.Close)
	v.Config.Handler = next
	return &service{v.Server, next, v.secrets, v.log}
}

// written returns the jobs that are written down.
func (v *service) written(t *testing.T) []order {
	t.Helper()
	list, err := v.server.options.Tokens.openJobs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func settingsOf(hidden []int, spec string) map[string]any {
	return map[string]any{
		"network": map[string]any{"architecture": map[string]any{"hidden": hidden}, "training": map[string]any{"epochs": 2}},
		"spec":    spec, "seed": 1,
	}
}

// endless are settings of an ask that does not end before the test.
var endless = map[string]any{
	"network": map[string]any{"architecture": map[string]any{"hidden": []int{8}},
		"training": map[string]any{"epochs": 100_000_000}}, "seed": 1,
}

// TestAttackByHugeSettings: what would take more memory than there is fails, and says what to change;
// the service goes on.
func TestAttackByHugeSettings(t *testing.T) {
	t.Parallel()
	v := newService(t).restart(t, func(o *Options) { o.Available = func() int64 { return 4 << 30 } })
	must[Campaign](t, v, "owner", "POST", small, sample(200))
	const path = "/v1/campaigns/small"
	for _, members := range []int{2_000_000_000, 1001, -1} {
		status, body := v.do(t, "owner", "PUT", path+"/settings", map[string]any{"members": members, "seed": 1})
		if status != 422 || !strings.Contains(string(body), "members must be from 0 to 1000") {
			t.Errorf("%d members: %d %s", members, status, body)
		}
	}
	fails := func(kind, place, advice string) {
		t.Helper()
		j := v.finish(t, "labeller", must[wire.Job](t, v, "labeller", "POST", path+place, map[string]any{}))
		if j.State != wire.Failed || !strings.Contains(j.Problem, "4.0 GiB of memory are available") ||
			!strings.Contains(j.Problem, advice) {
			t.Errorf("%s: %s, %s", kind, j.State, j.Problem)
		}
	}
	for name, s := range map[string]struct {
		settings map[string]any
		advice   string
	}{
		"wide layers":    {settingsOf([]int{1_000_000, 1_000_000}, ""), "narrower layers (hidden)"},
		"large sketches": {settingsOf([]int{8}, "lcmd-tp:grad>sketch(1048576)>sketch(1048576)"), "a smaller sketch"},
		"many members":   {settingsOf([]int{2000}, "lcmd-tp:grad>ens(1000)"), "fewer networks"},
	} {
		must[wire.Changed](t, v, "owner", "PUT", path+"/settings", s.settings)
		fails("an ask with "+name, "/asks", s.advice)
		fails("a map with "+name, "/maps", s.advice)
		if name != "large sketches" { // which predictions do not need
			fails("predictions with "+name, "/predictions", "narrower layers (hidden)")
		}
	}
	if list := v.written(t); len(list) > 0 {
		t.Errorf("still written down: %+v", list)
	}
	must[wire.Changed](t, v, "owner", "PUT", path+"/settings", settingsOf([]int{8}, ""))
	if j := v.finish(t, "labeller", must[wire.Job](t, v, "labeller", "POST", path+"/asks",
		map[string]any{"rows": 2})); j.State != wire.Done {
		t.Errorf("afterwards, an ask ends as %+v", j)
	}
}

// TestCrashLoop: a job during which the process ended twice is not tried again. An orderly end does not count.
func TestCrashLoop(t *testing.T) {
	t.Parallel()
	v := newService(t)
	must[Campaign](t, v, "owner", "POST", small, sample(60))
	must[wire.Changed](t, v, "owner", "PUT", "/v1/campaigns/small/settings", endless)
	j := must[wire.Job](t, v, "labeller", "POST", "/v1/campaigns/small/asks", map[string]any{"rows": 3})
	var running []order
	for range 2 { // ends in good order
		v.trains(t, j, 1)
		running = v.written(t)
		if len(running) != 1 || running[0].Attempts != 1 {
			t.Fatalf("written down while it runs: %+v", running)
		}
		v = v.restart(t, func(*Options) {})
	}
	for attempts := 1; attempts <= mostAttempts; attempts++ {
		v.trains(t, j, 1)
		running = v.written(t)
		if len(running) != 1 || running[0].Attempts != attempts {
			t.Fatalf("written down at attempt %d: %+v", attempts, running)
		}
		v = v.restart(t, func(o *Options) {
			if _, err := o.Tokens.updateJob(t.Context(), running[0]); err != nil { // what a kill leaves
				t.Fatal(err)
			}
		})
	}
	got := must[wire.Job](t, v, "viewer", "GET", "/v1/campaigns/small/jobs/"+j.ID, nil)
	if got.State != wire.Failed || got.Ended == nil || !strings.Contains(got.Problem,
		"the service ended 2 times while this job ran") {
		t.Errorf("the job is %+v", got)
	}
	if list := v.written(t); len(list) > 0 {
		t.Errorf("still written down: %+v", list)
	}
}

// faulty is a store with a fault.
type faulty struct{ campaign.Store }

func (faulty) PutBlob(context.Context, string, campaign.Blob) error { panic("a fault in the store") }

// TestPanicFailsTheJob: the service goes on, and so do later jobs of the campaign.
func TestPanicFailsTheJob(t *testing.T) {
	t.Parallel()
	v := newService(t)
	must[Campaign](t, v, "owner", "POST", small, sample(60))
	must[wire.Changed](t, v, "owner", "PUT", "/v1/campaigns/small/settings", settingsOf([]int{8}, ""))
	sound := v.server.options.Store
	v = v.restart(t, func(o *Options) { o.Store = faulty{o.Store} })
	for _, place := range []string{"asks", "predictions", "maps"} {
		j := v.finish(t, "labeller", must[wire.Job](t, v, "labeller", "POST", "/v1/campaigns/small/"+place, map[string]any{}))
		if j.State != wire.Failed || j.Problem != errFault.Error() {
			t.Errorf("%s: %+v", place, j)
		}
	}
	v = v.restart(t, func(o *Options) { o.Store = sound })
	if j := v.finish(t, "labeller", must[wire.Job](t, v, "labeller", "POST", "/v1/campaigns/small/asks",
		map[string]any{})); j.State != wire.Done {
		t.Errorf("the next ask: %+v", j)
	}
	if !strings.Contains(v.log.String(), "a fault in the store") || !strings.Contains(v.log.String(), "PutBlob") {
		t.Error("the log lacks the fault and its stack")
	}
}

// TestCancelIsDurable: when the answer has come, no start takes the job up again, whether it
// was computing or waiting.
func TestCancelIsDurable(t *testing.T) {
	t.Parallel()
	v := newService(t)
	must[Campaign](t, v, "owner", "POST", small, sample(60))
	must[wire.Changed](t, v, "owner", "PUT", "/v1/campaigns/small/settings", endless)
	var jobs []wire.Job
	for i := range 4 {
		jobs = append(jobs, must[wire.Job](t, v, "labeller", "POST", "/v1/campaigns/small/asks",
			map[string]any{"rows": 1 + i}))
	}
	v.trains(t, jobs[0], 1)
	for i, j := range jobs {
		must[wire.Job](t, v, "labeller", "DELETE", "/v1/campaigns/small/jobs/"+j.ID, nil)
		if list := v.written(t); len(list) != len(jobs)-1-i || slices.ContainsFunc(list,
			func(o order) bool { return o.ID == j.ID }) {
			t.Errorf("written down after job %d was cancelled: %+v", i, list)
		}
	}
	// What a job writes down about itself does not bring it back.
	if there, err := v.server.options.Tokens.updateJob(t.Context(),
		order{Job: jobs[0], Attempts: 1}); there || err != nil {
		t.Errorf("there %v, %v", there, err)
	}
	for _, j := range jobs {
		if j = v.finish(t, "labeller", j); j.State != wire.Cancelled {
			t.Errorf("%+v", j)
		}
	}
	if v = v.restart(t, func(*Options) {}); v.server.jobs.running() != 0 {
		t.Errorf("%d jobs run after a restart", v.server.jobs.running())
	}
}

// idle returns jobs that do what the test says, and a function that starts one of a person.
func idle(t *testing.T) (js *jobs, start func(person, campaign string) (*job, chan error)) {
	js = newJobs(1, nil, nil)
	t.Cleanup(js.stop)
	id := 0
	return js, func(person, name string) (*job, chan error) {
		ends := make(chan error)
		id++
		j, err := js.start(order{Job: wire.Job{ID: fmt.Sprint(id), Person: person, Campaign: name, Kind: "predict"}},
			func(*job) (bool, error) { return false, nil }, func() error { return nil },
			func(ctx context.Context, _ *job) (jobResult, error) {
				select {
				case <-ctx.Done():
					return jobResult{}, ctx.Err()
				case err := <-ends:
					return jobResult{}, err
				}
			})
		if err != nil {
			t.Fatal(err)
		}
		return j, ends
	}
}

func (j *job) begun() bool {
	select {
	case <-j.turn:
		return true
	default:
		return false
	}
}

// TestTurns: few jobs compute, not all of one person, and who has waited longest is next.
func TestTurns(t *testing.T) {
	t.Parallel()
	js, start := idle(t)
	var greedy []*job
	var ends []chan error
	for range 10 {
		j, end := start("ada", "c")
		greedy, ends = append(greedy, j), append(ends, end)
	}
	begun := func(list ...*job) (states []bool) {
		for _, j := range list {
			states = append(states, j.begun())
		}
		return states
	}
	if got := begun(greedy[:4]...); !slices.Equal(got, []bool{true, true, false, false}) {
		t.Fatalf("of one person compute %v", got)
	}
	bob, bobEnds := start("bob", "c")
	carl, _ := start("carl", "c")
	late, _ := start("bob", "c")
	if got := begun(bob, carl, late); !slices.Equal(got, []bool{true, false, false}) {
		t.Fatalf("of others compute %v", got)
	}
	await := func(j *job) {
		t.Helper()
		select {
		case <-j.turn:
		case <-time.After(time.Minute):
			t.Fatal("it is never its turn")
		}
	}
	ends[0] <- nil
	await(carl) // who never had a turn
	bobEnds <- nil
	await(greedy[2]) // bob was served after ada
	ends[1] <- errors.New("failed")
	await(late)
	if greedy[3].begun() {
		t.Error("more than three compute")
	}
	for range openOfOne - 8 { // 8 of hers go on
		start("ada", "c")
	}
	if err := js.room("ada"); !errors.Is(err, errTooManyOne) {
		t.Errorf("with %d jobs of hers: %v", openOfOne, err)
	}
	if err := js.room("bob"); err != nil {
		t.Error(err)
	}
	js.stop()
	if err := js.room("bob"); !errors.Is(err, errStopping) || js.running() != 0 {
		t.Errorf("after the end: %v, %d run", err, js.running())
	}
}

// TestSuspectsComputeAlone: a job during which the process has ended computes before all others, and
// nothing computes beside it.
func TestSuspectsComputeAlone(t *testing.T) {
	t.Parallel()
	running := func(person string, attempts int) *job {
		return &job{order: order{Job: wire.Job{Person: person}, Attempts: attempts}, public: wire.Job{State: wire.Running}}
	}
	other, suspect, second := running("bob", 0), running("ada", 1), running("carl", 1)
	js := &jobs{list: []*job{other, suspect, second}}
	other.computing = true
	if j := js.next(); j != nil {
		t.Errorf("beside a job that computes: %+v", j.order)
	}
	other.computing = false
	if j := js.next(); j != suspect {
		t.Errorf("%+v computes first", j)
	}
	suspect.computing = true
	if j := js.next(); j != nil {
		t.Errorf("beside the suspect: %+v", j.order)
	}
}

// TestShutdownCancelsNothing: who watches a job while the service ends does not hear that it was
// cancelled, as the next start takes it up again.
func TestShutdownCancelsNothing(t *testing.T) {
	t.Parallel()
	js := newJobs(1, nil, nil)
	began := make(chan struct{})
	j, err := js.start(order{}, func(*job) (bool, error) { return false, nil }, func() error { return nil },
		func(ctx context.Context, _ *job) (jobResult, error) {
			close(began)
			<-ctx.Done()
			return jobResult{}, ctx.Err()
		})
	if err != nil {
		t.Fatal(err)
	}
	<-began
	js.stop()
	if state := j.snapshot(); state.State != wire.Running || js.running() != 0 {
		t.Errorf("after the end: %+v, %d run", state, js.running())
	}
}

// TestSameJobs: a job that is asked for again is the same, unless the campaign has changed since it began.
func TestSameJobs(t *testing.T) {
	t.Parallel()
	v := newService(t)
	must[Campaign](t, v, "owner", "POST", small, sample(60))
	must[wire.Changed](t, v, "owner", "PUT", "/v1/campaigns/small/settings", endless)
	predict := func(who string) wire.Job {
		return must[wire.Job](t, v, who, "POST", "/v1/campaigns/small/predictions", nil)
	}
	first := predict("labeller")
	for range 30 {
		if j := predict("labeller"); j.ID != first.ID {
			t.Fatal("a second job")
		}
	}
	v.trains(t, first, 1)
	if predict("owner").ID != first.ID || v.server.jobs.running() != 1 {
		t.Error("somebody else starts a second job")
	}
	must[wire.Changed](t, v, "owner", "PUT", "/v1/campaigns/small/settings", endless)
	second := predict("labeller")
	if second.ID == first.ID || predict("owner").ID != second.ID || v.server.jobs.running() != 2 {
		t.Error("a job that began before a change is the same as one after it")
	}
	status, body := v.do(t, "labeller", "POST", "/v1/campaigns/small/asks", map[string]any{"rows": 2},
		"Idempotency-Key", "k")
	if status != 202 {
		t.Fatalf("%d %s", status, body)
	}
	for who, rows := range map[string]int{"labeller": 3, "owner": 2} {
		if status, body := v.do(t, who, "POST", "/v1/campaigns/small/asks", map[string]any{"rows": rows},
			"Idempotency-Key", "k"); status != 409 {
			t.Errorf("%s, %d rows: %d %s", who, rows, status, body)
		}
	}
}

// TestOldResultsAreForgotten: predictions of ended jobs take a limited number of bytes.
func TestOldResultsAreForgotten(t *testing.T) {
	t.Parallel()
	v := newService(t)
	must[Campaign](t, v, "owner", "POST", small, sample(60))
	must[wire.Changed](t, v, "owner", "PUT", "/v1/campaigns/small/settings", settingsOf([]int{8}, ""))
	var done []wire.Job
	for range 3 {
		j := v.finish(t, "labeller", must[wire.Job](t, v, "labeller", "POST", "/v1/campaigns/small/predictions", nil))
		if p := must[Predicted](t, v, "viewer", "GET", "/v1/campaigns/small/jobs/"+j.ID+"/predictions?offset=3&limit=2",
			nil); len(p.Rows) != 2 || p.Total < 10 || len(p.Rows[0].Predictions) != 1 {
			t.Fatalf("%+v", p)
		}
		kept := v.server.jobs.find(j.ID).outcome.predicted
		if kept.bytes < int64(60*len(kept.Rows)) || kept.bytes > int64(200*len(kept.Rows)) {
			t.Errorf("%d bytes for %d rows", kept.bytes, len(kept.Rows))
		}
		kept.bytes = keptBytes/2 + 1 // as if there were many rows
		done = append(done, j)
	}
	v.server.jobs.change(func() {})
	for i, want := range []int{410, 410, 200} {
		if status, body := v.do(t, "viewer", "GET", "/v1/campaigns/small/jobs/"+done[i].ID+
			"/predictions", nil); status != want {
			t.Errorf("result %d: %d %.200s", i, status, body)
		}
	}
}

// TestAdmissions: a job waits for the memory of others, unless it would not fit by itself, and no two
// wait for each other.
func TestAdmissions(t *testing.T) {
	t.Parallel()
	m := &admissions{available: func() int64 { return 100 }}
	a, b := &job{}, &job{}
	admit := func(j *job, need int64) error { return m.admit(t.Context(), j, "it", need, []string{"less"}) }
	if err := admit(a, 101); err == nil || !strings.Contains(err.Error(), "try less") {
		t.Errorf("too much: %v", err)
	}
	for j, need := range map[*job]int64{a: 60, b: 40} {
		if err := admit(j, need); err != nil {
			t.Error(err)
		}
	}
	waited := make(chan error)
	go func() { waited <- admit(b, 90) }()
	for {
		m.mu.Lock()
		waits := m.jobs[b].waits
		m.mu.Unlock()
		if waits {
			break
		}
		time.Sleep(time.Millisecond)
	}
	// b waits for it already
	if err := admit(a, 80); err == nil || !strings.Contains(err.Error(), "again when other jobs have ended") {
		t.Errorf("beside one that waits: %v", err)
	}
	if err := admit(a, 60); err != nil { // which it has
		t.Error(err)
	}
	select {
	case err := <-waited:
		t.Fatalf("the other one went on: %v", err)
	default:
	}
	m.release(a)
	if err := <-waited; err != nil {
		t.Error(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := m.admit(ended, a, "it", 20, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestAdmissionsWhileMemoryIsUsed: what a job takes of the machine's memory is not held against it when
// it asks for more, and a job that comes later does not overtake one that waits.
func TestAdmissionsWhileMemoryIsUsed(t *testing.T) {
	t.Parallel()
	free := int64(100)
	m := &admissions{available: func() int64 { return free }}
	large, waiting, late := &job{}, &job{}, &job{}
	for _, need := range []int64{60, 60, 90} {
		if freed, err := m.try(large, "it", need, nil); freed != nil || err != nil {
			t.Fatalf("%d: %v", need, err)
		}
		free = 100 - need // as it is used
	}
	for _, j := range []*job{waiting, late} {
		if freed, err := m.try(j, "it", map[*job]int64{waiting: 50, late: 5}[j], nil); freed == nil || err != nil {
			t.Fatalf("beside the large job: %v", err)
		}
	}
	m.release(large)
	free = 100
	if freed, err := m.try(late, "it", 5, nil); freed == nil || err != nil {
		t.Errorf("the late job overtakes: %v", err)
	}
	for _, j := range []*job{waiting, late} {
		if freed, err := m.try(j, "it", map[*job]int64{waiting: 50, late: 5}[j], nil); freed != nil || err != nil {
			t.Errorf("after the large job: %v", err)
		}
	}
}
