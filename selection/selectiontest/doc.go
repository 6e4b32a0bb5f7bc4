// Package selectiontest holds what implementations of selection methods are
// tested with: the paper's pseudocode as it stands (Oracle), problems that have
// their difficulties (Cases), and a suite that every method passes (Suite).
//
// The oracles are slow and plain: they are the definition of correct.
package selectiontest
