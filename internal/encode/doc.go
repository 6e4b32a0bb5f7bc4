// Package encode turns the columns of tables into numbers that models take: one-hot features, dates, medians for what
// is missing, centres, scales of inputs and of labels. Numbers far from zero are centred in float64 before they are
// rounded to float32 (package dataset, Centre).
package encode
