package server

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/nextbatch/nextbatch/internal/words"
)

// admissions decides which jobs get the memory that they forecast. A job that would fit if others
// had ended waits for them, behind those that wait already; one that would not fit by itself is
// rejected. The available memory is measured while no job holds any: later, it would lack
// what jobs have already taken.
type admissions struct {
	available func() int64 // bytes that are available for all jobs; nil or 0 for no limit

	mu    sync.Mutex
	limit int64 // as measured last; 0 for none
	came  int   // jobs that asked for memory
	jobs  map[*job]*admission
	freed chan struct{} // closed and replaced when a job ends, waits or is admitted
}

// admission is what a job may take.
type admission struct {
	came  int // its place among those that asked
	bytes int64
	waits bool // for others to end
}

// admit returns when there is memory for what a job is about to do: need bytes, with what it was
// admitted for before.
func (m *admissions) admit(ctx context.Context, j *job, what string, need int64, less []string) error {
	for {
		freed, err := m.try(j, what, need, less)
		if freed == nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-freed:
		}
	}
}

// try admits a job, rejects it with an error, or returns a channel to wait for. If all others
// wait, too, it rejects the job: otherwise they might wait for one another.
func (m *admissions) try(j *job, what string, need int64, less []string) (freed <-chan struct{}, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	own := m.of(j)
	others, busy, behind := int64(0), false, false
	for other, held := range m.jobs {
		if other != j {
			others += held.bytes
			busy = busy || held.bytes > 0 && !held.waits
			behind = behind || own.bytes == 0 && held.waits && held.came < own.came
		}
	}
	if own.bytes+others == 0 {
		m.measure(need)
	}
	fits := m.limit == 0 || need+others <= m.limit
	switch {
	case need <= own.bytes, fits && !behind:
		own.bytes, own.waits = max(own.bytes, need), false
		m.wake()
		return nil, nil
	case m.limit > 0 && need > m.limit:
		return nil, refused(what, need, m.limit, less)
	case !busy && !behind:
		return nil, refused(what, need, m.limit-others, append([]string{"again when other jobs have ended"}, less...))
	case !own.waits:
		own.waits = true
		m.wake()
	}
	return m.freed, nil
}

// of returns the admission of a job, a new one if it has none.
func (m *admissions) of(j *job) *admission {
	if m.jobs == nil {
		m.jobs, m.freed = map[*job]*admission{}, make(chan struct{})
	}
	if m.jobs[j] == nil {
		m.came++
		m.jobs[j] = &admission{came: m.came}
	}
	return m.jobs[j]
}

// measure measures the available memory, again after a garbage collection if it is less than
// what is needed.
func (m *admissions) measure(need int64) {
	if m.available == nil {
		return
	}
	if m.limit = m.available(); m.limit > 0 && need > m.limit {
		debug.FreeOSMemory()
		m.limit = m.available()
	}
}

// alone rejects a job that would need more memory than is available now.
func (m *admissions) alone(what string, need int64, less []string) error {
	if m.available == nil {
		return nil
	}
	if limit := m.available(); limit > 0 && need > limit {
		return refused(what, need, limit, less)
	}
	return nil
}

func refused(what string, need, limit int64, less []string) error {
	return fmt.Errorf("%s would need about %s, but %s of memory are available; try %s", what, words.Memory(need),
		words.Memory(limit), strings.Join(less, ", or "))
}

// largeJob is the size from which on the memory of a job is returned to the system at once: Go
// would keep it for a while, and the next job would lack it.
const largeJob = 256 << 20

// release frees the memory of a job that has ended.
func (m *admissions) release(j *job) {
	m.mu.Lock()
	defer m.mu.Unlock()
	held := m.jobs[j]
	if held == nil {
		return
	}
	delete(m.jobs, j)
	if held.bytes > largeJob {
		debug.FreeOSMemory()
	}
	m.wake()
}

func (m *admissions) wake() {
	close(m.freed)
	m.freed = make(chan struct{})
}
