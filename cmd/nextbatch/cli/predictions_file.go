package cli

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"strings"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/internal/plausible"
)

// predictionsFile is the file beside a batch that holds what was predicted for its rows: batch.predictions.csv for
// batch.csv.
func predictionsFile(batch string) string {
	if batch == "" {
		return ""
	}
	name := strings.TrimSuffix(batch, ".gz")
	for _, extension := range tableExtensions() {
		name = strings.TrimSuffix(name, extension)
	}
	return name + ".predictions.csv"
}

// writePredictions writes what was predicted for the rows of a batch to a file beside it. Without a model there is
// nothing to write, but a file of an earlier batch is replaced.
func (s *selecting) writePredictions(r *nextbatch.Result) error {
	path := predictionsFile(s.out)
	targets := r.Targets
	if targets == nil && len(r.Predictions) > 0 {
		targets = []nextbatch.TargetResult{{Target: s.request.TargetColumns[0], Predictions: r.Predictions}}
	}
	if _, err := os.Stat(path); len(targets) == 0 && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	id, row, target := dataset.NewText("id"), dataset.NewNumeric("row"), dataset.NewText("target")
	value, low, high := dataset.NewNumeric("prediction"), dataset.NewNumeric("low"), dataset.NewNumeric("high")
	for _, t := range targets {
		for i, p := range t.Predictions {
			id.Append([]byte(r.IDs[i]))
			row.Append(float64(r.Indices[i]))
			target.Append([]byte(t.Target))
			value.Append(float64(p.Value))
			low.Append(limit(p.Low))
			high.Append(limit(p.High))
		}
	}
	t, err := dataset.NewTable(id, row, target, value, low, high)
	if err != nil {
		return err
	}
	return source.WriteFile(path, t)
}

// limit is a limit of an interval, or not a number.
func limit(v *number) float64 {
	if v == nil {
		return math.NaN()
	}
	return float64(*v)
}

// forecasts are what was predicted for the rows of a batch: by target, and by the name of the row.
type forecasts map[string]map[string]*plausible.Expected

// readForecasts reads the predictions beside a batch file; there are none without such a file. Predictions without an
// interval are left out.
func readForecasts(ctx context.Context, batch string) (forecasts, error) {
	path := predictionsFile(batch)
	number, text := dataset.KindNumeric, dataset.KindText
	t, err := source.ReadFile(ctx, path, source.Options{Delimiter: ',', Header: source.HeaderPresent,
		Kinds: map[string]dataset.Kind{"id": text, "target": text, "prediction": number, "low": number, "high": number}})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil,
			dataError{errorf("%w; %s holds what 'nextbatch select' predicted for the rows of the batch: restore it, or delete "+
				"it to do without", err, path)}
	}
	var ids, targets dataset.Column
	var numbers [3]*dataset.Numeric
	found := forecasts{}
	ids, _ = t.Column("id") // which the reader requires, as all that it is told the kinds of
	targets, _ = t.Column("target")
	for k, name := range []string{"prediction", "low", "high"} {
		numbers[k], _ = t.Numeric(name)
	}
	for i := range t.Rows() {
		target := targets.Format(i)
		if found[target] == nil {
			found[target] = map[string]*plausible.Expected{}
		}
		e := &plausible.Expected{Value: numbers[0].Float(i), Low: numbers[1].Float(i), High: numbers[2].Float(i)}
		if e.Low <= e.High {
			found[target][ids.Format(i)] = e
		}
	}
	return found, nil
}
