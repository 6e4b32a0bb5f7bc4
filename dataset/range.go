package dataset

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/nextbatch/nextbatch/internal/words"
)

// Range is what the labels of a target can be: yields are 0..100. Either limit may be infinite.
type Range struct{ Low, High float64 }

// anything is the range of a target for which none is declared.
var anything = Range{math.Inf(-1), math.Inf(1)}

// parseRange reads a range: 0..100, 0.. or ..100, and .. for any number.
func parseRange(text string) (Range, error) {
	low, high, found := strings.Cut(strings.TrimSpace(text), "..")
	r, err := anything, error(nil)
	for _, limit := range []struct {
		text string
		into *float64
	}{{low, &r.Low}, {high, &r.High}} {
		if limit.text = strings.TrimSpace(limit.text); limit.text != "" && err == nil {
			*limit.into, err = strconv.ParseFloat(limit.text, 64)
			if err == nil && *limit.into-*limit.into != 0 {
				err = strconv.ErrRange
			}
		}
	}
	if !found || err != nil {
		return r, fmt.Errorf("the range is %q; write it as 0..100, or with one limit as 0.. or ..100", text)
	}
	return r, r.check()
}

func (r Range) check() error {
	if !(r.Low < r.High) {
		return fmt.Errorf("the range %v has no numbers: its lower limit must be below its upper one", r)
	}
	return nil
}

// String returns the range as ParseRange reads it.
func (r Range) String() string {
	text := func(limit float64) string {
		if math.IsInf(limit, 0) {
			return ""
		}
		return strconv.FormatFloat(limit, 'g', -1, 64)
	}
	return text(r.Low) + ".." + text(r.High)
}

// MarshalText implements encoding.TextMarshaler.
func (r Range) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (r *Range) UnmarshalText(text []byte) (err error) {
	*r, err = parseRange(string(text))
	return err
}

// Fault says what is wrong with a label outside the range. It is empty for the others, and for NaN.
func (r Range) Fault(label float64) string {
	if label >= r.Low && label <= r.High || math.IsNaN(label) {
		return ""
	}
	return fmt.Sprintf("the label %v is outside the declared range %v: correct it, or declare another range", label, r)
}

// Clip replaces numbers outside the range by its nearer limit.
func (r Range) Clip(list []float64) {
	for i, v := range list {
		list[i] = min(max(v, r.Low), r.High)
	}
}

// Ranges are those of several targets. One serves all of them, and none allows any number.
type Ranges []Range

// ParseRanges reads ranges that are separated by commas.
func ParseRanges(text string) (list Ranges, err error) {
	for one := range strings.SplitSeq(text, ",") {
		r, err := parseRange(one)
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, nil
}

// String returns the ranges as ParseRanges reads them.
func (l Ranges) String() string {
	texts := make([]string, len(l))
	for i, r := range l {
		texts[i] = r.String()
	}
	return strings.Join(texts, ",")
}

// Of returns the range of a target, counted from 0.
func (l Ranges) Of(target int) Range {
	switch len(l) {
	case 0:
		return anything
	case 1:
		return l[0]
	}
	return l[target]
}

// Check rejects ranges without numbers, and as many as there are neither one nor the targets.
func (l Ranges) Check(targets int) error {
	if len(l) > 1 && len(l) != targets {
		return fmt.Errorf("there are %d ranges for %s: declare one for all, or one for each", len(l),
			words.Count(targets, "target", "targets"))
	}
	if at := slices.IndexFunc(l, func(r Range) bool { return r.check() != nil }); at >= 0 {
		return l[at].check()
	}
	return nil
}
