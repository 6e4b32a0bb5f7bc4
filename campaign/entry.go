package campaign

import (
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/internal/encode"
)

// Entry is a line of measurements.
type Entry struct {
	Line     int       // its place in the list, such as the row of a table, from 0
	FileLine int       // line of a file, from 1; 0 if there is none
	ID       string    // of the row
	Values   []float64 // one for each target, NaN where there is none
	Fault    string    // what the reader of the line found wrong with it
	Censored Censored  // which values are limits, such as <0.5

	// which of the measurements of the row it is, as the batch numbers them, from 1; 0 if the line does not say
	Replicate int

	// Inputs are cells of the row as the caller has them, by column; nil if the caller has compared them, as Entries does.
	Inputs map[string]string

	// Set are the numbers that were really set, by column, where they are not those of the row. In a campaign of a space
	// the label is that of a row of its own, which has them.
	Set map[string]float64
}

// set takes a cell that is not that of the row for a number that was really set, if that can be.
func (e *Entry) set(column, got string, settable map[string]bool) bool {
	v, err := strconv.ParseFloat(got, 64)
	if !settable[column] || err != nil || math.IsNaN(v) || math.Abs(v) > math.MaxFloat32 {
		return false
	}
	set := maps.Clone(e.Set)
	if set == nil {
		set = map[string]float64{}
	}
	set[column], e.Set = v, set
	return true
}

// Fault is what is wrong with a line.
type Fault struct {
	Line     int    `json:"line" doc:"its place in the request, from 0"`
	FileLine int    `json:"-"` // line of a file, from 1; 0 if there is none
	ID       string `json:"id"`
	Reason   string `json:"reason"`
}

// Place is what messages call the line, as dataset.Table.Place does.
func (f *Fault) Place() string {
	if f.FileLine > 0 {
		return fmt.Sprintf("line %d (id %s)", f.FileLine, f.ID)
	}
	return fmt.Sprintf("row %d (from 0, id %s)", f.Line, f.ID)
}

// TellError lists every line that is wrong. Nothing was changed.
type TellError struct{ Faults []Fault }

func (e *TellError) Error() string {
	lines := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		lines[i] = f.Place() + ": " + f.Reason
	}
	return strings.Join(lines, "\n")
}

// fault is what is wrong with an entry.
func (e *Entry) fault(reason string) Fault { return Fault{e.Line, e.FileLine, e.ID, reason} }

func (e *Entry) faultOfValues(ranges dataset.Ranges) string {
	some := false
	for _, v := range e.Values {
		if fault := encode.FaultOfLabel(v); fault != "" {
			return fault
		}
		some = some || !math.IsNaN(v)
	}
	if !some {
		return "there is no label, or it is not a number"
	}
	return faultOfRange(ranges, e.Values)
}

// label returns the entry as a label of a row.
func (e *Entry) label(row int64) Label {
	l := Label{RowRef: RowRef{row, e.ID}, Values: make([]fitted.Float, len(e.Values)),
		Replicate: e.Replicate, Censored: e.Censored}
	for i, v := range e.Values {
		l.Values[i] = fitted.Float(v)
	}
	return l
}
