// Package nextbatch answers one question: which rows should I label next?
//
// A method is a spec.Spec, written the way the paper writes it, such as
//
//	lcmd-tp:grad>sketch(512)
//
// (selection method and mode, base kernel, kernel transformations in their order). spec.Parse reads that text, names
// from the literature ("badge") and the ids of the published benchmark ("NN_lcmd-tp_grad_rp-512").
//
// Select picks a Batch from a Problem, which consists of models and matrices. A Request describes the same task in the
// user's terms, with tables, ids and a budget: its Plan reads the tables (package tables), trains and returns a Result.
//
// "The paper" is Holzmüller, Zaverkin, Kästner and Steinwart, "A Framework and
// Benchmark for Deep Batch Active Learning for Regression", JMLR 2023.
package nextbatch

const Version = "0.1.0-dev"
