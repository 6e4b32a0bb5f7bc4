// Package dataset holds tables, and turns them into numbers that a network can learn from.
//
// A Table is a list of named columns of equal length: Numeric, Categorical or
// Text. Package dataset/source reads them from files. Prepare does the paper's
// preprocessing (appendix "Details on Experiments", "Preprocessing"):
//
//	rows with a missing value are dropped
//	at most 500000 rows are kept
//	columns with a single value are dropped
//	categorical columns are one-hot encoded, small ones first
//
// A Split then divides the rows into train, valid, pool and test; a Scaler,
// fitted on train and pool, standardises and soft-clips the inputs; a
// LabelScaler standardises the labels and converts predictions back to their units.
package dataset
