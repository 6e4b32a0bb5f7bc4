package nextbatch_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/internal/place"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/kernel/kerneltest"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/spec"
)

// sortedLevels is a problem whose pool has few different rows, in order, as a table of high-throughput experiments has.
func sortedLevels() nextbatch.Problem {
	p := nextbatch.Problem{Pool: matrix.New[float32](2*place.Block, 4), Train: matrix.New[float32](6, 4), Batch: 40}
	for i := range p.Pool.Rows {
		for k := range 4 {
			p.Pool.Set(i, k, float32(i/(place.Block/4)>>k&1))
		}
	}
	rng.FillNormal(rng.New(1, "sorted levels"), p.Train.Data)
	p.Learnt.Leaves = kerneltest.NewStumps(4, 30, 6)
	return p
}

// TestLeavesDrawAmongEqualRows: of rows that the kernel leaf finds equally good, one is drawn by the seed; the batch is
// the same with any number of threads, on two ranks, and with the pool in a file.
func TestLeavesDrawAmongEqualRows(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"lcmd-tp:leaf>sketch(24)", "maxdist-tp:leaf", "lcmd-tp:leaf>sketch(24)+0.5*linear"} {
		p, method := sortedLevels(), spec.MustParse(text)
		want := rowsOn(t, 1, method, p)
		if again := rowsOn(t, 3, method, p); !slices.Equal(again, want) {
			t.Errorf("%s: %v on three threads, %v on one", text, again, want)
		}
		file := p
		file.Folder = t.TempDir()
		if again := rowsOn(t, 2, method, file); !slices.Equal(again, want) {
			t.Errorf("%s: %v from a file, not %v", text, again, want)
		}
		for _, shared := range []bool{false, true} {
			errs := onTwoRanks(func(rank place.Ranks) error {
				part := p
				if part.Ranks = rank; shared {
					from, to := place.Share(p.Pool.Rows, rank.Rank(), rank.Size())
					part.Pool, part.Shared = p.Pool.Slice(from, to), p.Pool.Rows
				}
				batch, err := nextbatch.Select(t.Context(), method, part)
				if err == nil && !slices.Equal(batch.Rows(), want) {
					t.Errorf("%s: %v on two ranks, not %v", text, batch.Rows(), want)
				}
				return err
			})
			if err := errors.Join(errs[:]...); err != nil {
				t.Error(err)
			}
		}
		p.Seed++
		if other := rowsOn(t, 1, method, p); slices.Equal(other, want) {
			t.Errorf("%s: %v with any seed", text, want)
		}
		late := func(row int) bool { return row%(place.Block/4) > place.Block/16 }
		if !slices.ContainsFunc(want, late) {
			t.Errorf("%s: the first of equal rows were picked: %v", text, want)
		}
	}
}

// TestOtherKernelsTakeTheFirstOfEqualRows: without trees, the first of equal rows is picked, as in the paper, with any
// seed.
func TestOtherKernelsTakeTheFirstOfEqualRows(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"lcmd-tp:linear", "maxdist-tp:linear", "maxdet-tp:linear"} {
		p := sortedLevels()
		p.Batch = 3
		want := rowsOn(t, 2, spec.MustParse(text), p)
		for _, row := range want {
			if row%(place.Block/4) != 0 {
				t.Errorf("%s: row %d was picked, which equals the one before it", text, row)
			}
		}
		if p.Seed++; !slices.Equal(rowsOn(t, 2, spec.MustParse(text), p), want) {
			t.Errorf("%s: other rows with another seed", text)
		}
	}
}
