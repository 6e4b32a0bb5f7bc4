package benchmark

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/spec"
)

// Method returns the spec of the run's method.
func (r Run) Method() (spec.Spec, error) {
	_, text := SplitSpec(r.Spec)
	s, err := spec.Parse(text)
	s.Compat = r.Compat
	return s, err
}

// Learner returns what the run fits in each round.
func (r Run) Learner() learner.Kind {
	kind, _ := SplitSpec(r.Spec)
	return kind
}

// String describes the run in one line.
func (r Run) String() string {
	compat := ""
	if r.Compat {
		compat = " (compat)"
	}
	return fmt.Sprintf("%s, %s%s, %s, %d x %d, split %d", r.DataSet, r.Spec, compat, r.Activation,
		r.Rounds, r.BatchSize, r.Split)
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
	} else if text := JoinSpec(r.Learner(), specText(spec)); text != r.Spec {
		found = append(found, fmt.Errorf("the canonical text of %q is %q", r.Spec, text))
	} else if lacks := lacking(r.Learner(), spec); lacks != "" {
		found = append(found, fmt.Errorf("%s: %s", r.Spec, lacks))
	}
	return errors.Join(append(found, r.CheckSize())...)
}

// Limits on the names and numbers of a run, so that code that prints, draws or
// sums them need not expect everything.
const (
	longestName   = 1 << 10 // bytes
	largestNumber = 1 << 31
	mostTargets   = 1 << 12
)

// CheckSize reports names and numbers of a run that exceed the limits. It accepts
// activations and methods that this program does not know.
func (r Run) CheckSize() error {
	var found []error
	for _, name := range []struct{ what, text string }{{"data set", r.DataSet},
		{"activation", r.Activation}, {"method", r.Spec}} {
		if len(name.text) > longestName {
			found = append(found, fmt.Errorf("the name of a run's %s has %d bytes, %.40q …; at most %d are allowed", name.what,
				len(name.text), name.text, longestName))
		}
	}
	if r.BatchSize < 1 || r.Rounds < 0 || r.Split < 0 || max(r.BatchSize, r.Rounds, r.Split) > largestNumber {
		found = append(found, fmt.Errorf("%d rounds of %d rows, split %d: no run can have these numbers",
			r.Rounds, r.BatchSize, r.Split))
	}
	return errors.Join(found...)
}

// Compare orders runs in a store: by data set, activation, method and so on, with
// texts in byte order.
func (r Run) Compare(other Run) int {
	compat := func(r Run) int {
		if r.Compat {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(r.DataSet, other.DataSet), cmp.Compare(r.Activation, other.Activation),
		cmp.Compare(r.Spec, other.Spec),
		cmp.Compare(compat(r), compat(other)), cmp.Compare(r.BatchSize, other.BatchSize), cmp.Compare(r.Rounds, other.Rounds),
		cmp.Compare(r.Split, other.Split))
}

// Check reports numbers that no round can have. Test errors may be infinite, times
// may not.
func (r Round) Check() error {
	var found []error
	if r.Round < 0 || r.Labels < 0 || r.Fallbacks < 0 || max(r.Round, r.Labels, r.Fallbacks) > largestNumber {
		found = append(found, fmt.Errorf("round %d has %d labels and %d random rows: no round can have these numbers",
			r.Round, r.Labels, r.Fallbacks))
	}
	if len(r.Targets) > mostTargets {
		found = append(found, fmt.Errorf("a round has the errors of %d targets; at most %d are allowed",
			len(r.Targets), mostTargets))
	}
	for _, target := range r.Targets {
		if len(target.Target) > longestName {
			found = append(found, fmt.Errorf("the name of a target has %d bytes, %.40q …; at most %d are allowed",
				len(target.Target), target.Target, longestName))
		}
	}
	for _, seconds := range []float64{r.Training, r.Features, r.Selection, r.Testing, r.Elapsed} {
		found = append(found, checkSeconds(seconds))
	}
	return errors.Join(found...)
}

// checkSeconds rejects times that are not finite, or longer than any run, so that
// their sums are finite too.
func checkSeconds(seconds float64) error {
	if !(seconds >= 0 && seconds < 1e12) {
		return fmt.Errorf("a round took %v seconds", seconds)
	}
	return nil
}

// specText is the canonical text without @compat, for which Run has a field.
func specText(s spec.Spec) string {
	s.Compat = false
	return s.String()
}

// checkRuns reports what is wrong with runs, once for all that differ only in data
// set and split.
func checkRuns(runs []Run) error {
	var found []error
	seen := map[Run]bool{}
	for _, r := range runs {
		like := r
		if r.DataSet != "" && len(r.DataSet) <= longestName && r.Split >= 0 && r.Split <= largestNumber {
			like.DataSet, like.Split = "any", 0
		}
		if !seen[like] {
			seen[like] = true
			found = append(found, r.Check())
		}
	}
	return errors.Join(found...)
}
