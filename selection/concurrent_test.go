package selection_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/nextbatch/nextbatch/selection"
	"github.com/nextbatch/nextbatch/selection/selectiontest"
)

// TestSelectionsSideBySide runs selections by all methods on different problems at
// once: each returns what it returns alone.
func TestSelectionsSideBySide(t *testing.T) {
	type job struct {
		name string
		m    selection.Method
		p    selection.Problem[float64]
		want string
	}
	var jobs []job
	cases := selectiontest.Cases()
	eachMethod(func(m selection.Method, mode selection.Mode) {
		c := cases[len(jobs)%len(cases)]
		c.Problem.Mode, c.Problem.Seed = mode, uint64(len(jobs))
		jobs = append(jobs, job{m.Name() + "-" + mode.String() + ", " + c.Name, m, c.Problem, ""})
	})
	large := selectiontest.LargeCase()
	for _, m := range []selection.Method{selection.LCMD{}, selection.MaxDet{}} {
		jobs = append(jobs, job{m.Name() + ", " + large.Name, m, large.Problem, ""})
	}
	outcome := func(j job) string {
		r, err := selection.Select(t.Context(), j.m, j.p)
		if err != nil {
			return err.Error()
		}
		return fmt.Sprint(r.Picks, r.Removed, r.Fallbacks, r.Notes)
	}
	for i := range jobs {
		jobs[i].want = outcome(jobs[i])
	}
	for range 3 {
		var all sync.WaitGroup
		for _, j := range jobs {
			all.Go(func() {
				if got := outcome(j); got != j.want {
					t.Errorf("%s: %s beside others, %s alone", j.name, got, j.want)
				}
			})
		}
		all.Wait()
	}
}
