package selection

import "time"

// Result is a batch and how it came about.
type Result struct {
	Method string
	Mode   Mode

	Picks     []Pick     // the batch, in the order in which rows were picked
	Fallbacks []Fallback // where the method found no row and others were taken
	Removed   []Removal  // rows that a backward step took out again, in that order

	// Missing is the number of rows by which the batch is short of what was
	// asked for, Short the reason; zero and empty for a full batch.
	Missing int
	Short   string

	Notes  []string // what else is worth knowing, such as a matrix that needed help
	Timing Timing
}

// Rows returns the pool rows of the batch, in the order in which they were
// picked.
func (r *Result) Rows() []int {
	rows := make([]int, len(r.Picks))
	for i, p := range r.Picks {
		rows[i] = p.Row
	}
	return rows
}

// Pick is a row of the batch, and why it is there.
type Pick struct {
	Row   int     // of the pool
	Step  int     // the number of the step, from 1; removed rows have had theirs too
	Why   Why     // chosen by the method, or not
	Score float64 // what the method maximised; 0 if it was not asked
	Tied  bool    // no candidate was better than others, so this one has the lowest number

	Cluster Cluster // for methods that have clusters: the one that the row came from

	// Labelled is the training row that is nearest in the kernel, Distance how
	// far it is. Without training rows it is -1.
	Labelled int
	Distance float64
}

// Why says how a row came into the batch.
type Why int

const (
	Chosen   Why = iota // by the method
	Required            // by the constraints
	Filled              // drawn at random, because the method found none
)

func (w Why) String() string {
	return [...]string{"chosen", "required", "filled"}[w]
}

// Cluster is a selected row with the rows that are nearest to it. The zero value
// stands for none.
type Cluster struct {
	Centre   Centre
	Size     float64 // what the method measures a cluster by, over the unselected rows
	Rows     int     // how many of them there are
	Distance float64 // of the pick from the centre
}

// Centre is a selected row: a training row, a row of the batch, or a pending one.
type Centre struct {
	Set Set
	Row int
}

// Set tells rows apart.
type Set int

const (
	NoSet Set = iota
	TrainSet
	PoolSet
	PendingSet // of the pool, too, and numbered as there
)

func (s Set) String() string { return [...]string{"none", "train", "pool", "pending"}[s] }

// Fallback says that from a step on rows were not taken by the method, and why.
type Fallback struct {
	Step   int
	Reason string
	Rows   []int // that were drawn at random instead
	Cut    []int // that were taken out as the latest, where too many had been selected
}

// Removal is a row that a backward step took out.
type Removal struct {
	Row    int
	Picked int     // the step that had picked it
	Step   int     // the step that removed it
	Score  float64 // what was minimised
}

// Timing is how long the parts of a selection took.
type Timing struct {
	Init     time.Duration // checking the problem, and Init
	Train    time.Duration // adding training rows, pending rows and required rows
	Forward  time.Duration
	Backward time.Duration
	Report   time.Duration // what the result says about each pick
	Total    time.Duration
}
