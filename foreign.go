package nextbatch

import (
	"fmt"
	"strings"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/matrix"
)

// Foreign is a network that was trained elsewhere, such as one of package network/onnx.
// It is used as it is: nothing is trained, and labels matter only to methods that use
// them.
type Foreign struct {
	Model Model

	// Columns is how a table becomes rows. Nil means that all columns of the table that
	// are not ids, costs, groups or labels are inputs, in the order of the table, and
	// numbers.
	Columns *dataset.Encoder

	// Standardise subtracts the mean of each column and divides by its deviation, as
	// they are among the labelled rows, or among the candidates where there are none.
	// A column that is constant there is only shifted. Otherwise the network gets the
	// numbers of the table.
	Standardise bool
}

// encoder returns how a table of the given columns becomes rows.
func (f *Foreign) encoder(names, not []string) (*dataset.Encoder, error) {
	if f.Columns != nil {
		return f.Columns, nil
	}
	e := &dataset.Encoder{}
	hidden := setOfNames(not)
	for _, name := range names {
		if !hidden[name] {
			e.Numeric = append(e.Numeric, name)
		}
	}
	if got, want := len(e.Numeric), f.Model.Inputs(); got != want {
		return nil, fmt.Errorf("the network takes %d inputs, the table has %d columns for them: %s; leave out those that are none, and keep the order of the training",
			want, got, strings.Join(e.Numeric, ", "))
	}
	return e, nil
}

// hidden returns the widths of the layers after the first, for forecasts of memory.
func (f *Foreign) hidden() (widths []int) {
	in, _ := f.Model.Taps().Widths()
	for _, w := range in[1:] {
		widths = append(widths, max(w-1, 1))
	}
	return widths
}

// Inputs returns labelled rows and candidates as the network takes them.
func (f *Foreign) Inputs(r *Rows) (train, pool matrix.Dense[float32], err error) {
	scale, err := f.scaling(r)
	if err != nil {
		return train, pool, err
	}
	if train, err = scale(r.Train); err != nil {
		return train, pool, err
	}
	pool, err = scale(r.Pool)
	return train, pool, err
}

// Tables returns how the tables become rows for the network. Its encoder is missing in
// the given ones.
func (f *Foreign) Tables(t Tables) (Tables, error) {
	table := sources([]part{{table: t.One}, {table: t.Pool}, {table: t.Train}})[0]
	e, err := f.encoder(table.Names(), t.notInputs())
	if err != nil {
		return t, t.at(table, err)
	}
	t.Encoder, t.centre = e, f.Standardise
	return t, nil
}

// scaling returns how rows become inputs of the network.
func (f *Foreign) scaling(r *Rows) (func(matrix.Dense[float32]) (matrix.Dense[float32], error), error) {
	if !f.Standardise {
		return func(x matrix.Dense[float32]) (matrix.Dense[float32], error) { return x, nil }, nil
	}
	of := r.Train
	if of.Rows == 0 {
		of = r.Pool
	}
	scaler, err := dataset.FitScalerAll(dataset.Population, of)
	if err != nil {
		return nil, err
	}
	return func(x matrix.Dense[float32]) (matrix.Dense[float32], error) {
		return standardised(x, scaler), nil
	}, nil
}

func standardised(x matrix.Dense[float32], s dataset.Scaler) matrix.Dense[float32] {
	dst := matrix.New[float32](x.Rows, x.Cols)
	for i := range x.Rows {
		to := dst.Row(i)
		for j, v := range x.Row(i) {
			unit := s.Deviation[j]
			if unit == 0 {
				unit = 1
			}
			to[j] = float32((float64(v) - s.Mean[j]) / unit)
		}
	}
	return dst
}
