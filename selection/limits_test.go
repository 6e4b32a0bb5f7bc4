package selection

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/nextbatch/nextbatch/matrix"
)

// TestLimitsKeepUp compares limits that are updated with limits from scratch, over random
// additions and removals.
func TestLimitsKeepUp(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for trial := range 200 {
		n := 1 + r.IntN(60)
		var c Constraints
		if trial%2 == 0 {
			c.Cost, c.Budget = make([]float64, n), float64(r.IntN(40))
			for i := range c.Cost {
				c.Cost[i] = float64(r.IntN(9)) / 10
			}
		}
		if trial%3 == 0 {
			c.Group, c.PerGroup = make([]int, n), 1+r.IntN(4)
			for i := range c.Group {
				c.Group[i] = -r.IntN(8)
			}
		}
		l := newLimits(n, n, nil, c, (&question{constraints: c}).dearestFirst())
		var batch []int
		for range 80 {
			switch {
			case l.room > 0 && r.IntN(3) > 0:
				row := l.rank(r.IntN(l.room))
				l.add(row)
				batch = append(batch, row)
			case len(batch) > 0:
				at := r.IntN(len(batch))
				l.remove(batch[at])
				batch = slices.Delete(batch, at, at+1)
			default:
				l.setSlack(1 + r.IntN(2))
			}
			mustBeUpToDate(t, l)
		}
	}
}

func mustBeUpToDate(t *testing.T, l *limits) {
	t.Helper()
	room := 0
	for row, open := range l.open {
		if open != l.allows(row) {
			t.Fatalf("row %d is open: %v", row, open)
		}
		if open {
			if got := l.rank(room); got != row {
				t.Fatalf("open row %d is %d, not %d", room, got, row)
			}
			room++
		}
	}
	over := 0
	for _, n := range l.InGroup {
		if n > l.PerGroup.Most {
			over++
		}
	}
	if room != l.room || over != l.overGroups {
		t.Fatalf("room for %d rows, want %d; %d groups too large, want %d", l.room, room, l.overGroups, over)
	}
}

// stopping is a context that ends after it was asked some times.
type stopping struct {
	context.Context
	asks int
}

func (c *stopping) Err() error {
	if c.asks--; c.asks < 0 {
		return context.Canceled
	}
	return nil
}

func (c *stopping) Deadline() (time.Time, bool) { return time.Time{}, false }

// TestFallbackAndReportHearTheContext ends the context in the middle of either: after
// few more rows the selection returns.
func TestFallbackAndReportHearTheContext(t *testing.T) {
	steps := 0
	p := Problem[float64]{Pool: matrix.New[float64](5000, 2), Train: matrix.New[float64](3, 2), Batch: 5000, Mode: TP,
		Progress: func(int, int) { steps++ }}
	if _, err := Select(&stopping{t.Context(), 100}, KMeansPP{}, p); err != context.Canceled || steps > 100 {
		t.Errorf("%d rows were filled in, error %v", steps, err)
	}
	const many = 1 << 30
	whole := &stopping{t.Context(), many}
	if _, err := Select(whole, Random{}, p); err != nil {
		t.Fatal(err)
	}
	steps = 0
	if _, err := Select(&stopping{t.Context(), many - whole.asks - 5}, Random{},
		p); err != context.Canceled || steps != 5000 {
		t.Errorf("after %d steps, error %v", steps, err)
	}
}
