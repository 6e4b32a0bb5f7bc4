package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/nextbatch/nextbatch/internal/benchmark"
	"github.com/nextbatch/nextbatch/internal/sqlitefile"
)

// Append writes the next round of a claimed run. It returns ErrTaken if another
// process has taken over the run.
func (s *Store) Append(c *benchmark.Claim, r benchmark.Record) error {
	if err := r.Round.Check(); err != nil {
		return fmt.Errorf("%v: %w", c.Run, err)
	}
	warnings, err := json.Marshal(append([]string{}, r.Warnings...))
	if err != nil {
		return err
	}
	return s.write(func(tx *sql.Tx) error {
		if err := s.checkOwner(tx, c); err != nil {
			return err
		}
		_, err := tx.Exec(`INSERT INTO rounds (run, round, labels, mae, rmse, maxe, q95, q99,
				training, features, selection, testing, elapsed,
				effective_dimension, fallbacks, picked, warnings, threads, process, finished)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			c.Key, r.Round.Round, r.Labels, orNull(r.Test.MAE), orNull(r.Test.RMSE), orNull(r.Test.MaxE),
			orNull(r.Test.Q95), orNull(r.Test.Q99),
			r.Training, r.Features, r.Selection, r.Testing, r.Elapsed,
			orNull(r.EffectiveDimension), r.Fallbacks, packRows(r.Picked), string(warnings), r.Threads,
			s.process, sqlitefile.Now())
		if err != nil {
			return err
		}
		return appendTargets(tx, c.Key, r)
	})
}

// appendTargets writes the errors of each target.
func appendTargets(tx *sql.Tx, run int64, r benchmark.Record) error {
	for i, t := range r.Targets {
		_,
			err := tx.Exec(
			"INSERT INTO targets (run, round, target, name, mae, rmse, maxe, q95, q99) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
			run, r.Round.Round, i, t.Target, orNull(t.MAE), orNull(t.RMSE), orNull(t.MaxE), orNull(t.Q95), orNull(t.Q99))
		if err != nil {
			return err
		}
	}
	return nil
}

// orNull prepares a number for a column in which NULL means NaN.
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
		return nil, fmt.Errorf("%d bytes are not a list of rows", len(packed))
	}
	rows := make([]int, len(packed)/4)
	for i := range rows {
		rows[i] = int(binary.LittleEndian.Uint32(packed[4*i:]))
	}
	return rows, nil
}

// storedRound is a row of the table rounds, with keys that are not resolved yet.
type storedRound struct {
	run, process int64
	benchmark.Record
}

// rounds returns the rounds of one run, or of all.
func (s *Store) rounds(ctx context.Context, where string, args ...any) (list []storedRound, err error) {
	err = s.each(ctx, `SELECT run, process, round, labels, mae, rmse, maxe, q95, q99,
		training, features, selection, testing, elapsed,
		effective_dimension, fallbacks, picked, warnings, threads, finished FROM rounds `+where, func(row *sql.Rows) error {
		r, err := scanRound(row)
		list = append(list, r)
		return err
	}, args...)
	if err != nil || s.file.Version() < 2 {
		return list, err
	}
	return list, s.addTargets(ctx, list, where, args...)
}

// addTargets adds the errors of each target to rounds. They were written together with
// their round, so those of a round that is not in the list are newer than it.
func (s *Store) addTargets(ctx context.Context, list []storedRound, where string, args ...any) error {
	at := map[[2]int64]*storedRound{}
	for i := range list {
		at[[2]int64{list[i].run, int64(list[i].Round.Round)}] = &list[i]
	}
	return s.each(ctx, "SELECT run, round, target, name, mae, rmse, maxe, q95, q99 FROM targets "+where+
		" ORDER BY run, round, target", func(row *sql.Rows) error {
		var run, round int64
		var position int
		var t benchmark.TargetErrors
		var mae, rmse, maxe, q95, q99 sql.NullFloat64
		if err := row.Scan(&run, &round, &position, &t.Target, &mae, &rmse, &maxe, &q95, &q99); err != nil {
			return err
		}
		r := at[[2]int64{run, round}]
		if r == nil {
			return nil
		}
		if position != len(r.Targets) {
			return fmt.Errorf("target %d of a round follows target %d", position, len(r.Targets)-1)
		}
		t.MAE, t.RMSE, t.MaxE, t.Q95, t.Q99 = orNaN(mae), orNaN(rmse), orNaN(maxe), orNaN(q95), orNaN(q99)
		r.Targets = append(r.Targets, t)
		return r.Round.Check()
	}, args...)
}

// mostWarnings is the length of all warnings of a round.
const mostWarnings = 1 << 20

func scanRound(row *sql.Rows) (r storedRound, err error) {
	var mae, rmse, maxe, q95, q99, dimension sql.NullFloat64
	var picked, warnings []byte
	var finished int64
	err = row.Scan(&r.run, &r.process, &r.Round.Round, &r.Labels, &mae, &rmse, &maxe, &q95, &q99,
		&r.Training, &r.Features, &r.Selection, &r.Testing, &r.Elapsed,
		&dimension, &r.Fallbacks, &picked, &warnings, &r.Threads, &finished)
	if err != nil {
		return r, err
	}
	r.Test.MAE, r.Test.RMSE, r.Test.MaxE, r.Test.Q95, r.Test.Q99 = orNaN(mae), orNaN(rmse),
		orNaN(maxe), orNaN(q95), orNaN(q99)
	r.EffectiveDimension, r.Finished = orNaN(dimension), time.UnixMilli(finished)
	if r.Picked, err = unpackRows(picked); err != nil {
		return r, err
	}
	if len(warnings) > mostWarnings { // a list of empty ones takes many times its text
		return r, fmt.Errorf("the warnings of a round have %d bytes", len(warnings))
	}
	if err := json.Unmarshal(warnings, &r.Warnings); err != nil {
		return r, fmt.Errorf("the warnings of a round: %w", err)
	}
	return r, r.Round.Check()
}

// records replaces the keys of rounds by their runs and processes.
func (s *Store) records(ctx context.Context, rounds []storedRound,
	runs map[int64]storedRun) ([]benchmark.Record, error) {
	processes, err := s.processes(ctx)
	if err != nil {
		return nil, err
	}
	records := make([]benchmark.Record, len(rounds))
	for i, r := range rounds {
		run, known := runs[r.run]
		if !known {
			return nil, s.fail("it is damaged: a round belongs to no run", nil)
		}
		r.Run, r.By = run.Run, processes[r.process].Process
		records[i] = r.Record
	}
	slices.SortStableFunc(records, func(a, b benchmark.Record) int {
		return cmp.Or(a.Run.Compare(b.Run), cmp.Compare(a.Round.Round, b.Round.Round))
	})
	return records, nil
}

// Records returns all rounds in the file, ordered by run and round.
func (s *Store) Records(ctx context.Context) ([]benchmark.Record, error) {
	rounds, err := s.rounds(ctx, "")
	if err != nil {
		return nil, err
	}
	runs, err := s.runs(ctx) // after the rounds, because a run is written before its rounds
	if err != nil {
		return nil, err
	}
	return s.records(ctx, rounds, runs)
}
