package nextbatch

import (
	"fmt"

	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/tables"
)

// A method picks rows that are hard for the network. The error on held-out labelled
// rows that a method picked therefore overstates the error on the pool, and may rise
// from round to round while the network gets better. Labelled rows that were drawn from
// the pool at random, where the table tells which they are, have no such bias.

// ValidRMSEMeaning says what the RMSE on so many held-out rows is of.
func ValidRMSEMeaning(rows int) string {
	return fmt.Sprintf("RMSE on %d labelled rows held out of training; if a method picked these labels, it overstates the pool's error", rows)
}

// PoolRMSE estimates, for each target, the error on the pool of a model that was fitted to
// the rows, from those that were held out and drawn at random. An estimate is nil where the
// table does not tell which these are, or where they are too few, of which a text warns.
func PoolRMSE(r *tables.Rows, m *network.Model) (estimates []*network.RMSEEstimate, warnings []string) {
	for k := range m.Targets() {
		e, warning := poolRMSE(r, m.Target(k))
		if warning != "" && m.Targets() > 1 {
			warning = "target " + m.TargetName(k) + ": " + warning
		}
		if estimates = append(estimates, e); warning != "" {
			warnings = append(warnings, warning)
		}
	}
	return estimates, warnings
}

func poolRMSE(r *tables.Rows, m *network.Model) (estimate *network.RMSEEstimate, warning string) {
	if r.Random == nil {
		return nil, ""
	}
	var errors []float64
	for _, held := range m.Residuals() {
		if r.Random[held.Row] {
			errors = append(errors, held.Error)
		}
	}
	e, err := network.EstimateRMSE(errors)
	if err != nil {
		return nil, fmt.Sprintf("the pool's error is not estimated: %d held-out rows were drawn at random, and it takes %d; 'nextbatch fit', which predicts every row by networks that have not seen it, counts all of them", len(errors), network.LeastErrors)
	}
	return &e, ""
}
