package cli

import (
	"fmt"
	"math"
	"strconv"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/matrix"
)

// friedmanInputs is the number of inputs of Friedman's function, with those that do
// not matter.
const friedmanInputs = 10

// friedman draws rows in the unit cube with Friedman's labels,
//
//	y = 10·sin(π·x₁·x₂) + 20·(x₃ − ½)² + 10·x₄ + 5·x₅
//
// without noise; the other five inputs do not matter. Most rows crowd into a
// corner, as in tables that nobody designed: there a random batch mostly
// repeats what is known.
func friedman(seed uint64, purpose string, rows int) (matrix.Dense[float32], []float64) {
	stream := rng.New(seed, purpose)
	x, y := matrix.New[float32](rows, friedmanInputs), make([]float64, rows)
	for i := range rows {
		row := x.Row(i)
		for j := range row {
			u := stream.Float64()
			row[j] = float32(u * u)
		}
		a, b, c := float64(row[0]), float64(row[1]), float64(row[2])
		y[i] = 10*math.Sin(math.Pi*a*b) + 20*(c-0.5)*(c-0.5) + 10*float64(row[3]) + 5*float64(row[4])
	}
	return x, y
}

// boreholeInputs are the inputs of the borehole function and their ranges.
var boreholeInputs = []struct {
	name      string
	low, high float64
}{
	{"radius_m", 0.05, 0.15}, {"influence_m", 100, 50_000},
	{"upper_transmissivity", 63_070, 115_600}, {"upper_head_m", 990, 1110},
	{"lower_transmissivity", 63.1, 116}, {"lower_head_m", 700, 820},
	{"length_m", 1120, 1680}, {"conductivity", 9855, 12_045},
}

// borehole draws rows with the flow of water through a borehole in cubic metres per
// year (Harper and Gupta, 1983), a function on which methods for simulations are
// commonly compared:
//
//	y = 2π·Tu·(Hu − Hl) / (ln(r/rw)·(1 + Tu/Tl) + 2·L·Tu/(rw²·Kw))
//
// Most rows crowd near the lower ends of the ranges, as in tables that nobody
// designed: there a random batch mostly repeats what is known.
func borehole(seed uint64, rows int) (matrix.Dense[float32], []float64) {
	stream := rng.New(seed, "demo borehole")
	x, y := matrix.New[float32](rows, len(boreholeInputs)), make([]float64, rows)
	for i := range rows {
		row := x.Row(i)
		for j, in := range boreholeInputs {
			row[j] = float32(in.low + math.Pow(stream.Float64(), 5)*(in.high-in.low))
		}
		at := func(j int) float64 { return float64(row[j]) }
		rw, r, tu, hu, tl, hl, l, kw := at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7)
		y[i] = 2 * math.Pi * tu * (hu - hl) / (math.Log(r/rw)*(1+tu/tl) + 2*l*tu/(rw*rw*kw))
	}
	return x, y
}

// boreholeTable returns the rows as a table in which only the first ones have a label.
func boreholeTable(x matrix.Dense[float32], y []float64, labelled int) (*dataset.Table, error) {
	site, flow := dataset.NewText("site"), dataset.NewNumeric("flow")
	columns := []dataset.Column{site}
	inputs := make([]*dataset.Numeric, x.Cols)
	for j, in := range boreholeInputs {
		inputs[j] = dataset.NewNumeric(in.name)
		columns = append(columns, inputs[j])
	}
	for i := range x.Rows {
		site.Append(fmt.Appendf(nil, "S%04d", i+1))
		for j, v := range x.Row(i) {
			inputs[j].Append(fourDigits(float64(v)))
		}
		label := math.NaN()
		if i < labelled {
			label = fourDigits(y[i])
		}
		flow.Append(label)
	}
	return dataset.NewTable(append(columns, flow)...)
}

// fourDigits rounds a number as a person would write it.
func fourDigits(v float64) float64 {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 4, 64), 64)
	return rounded
}
