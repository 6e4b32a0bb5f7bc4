package server

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
)

// admissions decides which jobs have the memory that they forecast. A job that would fit if others
// had ended waits for them; one that would not fit by itself is refused.
type admissions struct {
	available func() int64 // bytes that there are for all jobs; nil or 0 for no limit

	mu    sync.Mutex
	jobs  map[*job]*admission
	freed chan struct{} // closed and replaced when a job ends or waits
}

// admission is what a job may take.
type admission struct {
	bytes int64
	waits bool // for others to end
}

// admit returns when there is memory for what a job is about to do.
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

// try admits a job, refuses it with an error, or returns a channel to wait for. Where all others
// wait, too, it decides as if it were alone: otherwise each might wait for another one.
func (m *admissions) try(j *job, what string, need int64, less []string) (freed <-chan struct{}, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.jobs == nil {
		m.jobs, m.freed = map[*job]*admission{}, make(chan struct{})
	}
	if m.jobs[j] == nil {
		m.jobs[j] = &admission{}
	}
	own, others, busy := m.jobs[j], int64(0), false
	for other, held := range m.jobs {
		if other != j {
			others += held.bytes
			busy = busy || held.bytes > 0 && !held.waits
		}
	}
	if refused := m.alone(what, need+others, less); refused == nil || !busy {
		if err = m.alone(what, need, less); err == nil {
			own.bytes, own.waits = max(own.bytes, need), false
		}
		return nil, err
	}
	if !own.waits {
		own.waits = true
		m.wake()
	}
	return m.freed, nil
}

// alone refuses what would need more memory than there is.
func (m *admissions) alone(what string, need int64, less []string) error {
	limit := int64(0)
	if m.available != nil {
		limit = m.available()
	}
	if limit == 0 || need <= limit {
		return nil
	}
	return fmt.Errorf("%s would need about %s, but %s of memory are available; try %s", what, bytesText(need), bytesText(limit), strings.Join(less, ", or "))
}

// largeJob is the memory from which on a job's is given back to the system at once: Go would keep
// it for a while, and the next job would find it missing.
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
