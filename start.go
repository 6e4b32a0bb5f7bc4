package nextbatch

import (
	"slices"

	"github.com/nextbatch/nextbatch/spec"
	"github.com/nextbatch/nextbatch/tables"
)

// How to start: as long as fewer than two rows have a label there is no network, and the
// first batch is spread over the inputs. LCMD does so without preferring outliers, since
// it picks in the largest cluster.

const (
	startSpec    = "lcmd-p:linear"  // without labels
	oneLabelSpec = "lcmd-tp:linear" // with one
)

// starts reports whether the tables have too few labels to train a network.
func (r *Request) starts() bool {
	return !r.OwnFeatures && r.Model == nil && r.Foreign == nil && r.pool() != nil && r.labels() < tables.FewestToLearn
}

func (r *Request) firstSpec() string {
	if r.labels() == 0 {
		return startSpec
	}
	return oneLabelSpec
}

// labels counts the labelled rows in the tables, up to tables.FewestToLearn.
func (r *Request) labels() int {
	t := r.train()
	if t == nil {
		return 0
	}
	if len(r.TargetColumns) > 0 && tables.AnyLabel(t, r.TargetColumns) == nil {
		return tables.FewestToLearn // the error comes when labels are read
	}
	return tables.CountLabelled(t, r.TargetColumns, tables.FewestToLearn)
}

// poolHasLabels reports whether the table of candidates has labels, which it should not.
func (r *Request) poolHasLabels() bool {
	return tables.CountLabelled(r.Pool, r.TargetColumns, 1) > 0
}

// needsLabelled reports whether a spec cannot do without labelled rows.
func needsLabelled(s spec.Spec) bool {
	return s.TrainedNetworks() > 0 || s.Mode == spec.TP || s.Kernel.Info().Train ||
		slices.ContainsFunc(s.Transforms, func(t spec.Transform) bool { return t.Info().Train })
}
