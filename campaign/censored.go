package campaign

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/words"
)

// A label such as <0.5 is a measurement: its value is the limit, and Censored says on which side of it the true value
// lies.

// Censored has -1 for each target whose true value lies below the one that was told, 1 where it lies above it, and 0
// where it is the one that was told. It is nil if all are.
type Censored []int8

// Of returns the side of a target.
func (c Censored) Of(target int) int8 {
	if c == nil {
		return 0
	}
	return c[target]
}

// With returns the sides with that of a target, out of so many.
func (c Censored) With(target, targets int, side int8) Censored {
	if c == nil && side != 0 {
		c = make(Censored, targets)
	}
	if c != nil {
		c[target] = side
	}
	return c
}

func (c Censored) check(values int) error {
	if c != nil && len(c) != values {
		return fmt.Errorf("there are %d sides of %d values", len(c), values)
	}
	for _, side := range c {
		if side < -1 || side > 1 {
			return errors.New("the side of a limit must be -1, 0 or 1")
		}
	}
	return nil
}

// Side returns on which side of the label of a row the true value lies: that of the last measurement or, where they are
// averaged, of the first one that has a side.
func (s *State) Side(row int64, target int) (side int8) {
	for _, m := range s.Measurements(row) {
		if !math.IsNaN(m.value(target)) && (side == 0 || s.Settings.Latest) {
			side = m.Censored.Of(target)
		}
	}
	return side
}

// LabelColumns returns the labels of rows as columns, with marks after a target of which any row of the campaign has a
// limit.
func (s *State) LabelColumns(rows []int64) (columns []dataset.Column) {
	for target, name := range s.Created.Targets {
		labels, sides := dataset.NewNumeric(name), map[int]int8{}
		for i, row := range rows {
			labels.Append(s.Label(row)[target])
			if side := s.Side(row, target); side != 0 {
				sides[i] = side
			}
		}
		columns = append(columns, labels)
		if s.marksLimits(target) {
			columns = append(columns, dataset.NewCensored(name, len(rows), sides))
		}
	}
	return columns
}

// marksLimits reports whether the label of any row is a limit, unless an input has the name of the marks.
func (s *State) marksLimits(target int) bool {
	marks := dataset.CensoredColumn(s.Created.Targets[target])
	return !slices.ContainsFunc(s.Created.Columns, func(c Column) bool { return c.Name == marks }) &&
		slices.ContainsFunc(s.With(StatusLabelled), func(ref RowRef) bool { return s.Side(ref.Row, target) != 0 })
}

// limitsAsLabels warns that most learners take limits as labels; it is empty without any.
func (s *State) limitsAsLabels() string {
	var list []string
	for target, name := range s.Created.Targets {
		for _, ref := range s.With(StatusLabelled) {
			if side := s.Side(ref.Row, target); side != 0 {
				text := fmt.Sprintf("%s (%s)", ref.ID, dataset.Spell(s.Label(ref.Row)[target], side))
				if len(s.Created.Targets) > 1 {
					text = fmt.Sprintf("%s of %s", text, name)
				}
				list = append(list, text)
			}
		}
	}
	const most = 5
	if len(list) == 0 {
		return ""
	}
	//warning:limits-as-labels
	text := words.Count(len(list), "label is a limit", "labels are limits") +
		", which only a Gaussian process takes as such: " + strings.Join(list[:min(most, len(list))], ", ")
	if len(list) > most {
		text += ", …"
	}
	return text
}
