package needs

import "github.com/nextbatch/nextbatch/spec"

// How to start: as long as too few rows have a label there is no model, and the first batch is spread over the inputs.
// Without any label, it would tell a Gaussian process most about the pool: one that nothing is known about, rough and
// partly linear (docs/methods.md). In a large pool, and with a few labels, LCMD picks in the largest cluster.
const (
	startSpec     = "bait-f-p:laplace(0.2)>rff(512)+0.3*linear@sigma2(0.1)"
	mostAtStart   = 100_000 // candidates for which that takes seconds
	largeSpec     = "lcmd-p:linear"
	fewLabelsSpec = "lcmd-tp:linear"
)

// Start returns the method without a model for so many labelled rows and candidates.
func Start(labelled, pool int) spec.Spec {
	switch {
	case labelled > 0:
		return spec.MustParse(fewLabelsSpec)
	case pool > mostAtStart:
		return spec.MustParse(largeSpec)
	}
	return spec.MustParse(startSpec)
}

// FewRowsError reports that fewer rows have a label and all inputs than a model needs.
type FewRowsError struct {
	Rows int
	Text string
}

func (e *FewRowsError) Error() string { return e.Text }
