package benchmark

import (
	"errors"
	"fmt"

	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/spec"
)

// Method returns the spec that the run picks with.
func (r Run) Method() (spec.Spec, error) {
	s, err := spec.Parse(r.Spec)
	s.Compat = r.Compat
	return s, err
}

// String names the run in a line.
func (r Run) String() string {
	compat := ""
	if r.Compat {
		compat = " (compat)"
	}
	return fmt.Sprintf("%s, %s%s, %s, %d x %d, split %d", r.DataSet, r.Spec, compat, r.Activation, r.Rounds, r.BatchSize, r.Split)
}

// Check reports everything that is wrong with a run.
func (r Run) Check() error {
	var found []error
	if r.DataSet == "" {
		found = append(found, errors.New("a run has no data set"))
	}
	if _, err := network.ParseActivation(r.Activation); err != nil {
		found = append(found, err)
	}
	spec, err := r.Method()
	if err == nil {
		err = spec.Validate()
	}
	if err != nil {
		found = append(found, err)
	} else if text := specText(spec); text != r.Spec {
		found = append(found, fmt.Errorf("the canonical text of %q is %q", r.Spec, text))
	}
	if r.BatchSize < 1 || r.Rounds < 0 || r.Split < 0 {
		found = append(found, fmt.Errorf("%d rounds of %d rows, split %d: there are no such runs", r.Rounds, r.BatchSize, r.Split))
	}
	return errors.Join(found...)
}

// specText is the canonical text without @compat, which a Run has a field for.
func specText(s spec.Spec) string {
	s.Compat = false
	return s.String()
}

// checkRuns reports what is wrong with runs, once for those that differ only in
// data set and split.
func checkRuns(runs []Run) error {
	var found []error
	seen := map[Run]bool{}
	for _, r := range runs {
		like := r
		if r.DataSet != "" && r.Split >= 0 {
			like.DataSet, like.Split = "any", 0
		}
		if !seen[like] {
			seen[like] = true
			found = append(found, r.Check())
		}
	}
	return errors.Join(found...)
}
