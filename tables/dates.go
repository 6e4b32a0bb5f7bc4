package tables

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nextbatch/nextbatch/dataset"
)

// ambiguousDates is why a column of dates is not used.
const ambiguousDates = "day and month cannot be told apart"

// datesFound are the columns of dates and times of day.
type datesFound struct {
	times     []dataset.Time
	ambiguous []string
}

func (d datesFound) names() []string {
	names := slices.Clone(d.ambiguous)
	for _, f := range d.times {
		names = append(names, f.Column)
	}
	return names
}

// dates finds the columns of dates and notes how they become numbers.
func (t Tables) dates(ctx context.Context, all *dataset.Table, parts []part, r *Rows) (found datesFound, err error) {
	categorical := setOfNames(t.Categorical)
	for _, c := range all.Columns() {
		if ctx.Err() != nil {
			return found, ctx.Err()
		}
		if categorical[c.Name()] {
			continue
		}
		f, ok, err := dataset.FitTime(c)
		if unclear := (*dataset.AmbiguousDateError)(nil); errors.As(err, &unclear) {
			found.ambiguous = append(found.ambiguous, c.Name())
			r.Warnings = append(r.Warnings, fmt.Sprintf("column %q is not used: %s, %q, may start with the day or with the month, and no other value settles it; write dates as 2006-01-31", c.Name(), t.place(parts, unclear.Row), unclear.Value))
		}
		if ok {
			found.times = append(found.times, f)
			r.Notes = append(r.Notes, fmt.Sprintf("column %q is dates or times (%s): its inputs are %s", f.Column, f.Form, timeInputs(f)))
		}
	}
	return found, nil
}

// timeInputs describes the inputs of a column of dates.
func timeInputs(f dataset.Time) string {
	text := "the days since " + f.Origin.Format(time.DateOnly)
	if f.Origin.Year() == 0 {
		text = "the time of day"
	}
	if len(f.Cycles) > 0 {
		text += ", and sine and cosine of " + strings.Join(f.Cycles, ", ")
	}
	return text
}
