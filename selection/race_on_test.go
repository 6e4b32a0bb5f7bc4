//go:build race

package selection_test

// underRace says that the race detector watches, which makes everything slower.
const underRace = true
