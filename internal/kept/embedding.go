package kept

import (
	"context"
	"crypto/sha256"
	"encoding"
	"encoding/hex"
	"fmt"

	"github.com/nextbatch/nextbatch/internal/forecast"
	"github.com/nextbatch/nextbatch/internal/kernels"
	"github.com/nextbatch/nextbatch/internal/needs"
	"github.com/nextbatch/nextbatch/internal/program"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/spec"
)

// Transforms returns how many of the first transformations of a spec depend on the
// networks and the seed alone, and whether what they give is kept: the features of one kernel
// that is computed in float32. Of a sum, at most those of one term are kept: see Term.
func Transforms(s spec.Spec) (n int, ok bool) {
	if len(s.Terms) > 0 || s.TrainedNetworks() == 0 || s.Kernel.Info().Train || s.Kernel.Info().Labels ||
		needs.Double(s) && !needs.SketchesInSingle(s) {
		return 0, false
	}
	merged := s.Members() == 1
	for n < needs.SinglePart(s) && !s.Transforms[n].Info().Train && !s.Transforms[n].Info().Labels {
		merged = merged || s.Transforms[n].Info().Ensemble
		n++
	}
	return n, merged
}

// Term returns the term of a sum whose features are kept, the first one that has such features, or
// -1 if there is none.
func Term(s spec.Spec) int {
	for i := range s.Terms {
		if _, ok := Transforms(s.Term(i)); ok {
			return i
		}
	}
	return -1
}

// Memory forecasts the memory of the features that a selection keeps.
func (k *Features) Memory(s spec.Spec, z forecast.Sizes) int64 {
	if i := Term(s); i >= 0 {
		s = s.Term(i)
	}
	first, ok := Transforms(s)
	if !ok {
		return 0
	}
	s.Transforms = s.Transforms[:first]
	width, _ := forecast.Width(s, z)
	width += z.Inputs
	need := bytesOf(max(z.Train+z.Pool+z.Aims, k.rowsInFile(width))+partRows, width)
	if k.Limit > 0 {
		need = min(need, k.Limit)
	}
	return need
}

// Name identifies a model and the weights of its targets by all their bits; empty if the
// model cannot be written.
func Name(model encoding.BinaryMarshaler, weights []float64) string {
	raw, err := model.MarshalBinary()
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(fmt.Append(raw, weights))
	return hex.EncodeToString(sum[:])
}

// Embedding returns an embedding that computes only what is not kept under the key, and keeps it.
// Passed is called with the number of rows that were found. The caller releases the features
// after its selection. While another selection uses them, there is no such embedding.
func (k *Features) Embedding(key string, e kernels.Embedding[float32],
	passed func(rows int)) (_ kernels.Embedding[float32], ok bool) {
	width := e.Inputs()
	for _, w := range e.Widths() {
		width += w
	}
	if !k.take(key, e.Inputs(), width) {
		return nil, false
	}
	return &embedding{Embedding: e, kept: k, passed: passed}, true
}

// Release lets other selections use the features.
func (k *Features) Release() { k.inUse.Unlock() }

// embedding is an embedding whose parts are kept.
type embedding struct {
	kernels.Embedding[float32]
	kept   *Features
	passed func(rows int) // called with rows that were found
	rows   kernels.Scratch[float32]
	parts  []kernels.Scratch[float32]
}

// Describe describes the embedding itself: a device computes all features.
func (e *embedding) Describe(p *program.Program, rows program.Value) ([]program.Value, bool) {
	return kernels.DescribeEmbedding(p, e.Embedding, rows)
}

func (e *embedding) Embed(ctx context.Context, rows matrix.Dense[float32]) ([]matrix.Dense[float32], error) {
	found, missing := make([][]float32, rows.Rows), make([]int, 0, rows.Rows)
	for i := range found {
		if found[i] = e.kept.find(rows.Row(i)); found[i] == nil {
			missing = append(missing, i)
		}
	}
	computed, err := e.compute(ctx, rows, missing)
	if err != nil {
		return nil, err
	}
	e.kept.count(rows.Rows-len(missing), len(missing))
	if len(missing) == rows.Rows {
		return computed, nil
	}
	e.passed(rows.Rows - len(missing))
	return e.joined(found, missing, computed), nil
}

// compute returns the parts of some of the rows, and keeps them.
func (e *embedding) compute(ctx context.Context, rows matrix.Dense[float32],
	which []int) ([]matrix.Dense[float32], error) {
	if len(which) == 0 {
		return nil, nil
	}
	some := rows
	if len(which) < rows.Rows {
		some = e.rows.Matrix(len(which), rows.Cols)
		for i, row := range which {
			copy(some.Row(i), rows.Row(row))
		}
	}
	parts, err := e.Embedding.Embed(ctx, some)
	if err != nil && some.Rows < rows.Rows {
		return e.Embedding.Embed(ctx, rows) // whose error counts rows from the start of the block
	}
	if err != nil {
		return nil, err
	}
	for i := range some.Rows {
		dst := e.kept.add(some.Row(i))
		for _, part := range parts {
			if dst != nil {
				dst = dst[copy(dst, part.Row(i)):]
			}
		}
	}
	return parts, nil
}

// joined returns the parts of all rows of a block: those that were found, and those of the
// missing rows.
func (e *embedding) joined(found [][]float32, missing []int, computed []matrix.Dense[float32]) []matrix.Dense[float32] {
	widths := e.Widths()
	if e.parts == nil {
		e.parts = make([]kernels.Scratch[float32], len(widths))
	}
	parts, from := make([]matrix.Dense[float32], len(widths)), 0
	for p, width := range widths {
		parts[p] = e.parts[p].Matrix(len(found), width)
		for i, row := range found {
			if row != nil {
				copy(parts[p].Row(i), row[from:from+width])
			}
		}
		for i, row := range missing {
			copy(parts[p].Row(row), computed[p].Row(i))
		}
		from += width
	}
	return parts
}
