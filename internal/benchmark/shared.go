package benchmark

import "sync"

// shared holds values that several runs read at once. A value is made on first
// use, and dropped when it is no longer used, except for the most recent one:
// the next run often needs it again.
type shared[K comparable, V any] struct {
	mu      sync.Mutex
	entries map[K]*sharedValue[V]
	last    K // the key that was released last
}

type sharedValue[V any] struct {
	users int
	once  sync.Once
	value V
	err   error
}

// get returns the value for the key, and makes it if there is none. Each get must
// be followed by a release.
func (s *shared[K, V]) get(key K, make func() (V, error)) (V, error) {
	s.mu.Lock()
	if s.entries == nil {
		s.entries = map[K]*sharedValue[V]{}
	}
	e := s.entries[key]
	if e == nil {
		e = &sharedValue[V]{}
		s.entries[key] = e
	}
	e.users++
	s.mu.Unlock()
	e.once.Do(func() { e.value, e.err = make() })
	return e.value, e.err
}

func (s *shared[K, V]) release(key K) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entries[key].users--
	if old := s.entries[s.last]; s.last != key && old != nil && old.users == 0 {
		delete(s.entries, s.last)
	}
	s.last = key
}
