// Package stats has the few functions of statistics that this program needs. Each equals, to the
// bit, the function of the same name in gonum's packages stat and distuv. Those import all of
// gonum's linear algebra, which costs megabytes of program and seconds of compiling.
package stats

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mathext"
)

// Mean returns Σx / n.
func Mean(x []float64) float64 { return floats.Sum(x) / float64(len(x)) }

// MeanStdDev returns the mean and the sample standard deviation.
func MeanStdDev(x []float64) (mean, deviation float64) {
	mean = Mean(x)
	return mean, math.Sqrt(covariance(x, x, mean, mean))
}

// covariance is the sample covariance, by the corrected two-pass algorithm (1.7) of Chan, Golub and
// LeVeque, Algorithms for Computing the Sample Variance.
func covariance(x, y []float64, xMean, yMean float64) float64 {
	sum, xRest, yRest := 0.0, 0.0, 0.0
	for i, v := range x {
		dx, dy := v-xMean, y[i]-yMean
		sum += dx * dy
		xRest += dx
		yRest += dy
	}
	return (sum - xRest*yRest/float64(len(x))) / float64(len(x)-1)
}

// LinearRegression returns the line alpha + beta x through the points (x, y) by least squares.
func LinearRegression(x, y []float64) (alpha, beta float64) {
	xMean, yMean := Mean(x), Mean(y)
	beta = covariance(x, y, xMean, yMean) / covariance(x, x, xMean, xMean)
	return yMean - beta*xMean, beta
}

// Correlation returns Pearson's correlation coefficient.
func Correlation(x, y []float64) float64 {
	xMean, yMean, n := Mean(x), Mean(y), float64(len(x))
	xx, yy, xy, xRest, yRest := 0.0, 0.0, 0.0, 0.0, 0.0
	for i, v := range x {
		dx, dy := v-xMean, y[i]-yMean
		xx += dx * dx
		yy += dy * dy
		xy += dx * dy
		xRest += dx
		yRest += dy
	}
	xx -= xRest * xRest / n
	yy -= yRest * yRest / n
	return (xy - xRest*yRest/n) / math.Sqrt(xx*yy)
}

// NormalQuantile returns the quantile of the standard normal distribution.
func NormalQuantile(p float64) float64 { return mathext.NormalQuantile(p) }

// BinomialCDF returns the probability of at most k successes in n trials, each with probability p.
func BinomialCDF(k, n int, p float64) float64 {
	switch {
	case k < 0:
		return 0
	case k >= n:
		return 1
	}
	return mathext.RegIncBeta(float64(n)-float64(k), float64(k)+1, 1-p)
}

// StudentsT is Student's t distribution with Nu degrees of freedom, scaled by Sigma.
type StudentsT struct{ Sigma, Nu float64 }

// Quantile returns the quantile of p in (0, 1).
func (s StudentsT) Quantile(p float64) float64 {
	switch {
	case p == 0.5:
		return 0
	case p < 0.5:
		return -s.upper(2*p) * s.Sigma
	}
	return s.upper(2*(1-p)) * s.Sigma
}

// upper returns the t > 0 with P(|T| > t) = p, unscaled: P(|T| > t) = I_x(ν/2, 1/2) with x = ν/(t² + ν).
func (s StudentsT) upper(p float64) float64 {
	x := mathext.InvRegIncBeta(s.Nu/2, 0.5, p)
	return math.Sqrt(s.Nu * (1 - x) / x)
}

// Survival returns P(T > t).
func (s StudentsT) Survival(t float64) float64 {
	y := t / s.Sigma
	if y == 0 {
		return 0.5
	}
	tail := 0.5 * mathext.RegIncBeta(s.Nu/2, 0.5, s.Nu/(y*y+s.Nu))
	if y > 0 {
		return tail
	}
	return 1 - tail
}
