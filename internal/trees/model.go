package trees

import (
	"context"
	"fmt"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/matrix"
)

// Model is an ensemble of trees. The prediction for a row is
//
//	offset + unit·(v_1 + … + v_T)
//
// where v_t is the value of the leaf that the row reaches in tree t. It is safe for
// concurrent use.
type Model struct {
	scale   standard
	encoder *encoder
	nodes   []node // of all trees, one tree after another
	roots   []int  // where each tree starts in nodes
}

// node is a split or a leaf. The nodes of a tree are stored in preorder: the left child
// of a split is the next node, and its right child comes later. So every walk goes
// forward and ends.
type node struct {
	// split is -1 for a leaf. Otherwise it is twice the number of the feature, plus 1 if
	// missing values go left.
	split int32
	// value is the threshold of a split, up to which values go left, or the value of a leaf.
	value float32
	// next is the right child of a split, counted from the root, or the number of a
	// leaf, counted from left to right.
	next int32
}

const isLeaf = -1

// leaf returns the leaf of one tree that a row of features reaches.
func leaf(tree []node, row []float32) *node {
	at := int32(0)
	for {
		n := &tree[at]
		if n.split < 0 {
			return n
		}
		v := row[n.split>>1]
		if v <= n.value || v != v && n.split&1 == 1 {
			at++
		} else {
			at = n.next
		}
	}
}

// Trees returns the number of trees.
func (m *Model) Trees() int { return len(m.roots) }

// Sizes returns the number of leaves of each tree.
func (m *Model) Sizes() []int {
	sizes := make([]int, m.Trees())
	for t := range sizes {
		sizes[t] = (len(m.tree(t)) + 1) / 2 // every split has two children
	}
	return sizes
}

// Columns returns the description of the inputs.
func (m *Model) Columns() []Input { return m.encoder.columns }

func (m *Model) tree(t int) []node {
	if t+1 < len(m.roots) {
		return m.nodes[m.roots[t]:m.roots[t+1]]
	}
	return m.nodes[m.roots[t]:]
}

// append adds a tree.
func (m *Model) append(tree []node) {
	m.roots = append(m.roots, len(m.nodes))
	m.nodes = append(m.nodes, tree...)
}

// truncate keeps the first trees only.
func (m *Model) truncate(trees int) {
	if trees < len(m.roots) {
		m.nodes = m.nodes[:m.roots[trees]:m.roots[trees]]
		m.roots = m.roots[:trees:trees]
	}
}

// Predict returns the predictions for rows, whose columns are those of the training
// data.
func (m *Model) Predict(ctx context.Context, rows matrix.Dense[float32]) ([]float64, error) {
	sums := make([]float64, rows.Rows)
	err := m.visit(ctx, rows, func(row, _ int, n *node) { sums[row] += float64(n.value) })
	if err != nil {
		return nil, err
	}
	for i, s := range sums {
		sums[i] = m.scale.offset + m.scale.unit*s
	}
	return sums, nil
}

// Leaves returns the number of the leaf that each row reaches in each tree: entry
// r·Trees()+t is for row r and tree t. The leaves of a tree are counted from 0.
func (m *Model) Leaves(ctx context.Context, rows matrix.Dense[float32]) ([]int32, error) {
	leaves := make([]int32, rows.Rows*m.Trees())
	err := m.visit(ctx, rows, func(row, tree int, n *node) { leaves[row*m.Trees()+tree] = n.next })
	if err != nil {
		return nil, err
	}
	return leaves, nil
}

// Contributions returns what each tree (across) adds to the prediction for each row
// (down), in the unit of the labels. Trees()·contribution is the prediction of one of
// the extra trees, up to a constant.
func (m *Model) Contributions(ctx context.Context, rows matrix.Dense[float32]) (matrix.Dense[float32], error) {
	c := matrix.New[float32](rows.Rows, m.Trees())
	err := m.visit(ctx, rows,
		func(row, tree int, n *node) { c.Data[row*c.Stride+tree] = float32(m.scale.unit * float64(n.value)) })
	if err != nil {
		return matrix.Dense[float32]{}, err
	}
	return c, nil
}

// blockRows is the number of rows that go through all trees together, so that a tree
// stays in the cache for as many rows. The context is checked once per block.
const blockRows = 256

// visit calls found for every row and tree, in the order of the trees for each row, and
// from several threads for different rows.
func (m *Model) visit(ctx context.Context, rows matrix.Dense[float32], found func(row, tree int, leaf *node)) error {
	if rows.Cols != len(m.encoder.columns) {
		return fmt.Errorf("trees: the rows have %d columns, but the model was trained on %d", rows.Cols,
			len(m.encoder.columns))
	}
	linalg.TeamOf(ctx).OverPieces(rows.Rows, blockRows, func(_, from, to int) {
		if ctx.Err() != nil {
			return
		}
		block := m.encoder.encode(rows.Slice(from, to))
		for t := range m.roots {
			tree := m.tree(t)
			for i := range block.Rows {
				found(from+i, t, leaf(tree, block.Row(i)))
			}
		}
	})
	return context.Cause(ctx)
}
