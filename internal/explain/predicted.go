package explain

import (
	"fmt"

	"github.com/nextbatch/nextbatch/internal/conformal"
	"github.com/nextbatch/nextbatch/internal/words"
)

// Predicted is the part of a reason about the prediction for a row, with its interval if it has one, which is based on
// what basis says. Decimal is the decimal mark of numbers.
func Predicted(value float64, low, high *float64, basis string, decimal byte) string {
	if low == nil {
		return words.Marked(words.Number(value), decimal)
	}
	text, from, to := words.Interval(value, *low, *high)
	return fmt.Sprintf("%s, between %s and %s with probability %.0f %% (%s)", words.Marked(text, decimal),
		words.Marked(from, decimal), words.Marked(to, decimal), 100*conformal.DefaultCoverage, basis)
}
