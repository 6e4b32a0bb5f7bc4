//go:build !race

package selection_test

// underRace reports whether the race detector is on, which makes everything slower.
const underRace = false
