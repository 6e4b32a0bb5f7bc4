package compose

// Pools that exceed memory. Their inputs and their embedded rows are in files that are mapped
// into memory, so that a selection reads them as it reads any matrix. What it reads often (short
// rows, rows of bytes, norms, bounds) it keeps in memory anyway.

import (
	"context"

	"github.com/nextbatch/nextbatch/internal/kernels"
	"github.com/nextbatch/nextbatch/internal/rowfile"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection"
)

// embedInFile moves the pool from the given rows to the question: as it is, or embedded
// block by block into a temporary file. The caller closes the file after the selection.
func embedInFile[T matrix.Float](c *Composer, k kernel.Kernel[T], method selection.Method, rows *Rows[T],
	question *selection.Problem[T]) (*rowfile.Mapping[T], error) {
	how := kernels.NewPreparation(k)
	question.InFile = true
	if !kernels.IsLinear(how.Kernel) {
		question.Kernel = how.Kernel
	}
	pool := *rows
	rows.Pool, rows.Single = matrix.Dense[T]{}, matrix.Dense[float32]{}
	if how.AsIs {
		if done, err := leaveInFile(c, how, method, pool, question); done || err != nil {
			return nil, err
		}
		how.Embed = copyRows[T]
	} else {
		c.warnOfCPU("they are in a file")
	}
	var read kernels.Scratch[T]
	m, err := rowfile.Compute(c.ctx, c.parts.Folder, pool.size(), how.Width, kernel.BlockRows,
		func(dst matrix.Dense[T], from, to int) error {
			return kernels.Shifted(how.Embed(c.ctx, dst, pool.block(from, to, &read)), from)
		})
	if err == nil {
		question.Pool = m.Rows
	}
	return m, err
}

// leaveInFile passes rows on that are embedded as they are, and reports whether the method
// takes them. A selection from features finds numbers that are not finite itself, which
// saves a pass over the file.
func leaveInFile[T matrix.Float](c *Composer, how kernels.Preparation[T], method selection.Method, pool Rows[T],
	question *selection.Problem[T]) (done bool, err error) {
	linear := kernels.IsLinear(how.Kernel)
	if pool.Order != nil {
		return false, nil
	}
	if pool.Single.Rows == 0 {
		question.Pool = pool.Pool
		if linear {
			return true, nil
		}
		return true, how.Check(c.ctx, pool.Pool)
	}
	_, inDouble := any(pool.Pool).(matrix.Dense[float64])
	if !inDouble || !linear || !selection.ReadsSingle(method) {
		return false, nil
	}
	question.Single = pool.Single
	return true, nil
}

// copyRows embeds rows that are embedded as they are.
func copyRows[T matrix.Float](ctx context.Context, dst, rows matrix.Dense[T]) error {
	matrix.Copy(dst, rows)
	return kernel.CheckRows(ctx, rows, rows.Cols)
}
