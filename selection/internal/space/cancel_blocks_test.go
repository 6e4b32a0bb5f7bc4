package space

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/nextbatch/nextbatch/matrix"
)

// TestPassesStop: the passes over a file before the first step hear of the end of the context
// after each block.
func TestPassesStop(t *testing.T) {
	rows := matrix.New[float32](3*sumBlock, 1)
	for i := range rows.Data {
		rows.Data[i] = 1
	}
	visits := 0
	singleRows(rows).convertBlocks(func() bool { return visits == 2 }, nil, func(int, matrix.Dense[float64]) { visits++ })
	if visits != 2 {
		t.Errorf("%d blocks after the stop", visits)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	one := &set[float32]{rows: rows, diag: make([]float32, rows.Rows)}
	(&space[float32]{ctx: ctx, stopped: new(atomic.Bool)}).measure(one)
	if one.diag[0] != 0 || one.diag[rows.Rows-1] != 0 {
		t.Error("rows were measured after the end")
	}
}
