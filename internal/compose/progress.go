package compose

import (
	"context"

	"github.com/nextbatch/nextbatch/internal/kernels"
	"github.com/nextbatch/nextbatch/internal/program"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
)

// counted reports how many of the expected rows have gone through the networks.
type counted struct {
	report   func(done, of int)
	done, of int
}

// expect sets the number of rows to count to. Rows before that are not counted: they
// are labelled rows that transformations are fitted on.
func (e *counted) expect(rows int) { e.done, e.of = 0, rows }

func (e *counted) passed(rows int) {
	if e.report == nil || e.of == 0 {
		return
	}
	e.done = min(e.done+rows, e.of)
	e.report(e.done, e.of)
}

// countedTaps counts the rows that go through a network.
type countedTaps struct {
	kernel.Taps[float32]
	count *counted
}

// Describe describes the network, if it can describe itself. A device does not call Block:
// the composer counts its rows.
func (t countedTaps) Describe(p *program.Program, rows program.Value, first int) (in, grad []program.Value, ok bool) {
	if d, ok := t.Taps.(kernels.DescribedTaps); ok {
		return d.Describe(p, rows, first)
	}
	return nil, nil, false
}

func (t countedTaps) Block(ctx context.Context, rows matrix.Dense[float32],
	first int) (in, grad []matrix.Dense[float32]) {
	in, grad = t.Taps.Block(ctx, rows, first)
	t.count.passed(rows.Rows)
	return in, grad
}
