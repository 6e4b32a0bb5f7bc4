package campaign

import "iter"

// rowMap is a map from rows to what happened to them that can be copied by assignment. It
// is a tree of nodes with 32 children, whose leaves are rows: a change copies the nodes
// from the root to the leaf, so that all other maps keep what they have, and readers need
// no lock. An edit may change the nodes that it made itself in place.
type rowMap struct {
	root  *rowNode
	shift int // bits of a row below those that choose a child of the root
}

const (
	nodeBits = 5
	nodeSize = 1 << nodeBits
)

// rowNode has either children or rows.
type rowNode struct {
	by       *edit
	children *[nodeSize]*rowNode
	rows     *[nodeSize]*rowState
}

// edit identifies a sequence of changes that nobody else sees before it ends.
type edit struct{ _ byte } // not of size 0, whose pointers may all be equal

func (m rowMap) get(row int64) *rowState {
	n, shift := m.root, m.shift
	if n == nil || row>>(shift+nodeBits) != 0 {
		return nil
	}
	for n != nil && n.rows == nil {
		n, shift = n.children[row>>shift%nodeSize], shift-nodeBits
	}
	if n == nil {
		return nil
	}
	return n.rows[row%nodeSize]
}

// set replaces what the row had by r, or by nothing if r is nil.
func (m *rowMap) set(row int64, r *rowState, by *edit) {
	if m.root == nil {
		m.root = newLeaf(by)
	}
	for row>>(m.shift+nodeBits) != 0 {
		m.root = &rowNode{by: by, children: &[nodeSize]*rowNode{m.root}}
		m.shift += nodeBits
	}
	m.root = m.root.own(by)
	n := m.root
	for shift := m.shift; shift > 0; shift -= nodeBits {
		child := &n.children[row>>shift%nodeSize]
		switch {
		case *child != nil:
			*child = (*child).own(by)
		case shift == nodeBits:
			*child = newLeaf(by)
		default:
			*child = &rowNode{by: by, children: &[nodeSize]*rowNode{}}
		}
		n = *child
	}
	n.rows[row%nodeSize] = r
}

func newLeaf(by *edit) *rowNode { return &rowNode{by: by, rows: &[nodeSize]*rowState{}} }

// own returns a node that the edit may change: itself, or a copy.
func (n *rowNode) own(by *edit) *rowNode {
	if n.by == by {
		return n
	}
	mine := &rowNode{by: by}
	if n.rows != nil {
		rows := *n.rows
		mine.rows = &rows
	} else {
		children := *n.children
		mine.children = &children
	}
	return mine
}

// all returns the rows in ascending order.
func (m rowMap) all() iter.Seq2[int64, *rowState] {
	return func(yield func(int64, *rowState) bool) {
		if m.root != nil {
			m.root.visit(0, m.shift, yield)
		}
	}
}

func (n *rowNode) visit(first int64, shift int, yield func(int64, *rowState) bool) bool {
	if n.rows != nil {
		for i, r := range n.rows {
			if r != nil && !yield(first+int64(i), r) {
				return false
			}
		}
		return true
	}
	for i, child := range n.children {
		if child != nil && !child.visit(first+int64(i)<<shift, shift-nodeBits, yield) {
			return false
		}
	}
	return true
}

// unlike returns the rows of which two maps do not have the same.
func (m rowMap) unlike(other rowMap) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for m.shift < other.shift {
			m = m.higher()
		}
		for other.shift < m.shift {
			other = other.higher()
		}
		unlike(m.root, other.root, 0, m.shift, yield)
	}
}

// higher returns the same map as a tree with one more level.
func (m rowMap) higher() rowMap {
	return rowMap{&rowNode{children: &[nodeSize]*rowNode{m.root}}, m.shift + nodeBits}
}

func unlike(a, b *rowNode, first int64, shift int, yield func(int64) bool) bool {
	if a == b {
		return true
	}
	for i := range nodeSize {
		at := first + int64(i)<<shift
		if shift > 0 {
			if !unlike(a.child(i), b.child(i), at, shift-nodeBits, yield) {
				return false
			}
		} else if a.row(i) != b.row(i) && !yield(at) {
			return false
		}
	}
	return true
}

func (n *rowNode) child(i int) *rowNode {
	if n == nil {
		return nil
	}
	return n.children[i]
}

func (n *rowNode) row(i int) *rowState {
	if n == nil {
		return nil
	}
	return n.rows[i]
}
