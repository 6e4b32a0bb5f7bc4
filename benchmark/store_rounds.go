package benchmark

import (
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"
)

// Append writes the next round of a claimed run. It is ErrTaken if another
// process has taken the run over.
func (s *Store) Append(c *Claim, r Record) error {
	warnings, err := json.Marshal(append([]string{}, r.Warnings...))
	if err != nil {
		return err
	}
	return s.write(func(tx *sql.Tx) error {
		if err := s.own(tx, c); err != nil {
			return err
		}
		_, err := tx.Exec(`INSERT INTO rounds (run, round, labels, mae, rmse, maxe, q95, q99,
				training, features, selection, testing, elapsed,
				effective_dimension, fallbacks, picked, warnings, threads, process, finished)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			c.id, r.Round.Round, r.Labels, orNull(r.Test.MAE), orNull(r.Test.RMSE), orNull(r.Test.MaxE), orNull(r.Test.Q95), orNull(r.Test.Q99),
			r.Training, r.Features, r.Selection, r.Testing, r.Elapsed,
			orNull(r.EffectiveDimension), r.Fallbacks, packRows(r.Picked), string(warnings), r.Threads, s.process, now())
		return err
	})
}

// orNull is a number for a column where NULL stands for NaN.
func orNull(v float64) sql.NullFloat64 { return sql.NullFloat64{Float64: v, Valid: !math.IsNaN(v)} }

func orNaN(v sql.NullFloat64) float64 {
	if !v.Valid {
		return math.NaN()
	}
	return v.Float64
}

func packRows(rows []int) []byte {
	packed := make([]byte, 0, 4*len(rows))
	for _, row := range rows {
		packed = binary.LittleEndian.AppendUint32(packed, uint32(row))
	}
	return packed
}

func unpackRows(packed []byte) ([]int, error) {
	if len(packed)%4 != 0 {
		return nil, fmt.Errorf("%d bytes are no list of rows", len(packed))
	}
	rows := make([]int, len(packed)/4)
	for i := range rows {
		rows[i] = int(binary.LittleEndian.Uint32(packed[4*i:]))
	}
	return rows, nil
}

const selectRounds = `SELECT dataset, activation, spec, compat, batch, rounds, split,
		round, labels, mae, rmse, maxe, q95, q99, training, features, selection, testing, elapsed,
		effective_dimension, fallbacks, picked, warnings, threads,
		version, revision, platform, cpu, simd, finished
	FROM rounds JOIN runs ON runs.id = rounds.run JOIN processes ON processes.id = rounds.process `

// records returns the rounds of one run.
func (s *Store) records(run int64) ([]Record, error) {
	return s.query(selectRounds+"WHERE run = ? ORDER BY round", run)
}

// Records returns all rounds in the file, ordered by run and round.
func (s *Store) Records() ([]Record, error) {
	return s.query(selectRounds + "ORDER BY dataset, activation, spec, compat, batch, rounds, split, round")
}

// Results returns all rounds in the file, without what only a resumed run needs.
func (s *Store) Results() (Results, error) {
	records, err := s.Records()
	results := make(Results, len(records))
	for i, r := range records {
		results[i] = r.Round
	}
	return results, err
}

// ReadResults returns all rounds in a results file, also while others work on it.
func ReadResults(path string) (Results, error) {
	s, err := OpenReadOnly(path)
	if err != nil {
		return nil, err
	}
	results, err := s.Results()
	return results, errors.Join(err, s.Close())
}

func (s *Store) query(text string, args ...any) ([]Record, error) {
	rows, err := s.db.Query(text, args...)
	if err != nil {
		return nil, s.explain(err)
	}
	defer rows.Close()
	var records []Record
	for rows.Next() {
		r, err := scanRecord(rows)
		if err != nil {
			return nil, &StoreError{Path: s.path, Reason: "a round cannot be read: " + err.Error(), Cause: err}
		}
		records = append(records, r)
	}
	return records, s.explain(rows.Err())
}

func scanRecord(rows *sql.Rows) (r Record, err error) {
	var mae, rmse, maxe, q95, q99, dimension sql.NullFloat64
	var picked, warnings []byte
	var finished int64
	err = rows.Scan(&r.DataSet, &r.Activation, &r.Spec, &r.Compat, &r.BatchSize, &r.Rounds, &r.Split,
		&r.Round.Round, &r.Labels, &mae, &rmse, &maxe, &q95, &q99, &r.Training, &r.Features, &r.Selection, &r.Testing, &r.Elapsed,
		&dimension, &r.Fallbacks, &picked, &warnings, &r.Threads,
		&r.By.Version, &r.By.Revision, &r.By.Platform, &r.By.CPU, &r.By.SIMD, &finished)
	if err != nil {
		return r, err
	}
	r.Test.MAE, r.Test.RMSE, r.Test.MaxE, r.Test.Q95, r.Test.Q99 = orNaN(mae), orNaN(rmse), orNaN(maxe), orNaN(q95), orNaN(q99)
	r.EffectiveDimension, r.Finished = orNaN(dimension), time.UnixMilli(finished)
	if r.Picked, err = unpackRows(picked); err != nil {
		return r, err
	}
	return r, json.Unmarshal(warnings, &r.Warnings)
}
