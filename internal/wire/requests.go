package wire

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nextbatch/nextbatch/campaign"
)

// AskRequest asks for a batch.
type AskRequest struct {
	Rows    int      `json:"rows,omitempty" minimum:"0" maximum:"1000000" doc:"how many measurements: rows, times how often each is measured; 0 means as the settings say"`
	Lease   string   `json:"lease,omitempty" doc:"how long the rows are out, such as 36h, 7d or 2w, or never; empty means as the settings say" example:"7d"`
	Audit   *float64 `json:"audit,omitempty" minimum:"0" maximum:"1" doc:"share of audit rows; by default as the settings say"`
	Must    []string `json:"must,omitempty" nullable:"true" maxItems:"100000" doc:"ids of rows that must be in the batch"`
	Exclude []string `json:"exclude,omitempty" nullable:"true" maxItems:"100000" doc:"ids of rows that may not be in the batch"`
	campaign.Overrides
}

// TellRequest tells labels.
type TellRequest struct {
	Rows    []Measured        `json:"rows" nullable:"true" minItems:"1" maxItems:"100000" doc:"what was measured"`
	Partial bool              `json:"partial,omitempty" doc:"take the rows that are right, even if others are wrong"`
	Again   bool              `json:"again,omitempty" doc:"take numbers that rows already have as further measurements"`
	Accept  bool              `json:"accept,omitempty" doc:"no number waits for a second look, however far it is from what was expected"`
	Units   map[string]string `json:"units,omitempty" doc:"by target: the unit of the values, such as mg. They are converted to that of the labels so far, or refused"`
}

// Measured is measurements of a row.
type Measured struct {
	ID       string             `json:"id" doc:"of the row"`
	Values   map[string]float64 `json:"values" doc:"by target"`
	Censored map[string]int8    `json:"censored,omitempty" doc:"by target, for values of which only a limit is known: -1 where the true one lies below the limit, which is the value, 1 where it lies above"`
	Inputs   map[string]string  `json:"inputs,omitempty" doc:"by column: inputs of the row as the client has them. Where they are not those of the row, to nine digits, its id is probably wrong, and so is the row"`
	// Replicate is 0 where the client does not know of replicates.
	Replicate int `json:"replicate,omitempty" minimum:"0" maximum:"1000000000" doc:"which measurement of the row it is, as the batch numbers them; without it, the first that is out with the caller. A correction with it replaces that measurement alone"`
}

// Tell returns what is told, with the measurements in the order of the targets.
func (r TellRequest) Tell(targets []string) campaign.Tell {
	t := campaign.Tell{Partial: r.Partial, Again: r.Again, Accept: r.Accept, Units: r.Units}
	for line, m := range r.Rows {
		t.Entries = append(t.Entries, m.entry(line, targets))
	}
	return t
}

func (m Measured) entry(line int, targets []string) campaign.Entry {
	e := campaign.Entry{Line: line, ID: m.ID, Values: make([]float64, len(targets)),
		Replicate: m.Replicate, Inputs: m.Inputs}
	for i, target := range targets {
		v, there := m.Values[target]
		if !there {
			v = math.NaN()
		}
		e.Values[i] = v
	}
	for i, target := range targets {
		e.Censored = e.Censored.With(i, len(targets), m.Censored[target])
	}
	for name, side := range m.Censored {
		if _, there := m.Values[name]; !there || side < -1 || side > 1 {
			e.Fault = fmt.Sprintf("censored: %q must have a value, and -1 for one below a limit or 1 for one above", name)
		}
	}
	for name := range m.Values {
		if !slices.Contains(targets, name) {
			e.Fault = fmt.Sprintf("%q is not a target of the campaign; its targets are %s", name, strings.Join(targets, ", "))
		}
	}
	return e
}

// IDsRequest is about rows.
type IDsRequest struct {
	IDs    []string `json:"ids" nullable:"true" minItems:"1" maxItems:"100000" doc:"ids of the rows; for failures and returns also single measurements, such as s017#2"`
	Reason string   `json:"reason,omitempty" maxLength:"1000"`
}

// FailRequest reports rows that could not be labelled.
type FailRequest struct {
	IDsRequest
	Again bool `json:"again,omitempty" doc:"the rows are open again; otherwise they are never asked for again"`
}

// UndoRequest undoes an event.
type UndoRequest struct {
	Event  int64  `json:"event" minimum:"1" doc:"number of the event to take back"`
	Reason string `json:"reason,omitempty" maxLength:"1000"`
}
