package space

import "fmt"

// Column describes a factor or a part of a mixture.
type Column struct {
	Name   string `json:"name"`
	Values string `json:"values"` // in words
}

// Columns describes the factors and the parts of mixtures, in the order of columns.
func (s *Space) Columns() (list []Column) {
	for _, v := range s.variables {
		list = append(list, Column{v.name, v.words})
	}
	return list
}

// Inputs are the names of the columns that tell candidates apart: those of the factors and of the parts of mixtures.
func (s *Space) Inputs() (list []string) {
	for _, v := range s.variables {
		list = append(list, v.column())
	}
	return list
}

// Constraints describes what combinations are allowed, in words: mixtures first.
func (s *Space) Constraints() []string {
	list := append([]string{}, s.mixtures...)
	for _, r := range s.rules {
		if !r.implied {
			list = append(list, r.text)
		}
	}
	return list
}

// Cost describes the costs; empty if there are none.
func (s *Space) Cost() string {
	if s.costText == "" {
		return ""
	}
	return fmt.Sprintf("%s = %s", CostColumn, s.costText)
}
