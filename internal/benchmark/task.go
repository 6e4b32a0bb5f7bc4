package benchmark

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"

	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/internal/sets"
	"github.com/nextbatch/nextbatch/matrix"
)

// task is a data set as the runs of one split see it (paper, appendix "Details
// on Experiments"): inputs scaled over train and pool, labels over all rows.
// Concurrent runs share it and only read it.
type task struct {
	split          sets.Split
	x              matrix.Dense[float32]
	y              matrix.Dense[float32] // a column for each target; NaN where a label is missing
	validX, validY matrix.Dense[float32]
	testX, testY   matrix.Dense[float32]
	targets        []string // names of several targets; nil if there is one
	data           *sets.Regression
}

// newTask splits and scales a data set. The published code, which compat
// follows, divides the sum of squared deviations by n−1.
func newTask(data *sets.Regression, s Settings, split int, compat bool) (*task, error) {
	s = s.WithDefaults()
	sizes := sets.PaperSizes(data.X.Rows)
	sizes.Train, sizes.Valid = s.Start, max(0, s.Valid)
	parts, err := sets.PublishedSplit(data.X.Rows, sizes, uint32(split))
	if err != nil {
		return nil, err
	}
	if targets := data.Labels().Cols; s.Weights != nil && len(s.Weights) != targets {
		return nil, fmt.Errorf("there are %d weights, but %d targets", len(s.Weights), targets)
	}
	divisor := encode.Population
	if compat {
		divisor = encode.Sample
	}
	inputs, err := encode.FitScaler(data.X, divisor, parts.Train, parts.Pool)
	if err != nil {
		return nil, err
	}
	labels, err := encode.StandardiseLabels(data.Labels())
	if err != nil {
		return nil, err
	}
	t := &task{data: data, split: parts, targets: data.TargetNames(), x: matrix.New[float32](data.X.Rows, data.X.Cols),
		y: matrix.Converted[float32](labels)}
	encode.Scale(t.x, data.X, inputs)
	t.validX, t.validY = t.rows(parts.Valid)
	t.testX, t.testY = t.rows(parts.Test)
	return t, nil
}

// rows returns the inputs and labels of the given rows of the data set.
func (t *task) rows(index []int) (x, y matrix.Dense[float32]) {
	return t.x.SelectRows(index), t.y.SelectRows(index)
}

// fingerprint is a hash of all numbers of a data set. A store keeps it, so that
// runs never resume with other data.
func fingerprint(data *sets.Regression) string {
	hash := sha256.New()
	labels := data.Labels()
	fmt.Fprintln(hash, data.X.Rows, data.X.Cols)
	var row []byte
	for i := range data.X.Rows {
		row = row[:0]
		for _, v := range data.X.Row(i) {
			row = binary.LittleEndian.AppendUint32(row, math.Float32bits(v))
		}
		for _, y := range labels.Row(i) {
			row = binary.LittleEndian.AppendUint64(row, math.Float64bits(y))
		}
		hash.Write(row)
	}
	return hex.EncodeToString(hash.Sum(nil)[:16])
}
