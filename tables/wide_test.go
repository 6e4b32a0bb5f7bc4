package tables

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/nextbatch/nextbatch/dataset"
)

// wideTable has columns of every kind that is examined: numbers, row numbers, words, dates and
// gaps.
func wideTable(t testing.TB, columns int) *dataset.Table {
	t.Helper()
	nan := math.NaN()
	list := []dataset.Column{dataset.NewNumeric("y", 1, 2, nan, nan)}
	for i := range columns {
		name := fmt.Sprint("c", i)
		switch i % 6 {
		case 0:
			list = append(list, dataset.NewNumeric(name, 1, 2, 3, 4))
		case 1:
			c := dataset.NewCategorical(name, "a", "b")
			for _, code := range []int32{0, 1, 1, 0} {
				c.Append(code)
			}
			list = append(list, c)
		case 2:
			list = append(list, dataset.NewText(name, "2021-01-02", "2021-02-03", "2021-04-05", "2021-05-06"))
		case 3:
			list = append(list, dataset.NewNumeric(name, nan, nan, nan, nan))
		default:
			list = append(list, dataset.NewNumeric(name, 0.5, float64(i), nan, 2.5))
		}
	}
	table, err := dataset.NewTable(list...)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// TestWideTablesTakeLinearTime counts what is allocated per column, with few columns and with many,
// and then has so many columns that a search through a list of them for each of them would take
// minutes.
func TestWideTablesTakeLinearTime(t *testing.T) {
	perColumn := func(columns int) float64 {
		one, two := wideTable(t, columns), wideTable(t, columns)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for _, tables := range []Tables{
			{Input: Input{Table: one, TargetColumns: []string{"y"}}},
			{Input: Input{Train: one, Pool: two, TargetColumns: []string{"y"}}},
		} {
			if _, err := tables.Rows(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		runtime.ReadMemStats(&after)
		return float64(after.TotalAlloc-before.TotalAlloc) / float64(columns)
	}
	few, many := perColumn(500), perColumn(8000)
	if many > 2*few {
		t.Errorf("%.0f bytes are allocated per column of 500, and %.0f per column of 8000", few, many)
	}
	perColumn(50_000)
}

// countdown is a context that is cancelled once it has been asked so often.
type countdown struct {
	context.Context
	left atomic.Int64
}

func newCountdown(ctx context.Context, asked int64) *countdown {
	c := &countdown{Context: ctx}
	c.left.Store(asked)
	return c
}

func (c *countdown) Err() error {
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// TestWideTablesCanBeCancelled: every pass over the columns asks the context for each of them.
func TestWideTablesCanBeCancelled(t *testing.T) {
	const columns, passes = 600, 5 // row numbers, dates, words, gaps, medians
	tables := Tables{Input: Input{Table: wideTable(t, columns), TargetColumns: []string{"y"}}}
	all := newCountdown(t.Context(), 1<<40)
	if _, err := tables.Rows(all); err != nil {
		t.Fatal(err)
	}
	asked := 1<<40 - all.left.Load()
	if asked < columns/2*passes {
		t.Errorf("the context was asked %d times", asked)
	}
	for after := int64(0); after < asked; after += 37 {
		if _, err := tables.Rows(newCountdown(t.Context(), after)); !errors.Is(err, context.Canceled) {
			t.Fatalf("cancelled after it was asked %d of %d times: %v", after, asked, err)
		}
	}
}
