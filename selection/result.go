package selection

import "time"

// Result is a batch and how it came about.
type Result struct {
	Method string `json:"method"`
	Mode   Mode   `json:"mode"`
	Device string `json:"device,omitempty"` // where the rows were searched; empty: on the CPU

	Picks     []Pick     `json:"picks"`     // the batch, in the order in which rows were picked
	Fallbacks []Fallback `json:"fallbacks"` // where the method found no row and random ones were picked
	Removed   []Removal  `json:"removed"`   // rows that a backward step removed, in that order

	// Runs are the groups of rows that share a value; empty without Constraints.Same.
	Runs []Run `json:"runs,omitempty"`

	// Missing is the number of rows by which the batch is smaller than requested,
	// Short the reason; zero and empty for a full batch.
	Missing int    `json:"missing"`
	Short   string `json:"short"`

	// Typical is the median distance of pool rows from their nearest training row, over at
	// most 256 rows that are spread over the pool: a unit for the distances of picks.
	// Without training rows it is 0.
	Typical float64 `json:"typical_distance"`

	Notes  []string `json:"notes"` // what else the user should know, such as ties
	Timing Timing   `json:"timing"`

	gain float64 // of a run (runs.go)
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

// Choice is a row and why it was chosen.
type Choice struct {
	Row     int
	Score   float64
	Cluster Cluster

	// Tied means that all candidates are equally good by the method's measure, and
	// that the row has the lowest number of them. The notes of the result say from
	// which step on that was so. A row that is drawn is not tied.
	Tied bool
}

// Pick is a row of the batch, and why it is there.
type Pick struct {
	Row   int     // of the pool
	Step  int     // the number of the step, from 1; removed rows have numbers, too
	Why   Why     // chosen by the method, or not
	Score float64 // what the method maximised; 0 if it did not choose the row
	Tied  bool    // all candidates were equally good, so the one with the lowest number was picked

	Cluster Cluster // for methods that have clusters: the one that the row came from

	Run int // the number of the run that the row belongs to, from 1; 0 without runs

	// Labelled is the training row that is nearest in the kernel, Distance its
	// distance. Without training rows Labelled is -1.
	Labelled int
	Distance float64
}

// Run is a part of the batch whose rows share a value of Constraints.Same.
type Run struct {
	Value int     `json:"value"`
	Rows  int     `json:"rows"`  // how many it has
	Gain  float64 `json:"gain"`  // what the value was chosen by (runs.go)
	Tried int     `json:"tried"` // how many values were compared
}

// Why is the reason why a row is in the batch.
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
// means none.
type Cluster struct {
	Centre   Centre
	Size     float64 // as the method measures it, over the unselected rows
	Rows     int     // how many of them there are
	Distance float64 // of the pick from the centre
}

// Centre is a selected row: a training row, a row of the batch, or a pending one.
type Centre struct {
	Set Set
	Row int
}

// Set names the rows that a number counts.
type Set int

const (
	NoSet Set = iota
	TrainSet
	PoolSet
	PendingSet // rows of the pool that are pending, numbered as in the pool
)

func (s Set) String() string { return [...]string{"none", "train", "pool", "pending"}[s] }

// Fallback reports that from some step on the method did not choose the rows, and why.
type Fallback struct {
	Step   int    `json:"step"`
	Reason string `json:"reason"`
	Rows   []int  `json:"rows"` // drawn at random instead
	Cut    []int  `json:"cut"`  // the latest picks, removed because there were too many
}

// Removal is a row that a backward step removed.
type Removal struct {
	Row    int
	Picked int     // the step that had picked it
	Step   int     // the step that removed it
	Score  float64 // what was minimised
}

// Timing is how long the parts of a selection took.
type Timing struct {
	Init     time.Duration `json:"init_ns"`  // checking the problem, and Init
	Train    time.Duration `json:"train_ns"` // adding training rows, pending rows and required rows
	Forward  time.Duration `json:"forward_ns"`
	Backward time.Duration `json:"backward_ns"`
	Report   time.Duration `json:"report_ns"` // finding the nearest labelled row of each pick
	Total    time.Duration `json:"total_ns"`
}
