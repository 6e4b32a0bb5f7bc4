package benchmark

import "slices"

// standIns lists fingerprints of prepared data that only look like a data set of
// the paper.
var standIns = []string{
	"4f924de044e1ea577c8c5e58b56a914a", // poker: generated hands, labelled by the rule of the data set
}

// StandIns names the data sets that are known stand-ins for those of the paper.
func StandIns(sets []Set) (names []string) {
	for _, s := range sets {
		if slices.Contains(standIns, s.Fingerprint) {
			names = append(names, s.Name)
		}
	}
	return names
}
