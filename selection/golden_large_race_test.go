//go:build race

package selection_test

// largeBatch is how many rows TestGoldenLarge selects: under the race detector each takes seconds.
const largeBatch = 32
