//go:build unix

package nextbatch_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/internal/kept"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/spec"
)

// keptProblem returns a problem with networks that have not learnt anything.
func keptProblem(t *testing.T, rows int) nextbatch.Problem {
	t.Helper()
	p := nextbatch.Problem{Batch: 9, Seed: 3, Train: decaying(1, 30, 6),
		Pool: decaying(2, 2400, 6).Slice(0, rows), Networks: "a"}
	var e network.Ensemble
	for member := range 2 {
		net, err := network.NewMLP(6, network.Architecture{Hidden: []int{24, 24}}, 1, member)
		if err != nil {
			t.Fatal(err)
		}
		e = append(e, net)
	}
	p.Models = nextbatch.Models(e)
	return p
}

// TestKeptFeatures: features that are kept give the batch of features that are computed, to the
// last bit, while the pool grows by part of a block, and when only some rows are kept.
func TestKeptFeatures(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"lcmd-tp:grad>sketch(40)", "maxdet-p:grad>sketch(40)>train", "lcmd-tp:ll",
		"kmeanspp-tp:grad", "bait-f-p:ll>ens(2)>sketch(24)>train", "lcmd-tp:linear+2*grad>sketch(40)",
		"bait-f-p:(grad>sketch(40)+ll>sketch(24))>train"} {
		s := spec.MustParse(text)
		for _, kept := range []*kept.Features{{}, {Limit: 1 << 19}, {Limit: 1}} {
			for _, rows := range []int{1500, 2300, 700, 2400} {
				p := keptProblem(t, rows)
				want := mustSelect(t, s, p)
				p.Kept = kept
				sameBatch(t, text, mustSelect(t, s, p), want)
			}
			if reused, _ := kept.Counts(); (reused == 0) != (kept.Limit == 1) {
				t.Errorf("%s, at most %d bytes: features of %d rows were found", text, kept.Limit, reused)
			}
		}
	}
}

// TestKeptFeaturesInFile: features that were written to a file give, in another process, the batch of
// features that are computed, and those of new rows alone are computed.
func TestKeptFeaturesInFile(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"lcmd-tp:grad>sketch(40)", "maxdet-p:grad>sketch(40)>train", "lcmd-tp:ll",
		"kmeanspp-tp:grad", "bait-f-p:ll>ens(2)>sketch(24)>train", "lcmd-tp:linear+2*grad>sketch(40)",
		"bait-f-p:(grad>sketch(40)+ll>sketch(24))>train"} {
		s, path := spec.MustParse(text), filepath.Join(t.TempDir(), "features")
		for _, c := range []struct {
			rows     int
			computed int64
		}{{1500, 1530}, {2300, 800}, {700, 0}, {2400, 100}} {
			p := keptProblem(t, c.rows)
			want := mustSelect(t, s, p)
			p.Kept = &kept.Features{File: path}
			sameBatch(t, text, mustSelect(t, s, p), want)
			if _, computed := p.Kept.Counts(); computed != c.computed || p.Kept.Fresh() != (computed > 0) {
				t.Errorf("%s, %d rows: features of %d rows were computed, not %d; fresh: %v", text, c.rows, computed,
					c.computed, p.Kept.Fresh())
			}
			var file bytes.Buffer
			if err := errors.Join(p.Kept.Write(t.Context(), &file), os.WriteFile(path, file.Bytes(), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestKeptFeaturesOfOthers: another network, seed or kernel finds nothing; the seed of the
// method does not matter.
func TestKeptFeaturesOfOthers(t *testing.T) {
	t.Parallel()
	kept := &kept.Features{}
	first := keptProblem(t, 500)
	first.Kept, first.KernelSeed = kept, new(uint64(7))
	computed := func(text string, p nextbatch.Problem) int64 {
		t.Helper()
		_, before := kept.Counts()
		s := spec.MustParse(text)
		got := mustSelect(t, s, p)
		_, after := kept.Counts()
		p.Kept = nil
		sameBatch(t, text, got, mustSelect(t, s, p))
		return after - before
	}
	other, otherSeed, otherDraw := first, first, first
	other.Networks, otherSeed.KernelSeed, otherDraw.Seed = "b", new(uint64(8)), 4
	for i, c := range []struct {
		text string
		p    nextbatch.Problem
		want int64
	}{
		{"lcmd-tp:grad>sketch(40)", first, 530}, {"lcmd-tp:grad>sketch(40)", first, 0},
		{"kmeanspp-tp:grad>sketch(40)", otherDraw, 0},
		{"maxdet-p:grad>sketch(40)>train", first, 0}, {"lcmd-tp:grad>sketch(40)", other, 530},
		{"lcmd-tp:grad>sketch(40)", otherSeed, 530},
		{"lcmd-tp:grad>sketch(41)", otherSeed, 530}, {"lcmd-tp:ll>sketch(41)", otherSeed, 530},
	} {
		if got := computed(c.text, c.p); got != c.want {
			t.Errorf("%d. %s: features of %d rows were computed, not %d", i, c.text, got, c.want)
		}
	}
	kept.Clear()
	if got := computed("lcmd-tp:ll>sketch(41)", otherSeed); got != 530 {
		t.Errorf("after Clear, features of %d rows were computed", got)
	}
}

// TestKeptFeaturesInUse: a selection inside another one computes its own features.
func TestKeptFeaturesInUse(t *testing.T) {
	t.Parallel()
	s, kept := spec.MustParse("lcmd-tp:grad>sketch(40)"), &kept.Features{}
	p := keptProblem(t, 300)
	want := mustSelect(t, s, p)
	p.Kept = kept
	inner := false
	p.Progress = func(nextbatch.Progress) {
		if !inner {
			inner = true
			again := p
			again.Progress = nil
			kept.Clear()
			sameBatch(t, "inside", mustSelect(t, s, again), want)
		}
	}
	sameBatch(t, "outside", mustSelect(t, s, p), want)
	if !inner {
		t.Error("no progress was reported")
	}
}

// TestKeptFeaturesReportRows: an error names the row as without kept features.
func TestKeptFeaturesReportRows(t *testing.T) {
	t.Parallel()
	s, p := spec.MustParse("lcmd-tp:grad>sketch(40)"), keptProblem(t, 200)
	p.Kept = &kept.Features{}
	mustSelect(t, s, p)
	p.Pool = matrix.Stack(p.Pool, decaying(9, 5, 6))
	p.Pool.Set(203, 1, float32(math.Inf(1)))
	_, err := nextbatch.Select(context.Background(), s, p)
	p.Kept = nil
	if _, want := nextbatch.Select(context.Background(), s, p); err == nil || want == nil || err.Error() != want.Error() {
		t.Errorf("the error is %v, not %v", err, want)
	}
}

// TestKeptFeaturesOfATermAreItsOwn: a term of a sum draws other numbers than the same kernel alone, so
// neither takes the features of the other.
func TestKeptFeaturesOfATermAreItsOwn(t *testing.T) {
	t.Parallel()
	kept := &kept.Features{}
	for _, text := range []string{"lcmd-tp:grad>sketch(40)", "lcmd-tp:grad>sketch(40)+linear",
		"lcmd-tp:linear+grad>sketch(40)", "lcmd-tp:grad>sketch(40)"} {
		p := keptProblem(t, 500)
		want := mustSelect(t, spec.MustParse(text), p)
		p.Kept = kept
		sameBatch(t, text, mustSelect(t, spec.MustParse(text), p), want)
	}
}
