// Package conformal turns the errors that a model made on held-out rows into intervals: those that
// contain the label of a new row with a given probability (Learn, Radius), and those that
// contain the model's error on a population (EstimateRMSE). It knows nothing of how a model predicts.
package conformal
