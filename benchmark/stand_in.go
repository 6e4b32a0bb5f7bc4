package benchmark

import "slices"

// standIns are fingerprints of data that only look like a data set of the paper,
// prepared as that one is.
var standIns = []string{
	"4f924de044e1ea577c8c5e58b56a914a", // poker: generated hands with the rule of the set
}

// StandIns names the data sets that are known to be stand-ins for those of the
// paper.
func StandIns(sets []Set) (names []string) {
	for _, s := range sets {
		if slices.Contains(standIns, s.Fingerprint) {
			names = append(names, s.Name)
		}
	}
	return names
}
