package linalg

import (
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/nextbatch/nextbatch/internal/simd"
)

// Job is work that is split into parts. Do is called once for each part, from any
// thread and in any order. slot identifies the thread within one Run, so that a
// job can keep scratch memory for each of them: 0 ≤ slot < Slots().
type Job interface {
	Do(part, slot int)
}

// Team is a group of threads that work together: the goroutine that calls Run, and
// workers that wait for its jobs. Teams are independent, so those of several
// callers share the processors as goroutines do. The nil team is shared by the
// whole process and has as many threads as GOMAXPROCS.
//
// The workers of a team end some time after the last reference to it is gone.
type Team struct {
	limit   int // on the number of threads; 0 means GOMAXPROCS
	workers *pool
}

// everyone is the nil team.
var everyone = NewTeam(0)

// NewTeam returns a team of at most n threads, but never more than GOMAXPROCS; 0
// means GOMAXPROCS. Workers start when the first job needs them.
func NewTeam(n int) *Team {
	p := &pool{wake: make(chan struct{}, maxThreads), quit: make(chan struct{})}
	t := &Team{limit: max(n, 0), workers: p}
	runtime.AddCleanup(t, func(quit chan struct{}) { close(quit) }, p.quit)
	return t
}

// Threads returns the largest number of threads that a Run uses.
func (t *Team) Threads() int {
	n := min(runtime.GOMAXPROCS(0), maxThreads)
	if t != nil && t.limit > 0 {
		n = min(n, t.limit)
	}
	return n
}

// Run does all parts of a job and returns when the last one is done. Each thread
// begins with its own share, a range of parts that is the same in every Run, so
// that its cache still holds what it wrote in the previous job. Then it helps the
// others, so parts may be of unequal size.
//
// If the team is busy with another Run, in this goroutine or in another, the parts
// run one after another in the calling goroutine: nesting never blocks, and
// callers that already run in parallel do not compete for threads.
//
// If Do panics, no further parts begin, and Run panics once the parts that have
// begun are done: with the same value if the panic happened in the calling
// goroutine, and with a *WorkerPanic otherwise. If several parts panic, the first
// counts. A caller that recovers may continue to use the team.
func (t *Team) Run(parts int, job Job) {
	threads := min(parts, t.Threads())
	if t == nil {
		t = everyone
	}
	if threads <= 1 || !t.workers.mu.TryLock() {
		for part := range parts {
			job.Do(part, 0)
		}
		return
	}
	defer runtime.KeepAlive(t) // workers end with the team
	defer t.workers.mu.Unlock()
	t.workers.run(parts, threads, job)
}

// Slots returns a number greater than every slot that Do is called with.
func Slots() int { return maxThreads }

// maxThreads bounds the pool: far fewer threads already saturate the memory bus.
const maxThreads = 64

// pool is a set of goroutines that wait for parts to do. An idle worker spins for
// a while, because the next product of a training step comes within microseconds
// and waking a parked worker takes longer than that; then it parks.
type pool struct {
	mu      sync.Mutex // held by the Run in progress
	started int

	// state holds, from the low end, 16 bits for the number of workers inside
	// the job, 16 bits for the number of free places, and 32 bits that count
	// jobs. A worker enters by taking a place; the caller ends the job by taking
	// back the free places and waiting for the workers inside. So the caller
	// never waits for a worker that comes late or not at all.
	state atomic.Uint64

	job     Job
	threads int
	shares  [maxThreads]share
	failure atomic.Pointer[WorkerPanic] // the first one in the job

	sleeping atomic.Int64
	wake     chan struct{}
	quit     chan struct{} // closed when the team is gone
}

// share is the range of parts from next to end-1 that no thread has taken yet.
type share struct {
	next atomic.Int64
	end  int64
	_    [48]byte // pads the share to a cache line
}

const (
	onePlace  = 1 << 16
	oneJob    = 1 << 32
	insideBit = onePlace - 1
	placeBits = oneJob - onePlace
	spinning  = 5000 // pauses before a worker parks, about 200 µs
)

func (p *pool) run(parts, threads int, job Job) {
	p.start(threads - 1)
	p.job, p.threads = job, threads
	for i := range threads {
		p.shares[i].next.Store(int64(i * parts / threads))
		p.shares[i].end = int64((i + 1) * parts / threads)
	}
	epoch := p.state.Load()/oneJob + 1
	p.state.Store(epoch*oneJob + uint64(threads-1)*onePlace)
	p.rouse(threads - 1)
	completed := false
	defer func() { p.finish(completed) }()
	p.drain(0)
	completed = true
}

// finish ends a job, whether the caller's parts were completed or panicked.
func (p *pool) finish(completed bool) {
	if !completed {
		p.fail(callersPanic)
	}
	p.close()
	p.job = nil
	if first := p.failure.Swap(nil); first != nil && first != callersPanic {
		panic(first)
	}
}

// callersPanic stands for a panic in the calling goroutine, which propagates by
// itself.
var callersPanic = &WorkerPanic{}

// fail records the first failure of a job and cancels the parts that have not
// begun.
func (p *pool) fail(w *WorkerPanic) {
	p.failure.CompareAndSwap(nil, w)
	for i := range p.threads {
		s := &p.shares[i]
		s.next.Store(s.end)
	}
}

// start starts workers until the pool has n.
func (p *pool) start(n int) {
	for p.started < n {
		p.started++
		go p.work(p.started, p.state.Load()/oneJob)
	}
}

// rouse wakes up to n parked workers.
func (p *pool) rouse(n int) {
	for n > 0 {
		s := p.sleeping.Load()
		if s == 0 {
			return
		}
		if p.sleeping.CompareAndSwap(s, s-1) {
			p.wake <- struct{}{}
			n--
		}
	}
}

// drain does parts until none is left, starting with the thread's own share.
func (p *pool) drain(slot int) {
	for i := range p.threads {
		s := &p.shares[(slot+i)%p.threads]
		for {
			part := s.next.Add(1) - 1
			if part >= s.end {
				break
			}
			p.job.Do(int(part), slot)
		}
	}
}

// close takes back the free places and waits for the workers inside.
func (p *pool) close() {
	p.state.And(^uint64(placeBits))
	for spins := 0; p.state.Load()&insideBit != 0; spins++ {
		if spins < spinning {
			simd.Pause(1)
		} else {
			runtime.Gosched()
		}
	}
}

// work is the main loop of a worker. seen is the last job that it knows of.
func (p *pool) work(slot int, seen uint64) {
	debug.SetPanicOnFault(true) // in a mapped file: Run then panics in the caller
	for {
		next, ok := p.await(seen)
		if !ok {
			return
		}
		if seen = next; p.enter(seen) {
			p.help(slot, seen)
		}
	}
}

// help does parts of the job that the worker has entered, and leaves the job
// whatever happens in a part.
func (p *pool) help(slot int, epoch uint64) {
	completed := false
	defer func() {
		if !completed {
			p.fail(p.caught(recover(), slot, epoch))
		}
		p.state.Add(^uint64(0))
	}()
	p.drain(slot)
	completed = true
}

// caught describes how a part ended a worker: it panicked with a value, or, if
// that is nil, called runtime.Goexit. In that case the worker's goroutine ends,
// and another takes over its slot.
func (p *pool) caught(value any, slot int, epoch uint64) *WorkerPanic {
	if value == nil {
		value = errGoexit
		go p.work(slot, epoch)
	}
	return &WorkerPanic{Value: value, Stack: debug.Stack()}
}

// await waits for a job after the one seen and returns its number, or false if the
// team is gone.
func (p *pool) await(seen uint64) (epoch uint64, ok bool) {
	for {
		for range spinning {
			if epoch := p.state.Load() / oneJob; epoch != seen {
				return epoch, true
			}
			simd.Pause(1)
		}
		if !p.park(seen) {
			return 0, false
		}
	}
}

// park sleeps until roused, unless a job has come in the meantime. It returns
// false if the team is gone.
func (p *pool) park(seen uint64) bool {
	p.sleeping.Add(1)
	if p.state.Load()/oneJob != seen {
		if s := p.sleeping.Load(); s > 0 && p.sleeping.CompareAndSwap(s, s-1) {
			return true
		}
	}
	select {
	case <-p.wake:
		return true
	case <-p.quit:
		return false
	}
}

// enter takes a place in the job, if it is still open.
func (p *pool) enter(epoch uint64) bool {
	for {
		s := p.state.Load()
		if s/oneJob != epoch || s&placeBits == 0 {
			return false
		}
		if p.state.CompareAndSwap(s, s-onePlace+1) {
			return true
		}
	}
}
