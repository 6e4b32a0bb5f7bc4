package selection_test

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"

	"github.com/nextbatch/nextbatch/selection"
)

// BenchmarkConstraints picks 96 of many rows with 16 features under constraints, and reports processor seconds, also as
// a multiple of those without constraints:
//
//	go test ./selection -run ^$ -bench Constraints -benchtime 1x
func BenchmarkConstraints(b *testing.B) {
	for _, rows := range []int{100_000, 1_000_000} {
		p := selection.Problem[float32]{Pool: decaying[float32](rows, 16, 1), Batch: 96, Seed: 1}
		r := rand.New(rand.NewPCG(1, 4))
		group, value, cost := make([]int, rows), make([]int, rows), make([]float64, rows)
		for i := range rows {
			group[i], value[i], cost[i] = r.IntN(50), r.IntN(10), 0.5+r.Float64()
		}
		for _, m := range []selection.Method{selection.MaxDiag{}, selection.LCMD{}} {
			plain := 0.0
			for _, c := range []struct {
				name string
				selection.Constraints
			}{
				{"none", selection.Constraints{}},
				{"1 of each of 50 groups", selection.Constraints{Group: group, MinPerGroup: 1}},
				{"10 of 50 groups", selection.Constraints{Group: group, MaxGroups: 10}},
				{"3 runs, 10 values", selection.Constraints{Same: value, Runs: 3}},
				{"3 runs, 10 values, a budget", selection.Constraints{Same: value, Runs: 3, Cost: cost, Budget: 76}},
			} {
				b.Run(fmt.Sprintf("%s/%d/%s", m.Name(), rows, c.name), func(b *testing.B) {
					p.Constraints = c.Constraints
					begin := processorSeconds(b)
					for b.Loop() {
						if _, err := selection.Select(b.Context(), m, p); err != nil {
							b.Fatal(err)
						}
					}
					took := (processorSeconds(b) - begin) / float64(b.N)
					if c.name == "none" {
						plain = took
					}
					b.ReportMetric(took, "cpu-s")
					b.ReportMetric(took/plain, "of-none")
				})
			}
		}
	}
}

func processorSeconds(b *testing.B) float64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return float64(used.Utime.Nano()+used.Stime.Nano()) / 1e9
}
