package gp

import (
	"math"

	"github.com/nextbatch/nextbatch/matrix"
)

// sample is what the likelihood is computed from: rows and labels in their units.
type sample struct {
	rows   matrix.Dense[float64]
	labels []float64
	noises []float64 // variances of the noise in units of g: 1 over the weights
	known  []float64 // variances of the standardised labels that add to it; nil means none
}

// at returns the rows with these numbers.
func (s sample) at(index []int) sample {
	part := sample{rows: s.rows.SelectRows(index), labels: make([]float64, len(index)),
		noises: make([]float64, len(index))}
	for i, r := range index {
		part.labels[i], part.noises[i] = s.labels[r], s.noises[r]
		if s.known != nil {
			part.known = append(part.known, s.known[r])
		}
	}
	return part
}

// first returns a view of the first n rows.
func (s sample) first(n int) sample {
	some := sample{rows: s.rows.Slice(0, n), labels: s.labels[:n], noises: s.noises[:n]}
	if s.known != nil {
		some.known = s.known[:n]
	}
	return some
}

// noise is the variance of the noise of a row, over that of the signal.
func (s *sample) noise(h *ratios, row int) float64 {
	if s.known == nil {
		return h.noise * s.noises[row]
	}
	return h.noise*s.noises[row] + s.known[row]/h.signal
}

// units determine how a row of inputs becomes one of the sample: of the columns that vary,
// each is centred and divided by its unit.
type units struct {
	columns       []int
	centres, over []float64 // one per column that varies
	owners        []int     // the number of its length scale
	lengths       int       // how many length scales there are
}

// unitsOf finds the units of a table. Those of single columns are given, or they are the
// deviations among the rows.
func unitsOf(data Data) *units {
	u, single := &units{}, make([]bool, data.Inputs.Cols)
	for j := range single {
		single[j] = true
	}
	for _, group := range data.Groups {
		for _, j := range group {
			single[j] = false
		}
	}
	for j, alone := range single {
		if c := spreadOf(data.Inputs, j); alone && c.least < c.most {
			unit := c.deviation
			if data.Units != nil {
				unit = data.Units[j]
			}
			u.add(j, c.mean, unit)
			u.lengths++
		}
	}
	for _, group := range data.Groups {
		u.addGroup(data.Inputs, group)
	}
	return u
}

// addGroup adds columns that have one length scale. Each of them is first divided by its
// range, so that one-hot columns count alike however they were scaled, and then all by the
// root of their summed variances, so that the mean squared distance of two rows
// is 2 for a group as it is for a column.
func (u *units) addGroup(rows matrix.Dense[float64], group []int) {
	variance := 0.0
	for _, j := range group {
		if c := spreadOf(rows, j); c.least < c.most {
			variance += square(c.deviation / (c.most - c.least))
		}
	}
	if variance == 0 {
		return
	}
	for _, j := range group {
		if c := spreadOf(rows, j); c.least < c.most {
			u.add(j, c.mean, (c.most-c.least)*math.Sqrt(variance))
		}
	}
	u.lengths++
}

func (u *units) add(column int, centre, unit float64) {
	u.columns, u.centres = append(u.columns, column), append(u.centres, centre)
	u.over, u.owners = append(u.over, unit), append(u.owners, u.lengths)
}

// apply returns the rows in units.
func (u *units) apply(rows matrix.Dense[float64]) matrix.Dense[float64] {
	dst := matrix.New[float64](rows.Rows, len(u.columns))
	for i := range rows.Rows {
		from, to := rows.Row(i), dst.Row(i)
		for k, j := range u.columns {
			to[k] = (from[j] - u.centres[k]) / u.over[k]
		}
	}
	return dst
}

// spread is what the units need to know of a column.
type spread struct{ mean, deviation, least, most float64 }

func spreadOf(rows matrix.Dense[float64], j int) spread {
	values := make([]float64, rows.Rows)
	c := spread{least: math.Inf(1), most: math.Inf(-1)}
	for i := range values {
		values[i] = rows.At(i, j)
		c.least, c.most = min(c.least, values[i]), max(c.most, values[i])
	}
	c.mean, c.deviation = meanAndDeviation(values)
	return c
}

func meanAndDeviation(values []float64) (mean, deviation float64) {
	n, squares := float64(len(values)), 0.0
	for _, v := range values {
		mean += v / n
	}
	for _, v := range values {
		squares += square(v-mean) / n
	}
	return mean, math.Sqrt(squares)
}

func square(x float64) float64 { return x * x }
