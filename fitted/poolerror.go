package fitted

// A method picks rows that are hard for the network. The error on held-out labelled
// rows that a method picked therefore overstates the error on the pool, and may rise
// from round to round while the network gets better. Labelled rows that were drawn from
// the pool at random, if the table marks them, have no such bias.

import (
	"fmt"

	"github.com/nextbatch/nextbatch/internal/conformal"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/tables"
)

// ValidRMSEMeaning explains the RMSE of a model on rows that it held out; it is empty where there is none.
func ValidRMSEMeaning(m *learner.Model) string {
	n := m.Provenance().ValidRows
	if len(m.Provenance().ValidRMSE) == 0 {
		return ""
	}
	const picked = "if a method picked these labels, it overstates the pool's error"
	switch {
	case m.CountsPool():
		return fmt.Sprintf("RMSE on %d labelled rows, each predicted by models that had not learnt from it, and counted "+
			"for the rows of the pool that it stands for", n)
	case m.Kind().Blends():
		return fmt.Sprintf("RMSE on %d labelled rows, each predicted by models that had not learnt from it; %s", n, picked)
	}
	return fmt.Sprintf("RMSE on %d labelled rows held out of training; %s", n, picked)
}

// poolRMSE estimates, for each target, the error on the pool of a model that was fitted to
// the rows, from those that were held out and drawn at random. An estimate is nil if the
// table does not mark these, or if they are too few, which a warning reports.
func poolRMSE(r *tables.Rows, m *learner.Model) (estimates []*conformal.RMSEEstimate, warnings []string) {
	for k := range m.Targets() {
		e, warning := targetRMSE(r, m.Target(k))
		if warning != "" && m.Targets() > 1 {
			warning = "target " + m.TargetName(k) + ": " + warning
		}
		if estimates = append(estimates, e); warning != "" {
			warnings = append(warnings, warning)
		}
	}
	return estimates, warnings
}

func targetRMSE(r *tables.Rows, m *learner.Model) (estimate *conformal.RMSEEstimate, warning string) {
	if r.Random == nil {
		return nil, ""
	}
	random := 0
	for _, drawn := range r.Random {
		if drawn {
			random++
		}
	}
	var errors []float64
	for _, held := range m.Residuals() {
		if r.Random[held.Row] {
			errors = append(errors, held.Error)
		}
	}
	e, err := conformal.EstimateRMSE(errors)
	if err != nil {
		//warning:no-pool-error
		warning = fmt.Sprintf("the pool's error is not estimated: %d held-out rows were drawn at random, and it takes %d",
			len(errors), conformal.LeastErrors)
		if !m.Kind().Blends() && random >= conformal.LeastErrors { // a blend holds out every row
			warning += fmt.Sprintf("; %s counts all %d, as each labelled row is predicted by models that have not learnt "+
				"from it", r.Named("Learner", string(learner.Auto)), random)
		}
		return nil, warning
	}
	return &e, ""
}
