package nextbatch

import (
	"fmt"
	"strings"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/network"
)

// A method picks rows that are hard for the network. The error on held-out labelled
// rows that a method picked therefore overstates the error on the pool, and may rise
// from round to round while the network gets better. Labelled rows that were drawn from
// the pool at random, where the table tells which they are, have no such bias.

// ValidRMSEMeaning says what the RMSE on so many held-out rows is of.
func ValidRMSEMeaning(rows int) string {
	return fmt.Sprintf("RMSE on %d labelled rows held out of training; if a method picked these labels, it overstates the pool's error", rows)
}

// randomFlags reads which rows of a table a column marks as drawn at random. A missing
// value means no.
func randomFlags(t *dataset.Table, column string, rows []int) ([]bool, error) {
	c, err := t.Column(column)
	if err != nil {
		return nil, err
	}
	flags := make([]bool, len(rows))
	for i, row := range rows {
		if c.Missing(row) {
			continue
		}
		switch strings.ToLower(c.Format(row)) {
		case "true", "1", "yes":
			flags[i] = true
		case "false", "0", "no":
		default:
			return nil, &dataset.ColumnError{Column: column, Row: row, Problem: fmt.Sprintf("%q does not say whether the row was drawn at random: write true or false, or 1 or 0", c.Format(row))}
		}
	}
	return flags, nil
}

// PoolRMSE estimates, for each target, the error on the pool of a model that was fitted to
// the rows, from those that were held out and drawn at random. An estimate is nil where the
// table does not tell which these are, or where they are too few, of which a text warns.
func (r *Rows) PoolRMSE(m *network.Model) (estimates []*network.RMSEEstimate, warnings []string) {
	for k := range m.Targets() {
		e, warning := r.poolRMSE(m.Target(k))
		if warning != "" && m.Targets() > 1 {
			warning = "target " + m.TargetName(k) + ": " + warning
		}
		if estimates = append(estimates, e); warning != "" {
			warnings = append(warnings, warning)
		}
	}
	return estimates, warnings
}

func (r *Rows) poolRMSE(m *network.Model) (estimate *network.RMSEEstimate, warning string) {
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
