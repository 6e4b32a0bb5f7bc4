package selection

// Method is a selection method. A value holds its settings; the state of a run is in
// the Forward that Init returns.
//
// To add a method, write a type with these two methods and a Forward with Add
// and Next; Select does the rest. Rows may be in float32 or in float64: a method sees
// numbers in float64 either way.
type Method interface {
	// Name is the method's name, as in a spec.
	Name() string
	// Init starts a selection on the rows of s: INIT of the paper's template.
	// It is called once per selection, and all methods of what it returns are
	// called from the same goroutine. s is valid until the selection ends.
	Init(s *Space) (Forward, error)
}

// Forward is the state of a selection in progress: ADD and NEXT of the paper's
// template for iterative selection.
type Forward interface {
	// Add counts rows as selected, in their order. They are candidates: pool
	// rows, and, from Space.PoolSize on, training rows. In mode TP all training
	// rows come first in one call, then the pending ones in one call, then the
	// required ones in one call, then each pick by itself, so that an
	// implementation can treat many at once.
	Add(candidates []int) error
	// Next returns the row to pick: one for which Space.Open holds; there is
	// always one. An error of type *Stuck means that no row can be
	// preferred; any other error ends the selection.
	Next() (Choice, error)
}

// Backward is a Forward that can take rows out again: the paper's template for
// forward-backward selection. More rows are picked than the batch has; then rows
// are removed until the batch remains.
type Backward interface {
	Forward
	// Extra is the number of rows to pick beyond a batch, at most room.
	Extra(batch, room int) int
	// NextBackward returns the row of the batch to remove. Rows for which
	// removable holds are eligible; there is always one.
	NextBackward(batch []int, removable func(row int) bool) (Choice, error)
	// Remove takes a row back.
	Remove(row int) error
}

// traits are what Select knows about a method of this package before Init. Methods of others
// have none: their rows are in memory, in one process, in the caller's unit.
type traits struct {
	anyUnit    bool // its picks do not change if all features are multiplied by one number
	noKernel   bool // it uses no kernel
	scored     bool // its score can be divided by costs (percost.go)
	replayable bool // Next changes no number that a later pick depends on (resume.go)
	byDiag     bool // it asks for nothing but the largest k(x, x)
	moments    bool // it asks for second moments of the rows
	inDouble   bool // it computes in float64
	inKernel   bool // it works in kernel space even if there are features

	gain func(score float64) float64 // what a row adds to the gain of a run, by its score; nil: nothing (runs.go)
}

// described is a method of this package.
type described interface{ traits() traits }

func traitsOf(m Method) traits {
	if ours, ok := m.(described); ok {
		return ours.traits()
	}
	return traits{}
}

// searchesOnDevice reports whether a method can search rows on a device: those of this package can, unless they read
// rows of the kernel matrix, which are computed in memory, or need no features at all.
func searchesOnDevice(m Method) bool {
	ours, ok := m.(described)
	return ok && !ours.traits().noKernel && !ours.traits().inKernel
}

// ReadsSingle reports whether a method takes Problem.Single.
func ReadsSingle(m Method) bool { return traitsOf(m).inDouble && !traitsOf(m).inKernel }
