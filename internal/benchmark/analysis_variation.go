package benchmark

import "github.com/nextbatch/nextbatch/internal/stats"

// ErrorVariation relates, for each data set, the gain of a method over random
// selection to how unevenly the errors are spread at the start (the paper's figure
// in "When should BMDAL be Applied?"):
//
//	x  mean log RMSE − mean log MAE before the first batch
//	y  (mean log RMSE(method) − mean log RMSE(random)) / (mean log RMSE(random) − mean log RMSE before the first batch)
type ErrorVariation struct {
	Method   string
	DataSets []string
	X, Y     []float64
	Runs     int

	// The regression line y = Intercept + Slope·x and the correlation R, NaN
	// with fewer than two data sets.
	Intercept, Slope, R float64
}

// ErrorVariation compares a method with random selection, on the data sets and
// splits where both have runs.
func (s *Study) ErrorVariation(method, random string) ErrorVariation {
	s = s.OnCommonSplits(method, random)
	v := ErrorVariation{Method: method, DataSets: s.Common(method, random)}
	for _, set := range v.DataSets {
		start := s.Mean(LogAt(RMSE, 0), random, set).Value
		m, r := s.Mean(MeanLog(RMSE), method, set), s.Mean(MeanLog(RMSE), random, set)
		v.X = append(v.X, start-s.Mean(LogAt(MAE, 0), random, set).Value)
		v.Y = append(v.Y, (m.Value-r.Value)/(r.Value-start))
		v.Runs += m.Runs + r.Runs
	}
	v.Intercept, v.Slope = stats.LinearRegression(v.X, v.Y)
	v.R = stats.Correlation(v.X, v.Y)
	return v
}
