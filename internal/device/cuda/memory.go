//go:build linux && (amd64 || arm64)

package cuda

import (
	"math/bits"
	"unsafe"
)

// Memory that work takes and gives back. The plain functions of the driver wait for all work on
// the card when they free, so runs beside each other would wait for one another all the time.
// The driver's pool keeps to the order of a stream instead, and pinned memory is kept here.

// memoryPool is the driver's pool of the card; zero if it has none.
type memoryPool uintptr

// openPool finds the pool, and has it keep what is given back as long as some is in use.
func (c *Card) openPool(device uintptr) error {
	const supported, releaseThreshold = 115, 4
	var has int32
	if err := c.driver.call("cuDeviceGetAttribute", uintptr(unsafe.Pointer(&has)), supported,
		device); err != nil || has == 0 {
		return err
	}
	if err := c.driver.call("cuDeviceGetDefaultMemPool", uintptr(unsafe.Pointer(&c.pool)), device); err != nil {
		return err
	}
	keep := uint64(c.limit)
	return c.driver.call("cuMemPoolSetAttribute", uintptr(c.pool), releaseThreshold, uintptr(unsafe.Pointer(&keep)))
}

// take returns memory of the card for work on a stream, or on others once this one has been
// waited for.
func (c *Card) take(bytes int, stream uintptr) (at pointer, err error) {
	if c.pool == 0 {
		err = c.driver.call("cuMemAlloc_v2", uintptr(unsafe.Pointer(&at)), uintptr(bytes))
	} else {
		err = c.driver.call("cuMemAllocAsync", uintptr(unsafe.Pointer(&at)), uintptr(bytes), stream)
	}
	return at, err
}

// give gives memory back after work on it has ended.
func (c *Card) give(at pointer, stream uintptr) error {
	if c.pool == 0 {
		return c.driver.call("cuMemFree_v2", uintptr(at))
	}
	return c.driver.call("cuMemFreeAsync", uintptr(at), stream)
}

// trim leaves the memory to other programs if nothing uses it.
func (c *Card) trim() error {
	c.mu.Lock()
	idle := c.pool != 0 && c.used == 0
	c.mu.Unlock()
	if !idle {
		return nil
	}
	return c.driver.call("cuMemPoolTrimTo", uintptr(c.pool), 0)
}

// hostBlock is pinned memory of 1<<class bytes.
type hostBlock struct {
	at    unsafe.Pointer
	class int
}

// takePinned returns pinned memory of at least the given number of bytes.
func (c *Card) takePinned(bytes int) (b hostBlock, err error) {
	b.class = bits.Len(uint(max(bytes, 64) - 1))
	c.mu.Lock()
	if free := c.pinned[b.class]; len(free) > 0 {
		b.at, c.pinned[b.class] = free[len(free)-1], free[:len(free)-1]
	}
	c.mu.Unlock()
	if b.at != nil {
		return b, nil
	}
	const portableMapped = 3
	err = c.driver.call("cuMemHostAlloc", uintptr(unsafe.Pointer(&b.at)), 1<<b.class, portableMapped)
	return b, err
}

// givePinned keeps pinned memory for others.
func (c *Card) givePinned(b hostBlock) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pinned[b.class] = append(c.pinned[b.class], b.at)
}

// freePinned frees all pinned memory that was given back.
func (c *Card) freePinned() {
	for class, free := range c.pinned {
		for _, at := range free {
			c.driver.call("cuMemFreeHost", uintptr(at))
		}
		delete(c.pinned, class)
	}
}
