package compose

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nextbatch/nextbatch/internal/kernels"
	"github.com/nextbatch/nextbatch/internal/needs"
	"github.com/nextbatch/nextbatch/internal/place"
	"github.com/nextbatch/nextbatch/internal/rowfile"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/selection"
)

// Rows are the rows of a problem in the precision of its kernel.
type Rows[T matrix.Float] struct {
	Train, Pool, Aims matrix.Dense[T]
	Single            matrix.Dense[float32] // the pool, if it is in float32 while T is float64; Pool is then empty
	Order             []int                 // in which the rows of a file are embedded; nil: as they are
}

// size is the number of rows of the pool.
func (g *Rows[T]) size() int { return max(g.Pool.Rows, g.Single.Rows) }

// block returns some rows of the pool, in scratch if they have to be moved or converted.
func (g *Rows[T]) block(from, to int, scratch *kernels.Scratch[T]) matrix.Dense[T] {
	if g.Single.Rows == 0 && g.Order == nil {
		return g.Pool.Slice(from, to)
	}
	rows := scratch.Matrix(to-from, max(g.Pool.Cols, g.Single.Cols))
	for i := range rows.Rows {
		row := from + i
		if g.Order != nil {
			row = g.Order[row]
		}
		if g.Single.Rows == 0 {
			copy(rows.Row(i), g.Pool.Row(row))
		} else {
			matrix.Convert(rows.Slice(i, i+1), g.Single.Slice(row, row+1))
		}
	}
	return rows
}

// EmbedAll computes the features of all rows for the question. The caller closes the file, if
// those of the pool are in one, and what is placed on a device.
func EmbedAll[T matrix.Float](c *Composer, k kernel.Kernel[T], method selection.Method, rows *Rows[T],
	question *selection.Problem[T]) (file *rowfile.Mapping[T], err error) {
	s := c.parts.Spec
	c.Expect(rows.size() + rows.Train.Rows + rows.Aims.Rows)
	if c.parts.Folder != "" {
		file, err = embedInFile(c, k, method, rows, question)
	} else {
		err = embedPool(c, k, question, rows.Pool)
	}
	if err != nil {
		return file, fmt.Errorf("%v: pool: %w", s, c.parts.PoolError(err))
	}
	for _, set := range []struct {
		name string
		rows matrix.Dense[T]
		dst  *matrix.Dense[T]
	}{
		{"pool", rows.Pool, &question.Pool}, {"labelled rows", rows.Train, &question.Train},
		{"target rows", rows.Aims, &question.Aims.Rows},
	} {
		if set.rows.Rows == 0 || set.dst == &question.Pool && question.Placed != nil {
			continue
		}
		err := embed(c, k, question, set.dst, set.rows)
		if set.dst == &question.Pool {
			err = c.parts.PoolError(err)
		}
		if err != nil {
			return file, fmt.Errorf("%v: %s: %w", s, set.name, err)
		}
	}
	return file, nil
}

// embedPool leaves the features of the pool on the device of the context, if that
// computes them.
func embedPool[T matrix.Float](c *Composer, k kernel.Kernel[T], to *selection.Problem[T], pool matrix.Dense[T]) error {
	if c.parts.Across {
		return nil
	}
	features, err := embedOn(c, k, pool)
	if features != nil {
		to.Placed = features
	}
	return err
}

// embed computes the features of rows, or their factors, where those of the pool were
// computed: the same row has the same features in all sets.
func embed[T matrix.Float](c *Composer, k kernel.Kernel[T], of *selection.Problem[T], dst *matrix.Dense[T],
	rows matrix.Dense[T]) error {
	if of.Placed != nil {
		features, err := fetchedToo(c, k, rows)
		*dst = features
		return err
	}
	prepared, sets, err := kernels.Prepare(c.ctx, k, rows)
	if err != nil {
		return err
	}
	if *dst = sets[0]; !kernels.IsLinear(prepared) {
		of.Kernel = prepared
	}
	return nil
}

// featureMatrix returns the features of rows under a kernel of the composer, from the device of the
// context where there is one.
func featureMatrix[T matrix.Float](c *Composer, m kernel.FeatureMap[T], rows matrix.Dense[T]) (matrix.Dense[T], error) {
	f, done, err := fetched[T](c, m, rows)
	if done || err != nil {
		return f, err
	}
	if !kernels.IsLinear[T](m) {
		c.warnOfCPU("they are too many; add sketch(p) to the spec")
	}
	return kernels.FeatureMatrix(c.ctx, m, rows)
}

// prepare is kernels.Prepare for two sets of rows, on the device of the context where that
// computes their features.
func prepare[T matrix.Float](c *Composer, k kernel.Kernel[T], a,
	b matrix.Dense[T]) (prepared kernel.Kernel[T], left, right matrix.Dense[T], err error) {
	left, done, err := fetched(c, k, a)
	if err == nil && done {
		right, err = fetchedToo(c, k, b)
		return kernel.NewLinear[T](left.Cols), left, right, err
	}
	if err != nil {
		return nil, left, right, err
	}
	if !kernels.IsLinear(k) {
		c.warnOfCPU("the kernel has no explicit features")
	}
	prepared, sets, err := kernels.Prepare(c.ctx, k, a, b)
	if err != nil {
		return nil, left, right, err
	}
	return prepared, sets[0], sets[1], nil
}

// fetched returns the features of rows from the device of the context, and false if there is
// none or the CPU has to compute them.
func fetched[T matrix.Float](c *Composer, k kernel.Kernel[T], rows matrix.Dense[T]) (matrix.Dense[T], bool, error) {
	f, err := embedOn(c, k, rows)
	if f == nil || err != nil {
		return matrix.Dense[T]{}, false, err
	}
	defer f.Close()
	features, err := place.Fetched(f)
	if err == nil {
		err = kernels.CheckFeatures(c.ctx, features)
	}
	return features, true, err
}

// fetchedToo is fetched for rows that belong to others which the device has computed.
func fetchedToo[T matrix.Float](c *Composer, k kernel.Kernel[T], rows matrix.Dense[T]) (matrix.Dense[T], error) {
	features, done, err := fetched(c, k, rows)
	if err == nil && !done {
		err = errors.New("the device computed the features of some rows, but not of all")
	}
	return features, err
}

// embedOn computes the features of rows on the device of the context and leaves them there,
// and returns nil where the CPU has to compute them.
func embedOn[T matrix.Float](c *Composer, k kernel.Kernel[T], rows matrix.Dense[T]) (place.DeviceFeatures[T], error) {
	f, note, err := place.Embed(c.ctx, k, rows)
	if note != "" && !slices.Contains(c.Warnings, note) {
		c.Warnings = append(c.Warnings, note)
	}
	if f != nil {
		c.embedding.passed(rows.Rows * needs.Passes(c.parts.Spec))
	}
	return f, err
}

// warnOfCPU warns that the CPU computes features, if the context has a device and no warning
// says so yet.
func (c *Composer) warnOfCPU(why string) {
	//warning:on-the-cpu the features were computed on the CPU, not on …: …
	const words = "the features were computed on the CPU, not on "
	d := network.DeviceOf(c.ctx)
	if d != nil && !slices.ContainsFunc(c.Warnings, func(w string) bool { return strings.HasPrefix(w, words) }) {
		c.Warnings = append(c.Warnings, words+d.Name()+": "+why)
	}
}
