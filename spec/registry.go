package spec

import (
	"fmt"
	"slices"
	"sync"
)

// The registry knows every method, kernel and transformation by name: what it
// needs, and how to construct it. All other code that depends on one of them
// asks here. The two are kept apart, because a type that mentions how a method is
// constructed makes every package that reads it compile the engine again.

// registered is a MethodInfo, a KernelInfo or a TransformInfo.
type registered interface {
	name() string
	fault() string // what is wrong with the entry, or ""
}

// registry holds entries in the order of their registration. It is safe for
// concurrent use.
type registry[E registered] struct {
	kind  string
	mutex sync.RWMutex
	list  []E
	place map[string]int
}

func newRegistry[E registered](kind string, list ...E) *registry[E] {
	r := &registry[E]{kind: kind, place: map[string]int{}}
	for _, e := range list {
		r.add(e)
	}
	return r
}

// add panics with a *RegistrationError if the entry is malformed or its name is
// taken.
func (r *registry[E]) add(e E) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	name := e.name()
	if !wellFormed(name) {
		r.refuse(name,
			"a name has only lower-case letters, digits and single hyphens, starts with a letter, and has at most %d characters",
			longestName)
	}
	if _, taken := r.place[name]; taken {
		r.refuse(name, "the name is taken")
	}
	if why := e.fault(); why != "" {
		r.refuse(name, "%s", why)
	}
	r.place[name] = len(r.list)
	r.list = append(r.list, e)
}

func (r *registry[E]) refuse(name, format string, args ...any) {
	panic(&RegistrationError{Kind: r.kind, Name: name, Reason: fmt.Sprintf(format, args...)})
}

// require rejects an entry that cannot be constructed in float64, in which every kernel and
// method may have to compute.
func (r *registry[E]) require(name string, double bool) {
	if !double {
		r.refuse(name, "Double is missing: it constructs the %s in float64", r.kind)
	}
}

func (r *registry[E]) find(name string) (e E, ok bool) {
	r.mutex.RLock()
	defer r.mutex.RUnlock()
	i, ok := r.place[name]
	if !ok {
		return e, false
	}
	return r.list[i], true
}

// order returns the position of a name in the list, or the length of the list.
func (r *registry[E]) order(name string) int {
	r.mutex.RLock()
	defer r.mutex.RUnlock()
	if i, ok := r.place[name]; ok {
		return i
	}
	return len(r.list)
}

func (r *registry[E]) all() []E {
	r.mutex.RLock()
	defer r.mutex.RUnlock()
	return slices.Clone(r.list)
}

func (r *registry[E]) names() (names []string) {
	for _, e := range r.all() {
		names = append(names, e.name())
	}
	return names
}

// RegistrationError is what the Register functions panic with.
type RegistrationError struct {
	Kind   string // method, kernel or transform
	Name   string
	Reason string
}

func (e *RegistrationError) Error() string {
	return fmt.Sprintf("spec: the %s %q cannot be registered: %s", e.Kind, e.Name, e.Reason)
}

// makers holds how entries are constructed, by name. It is safe for concurrent use.
type makers[M any] struct {
	mutex  sync.RWMutex
	byName map[string]M
}

func (m *makers[M]) put(name string, maker M) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.byName == nil {
		m.byName = map[string]M{}
	}
	m.byName[name] = maker
}

func (m *makers[M]) find(name string) M {
	m.mutex.RLock()
	defer m.mutex.RUnlock()
	return m.byName[name]
}
