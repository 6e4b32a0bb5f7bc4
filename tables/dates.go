package tables

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/encode"
)

// datesFound are the columns of dates and times of day.
type datesFound struct {
	times     []encode.Time
	unclear   []*encode.AmbiguousDateError // until it is decided how they are read
	constants []string                     // columns of one date
}

func (d datesFound) names() []string {
	names := slices.Clone(d.constants)
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
		f, ok, err := encode.FitTime(c)
		if unclear := (*encode.AmbiguousDateError)(nil); errors.As(err, &unclear) {
			found.unclear = append(found.unclear, unclear)
		}
		if ok {
			found.add(f, r)
		}
	}
	return found, t.assumeDates(&found, all, parts, r)
}

func (d *datesFound) add(f encode.Time, r *Rows) {
	d.times = append(d.times, f)
	r.Notes = append(r.Notes, fmt.Sprintf("column %q is dates or times (%s): its inputs are %s", f.Column,
		f.Form, timeInputs(f)))
}

// assumeDates decides whether dates such as 03/04/2021 start with the day: as those of another column do, or else if
// the file has decimal commas or semicolons, as in countries where the day comes first.
func (t Tables) assumeDates(found *datesFound, all *dataset.Table, parts []part, r *Rows) error {
	if len(found.unclear) == 0 {
		return nil
	}
	day, why := t.dayFirst(found.times, parts)
	order := "month"
	if day {
		order = "day"
	}
	for _, unclear := range found.unclear {
		c, err := all.Column(unclear.Column)
		if err != nil {
			return err
		}
		//warning:day-or-month
		r.Warnings = append(r.Warnings,
			fmt.Sprintf("column %q: %s, %q, may start with the day or with the month, and no other value settles it; it is "+
				"taken to start with the %s, %s; write dates as 2006-01-31 to be certain",
				unclear.Column, t.place(parts, unclear.Row), unclear.Value, order, why))
		if f, varies := unclear.Assume(c, day); varies {
			found.add(f, r)
		} else {
			found.constants = append(found.constants, unclear.Column)
		}
	}
	return nil
}

// dayFirst reports whether dates start with the day, and why.
func (t Tables) dayFirst(times []encode.Time, parts []part) (day bool, why string) {
	for _, f := range times {
		if day, known := f.DayFirst(); known {
			return day, fmt.Sprintf("as in column %q", f.Column)
		}
	}
	for _, s := range sources(parts) {
		if style := s.Origin().Style; style.Decimal == ',' || style.Delimiter == ';' {
			return true, "as where numbers have decimal commas"
		}
	}
	return false, "as where numbers have decimal points"
}

// timeInputs describes the inputs of a column of dates.
func timeInputs(f encode.Time) string {
	text := "the days since " + f.Origin.Format(time.DateOnly)
	if f.Origin.Year() == 0 {
		text = "the time of day"
	}
	if len(f.Cycles) > 0 {
		text += ", and sine and cosine of " + strings.Join(f.Cycles, ", ")
	}
	return text
}
