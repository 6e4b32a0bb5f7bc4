package nextbatch

// Pools that exceed memory. Their inputs and their embedded rows are in files that are mapped
// into memory, so that a selection reads them as it reads any matrix. What it reads often (short
// rows, rows of bytes, norms, bounds) it keeps in memory anyway.

import (
	"context"

	"github.com/nextbatch/nextbatch/internal/rowfile"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection"
)

// given are the rows of a problem in the precision of its kernel.
type given[T matrix.Float] struct {
	Sets[T]
	single matrix.Dense[float32] // the pool, if it is in float32 while T is float64; Pool is then empty
}

// size is the number of rows of the pool.
func (g *given[T]) size() int { return max(g.Pool.Rows, g.single.Rows) }

// block returns some rows of the pool, in scratch if they have to be converted.
func (g *given[T]) block(from, to int, scratch *kernel.Scratch[T]) matrix.Dense[T] {
	if g.single.Rows == 0 {
		return g.Pool.Slice(from, to)
	}
	rows := scratch.Matrix(to-from, g.single.Cols)
	matrix.Convert(rows, g.single.Slice(from, to))
	return rows
}

// embedInFile moves the pool from the given rows to the question: as it is, or embedded
// block by block into a temporary file. The caller closes the file after the selection.
func embedInFile[T matrix.Float](c *composer, k kernel.Kernel[T], method selection.Method, rows *given[T], question *selection.Problem[T]) (*rowfile.Mapping[T], error) {
	how := kernel.NewPreparation(k)
	question.InFile = true
	if !kernel.IsLinear(how.Kernel) {
		question.Kernel = how.Kernel
	}
	pool := *rows
	rows.Pool, rows.single = matrix.Dense[T]{}, matrix.Dense[float32]{}
	if how.AsIs {
		if done, err := leaveInFile(c, how, method, pool, question); done || err != nil {
			return nil, err
		}
		how.Embed = copyRows[T]
	} else {
		c.warnOfCPU("they are in a file")
	}
	var read kernel.Scratch[T]
	m, err := writeRows(c.ctx, c.problem.Folder, pool.size(), how.Width, func(dst matrix.Dense[T], from, to int) error {
		return how.Embed(c.ctx, dst, pool.block(from, to, &read))
	})
	if err == nil {
		question.Pool = m.Rows
	}
	return m, err
}

// writeRows computes a matrix block by block into a temporary file in the folder. The caller
// closes it.
func writeRows[T matrix.Float](ctx context.Context, folder string, rows, cols int, compute func(dst matrix.Dense[T], from, to int) error) (*rowfile.Mapping[T], error) {
	file, err := rowfile.Create[T](folder, rows, cols)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	block := matrix.New[T](min(kernel.BlockRows, rows), cols) // without gaps, which would be written
	err = kernel.OverBlocks(ctx, rows, func(from, to int) error {
		dst := block.Slice(0, to-from)
		if err := compute(dst, from, to); err != nil {
			return err
		}
		return file.Write(dst)
	})
	if err != nil {
		return nil, err
	}
	return file.Map()
}

// leaveInFile passes rows on that are embedded as they are, and reports whether the method
// takes them. A selection from features finds numbers that are not finite itself, which
// saves a pass over the file.
func leaveInFile[T matrix.Float](c *composer, how kernel.Preparation[T], method selection.Method, pool given[T], question *selection.Problem[T]) (done bool, err error) {
	linear := kernel.IsLinear(how.Kernel)
	if pool.single.Rows == 0 {
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
	question.Single = pool.single
	return true, nil
}

// copyRows embeds rows that are embedded as they are.
func copyRows[T matrix.Float](ctx context.Context, dst, rows matrix.Dense[T]) error {
	matrix.Copy(dst, rows)
	return kernel.CheckRows(ctx, rows, rows.Cols)
}
