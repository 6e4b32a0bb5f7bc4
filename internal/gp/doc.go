// Package gp is exact regression by Gaussian processes, in float64.
//
// The label of a row x is m + f(x) + x·b + noise: f is drawn from a Gaussian process with
// a Matérn-5/2 or rbf kernel that has a length scale per input, m and the slopes b are
// normal, and the noise is normal and independent. Prior beliefs other than the usual ones have
// z·b in its place, where z is x over the length scales, or nothing. Fit finds the variances and length
// scales of maximum posterior density, under weak priors (beliefs.go),
// on at most SearchRows rows, and then conditions on all of them, at most MostLabels.
//
// One seed gives one model, whatever the number of threads. Threads come from the context,
// as in the rest of the project. The context is checked once per evaluation of the likelihood and
// once per block of rows.
package gp
