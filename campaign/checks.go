package campaign

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/options"
	"github.com/nextbatch/nextbatch/internal/source/sheets"
	"github.com/nextbatch/nextbatch/limits"
	"github.com/nextbatch/nextbatch/tables"
)

// fit reports settings that do not fit a campaign.
func (set *Settings) fit(s *State) error {
	if n := len(set.Weights); n > 0 && n != len(s.Created.Targets) {
		return fmt.Errorf("there are %d weights for %d targets", n, len(s.Created.Targets))
	}
	if err := errors.Join(checkRanges(s, set.Ranges), s.Created.checkLod(set.Lod)); err != nil {
		return err
	}
	return s.Created.checkColumns(set.Limits)
}

// checkLod rejects limits of detection of unknown targets.
func (c *Created) checkLod(text string) error {
	limits, err := sheets.ParseLod(text)
	for name := range limits {
		if name != "" && !slices.Contains(c.Targets, name) {
			return fmt.Errorf("lod names %q, which is not a target", name)
		}
	}
	return err
}

// checkRanges reports ranges that do not fit the targets, and a label outside them, which may wait for a second look.
func checkRanges(s *State, ranges dataset.Ranges) error {
	if err := ranges.Check(len(s.Created.Targets)); err != nil || ranges == nil {
		return err
	}
	all := s.withWaiting(s.Waiting()...)
	for _, ref := range all.With(StatusLabelled) {
		for _, m := range all.Measurements(ref.Row) {
			if fault := faultOfRange(ranges, m.Values); fault != "" {
				return fmt.Errorf("row %q: %s", ref.ID, fault)
			}
		}
	}
	return nil
}

// faultOfRange says which of the labels of a row is outside the range of its target.
func faultOfRange[T ~float64](ranges dataset.Ranges, labels []T) string {
	for target, v := range labels {
		if fault := ranges.Of(target).Fault(float64(v)); fault != "" {
			return fault
		}
	}
	return ""
}

// checkColumns reports columns of limits that the rows do not have.
func (c *Created) checkColumns(l limits.Limits) error {
	for _, name := range append([]string{l.CostColumn, l.GroupColumn}, l.Same...) {
		if name != "" && !slices.ContainsFunc(c.Columns, func(of Column) bool { return of.Name == name }) {
			return noColumn(name)
		}
	}
	return nil
}

// checkInputs reports columns of inputs that the rows do not have. Logs of earlier versions may name such columns, so
// that only new settings are checked.
func (c *Created) checkInputs(set tables.Columns) error {
	// may be categories in the table, and are not inputs
	beside := append(slices.Clone(c.Targets), c.IDColumn)
	var found []error
	check := func(option string, names, beside []string) {
		for _, name := range names {
			if !slices.ContainsFunc(c.Columns, func(of Column) bool { return of.Name == name }) &&
				!slices.Contains(beside, name) {
				found = append(found, &options.Fault{Option: option, Cause: noColumn(name)})
			}
		}
	}
	check("Categorical", set.Categorical, beside)
	check("Keep", set.Keep, nil)
	check("Ordered", slices.Sorted(maps.Keys(set.Ordered)), beside)
	return errors.Join(found...)
}

func noColumn(name string) error { return fmt.Errorf("the rows have no column %q", name) }

// refused is a *nextbatch.RequestError about settings, of which doors name the options.
type refused struct{ error }

func (r refused) Unwrap() error { return r.error }

// As implements the interface of errors.As.
func (r refused) As(target any) bool {
	of, ok := target.(**nextbatch.RequestError)
	if ok {
		*of = &nextbatch.RequestError{Reason: r.Error()}
	}
	return ok
}
