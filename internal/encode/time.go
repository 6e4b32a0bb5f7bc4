package encode

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/nextbatch/nextbatch/dataset"
)

// Time is a column of dates or times of day as features: the number of days since
// the origin, then sine and cosine of each cycle.
type Time struct {
	Column string
	Form   string // how the values are written, such as "ISO 8601"
	Origin time.Time
	Cycles []string // of "hour", "weekday" and "day of year"
	Median float64  // days, which replace a missing value if the encoder imputes
}

// AmbiguousDateError reports a column of dates in which the first number may be the
// day as well as the month.
type AmbiguousDateError struct {
	Column string
	Row    int    // of the first value, from 0
	Value  string // the first value
	forms  []string
}

// Assume returns the features of the column if its dates start with the day, or else with the month, and whether they
// vary.
func (e *AmbiguousDateError) Assume(c dataset.Column, day bool) (Time, bool) {
	f := Time{Column: c.Name(), Form: e.forms[0]}
	for _, name := range e.forms {
		if strings.HasPrefix(name, "day") == day {
			f.Form = name
		}
	}
	return f, f.fit(c)
}

// DayFirst reports whether dates such as 03/04/2021 start with the day, and whether the form of a column tells.
func (f Time) DayFirst() (day, known bool) {
	day = strings.HasPrefix(f.Form, "day/") || strings.HasPrefix(f.Form, "day-") || strings.HasPrefix(f.Form, "day.")
	return day, day || strings.HasPrefix(f.Form, "month/") || strings.HasPrefix(f.Form, "month-")
}

func (e *AmbiguousDateError) Error() string {
	return fmt.Sprintf(
		"column %q, row %d (from 0): %q may start with the day or with the month, and no other value settles it",
		e.Column, e.Row, e.Value)
}

// form is a way to write times. The layouts are those of package time, which accept
// fractions of seconds, too.
type form struct {
	name    string
	layouts []string
}

const clockForm = "time of day"

var forms = slices.Concat([]form{
	{name: "ISO 8601", layouts: withClocks("2006-01-02", "2006-01-02T")},
	{name: "ISO 8601 with time zone", layouts: []string{
		"2006-01-02T15:04:05Z07:00", "2006-01-02 15:04:05Z07:00", "2006-01-02T15:04:05Z0700", "2006-01-02 15:04:05Z0700",
		"2006-01-02T15:04Z07:00", "2006-01-02 15:04Z07:00", "2006-01-02 15:04:05 Z0700", "2006-01-02 15:04:05 UTC"}},
	{name: "year-month", layouts: []string{"2006-01"}},
	{name: "year/month/day", layouts: withClocks("2006/1/2")},
	{name: "day.month.year", layouts: withClocks("2.1.2006")},
	{name: "day month year", layouts: withClocks("2 Jan 2006", "2 January 2006", "2-Jan-2006", "2-January-2006")},
	{name: "month day, year", layouts: withClocks("Jan 2, 2006", "January 2, 2006")},
	{name: clockForm, layouts: clocks},
}, eitherWay("/"), eitherWay("-"))

var clocks = []string{"15:04:05", "15:04", "3:04:05 PM", "3:04 PM"}

// withClocks returns the layouts of dates alone, and with a time of day after a blank
// or after the T that ends a layout.
func withClocks(dates ...string) (layouts []string) {
	for _, date := range dates {
		if date[len(date)-1] != 'T' {
			layouts = append(layouts, date)
			date += " "
		}
		for _, clock := range clocks {
			layouts = append(layouts, date+clock)
		}
	}
	return layouts
}

// eitherWay returns the forms that start with the day and with the month.
func eitherWay(separator string) []form {
	s := separator
	return []form{
		{name: "day" + s + "month" + s + "year", layouts: withClocks("2" + s + "1" + s + "2006")},
		{name: "month" + s + "day" + s + "year", layouts: withClocks("1" + s + "2" + s + "2006")},
	}
}

// parse tries the layout that fitted last before the others.
func (f form) parse(text string, last *int) (time.Time, bool) {
	if t, err := time.Parse(f.layouts[*last], text); err == nil {
		return t, true
	}
	for i, layout := range f.layouts {
		if t, err := time.Parse(layout, text); err == nil {
			*last = i
			return t, true
		}
	}
	return time.Time{}, false
}

// A date of another century is a number or a code that looks like one.
const firstYear, lastYear = 1800, 2199

func (f form) plausible(t time.Time) bool {
	return f.name == clockForm || firstYear <= t.Year() && t.Year() <= lastYear
}

// FitTime reports whether all values of a column of words are dates or times of day
// written in one way, of which there must be at least two, and returns its features.
// A cycle is among them if the times vary within it and span it at least once: in a
// shorter time it cannot be told from a trend. FitMissing adds the median. The error
// is an *AmbiguousDateError.
func FitTime(c dataset.Column) (Time, bool, error) {
	if c.Kind() == dataset.KindNumeric {
		return Time{}, false, nil
	}
	possible := slices.Clone(forms)
	layouts := make([]int, len(forms))
	first := -1
	for row, text := range distinct(c) {
		if first < 0 {
			first = row
		}
		possible = slices.DeleteFunc(possible, func(f form) bool {
			t, ok := f.parse(text, &layouts[indexOfForm(f.name)])
			return !ok || !f.plausible(t)
		})
		if len(possible) == 0 {
			return Time{}, false, nil
		}
	}
	if first < 0 {
		return Time{}, false, nil
	}
	if len(possible) > 1 {
		unclear := &AmbiguousDateError{Column: c.Name(), Row: first, Value: c.Format(first)}
		for _, f := range possible {
			unclear.forms = append(unclear.forms, f.name)
		}
		return Time{}, false, unclear
	}
	f := Time{Column: c.Name(), Form: possible[0].name}
	return f, f.fit(c), nil
}

// distinct yields the values of a column, those of a categorical one only once, each
// with a row that has it.
func distinct(c dataset.Column) func(yield func(int, string) bool) {
	return func(yield func(int, string) bool) {
		var seen []bool
		levels, _ := c.(*dataset.Categorical)
		if levels != nil {
			seen = make([]bool, len(levels.Levels()))
		}
		for row := range c.Len() {
			if c.Missing(row) {
				continue
			}
			if levels != nil {
				code := levels.Code(row)
				if seen[code] {
					continue
				}
				seen[code] = true
			}
			if !yield(row, c.Format(row)) {
				return
			}
		}
	}
}

func indexOfForm(name string) int {
	return slices.IndexFunc(forms, func(f form) bool { return f.name == name })
}

// fit finds origin and cycles, and reports whether the times differ.
func (f *Time) fit(c dataset.Column) bool {
	parse := f.parser()
	var low, high time.Time
	varies := map[string]map[int]bool{"hour": {}, "weekday": {}, "day of year": {}}
	for _, text := range distinct(c) {
		t, _ := parse(text)
		if low.IsZero() || t.Before(low) {
			low = t
		}
		if high.IsZero() || t.After(high) {
			high = t
		}
		varies["hour"][t.Hour()*3600+t.Minute()*60+t.Second()] = true
		varies["weekday"][int(t.Weekday())] = true
		varies["day of year"][t.YearDay()] = true
	}
	f.Origin = low.UTC()
	span := f.days(high)
	for _, cycle := range cycles {
		if len(varies[cycle.name]) > 1 && (span >= cycle.days || f.Form == clockForm) {
			f.Cycles = append(f.Cycles, cycle.name)
		}
	}
	return span > 0
}

// parser returns a function that reads times in the form of the column.
func (f Time) parser() func(text string) (time.Time, bool) {
	layout, of := 0, forms[indexOfForm(f.Form)]
	return func(text string) (time.Time, bool) { return of.parse(text, &layout) }
}

// days is the time since the origin.
func (f Time) days(t time.Time) float64 {
	seconds := float64(t.Unix()-f.Origin.Unix()) + float64(t.Nanosecond()-f.Origin.Nanosecond())*1e-9
	return seconds / (24 * 3600)
}

// cycle is a way in which time comes round again; phase is from 0 to 1, by the clock
// and the calendar of the time's own zone.
type cycle struct {
	name  string
	days  float64
	phase func(t time.Time) float64
}

var cycles = []cycle{
	{"hour", 1, hours},
	{"weekday", 7, func(t time.Time) float64 { return float64(t.Weekday()) / 7 }},
	{"day of year", 365, func(t time.Time) float64 {
		year := time.Date(t.Year(), 12, 31, 0, 0, 0, 0, time.UTC).YearDay()
		return (float64(t.YearDay()-1) + hours(t)) / float64(year)
	}},
}

func hours(t time.Time) float64 {
	return (float64(t.Hour()*3600+t.Minute()*60+t.Second()) + float64(t.Nanosecond())*1e-9) / (24 * 3600)
}

func indexOfCycle(name string) int {
	return slices.IndexFunc(cycles, func(c cycle) bool { return c.name == name })
}

func (f Time) features() []string {
	names := []string{f.Column}
	for _, cycle := range f.Cycles {
		names = append(names, f.Column+" "+cycle+" sin", f.Column+" "+cycle+" cos")
	}
	return names
}

// write puts the features of a time into dst.
func (f Time) write(dst []float64, t time.Time) {
	dst[0] = f.days(t)
	for i, name := range f.Cycles {
		dst[1+2*i], dst[2+2*i] = math.Sincos(2 * math.Pi * cycles[indexOfCycle(name)].phase(t))
	}
}

// reader returns a function that writes the features of a row to dst. A missing value
// is the median day, in the middle of every cycle.
func (f Time) reader(c dataset.Column) func(dst []float64, row int) error {
	parse := f.parser()
	known := map[int32]time.Time{} // by code
	levels, _ := c.(*dataset.Categorical)
	return func(dst []float64, row int) error {
		if c.Missing(row) {
			clear(dst)
			dst[0] = f.Median
			return nil
		}
		if levels != nil {
			if t, ok := known[levels.Code(row)]; ok {
				f.write(dst, t)
				return nil
			}
		}
		t, ok := parse(c.Format(row))
		if !ok {
			return &dataset.ColumnError{Column: f.Column, Row: row,
				Problem: fmt.Sprintf("%q is not a time written as the others (%s)", c.Format(row), f.Form)}
		}
		if levels != nil {
			known[levels.Code(row)] = t
		}
		f.write(dst, t)
		return nil
	}
}

// Days returns a function that reads the days since the origin of a row of a column, NaN where a value is missing.
func (f Time) Days(c dataset.Column) func(row int) float64 {
	days := make([]float64, 1)
	f.Cycles, f.Median = nil, math.NaN()
	read := f.reader(c)
	return func(row int) float64 {
		if read(days, row) != nil {
			return math.NaN()
		}
		return days[0]
	}
}

// check reports a Time that FitTime does not return, such as one from a damaged file.
func (f Time) check() error {
	if indexOfForm(f.Form) < 0 || slices.ContainsFunc(f.Cycles, func(name string) bool { return indexOfCycle(name) < 0 }) {
		return &dataset.ColumnError{Column: f.Column, Row: -1,
			Problem: fmt.Sprintf("is a time written as %q with the cycles %q, which are unknown", f.Form, f.Cycles)}
	}
	if math.IsNaN(f.Median) || math.IsInf(f.Median, 0) {
		return &dataset.ColumnError{Column: f.Column, Row: -1, Problem: fmt.Sprintf("has the median %v", f.Median)}
	}
	return nil
}
