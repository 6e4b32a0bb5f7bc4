// Package explain explains why a row was picked, in the terms of the table: how far it is from the nearest
// labelled row, and in which inputs it differs.
package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/selection"
	"github.com/nextbatch/nextbatch/spec"
)

// Basis is what the reasons of picks are made from: parts of a nextbatch.Batch.
type Basis struct {
	Method    spec.Method
	Picks     []selection.Pick
	Fallbacks []selection.Fallback
	Typical   float64
	Decimal   byte // the decimal mark of numbers; 0 means a point
	Unnamed   bool // labelled rows are not named, because the inputs are compared with others (Inputs.Compare)
}

// Reason explains in one line why pick i is in the batch, with the user's names of rows.
func (b Basis) Reason(i int, name func(set selection.Set, row int) string) string {
	p := b.Picks[i]
	var parts []string
	switch p.Why {
	case selection.Required:
		parts = append(parts, "required")
	case selection.Filled:
		parts = append(parts, "drawn at random: "+b.fallback(p.Step))
	default:
		if p.Cluster.Centre.Set != selection.NoSet {
			parts = append(parts, fmt.Sprintf("%s from %s, in a cluster of %s", b.far(p.Cluster.Distance),
				b.named(name, p.Cluster.Centre.Set, p.Cluster.Centre.Row), words.Count(p.Cluster.Rows, "row", "rows")))
		} else if method := b.Method.Info(); method.NoKernel && method.Draws {
			parts = append(parts, "drawn at random")
		} else {
			score := fmt.Sprintf("%s score %s", b.Method, words.Marked(words.Number(p.Score), b.Decimal))
			if i == 0 {
				score = "the first pick, by its " + score
			}
			parts = append(parts, score)
		}
	}
	if p.Labelled >= 0 && (p.Cluster.Centre.Set != selection.TrainSet || p.Cluster.Centre.Row != p.Labelled) {
		nearest := b.named(name, selection.TrainSet, p.Labelled)
		if !b.Unnamed {
			nearest += ", the nearest"
		}
		parts = append(parts, b.far(p.Distance)+" from "+nearest)
	}
	return strings.Join(parts, "; ")
}

func (b Basis) named(name func(selection.Set, int) string, set selection.Set, row int) string {
	if b.Unnamed && set == selection.TrainSet {
		return "the nearest labelled row"
	}
	kind := map[selection.Set]string{selection.TrainSet: "labelled row ", selection.PoolSet: "pick ",
		selection.PendingSet: "pending row "}
	return kind[set] + name(set, row)
}

// far puts a distance into words: in units of the typical one or, without labelled rows,
// of the median distance of a pick from its centre.
func (b Basis) far(distance float64) string {
	if b.Typical > 0 {
		return b.times(distance/b.Typical) + "the typical distance"
	}
	var all []float64
	for _, p := range b.Picks {
		if p.Cluster.Centre.Set != selection.NoSet && p.Cluster.Distance > 0 {
			all = append(all, p.Cluster.Distance)
		}
	}
	if len(all) == 0 {
		return "no distance"
	}
	slices.Sort(all)
	return b.times(distance/all[len(all)/2]) + "the median distance of this batch"
}

// times puts a ratio before what it is a multiple of.
func (b Basis) times(ratio float64) string {
	if text := words.Brief(ratio); text != "1" {
		return words.Marked(text, b.Decimal) + " times "
	}
	return "about "
}

// fallback returns why a row was drawn at random in a step.
func (b Basis) fallback(step int) string {
	reason := "the method found no row"
	for _, f := range b.Fallbacks {
		if f.Step <= step {
			reason = f.Reason
		}
	}
	return reason
}
