//go:build !race

package selection_test

// largeBatch is how many rows TestGoldenLarge selects.
const largeBatch = 256
