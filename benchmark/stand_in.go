package benchmark

import (
	"database/sql"
	"slices"
)

// standIns are fingerprints of data that only look like a data set of the paper,
// prepared as that one is.
var standIns = []string{
	"4f924de044e1ea577c8c5e58b56a914a", // poker: generated hands with the rule of the set
}

// StandIns names the data sets of the file that are known to be stand-ins for
// those of the paper.
func (s *Store) StandIns() (names []string, err error) {
	err = s.each("SELECT name, fingerprint FROM sets", func(row *sql.Rows) error {
		var name, fingerprint string
		err := row.Scan(&name, &fingerprint)
		if slices.Contains(standIns, fingerprint) {
			names = append(names, name)
		}
		return err
	})
	slices.Sort(names)
	return names, err
}
