package server

import (
	"container/list"
	"sync"
)

// cache keeps values that are costly to compute, up to a number of bytes, which includes the
// keys; the least recently used are dropped first. A value is computed by one goroutine while
// others wait for it. Values belong to groups, such as the lists of a campaign's rows: those of
// an outdated version are dropped.
type cache struct {
	most int64

	mu     sync.Mutex
	bytes  int64
	order  list.List // of *cached, the last used first
	groups map[string]*cacheGroup
}

// cacheKey names a value.
type cacheKey struct {
	group   string
	version any    // comparable: what all values of the group depend on
	text    string // the rest
}

// cacheGroup is the values of one version.
type cacheGroup struct {
	version any
	byText  map[string]*list.Element
}

type cached struct {
	key   cacheKey
	ready chan struct{} // closed when there is a value or an error
	value any
	bytes int64
	err   error
}

// cacheGet returns the value of a key, which make computes with the bytes that it takes.
func cacheGet[V any](c *cache, key cacheKey, make func() (V, int64, error)) (V, error) {
	e, first := c.entry(key)
	if first {
		cacheMake(c, e, make)
	}
	<-e.ready
	v, _ := e.value.(V)
	return v, e.err
}

// cacheMake computes the value of an entry. An entry without one, because of an error or a
// panic, is dropped, so that the next caller tries again.
func cacheMake[V any](c *cache, e *cached, make func() (V, int64, error)) {
	e.err = errFault // for those who wait, if it panics
	defer close(e.ready)
	defer func() {
		if e.err != nil {
			c.drop(e)
		}
	}()
	v, bytes, err := make()
	e.value, e.err = v, err
	c.grow(e, bytes)
}

// entry returns the entry of a key, and whether it is new.
func (c *cache) entry(key cacheKey) (e *cached, first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.group(key)
	if at, there := g.byText[key.text]; there {
		c.order.MoveToFront(at)
		return at.Value.(*cached), false
	}
	e = &cached{key: key, ready: make(chan struct{})}
	g.byText[key.text] = c.order.PushFront(e)
	return e, true
}

// group returns the group of a key, without values of other versions.
func (c *cache) group(key cacheKey) *cacheGroup {
	g := c.groups[key.group]
	if g != nil && g.version != key.version {
		for _, at := range g.byText {
			c.remove(at) // the group goes with its last value
		}
	}
	if g = c.groups[key.group]; g == nil {
		if c.groups == nil {
			c.groups = map[string]*cacheGroup{}
		}
		g = &cacheGroup{key.version, map[string]*list.Element{}}
		c.groups[key.group] = g
	}
	return g
}

// at returns the place of an entry, or nil if it was dropped in the meantime.
func (c *cache) at(e *cached) *list.Element {
	if g := c.groups[e.key.group]; g != nil {
		if at := g.byText[e.key.text]; at != nil && at.Value == e {
			return at
		}
	}
	return nil
}

// grow counts the bytes of a new value, and drops old ones.
func (c *cache) grow(e *cached, bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at(e) == nil {
		return
	}
	const entry = 400 // bytes of its own, about
	e.bytes = bytes + int64(len(e.key.group)+len(e.key.text)) + entry
	c.bytes += e.bytes
	for c.bytes > c.most && c.order.Len() > 1 {
		c.remove(c.order.Back())
	}
}

// drop drops a value that could not be computed.
func (c *cache) drop(e *cached) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at := c.at(e); at != nil {
		c.remove(at)
	}
}

func (c *cache) remove(at *list.Element) {
	e := c.order.Remove(at).(*cached)
	c.bytes -= e.bytes
	g := c.groups[e.key.group]
	if delete(g.byText, e.key.text); len(g.byText) == 0 {
		delete(c.groups, e.key.group)
	}
}
