package worker

import (
	"encoding/json"
	"sync"
	"time"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/internal/wire"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/network"
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
// the folds of cross-fitting. An epoch tells how many folds a blend trains networks for.
func (c *call) training(networks func(network.Epoch) int) func(network.Epoch) {
	var mu sync.Mutex
	done := 0
	return func(e network.Epoch) {
		mu.Lock()
		defer mu.Unlock()
		done++
		of := e.Of * networks(e)
		c.report(wire.Progress{Stage: "training", Done: min(done, of), Of: of})
	}
}

// fitting returns a function that reports which model of a blend is being fitted: a stage for each learner but the
// network, whose epochs are reported. Most learners fit a model for each fold and one for all rows; some need fewer. A
// stage is complete when the next begins.
func (c *call) fitting() func(learner string, fold, folds int) {
	stage, begun := "", 0
	return func(name string, _, folds int) {
		all := folds + 1
		if next := "fitting " + name; next != stage {
			if stage != "" {
				c.report(wire.Progress{Stage: stage, Done: all, Of: all})
			}
			stage, begun = next, 0
		}
		if name == learner.NetworkName {
			stage = ""
			return
		}
		c.report(wire.Progress{Stage: stage, Done: begun % all, Of: all})
		begun++
	}
}
