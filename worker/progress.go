package worker

import (
	"encoding/json"
	"sync"
	"time"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/wire"
)

// betweenReports is short enough to look smooth, and long enough to cost nothing.
const betweenReports = 50 * time.Millisecond

// progress returns a function that reports to the client, at most every 50 ms and at
// the end of each stage. It may be called from several goroutines.
func (c *connection) progress(id uint64) func(wire.Progress) {
	var mu sync.Mutex
	var last time.Time
	return func(p wire.Progress) {
		mu.Lock()
		defer mu.Unlock()
		if now := time.Now(); p.Done < p.Of && now.Sub(last) < betweenReports {
			return
		} else {
			last = now
		}
		body, _ := json.Marshal(p) // numbers and a word always marshal
		c.send(Frame{Header: Header{ID: id, Kind: "progress", Body: body}})
	}
}

// picking reports the progress of a selection.
func (c *call) picking(p nextbatch.Progress) {
	c.report(wire.Progress{Stage: string(p.Stage), Done: p.Done, Of: p.Of})
}

// training returns a function that reports epochs, counted over the networks and over
// the folds of cross-fitting.
func (c *call) training(networks func() int) func(network.Epoch) {
	var mu sync.Mutex
	done := 0
	return func(e network.Epoch) {
		mu.Lock()
		defer mu.Unlock()
		done++
		c.report(wire.Progress{Stage: "training", Done: done, Of: e.Of * networks()})
	}
}
