// Package limits holds what a batch must meet, in the words of the person who asks for it: what it may cost, how many
// rows of a group it may have, which rows share a value, what is measured more than once, and which rows must, or may
// not, be in it.
package limits

import (
	"math"
	"slices"

	"github.com/nextbatch/nextbatch/internal/plate"
)

// Limits are conditions on the batch as a whole. Requests and the settings of a campaign have them.
type Limits struct {
	CostColumn  string   `json:"cost_column,omitempty"`
	Budget      *float64 `json:"budget,omitempty"`   // most that one batch may cost; needs CostColumn
	PerCost     bool     `json:"per_cost,omitempty"` // divide the scores of rows by their costs; needs CostColumn
	GroupColumn string   `json:"group_column,omitempty"`
	PerGroup    int      `json:"per_group,omitempty"` // most rows of any group in one batch; needs GroupColumn
	// fewest rows of every group or, with MaxGroups, of each in the batch
	MinPerGroup  int  `json:"min_per_group,omitempty"`
	MaxGroups    int  `json:"at_most_groups,omitempty"` // most groups that one batch has rows of
	GroupIsInput bool `json:"group_is_input,omitempty"` // the groups are learnt from, too

	// Same are columns whose values all rows of a run share. A batch is Runs runs of equally many rows (one more in
	// the first ones, if the number does not divide the batch); 0 means one run.
	Same []string `json:"same,omitempty"`
	Runs int      `json:"runs,omitempty"`

	// Replicates is how often each pick is measured: a batch of 96 with three replicates has 32 rows. ReplicateShare
	// is the share of the batch that measures labelled rows once more. The size of the batch and the budget count
	// measurements.
	Replicates     int     `json:"replicates,omitempty"` // 0 means once
	ReplicateShare float64 `json:"replicate_share,omitempty"`
}

// Layout is where the measurements of a batch go on plates.
type Layout = plate.Layout

// Ask is what one batch must hold.
type Ask struct {
	Batch int // measurements; 0 means as many as fit into the budget
	Limits
	// Repeated, unless nil, are the labelled rows of the batch that are measured once more. Nil means that they are
	// drawn, by ReplicateShare.
	Repeated *Repeated

	Layout  Layout   // wells of plates for the measurements of the batch
	Pending []string // rows that are out being labelled, by name
	Must    []string // rows that must be in the batch, by name
	Exclude []string // rows that may not be picked, by name
}

// Repeated are labelled rows that the caller has chosen to measure once more: how many, and what they cost.
type Repeated struct {
	Rows int
	Cost float64
}

// Limit is a limit that is a number, under the name of its field; 0 is none.
type Limit struct {
	Field string
	Is    int
}

// OfGroups returns the limits on the rows of a group, and on the number of groups.
func (l *Limits) OfGroups() []Limit {
	return []Limit{{"PerGroup", l.PerGroup}, {"MinPerGroup", l.MinPerGroup}, {"MaxGroups", l.MaxGroups}}
}

// Grouped reports whether the numbers of groups, or of rows in a group, are limited.
func (l *Limits) Grouped() bool { return slices.ContainsFunc(l.OfGroups(), Limit.Given) }

// Given reports whether there is such a limit.
func (n Limit) Given() bool { return n.Is != 0 }

// MeasuresAgain reports whether any row is measured more than once.
func (l *Limits) MeasuresAgain() bool { return l.Replicates > 1 || l.ReplicateShare > 0 }

// Times is how often each pick is measured.
func (l *Limits) Times() int { return max(1, l.Replicates) }

// Repeats is how many of so many measurements are of labelled rows, once more.
func (l *Limits) Repeats(lines int) int {
	return int(math.Floor(float64(lines)*l.ReplicateShare + 0.5))
}

// Division is how the measurements of a batch divide into rows, each measured so many times, and labelled rows that are
// measured once more.
type Division struct{ Rows, Times, Repeats int }

// Divide divides the measurements of a batch. As long as there are fewer labelled rows than repeats, there are Times
// fewer repeats, or twice as many, and more other rows.
func (l *Limits) Divide(lines, labelled int) Division {
	d := Division{Times: l.Times(), Repeats: l.Repeats(lines)}
	for d.Repeats > labelled {
		d.Repeats -= d.Times
	}
	d.Repeats = max(0, d.Repeats)
	d.Rows = (lines - d.Repeats) / d.Times
	return d
}

// Measurement is one line of a batch: a pick, which may be measured several times, or a labelled row that is measured
// once more to learn the noise.
type Measurement struct {
	ID        string `json:"id"`
	Index     int    `json:"index"`     // row of the input, from 0: of the pool's or, for a repeat, of the labelled rows'
	Pick      int    `json:"pick"`      // where the row is in the lists of the result; -1 for a repeat
	Replicate int    `json:"replicate"` // of this row in this batch, from 1
	Repeat    bool   `json:"repeat,omitempty"`
	Reason    string `json:"reason"`
	Plate     int    `json:"plate,omitempty"` // from 1, and the well on it; 0 and empty without Ask.Layout
	Well      string `json:"well,omitempty"`
}
