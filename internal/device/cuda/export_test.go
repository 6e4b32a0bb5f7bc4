//go:build linux && (amd64 || arm64)

package cuda

import "testing"

// ForceTile makes trainings use one tile until the test ends; 0 leaves them the choice.
func ForceTile(t testing.TB, tile int) {
	forcedTile = tile
	t.Cleanup(func() { forcedTile = 0 })
}

// Unpacked is what a card loads.
var Unpacked = unpacked

// KeepSteps makes MaxDet keep the given number of steps for the rest of a test.
func KeepSteps(t testing.TB, steps int) {
	before := mostVectors
	mostVectors = steps
	t.Cleanup(func() { mostVectors = before })
}

// ForceGroups trains networks in the given number of groups until the test ends, if there are
// enough networks.
func ForceGroups(t testing.TB, groups int) {
	most, size := mostGroups, groupSize
	mostGroups, groupSize = groups, 1
	t.Cleanup(func() { mostGroups, groupSize = most, size })
}
