// Package incontext predicts the labels of a table with a network that has read millions of generated tables: it
// reads the labelled rows once, without any training, and answers with a distribution for each other row. The network
// was trained by training/incontext, whose model.py defines what this package computes.
//
// A token stands for the cells of two columns of a row, and one for its label. With h the tokens, each of the
// network's blocks does
//
//	h += A(rms(h))    attention over the tokens of a row
//	h += R(rms(h))    attention over the labelled rows of a column, and a few rows of the network's own
//	h += M(rms(h))    a small network for each token
//
// so rows without a label do not see one another, and what the labelled rows become in each block is computed
// once (reading). The label's token of a row is turned into probabilities of bins of the standardised label:
//
//	E[y|x] = mean + deviation · Σ_b p_b·c_b
//
// with c_b the middle of bin b. The order of the columns, and which signs stand for a level, are random; the
// probabilities of several such views are averaged.
package incontext
