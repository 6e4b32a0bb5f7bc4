package bound

import "github.com/nextbatch/nextbatch/limits"

// whole reports whether a batch of this many measurements has a whole number of picks, at least one.
func whole(l *limits.Limits, lines int) bool {
	left := lines - l.Repeats(lines)
	return left > 0 && left%l.Times() == 0
}

// repeats is how many labelled rows the batch measures once more.
func repeats(a *limits.Ask) int {
	if a.Repeated != nil {
		return a.Repeated.Rows
	}
	return a.Repeats(a.Batch)
}

// picks is how many rows are picked for the measurements of the batch.
func picks(a *limits.Ask) int { return (a.Batch - repeats(a)) / a.Times() }
