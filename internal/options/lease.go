package options

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

const day = 24 * time.Hour

// ParseLease reads how long rows are out: 36h, 1h30m, 7d, 2w, or never, which is negative, as any negative time is.
func ParseLease(text string) (time.Duration, error) {
	if text == "never" {
		return -1, nil
	}
	for unit, size := range map[string]time.Duration{"d": day, "w": 7 * day} {
		number, found := strings.CutSuffix(text, unit)
		if v, err := strconv.ParseFloat(number, 64); found && err == nil && v > 0 && v < float64(math.MaxInt64/size) {
			return time.Duration(v * float64(size)), nil
		}
	}
	if lease, err := time.ParseDuration(text); err == nil && lease != 0 {
		return lease, nil
	}
	return 0, fmt.Errorf("lease %q must be a time such as 36h, 7d or 2w, or never", text)
}
