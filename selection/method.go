package selection

import "github.com/nextbatch/nextbatch/matrix"

// Method is a selection method. A value holds its settings; what a run needs to
// remember is in the Forward that Init returns.
//
// To add a method, write a type with these two methods and a Forward with Add
// and Next; Select does the rest.
type Method[T matrix.Float] interface {
	// Name is the method's name, as in a spec.
	Name() string
	// Init starts a selection on the rows of s: INIT of the paper's template.
	// It is called once for each selection, from one goroutine, as are all
	// methods of what it returns. s is valid until the selection ends.
	Init(s *Space[T]) (Forward, error)
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
	// always one. An error of type *Stuck says that no row is better than
	// others; any other error ends the selection.
	Next() (Choice, error)
}

// Choice is a row, and what speaks for it.
type Choice struct {
	Row     int
	Score   float64
	Cluster Cluster

	// Tied says that nothing speaks for the row: by the method's measure it is
	// worth nothing, as are all other candidates, and it has the lowest number of
	// them. The notes of the result say from which step on that was so. A row that
	// is drawn is not tied.
	Tied bool
}

// Backward is a Forward that can take rows out again: the paper's template for
// forward-backward selection. More rows are picked than the batch has; then rows
// are removed until the batch remains.
type Backward interface {
	Forward
	// Extra is how many rows to pick beyond a batch, when at most room more
	// could be.
	Extra(batch, room int) int
	// NextBackward returns the row of the batch to remove. Rows for which
	// removable holds are eligible; there is always one.
	NextBackward(batch []int, removable func(row int) bool) (Choice, error)
	// Remove takes a row back.
	Remove(row int) error
}
