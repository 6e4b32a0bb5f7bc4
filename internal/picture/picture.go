// Package picture says which rows a picture of a batch shows.
package picture

// Numbers of rows in a picture of a batch: those that it shows besides the picks, and those
// from which its plane is computed.
const (
	ShownCandidates = 2000
	ShownLabelled   = 1000
	PlaneSample     = 512
)

// Spread returns at most most of n rows, evenly spread, such as the sample of a plane.
func Spread(n, most int) []int {
	rows := make([]int, min(n, most))
	for i := range rows {
		rows[i] = i * n / len(rows)
	}
	return rows
}
