package benchmark

import (
	"context"
	"fmt"

	"github.com/nextbatch/nextbatch/internal/sets"
)

// Replay performs runs on a data set in memory, one after another, without a
// results file: all labels are known, and the runs request them as if they were
// not. The names of data sets in the runs are ignored. Successive runs of a split share the model of
// their first round, which is the same. Unless progress is nil, it
// is called after each round, from the same goroutine. If the context ends, Replay
// returns the rounds so far with the context's error.
func Replay(ctx context.Context, data *sets.Regression, s Settings, runs []Run,
	progress func(Record)) (Results, error) {
	s = s.WithDefaults()
	var results Results
	var last *task
	var starts map[startKey]start
	for i, run := range runs {
		if last == nil || run.Split != runs[i-1].Split || run.Compat != runs[i-1].Compat {
			var err error
			if last, err = newTask(data, s, run.Split, run.Compat); err != nil {
				return results, err
			}
			starts = map[startKey]start{}
		}
		r, err := newRunner(run, s, last, nil)
		if err == nil {
			r.starts = starts
		}
		for err == nil && !r.finished() {
			var record Record
			if record, err = r.round(ctx); err != nil {
				break
			}
			results = append(results, record.Round)
			if progress != nil {
				progress(record)
			}
			err = r.label(record.Picked)
		}
		if err != nil {
			return results, fmt.Errorf("%s, split %d: %w", run.Spec, run.Split, err)
		}
	}
	return results, nil
}
