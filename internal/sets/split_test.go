package sets

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/nextbatch/nextbatch/internal/golden"
)

func mustEqual(t *testing.T, what string, got, want []int) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("%s: %v, want %v", what, got, want)
	}
}

func TestMT19937IsNumPys(t *testing.T) {
	t.Parallel()
	mustEqual(t, "seed 7", newMT19937(7).perm(40768)[:200], golden.Ints(t,
		"preprocess/mt19937_seed7_perm40768_first200.npy"))
}

// TestMT19937 checks the generator against the first numbers of its authors'
// own implementation with seed 5489.
func TestMT19937(t *testing.T) {
	t.Parallel()
	g := newMT19937(5489)
	for i, want := range []uint32{3499211612, 581869302, 3890346734, 3586334585, 545404204} {
		if got := g.uint32(); got != want {
			t.Fatalf("number %d is %d, want %d", i, got, want)
		}
	}
}

func TestPaperSizes(t *testing.T) {
	t.Parallel()
	for n, want := range map[int][2]int{ // pool, test
		241600:  {192000, 48320},
		45730:   {35304, 9146},
		40768:   {31335, 8153},
		53940:   {41872, 10788},
		500_000: {198720, 300000},
	} {
		s := PaperSizes(n)
		if pool := n - s.Train - s.Valid - s.Test; pool != want[0] || s.Test != want[1] {
			t.Errorf("%d rows: pool %d, test %d, want %v", n, pool, s.Test, want)
		}
	}
}

func TestSplitsCoverAllRows(t *testing.T) {
	t.Parallel()
	sizes := Sizes{Train: 3, Valid: 5, Test: 4}
	a, errA := NewSplit(20, sizes, 1, 0)
	again, errAgain := NewSplit(20, sizes, 1, 0)
	other, errOther := NewSplit(20, sizes, 1, 1)
	published, errPublished := PublishedSplit(20, sizes, 1)
	if err := errors.Join(errA, errAgain, errOther, errPublished); err != nil {
		t.Fatal(err)
	}
	for _, s := range []Split{a, other, published} {
		all := slices.Concat(s.Train, s.Valid, s.Pool, s.Test)
		slices.Sort(all)
		for i, row := range all {
			if row != i || len(all) != 20 {
				t.Fatalf("the split is not a partition: %v", s)
			}
		}
		if len(s.Train) != 3 || len(s.Valid) != 5 || len(s.Pool) != 8 || len(s.Test) != 4 {
			t.Errorf("sizes of %v", s)
		}
		_ = append(s.Train, -1) // must not write into the next part
		if s.Valid[0] == -1 {
			t.Error("parts share spare capacity")
		}
	}
	if !slices.Equal(a.Pool, again.Pool) || slices.Equal(a.Pool, other.Pool) {
		t.Errorf("seed 1: %v, again %v, another id %v", a.Pool, again.Pool, other.Pool)
	}
}

// TestSplitIsFrozen: a seed must give the results of earlier versions.
func TestSplitIsFrozen(t *testing.T) {
	t.Parallel()
	s, err := NewSplit(12, Sizes{Train: 2, Valid: 3, Test: 3}, 42, 7)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(s); got != frozenSplit {
		t.Errorf("%s, want %s", got, frozenSplit)
	}
}

const frozenSplit = "{[10 2] [4 5 3] [8 7 9 1] [0 6 11]}"

func TestSplitRefuses(t *testing.T) {
	t.Parallel()
	for _, sizes := range []Sizes{{Train: 5, Valid: 5, Test: 1}, {Train: -1}, {Test: 11}} {
		_, err := NewSplit(10, sizes, 0, 0)
		if at := (*SplitError)(nil); !errors.As(err, &at) {
			t.Errorf("%+v: %v", sizes, err)
		}
	}
}
