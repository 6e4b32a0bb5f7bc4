package benchmark

import (
	"database/sql"
	"encoding/json"
)

// RunStatus is how far a run is.
type RunStatus struct {
	Run     Run
	Done    int     // rounds, of Rounds+1
	Working bool    // a process is at work on it
	Failure string  // why it could not go on, when it was last tried
	Seconds float64 // spent on it
}

// Finished tells that nothing is left to do.
func (s RunStatus) Finished() bool { return s.Done > s.Run.Rounds }

// Status returns how far each planned run is, in the order of Records.
func (s *Store) Status() ([]RunStatus, error) {
	working, err := s.working()
	if err != nil {
		return nil, err
	}
	rows, err := s.db.Query(`SELECT dataset, activation, spec, compat, batch, rounds, split,
			count(round), total(elapsed), owner, ifnull(error, '')
		FROM runs LEFT JOIN rounds ON run = id GROUP BY id
		ORDER BY dataset, activation, spec, compat, batch, rounds, split`)
	if err != nil {
		return nil, s.explain(err)
	}
	defer rows.Close()
	var list []RunStatus
	for rows.Next() {
		var r RunStatus
		var owner sql.NullInt64
		err := rows.Scan(&r.Run.DataSet, &r.Run.Activation, &r.Run.Spec, &r.Run.Compat, &r.Run.BatchSize, &r.Run.Rounds, &r.Run.Split,
			&r.Done, &r.Seconds, &owner, &r.Failure)
		if err != nil {
			return nil, s.explain(err)
		}
		r.Working = owner.Valid && working[owner.Int64]
		list = append(list, r)
	}
	return list, s.explain(rows.Err())
}

// working returns the processes that can still be at work.
func (s *Store) working() (map[int64]bool, error) {
	rows, err := s.db.Query("SELECT id, host, pid, seen FROM processes")
	if err != nil {
		return nil, s.explain(err)
	}
	defer rows.Close()
	working := map[int64]bool{}
	for rows.Next() {
		var id int64
		var p presence
		if err := rows.Scan(&id, &p.host, &p.pid, &p.seen); err != nil {
			return nil, s.explain(err)
		}
		working[id] = p.working()
	}
	return working, s.explain(rows.Err())
}

// Done returns how many rounds of each run are there.
func (s *Store) Done() (map[Run]int, error) {
	list, err := s.Status()
	done := map[Run]int{}
	for _, r := range list {
		done[r.Run] = r.Done
	}
	return done, err
}

// Settings returns what all runs of the file have in common.
func (s *Store) Settings() (settings Settings, err error) {
	var text []byte
	if err := s.db.QueryRow("SELECT value FROM settings").Scan(&text); err == sql.ErrNoRows {
		return settings, nil // nobody has joined yet
	} else if err != nil {
		return settings, s.explain(err)
	}
	return settings, json.Unmarshal(text, &settings)
}
