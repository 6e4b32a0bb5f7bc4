// Package selectiontest tests implementations of selection methods: the paper's
// pseudocode as it stands (Oracle), difficult problems (Cases), and a suite that every
// method passes (Suite).
//
// The oracles are slow and plain: they are the definition of correct.
package selectiontest
