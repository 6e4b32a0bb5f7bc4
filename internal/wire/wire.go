// Package wire has the JSON in which worker, service and command line describe campaigns and the progress of
// benchmarks. Worker and service exchange the same types with their clients, so that a client can treat a file, a
// database and a service alike: both embed them, and add what only one of them needs. Where --json of a command has
// other fields, its type is beside theirs and says how it differs. The tags doc, enum, nullable and those with limits
// are for the description of the service.
//
// Types that are sent as the program keeps them are described where they belong, and not again here: rows
// and their counts, settings, faults and the standing in package campaign; predictions in package nextbatch.
package wire

import (
	"math"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/fitted"
)

// About describes a campaign and its progress. The counts of its rows come after it.
type About struct {
	Name     string            `json:"name"`
	Targets  []string          `json:"targets"`
	IDColumn string            `json:"id_column,omitempty"`
	Columns  []campaign.Column `json:"columns" doc:"of the rows, without ids and labels"`
	Settings campaign.Settings `json:"settings" doc:"as PUT settings takes them"`
	Event    int64             `json:"event" doc:"number of the last event"`
	Asks     int               `json:"asks" doc:"batches that were handed out"`
	// Labels tells readers of text what to take its numbers for.
	Labels map[string]dataset.History `json:"labels" doc:"by target, what its labels are so far: how many, their unit, the sizes of the smallest but zero and of the largest, and the decimal mark of the first table"`
}

// AboutOf describes a campaign.
func AboutOf(name string, s *campaign.State) About {
	return About{
		Name: name, Targets: s.Created.Targets, IDColumn: s.Created.IDColumn,
		Columns:  append([]campaign.Column{}, s.Created.Columns...),
		Settings: s.Settings, Event: s.Seq, Asks: len(s.Asks), Labels: historyOf(s),
	}
}

func historyOf(s *campaign.State) map[string]dataset.History {
	all := map[string]dataset.History{}
	for _, target := range s.Created.Targets {
		all[target] = *s.History(target)
	}
	return all
}

// Entry is a campaign in the list that 'nextbatch campaign list --json' prints; the service lists campaigns with all
// of About.
type Entry struct {
	Name string `json:"name"`
	campaign.Counts
}

// Value is a value of a table: a number, a text, or nil where it is missing.
type Value any

// Inputs returns the values of a row by column, without that of its id.
func Inputs(t *dataset.Table, row int, id string) map[string]Value {
	inputs := map[string]Value{}
	for _, column := range t.Columns() {
		if column.Name() != id {
			inputs[column.Name()] = value(column, row)
		}
	}
	return inputs
}

func value(column dataset.Column, row int) Value {
	if column.Missing(row) {
		return nil
	}
	if numbers, ok := column.(*dataset.Numeric); ok {
		return fitted.Float(numbers.Float(row))
	}
	return column.Format(row)
}

// Predictions returns predictions by target, without those that are not finite.
func Predictions(targets []string, list []fitted.Prediction) map[string]*fitted.Prediction {
	all := map[string]*fitted.Prediction{}
	for i, p := range list {
		if v := float64(p.Value); !math.IsNaN(v) && !math.IsInf(v, 0) {
			all[targets[i]] = &p
		}
	}
	return all
}
