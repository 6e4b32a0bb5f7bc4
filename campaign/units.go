package campaign

import (
	"cmp"
	"slices"

	"github.com/nextbatch/nextbatch/dataset"
)

// A column has a unit from the first file on: an input from the campaign's table (Column.Unit), a target from the first
// labels (Told.Units), and either from its name. What comes later is converted, or refused.

// unit returns the unit of an input; empty if it has none.
func (c *Column) unit() string { return cmp.Or(c.Unit, dataset.HeaderUnit(c.Name)) }

// History returns what is known of the labels of a target, and nil for another column.
func (s *State) History(target string) *dataset.History {
	at := slices.Index(s.Created.Targets, target)
	if at < 0 {
		return nil
	}
	h := &dataset.History{Unit: cmp.Or(s.units[target], dataset.HeaderUnit(target)), Decimal: s.Created.Decimal}
	for _, r := range s.touched.all() {
		for _, m := range r.measurements {
			if m.Doubts == nil || m.Doubts[at] == nil {
				h.Add(m.Values[at])
			}
		}
	}
	return h
}

// inUnitOf returns a column in the unit of the same one of the campaign, if its cells say theirs.
func inUnitOf(c, ours dataset.Column) (dataset.Column, error) {
	there, ok := c.(*dataset.Numeric)
	known, numeric := ours.(*dataset.Numeric)
	if !ok || !numeric || there.Unit().Name == "" {
		return c, nil
	}
	in, _, err := dataset.InUnit(c, known.Unit().Name)
	return in, err
}

// cellUnit returns the unit that the cells of a column say; empty if they say none.
func cellUnit(c dataset.Column) string {
	numbers, ok := c.(*dataset.Numeric)
	if unit := ""; ok {
		if unit = numbers.Unit().Name; unit != dataset.HeaderUnit(c.Name()) {
			return unit
		}
	}
	return ""
}

// labelsInUnits returns a table of new rows with its labels in the units of those so far, and what was converted.
func (s *State) labelsInUnits(t *dataset.Table) (in *dataset.Table, said []string, err error) {
	columns := slices.Clone(t.Columns())
	for i, c := range columns {
		h := s.History(c.Name())
		if h == nil || h.Labels == 0 && h.Unit == "" {
			continue
		}
		text := ""
		if columns[i], text, err = dataset.InUnit(c, h.Unit); err != nil {
			return nil, nil, refuseRows("%v", t.Placed(err, s.Created.IDColumn))
		}
		if text != "" {
			said = append(said, text)
		}
	}
	if in, err = dataset.NewTable(columns...); err == nil {
		in.SetOrigin(t.Origin())
	}
	return in, said, err
}

// unitsIn returns the units of the labels in a table whose cells say them, of targets that have none yet; nil if there
// are none.
func (s *State) unitsIn(t *dataset.Table) (units map[string]string) {
	for _, c := range t.Columns() {
		unit := cellUnit(c)
		if !slices.Contains(s.Created.Targets, c.Name()) || unit == "" || s.units[c.Name()] != "" {
			continue
		}
		if units == nil {
			units = map[string]string{}
		}
		units[c.Name()] = unit
	}
	return units
}
