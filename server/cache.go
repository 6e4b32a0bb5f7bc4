package server

import (
	"container/list"
	"sync"
)

// cache keeps what is costly to compute, up to a number of bytes; what was used longest
// ago goes first. A value is computed by one goroutine while others wait for it.
type cache struct {
	most int64

	mu    sync.Mutex
	bytes int64
	order list.List // of *cached, the last used first
	byKey map[any]*list.Element
}

type cached struct {
	key   any
	once  sync.Once
	value any
	bytes int64
	err   error
}

// cacheGet returns the value of a key, which make computes with the bytes that it takes.
func cacheGet[V any](c *cache, key any, make func() (V, int64, error)) (V, error) {
	e := c.entry(key)
	e.once.Do(func() {
		v, bytes, err := make()
		e.value, e.err = v, err
		c.grow(e, bytes)
	})
	if e.err != nil {
		c.drop(key, e)
	}
	v, _ := e.value.(V)
	return v, e.err
}

func (c *cache) entry(key any) *cached {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, there := c.byKey[key]; there {
		c.order.MoveToFront(at)
		return at.Value.(*cached)
	}
	if c.byKey == nil {
		c.byKey = map[any]*list.Element{}
	}
	e := &cached{key: key}
	c.byKey[key] = c.order.PushFront(e)
	return e
}

// grow counts the bytes of a new value, and drops old ones.
func (c *cache) grow(e *cached, bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at := c.byKey[e.key]; at == nil || at.Value != e {
		return // dropped in the meantime
	}
	const entry = 200 // bytes of its own, about
	e.bytes = bytes + entry
	c.bytes += e.bytes
	for c.bytes > c.most && c.order.Len() > 1 {
		c.remove(c.order.Back())
	}
}

// drop forgets a value that could not be computed.
func (c *cache) drop(key any, e *cached) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at := c.byKey[key]; at != nil && at.Value == e {
		c.remove(at)
	}
}

func (c *cache) remove(at *list.Element) {
	e := c.order.Remove(at).(*cached)
	delete(c.byKey, e.key)
	c.bytes -= e.bytes
}
