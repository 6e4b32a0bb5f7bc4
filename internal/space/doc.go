// Package space makes candidates of factors. A description in TOML says which values factors take and which
// combinations are allowed; the package counts the candidates without building them, and builds all of them or a sample
// that fills the space.
//
// Values are whole numbers of a decimal unit, so nothing is rounded. Factors that constraints link form a group; groups
// multiply. A group is a diagram: its factors in a row, each state of the constraints a node, each value or block of
// values an edge. Counts and weights of nodes are sums over their edges, from the last factor to the first. A sample
// follows the edges from the first factor to the last: each coordinate of a scrambled Sobol point chooses among the
// edges of a node by their weight, so that the points fill the allowed part of the space alone.
package space
