// Package selectiontest tests implementations of selection methods: the paper's
// pseudocode as it stands (Oracle), difficult problems (Cases), and a suite that every
// method passes (Suite).
//
// The oracles are slow and plain: they are the definition of correct. Each runs in one
// goroutine on numbers of its own, so the race detector skips their inner loops (go:norace).
package selectiontest
