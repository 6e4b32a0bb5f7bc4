// Package learner finds the model that suits the labels there are. No model is best on every
// table: with few labels a Gaussian process or trees often halve the error of a network, and
// on other tables they double it.
//
// Each candidate is cross-fitted: the labelled rows are cut into folds, and a model that is
// fitted to the other folds predicts each of them. With f_k(x_i) such predictions of candidate k
// for labelled row i, and y_i its label, the blend is
//
//	f(x) = Σ_k w_k·f_k(x),   w minimises Σ_i (Σ_k w_k·f_k(x_i) - y_i)² + λ·‖w - e_b‖²
//
// over w ≥ 0 with Σ_k w_k = 1; large errors of the blend count by their size instead of its
// square. Here b is the candidate with the lowest error of all, and λ its mean squared error times
// a few labels: with few labels there is little to tell the candidates apart by, and the weights
// stay close to the best one. f_k(x) for a new row is the mean of the models of the folds and,
// where a candidate fits one, of the model of all rows: what cross-fitting has computed is used.
//
// The blend's own predictions for the labelled rows, by the same weights, are out of fold as well
// (Model.Residuals), and its error on them estimates that on new rows like them.
package learner
