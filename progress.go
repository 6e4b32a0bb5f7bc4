package nextbatch

import (
	"context"

	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
)

// Progress tells how far Select, Features or Gram is.
type Progress struct {
	Stage    Stage
	Done, Of int
}

// Stage is what is being done.
type Stage string

const (
	Embedding Stage = "embedding" // rows go through the networks; Done and Of count them
	Picking   Stage = "picking"   // Done and Of count steps of the method
)

// embedding tells how many of the rows that are to come have gone through the
// networks.
type embedding struct {
	tell     func(Progress)
	done, of int
}

// expect says how many rows are to come. Rows that come before are not counted:
// transformations look at the labelled rows first.
func (e *embedding) expect(rows int) { e.done, e.of = 0, rows }

func (e *embedding) passed(rows int) {
	if e.tell == nil || e.of == 0 {
		return
	}
	e.done = min(e.done+rows, e.of)
	e.tell(Progress{Embedding, e.done, e.of})
}

// countedTaps counts the rows that go through a network.
type countedTaps struct {
	kernel.Taps[float32]
	count *embedding
}

func (t countedTaps) Block(ctx context.Context, rows matrix.Dense[float32], first int) (in, grad []matrix.Dense[float32]) {
	in, grad = t.Taps.Block(ctx, rows, first)
	t.count.passed(rows.Rows)
	return in, grad
}
