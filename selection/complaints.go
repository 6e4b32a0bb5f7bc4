package selection

import (
	"fmt"
	"math"
)

// checkRows returns the set of rows, without those that do not exist.
func checkRows(c *complaints, field string, rows []int, pool int) map[int]bool {
	set := make(map[int]bool, len(rows))
	for _, row := range rows {
		if row < 0 || row >= pool {
			c.when(true, field, "there is no row %d: the pool has %d rows", row, pool)
			continue
		}
		set[row] = true
	}
	return set
}

func checkNumbers(c *complaints, field string, v []float64, pool int) {
	if v == nil {
		return
	}
	c.when(len(v) != pool, field, "there are %d numbers for %d pool rows", len(v), pool)
	for i, x := range v {
		if !(x >= 0) || math.IsInf(x, 1) {
			c.when(true, field, "the number of row %d is %v, but must be finite and not negative", i, x)
			return
		}
	}
}

func anyPositive(v []float64) bool {
	for _, x := range v {
		if x > 0 {
			return true
		}
	}
	return false
}

// complaints collects violations so that they are reported together.
type complaints []error

func (c *complaints) when(wrong bool, field, format string, args ...any) {
	if wrong {
		*c = append(*c, &ProblemError{Field: field, Reason: fmt.Sprintf(format, args...)})
	}
}
