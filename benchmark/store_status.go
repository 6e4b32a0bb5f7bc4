package benchmark

// Finished returns the runs of the file that are done.
func (s *Store) Finished() (map[Run]bool, error) {
	rows, err := s.db.Query(`SELECT dataset, activation, spec, compat, batch, rounds, split FROM runs
		WHERE EXISTS (SELECT 1 FROM rounds WHERE run = runs.id AND round = runs.rounds)`)
	if err != nil {
		return nil, s.explain(err)
	}
	defer rows.Close()
	finished := map[Run]bool{}
	for rows.Next() {
		var r Run
		if err := rows.Scan(&r.DataSet, &r.Activation, &r.Spec, &r.Compat, &r.BatchSize, &r.Rounds, &r.Split); err != nil {
			return nil, s.explain(err)
		}
		finished[r] = true
	}
	return finished, s.explain(rows.Err())
}
