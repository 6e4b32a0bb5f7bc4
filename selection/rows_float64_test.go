package selection

import (
	"errors"
	"math"
	"reflect"
	"testing"

	"github.com/nextbatch/nextbatch/internal/place"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection/internal/hardrows"
	"github.com/nextbatch/nextbatch/selection/internal/nearest"
	"github.com/nextbatch/nextbatch/selection/internal/space"
)

// mustEqualResults compares everything of two results but the time that they took.
func mustEqualResults(t *testing.T, name string, got, want *Result) {
	t.Helper()
	got.Timing, want.Timing = Timing{}, Timing{}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %+v\nwant %+v", name, got, want)
	}
}

// TestSingleChangesNothing compares rows in float32 that are converted when they are read
// with the same rows in float64: methods in float64, with bounds and without, in one block of
// rows and in several.
func TestSingleChangesNothing(t *testing.T) {
	whole := space.PassNumbers
	t.Cleanup(func() { space.PassNumbers = whole })
	single := hardrows.Matrix[float32](hardrows.Some()["decaying"], 2200, 70, 1)
	exact := matrix.Converted[float64](single)
	train := hardrows.Matrix[float64](hardrows.Some()["decaying"], 40, 70, 2)
	for _, m := range []Method{MaxDet{}, BAIT{}, BAIT{Backward: true}, FrankWolfe{}} {
		if !ReadsSingle(m) {
			t.Errorf("%s does not read rows in float32", m.Name())
		}
		for _, mode := range []Mode{P, TP} {
			for _, plain := range []bool{false, true} {
				p := Problem[float64]{Pool: exact, Train: train, Mode: mode, Batch: 20, Plain: plain, Pending: []int{3}}
				want, err := Select(t.Context(), m, p)
				if err != nil {
					t.Fatal(err)
				}
				p.Pool, p.Single = matrix.Dense[float64]{}, single
				for _, space.PassNumbers = range []int{whole, 70 * 500, 70 * 33} {
					got, err := Select(t.Context(), m, p)
					if err != nil {
						t.Fatal(err)
					}
					mustEqualResults(t, m.Name()+" "+mode.String(), got, want)
				}
				space.PassNumbers = whole
			}
		}
	}
}

// TestPassesOverAFileChangeNothing: BAIT selects the same rows from a file as from memory.
func TestPassesOverAFileChangeNothing(t *testing.T) {
	whole := space.PassNumbers
	t.Cleanup(func() { space.PassNumbers = whole })
	const cols, blockRows = 64, 1 << 13
	space.PassNumbers = cols * blockRows
	rows := hardrows.Matrix[float32](hardrows.Some()["decaying"], 5*blockRows, cols, 1)
	problem := Problem[float64]{Pool: matrix.Converted[float64](rows), Batch: 20}
	inMemory, err := Select(t.Context(), BAIT{}, problem)
	must(t, err)
	problem.Pool, problem.Single = matrix.Dense[float64]{}, hardrows.InFile(t, rows)
	inFile, err := Select(t.Context(), BAIT{}, problem)
	must(t, err)
	mustEqualResults(t, "BAIT", inFile, inMemory)
}

// TestInFileChangesNothing: methods that compute in float64 do not copy rows in float32
// that are in a file, and pick the same rows.
func TestInFileChangesNothing(t *testing.T) {
	was := nearest.Pays
	nearest.Pays.Work, nearest.Pays.Reads = 0, math.Inf(1)
	t.Cleanup(func() { nearest.Pays = was })
	pool, train := hardrows.Matrix[float32](hardrows.Some()["decaying"], 2200, 70, 1),
		hardrows.Matrix[float32](hardrows.Some()["decaying"], 40, 70, 2)
	file := hardrows.InFile(t, pool)
	for _, m := range []Method{LCMD{}, MaxDist{}, KMeansPP{}, MaxDet{}, BAIT{}, FrankWolfe{}} {
		p := Problem[float32]{Pool: pool, Train: train, Mode: TP, Batch: 20}
		want, err := Select(t.Context(), m, p)
		if err != nil {
			t.Fatal(err)
		}
		p.Pool, p.InFile = file, true
		got, err := Select(t.Context(), m, p)
		if err != nil {
			t.Fatal(err)
		}
		mustEqualResults(t, m.Name(), got, want)
	}
}

// TestMomentsOfAFile: BAIT sums up moments in the first read of a file, over several blocks,
// with weights and without, and picks the same rows as in memory.
func TestMomentsOfAFile(t *testing.T) {
	kind := hardrows.Some()["decaying"]
	pool, train := hardrows.Matrix[float64](kind, 2*place.Block+77, 5, 1), hardrows.Matrix[float64](kind, 20, 5, 2)
	weights := make([]float64, pool.Rows)
	for i := range weights {
		weights[i] = float64(i % 7)
	}
	for _, aims := range []Aims[float64]{{}, {Weights: weights}, {Rows: train}} {
		for _, mode := range []Mode{P, TP} {
			p := Problem[float64]{Pool: pool, Train: train, Mode: mode, Batch: 4, Aims: aims}
			want, err := Select(t.Context(), BAIT{}, p)
			must(t, err)
			p.InFile = true
			got, err := Select(t.Context(), BAIT{}, p)
			must(t, err)
			mustEqualResults(t, mode.String(), got, want)
		}
	}
}

// TestSingleIsRefused where it would not be used.
func TestSingleIsRefused(t *testing.T) {
	rows := hardrows.Matrix[float32](hardrows.Some()["decaying"], 10, 4, 1)
	var wrong *ProblemError
	if _, err := Select(t.Context(), MaxDet{}, Problem[float32]{Single: rows, Batch: 1}); !errors.As(err, &wrong) ||
		wrong.Field != "Single" {
		t.Error(err)
	}
	if _, err := Select(t.Context(), MaxDet{}, Problem[float64]{Single: rows, Pool: matrix.Converted[float64](rows),
		Batch: 1}); !errors.As(err, &wrong) || wrong.Field != "Single" {
		t.Error(err)
	}
	if _, err := Select(t.Context(), LCMD{}, Problem[float64]{Single: rows, Batch: 1}); err == nil {
		t.Error("a method took rows in float32 that it cannot read")
	}
}
