package nextbatch

import "fmt"

// LabelsError reports labels that a network can learn little or nothing from.
type LabelsError struct {
	Labels   int
	Constant bool    // they are all equal
	Value    float64 // of constant labels
}

func (e *LabelsError) Error() string {
	if e.Constant {
		return fmt.Sprintf("all %d labels are %v: a network learns nothing from them", e.Labels, e.Value)
	}
	return fmt.Sprintf("only %d rows have a label: a network learns little from so few, and its errors and intervals mean little; label at least %d", e.Labels, fewLabels)
}

// fewLabels is the number below which a fifth of the labels, which is held out, is a
// row or none.
const fewLabels = 10

// CheckLabels returns a *LabelsError if the labels are few or all equal.
func (r *Rows) CheckLabels() error {
	e := &LabelsError{Labels: len(r.Labels), Constant: len(r.Labels) > 1}
	for _, y := range r.Labels {
		e.Value = r.Labels[0]
		e.Constant = e.Constant && y == e.Value
	}
	if e.Constant || e.Labels < fewLabels {
		return e
	}
	return nil
}
