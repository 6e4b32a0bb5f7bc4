package sqlitefile

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

// A process that works on a file signals every Heartbeat that it is alive. One that has
// not done so for the length of a Lease no longer counts, nor does one of this machine
// that no longer exists.
const (
	Heartbeat = 10 * time.Second
	Lease     = 60 * time.Second
)

// Presence is where a process runs, and when it last signalled.
type Presence struct {
	Host string
	PID  int
	Seen int64 // as Now tells it
}

// Beat signals by a function until it is told to stop, and returns what stops it. A signal may fail, as the next may
// succeed; if none does, others notice that this process is gone.
func Beat(signal func(ctx context.Context)) (stop func()) {
	ctx, end := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(Heartbeat)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				signal(ctx)
			}
		}
	}()
	return func() {
		end()
		<-done
	}
}

// Now is the time in milliseconds since 1970.
func Now() int64 { return time.Now().UnixMilli() }

// Working reports whether the process may still be working. A dead process on this
// machine is noticed at once, one elsewhere only when its lease ends.
func (p Presence) Working() bool {
	if here, err := os.Hostname(); err == nil && here == p.Host && !Alive(p.PID) {
		return false
	}
	ago := time.Duration(Now()-p.Seen) * time.Millisecond
	return -Lease < ago && ago < Lease // one that works signals again soon after the clock was set back
}

// Alive reports whether there is such a process on this machine.
func Alive(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer p.Release()
	return !errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
}
