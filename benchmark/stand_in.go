package benchmark

import "slices"

// standIns are fingerprints of data that only look like a data set of the paper,
// prepared as that one is.
var standIns = []string{
	"4f924de044e1ea577c8c5e58b56a914a", // poker: generated hands with the rule of the set
}

// StandIns names the data sets of the file that are known to be stand-ins for
// those of the paper.
func (s *Store) StandIns() (names []string, err error) {
	rows, err := s.db.Query("SELECT name, fingerprint FROM sets ORDER BY name")
	if err != nil {
		return nil, s.explain(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name, fingerprint string
		if err := rows.Scan(&name, &fingerprint); err != nil {
			return nil, s.explain(err)
		}
		if slices.Contains(standIns, fingerprint) {
			names = append(names, name)
		}
	}
	return names, s.explain(rows.Err())
}
