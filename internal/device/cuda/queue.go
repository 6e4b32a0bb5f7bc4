//go:build linux && (amd64 || arm64)

package cuda

import (
	"errors"
	"runtime"
	"sync"
	"unsafe"

	"github.com/nextbatch/nextbatch/matrix"
)

// pointer is an address in the memory of a card.
type pointer uintptr

// buffer is memory of a card.
type buffer struct {
	at    pointer
	bytes int64
}

// queue is a stream of work on a card with the memory that the work uses. After a failure
// it does nothing; err keeps the first one. One goroutine at a time uses it.
type queue struct {
	card    *Card
	stream  uintptr
	buffers []buffer
	host    []hostBlock
	args    *arguments
	idle    bool   // all work is known to have ended
	less    string // see MemoryError
	err     error
}

func (c *Card) newQueue() *queue {
	q := &queue{card: c, args: new(arguments)}
	const nonBlocking = 1
	q.do(func() error {
		return c.driver.call("cuStreamCreate", uintptr(unsafe.Pointer(&q.stream)), nonBlocking)
	})
	return q
}

// do runs calls of the driver, unless something has failed before.
func (q *queue) do(f func() error) {
	q.idle = false
	if q.err == nil {
		q.err = q.card.locked(f)
	}
}

// close waits for the work and frees the memory.
func (q *queue) close() {
	q.card.locked(func() error {
		d := q.card.driver
		d.call("cuStreamSynchronize", q.stream)
		for _, b := range q.buffers {
			q.card.give(b.at, q.stream)
			q.card.reserve(-b.bytes)
		}
		for _, b := range q.host {
			q.card.givePinned(b)
		}
		q.card.trim()
		return d.call("cuStreamDestroy_v2", q.stream)
	})
	q.buffers, q.host = nil, nil
	if q.err == nil {
		q.err = errors.New("cuda: the queue is closed")
	}
}

// alloc returns memory of the card, which is zero.
func (q *queue) alloc(bytes int) pointer {
	bytes = max(bytes, 16)
	var at pointer
	q.do(func() (err error) {
		if err := q.card.reserve(int64(bytes)); err != nil {
			if m := (*MemoryError)(nil); errors.As(err, &m) {
				m.Less = q.less
			}
			return err
		}
		if at, err = q.card.take(bytes, q.stream); err != nil {
			return errors.Join(err, q.card.reserve(-int64(bytes)))
		}
		q.buffers = append(q.buffers, buffer{at, int64(bytes)})
		return q.card.driver.call("cuMemsetD8Async", uintptr(at), 0, uintptr(bytes), q.stream)
	})
	return at
}

// free gives memory back before the queue ends.
func (q *queue) free(at pointer) {
	q.do(func() error {
		for i, b := range q.buffers {
			if b.at != at {
				continue
			}
			q.buffers = append(q.buffers[:i], q.buffers[i+1:]...)
			return errors.Join(q.card.driver.call("cuStreamSynchronize", q.stream), q.card.give(at, q.stream),
				q.card.reserve(-b.bytes))
		}
		return nil
	})
}

// clear sets memory to a byte.
func (q *queue) clear(at pointer, bytes int, to byte) {
	q.do(func() error {
		return q.card.driver.call("cuMemsetD8Async", uintptr(at), uintptr(to), uintptr(bytes), q.stream)
	})
}

// pinned returns memory of the host that the card can read and write.
func pinned[E any](q *queue, n int) []E {
	var zero E
	var b hostBlock
	q.do(func() (err error) {
		if b, err = q.card.takePinned(int(unsafe.Sizeof(zero)) * n); err == nil {
			q.host = append(q.host, b)
		}
		return err
	})
	if b.at == nil {
		return make([]E, n) // the queue has failed: nothing reads it
	}
	s := unsafe.Slice((*E)(b.at), n)
	clear(s)
	return s
}

// address returns the address of pinned memory for the card.
func address[E any](s []E) pointer { return pointer(unsafe.Pointer(unsafe.SliceData(s))) }

// wait waits for all work.
func (q *queue) wait() error {
	if !q.idle {
		q.do(func() error { return q.card.driver.call("cuStreamSynchronize", q.stream) })
		q.idle = true
	}
	return q.err
}

// send copies to the card. The memory must be pinned, or not change until wait.
func send[E any](q *queue, to pointer, from []E) {
	if len(from) == 0 {
		return
	}
	bytes := unsafe.Sizeof(from[0]) * uintptr(len(from))
	q.do(func() error {
		return q.card.driver.call("cuMemcpyHtoDAsync_v2", uintptr(to), uintptr(unsafe.Pointer(&from[0])), bytes, q.stream)
	})
	runtime.KeepAlive(from)
}

// fetch copies from the card, and waits.
func fetch[E any](q *queue, to []E, from pointer) error {
	if len(to) > 0 {
		bytes := unsafe.Sizeof(to[0]) * uintptr(len(to))
		q.do(func() error {
			return q.card.driver.call("cuMemcpyDtoHAsync_v2", uintptr(unsafe.Pointer(&to[0])), uintptr(from), bytes, q.stream)
		})
	}
	err := q.wait()
	runtime.KeepAlive(to)
	return err
}

// grid is the shape of a launch.
type grid struct{ x, y, z, threads, shared int }

// warps is a grid with a warp for each of n rows, as many as fill the card.
func (q *queue) warps(n int) grid {
	g := q.over(n, passThreads/32)
	g.threads = passThreads
	return g
}

// over is a grid of blocks over n items, as many as fill the card if more would follow.
func (q *queue) over(n, threads int) grid {
	return grid{x: max(1, min((n+threads-1)/threads, 8*q.card.processors)), threads: threads}
}

// mostShared is the shared memory that every kernel may be launched with, besides up to 1 KiB of
// its own.
const mostShared = 47 << 10

// pass is the grid of a pass over n rows that keeps vectors of shared bytes in shared memory,
// if they fit.
func (q *queue) pass(n, shared int) grid {
	if shared > mostShared {
		shared = 0
	}
	perBlock := passThreads / 32 * warpRows
	return grid{x: max(1, min((n+perBlock-1)/perBlock, 6*q.card.processors)), threads: passThreads, shared: shared}
}

// launch starts a kernel.
func (q *queue) launch(kernel string, g grid, args ...any) {
	if q.err != nil {
		return
	}
	q.args.reset()
	for _, a := range args {
		q.args.add(a)
	}
	q.do(func() error {
		f, err := q.card.function(kernel)
		if err != nil {
			return err
		}
		return q.card.driver.call("cuLaunchKernel", f, uintptr(g.x), uintptr(max(g.y, 1)), uintptr(max(g.z, 1)),
			uintptr(g.threads), 1, 1,
			uintptr(g.shared), q.stream, uintptr(unsafe.Pointer(&q.args.pointers[0])), 0)
	})
}

// padded is the number of columns of rows on the card: a multiple of four.
func padded(cols int) int { return (cols + 3) / 4 * 4 }

// stage is pinned memory and a stream, for copies to the card.
type stage struct {
	*queue
	bytes []byte
}

const (
	stageBytes  = 2 << 20
	mostCopying = 12 // goroutines: more share the same memory bandwidth
)

// takeStage returns a stage that nobody uses, and giveStage gives it back: pinned memory
// takes long to allocate. A stage that has failed would fail again, so it is closed.
func (c *Card) takeStage() *stage {
	c.mu.Lock()
	if n := len(c.stages); n > 0 {
		s := c.stages[n-1]
		c.stages = c.stages[:n-1]
		c.mu.Unlock()
		return s
	}
	c.mu.Unlock()
	s := &stage{queue: c.newQueue()}
	s.bytes = pinned[byte](s.queue, stageBytes)
	return s
}

func (c *Card) giveStage(s *stage) {
	if s.err != nil {
		s.close()
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stages = append(c.stages, s)
}

// sendRows copies rows to the card, padded with zeros.
func sendRows[T matrix.Float](q *queue, rows matrix.Dense[T]) pointer {
	at := q.alloc(rows.Rows * padded(rows.Cols) * sizeOf[T]())
	sendRowsTo(q, at, rows)
	return at
}

// sendRowsTo is sendRows to memory that is there.
func sendRowsTo[T matrix.Float](q *queue, at pointer, rows matrix.Dense[T]) {
	if rows.Rows > 0 && q.wait() == nil { // work on that memory has ended
		q.do(func() error { return copyRows(q.card, at, rows) })
	}
}

// copyRows copies rows to memory that no work uses. Several goroutines copy through pinned
// memory, because that is faster than one and than the driver's own way. Each has two
// stages: while one is on its way to the card, the other is filled.
func copyRows[T matrix.Float](c *Card, at pointer, rows matrix.Dense[T]) error {
	size, ld := sizeOf[T](), padded(rows.Cols)
	each := max(1, stageBytes/(ld*size))
	pieces := (rows.Rows + each - 1) / each
	workers := min(pieces, mostCopying, runtime.GOMAXPROCS(0))
	errs := make([]error, 2*workers)
	var wait sync.WaitGroup
	for w := range workers {
		wait.Go(func() {
			sides := [2]*stage{c.takeStage(), c.takeStage()}
			for turn, piece := 0, w; piece < pieces; turn, piece = turn+1, piece+workers {
				from := piece * each
				sendPart(sides[turn%2], at+pointer(from*ld*size), rows.Slice(from, min(from+each, rows.Rows)), ld)
			}
			for i, s := range sides {
				errs[2*w+i] = s.wait()
				c.giveStage(s)
			}
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}

// sendPart copies some rows through a stage, after what it sent before. A row may be longer
// than the stage.
func sendPart[T matrix.Float](s *stage, to pointer, rows matrix.Dense[T], ld int) {
	s.wait()
	if rows.Rows*ld*sizeOf[T]() > stageBytes {
		padded := make([]T, ld)
		copy(padded, rows.Row(0))
		send(s.queue, to, padded)
		s.wait()
		return
	}
	staged := unsafe.Slice((*T)(unsafe.Pointer(&s.bytes[0])), rows.Rows*ld)
	for i := range rows.Rows {
		clear(staged[i*ld+copy(staged[i*ld:], rows.Row(i)) : (i+1)*ld])
	}
	send(s.queue, to, staged)
}
