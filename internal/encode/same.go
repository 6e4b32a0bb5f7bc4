package encode

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// SameNumber reports whether a number that comes back from a spreadsheet is the number that went there: equal, or the
// same in nine significant digits, as after a program that keeps fewer than seventeen, or rounded as Excel's text files
// have it. Whole numbers that such programs keep must be equal.
func SameNumber(back, number float64) bool {
	const exact = 1e15 // from here on, a spreadsheet loses digits of whole numbers
	size := max(math.Abs(back), math.Abs(number))
	whole := back == math.Trunc(back) && number == math.Trunc(number) && size < exact
	return back == number || !whole && math.Abs(back-number) <= 5e-9*size || back == shown(number)
}

// SameCell reports whether a cell that comes back from a spreadsheet is the cell that went there: the same text, the
// same number (SameNumber), the same truth value or the same date.
func SameCell(back, cell string) bool {
	if back == cell {
		return true
	}
	v, errV := strconv.ParseFloat(back, 64)
	w, errW := strconv.ParseFloat(cell, 64)
	if errV == nil && errW == nil {
		return SameNumber(v, w)
	}
	return isTruth(back) && strings.EqualFold(back, cell) || sameDate(back, cell)
}

// shown returns a number below 1 or from 10¹¹ on as Excel shows it in a cell without a format, and saves it as text.
func shown(v float64) float64 {
	text := strconv.FormatFloat(v, 'f', 9, 64)
	if size := math.Abs(v); size < 1e-4 || size >= 1e11 {
		text = strconv.FormatFloat(v, 'e', 5, 64)
	}
	rounded, _ := strconv.ParseFloat(text, 64) // the syntax is valid
	return rounded
}

func isTruth(text string) bool {
	return strings.EqualFold(text, "true") || strings.EqualFold(text, "false")
}

// sameDate reports whether two texts can be read as the same time.
func sameDate(a, b string) bool {
	for _, one := range timesOf(a) {
		for _, other := range timesOf(b) {
			if one.Equal(other) {
				return true
			}
		}
	}
	return false
}

// timesOf returns the times that a text may stand for: 03/04/2024 is one of two days.
func timesOf(text string) (list []time.Time) {
	for _, f := range forms {
		for _, layout := range f.layouts {
			if t, err := time.Parse(layout, text); err == nil {
				list = append(list, t)
			}
		}
	}
	return list
}
