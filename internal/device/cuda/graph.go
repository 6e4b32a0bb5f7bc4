//go:build linux && (amd64 || arm64)

package cuda

import "unsafe"

// capture records what record launches as a graph, which replay starts as a whole. It is
// zero if something failed.
func (q *queue) capture(record func()) (exec uintptr) {
	const relaxed = 2 // goroutines move between threads
	q.do(func() error { return q.card.driver.call("cuStreamBeginCapture_v2", q.stream, relaxed) })
	if q.err != nil {
		return 0
	}
	record()
	var graph uintptr
	err := q.card.locked(func() error {
		return q.card.driver.call("cuStreamEndCapture", q.stream, uintptr(unsafe.Pointer(&graph)))
	})
	q.do(func() error {
		if err != nil {
			return err
		}
		return q.card.driver.call("cuGraphInstantiateWithFlags", uintptr(unsafe.Pointer(&exec)), graph, 0)
	})
	if graph != 0 {
		q.card.locked(func() error { return q.card.driver.call("cuGraphDestroy", graph) })
	}
	return exec
}

// replay starts a graph.
func (q *queue) replay(exec uintptr) {
	q.do(func() error { return q.card.driver.call("cuGraphLaunch", exec, q.stream) })
}

// dropGraph frees a graph after all work has ended.
func (q *queue) dropGraph(exec uintptr) {
	q.wait()
	if exec != 0 {
		q.card.locked(func() error { return q.card.driver.call("cuGraphExecDestroy", exec) })
	}
}

// newEvent returns an event, which marks a place in the queue.
func (q *queue) newEvent() (event uintptr) {
	const disableTiming = 2
	q.do(func() error {
		return q.card.driver.call("cuEventCreate", uintptr(unsafe.Pointer(&event)), disableTiming)
	})
	return event
}

func (q *queue) record(event uintptr) {
	q.do(func() error { return q.card.driver.call("cuEventRecord", event, q.stream) })
}

// await waits for what was in the queue before an event.
func (q *queue) await(event uintptr) error {
	q.do(func() error { return q.card.driver.call("cuEventSynchronize", event) })
	return q.err
}

func (q *queue) dropEvent(event uintptr) {
	if event != 0 {
		q.card.locked(func() error { return q.card.driver.call("cuEventDestroy_v2", event) })
	}
}
