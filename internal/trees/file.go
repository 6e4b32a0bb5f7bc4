package trees

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// A saved model is, with all numbers in little-endian order,
//
//	magic, version (uint32)
//	offset and unit of the labels (float64)
//	number of columns (uint32); for each its number of levels (uint32)
//	number of features (uint32); for each its kind (uint8), column and level (uint32),
//	    and, for a statistic, the mean of each level (float32)
//	number of trees (uint32); for each its number of nodes (uint32)
//	all nodes: split (int32), value (float32), next (int32)
const (
	magic   = "nb-trees"
	version = 1
)

// MarshalBinary returns the model as bytes, which UnmarshalBinary reads.
func (m *Model) MarshalBinary() ([]byte, error) {
	le := binary.LittleEndian
	b := le.AppendUint32([]byte(magic), version)
	b = le.AppendUint64(b, math.Float64bits(m.scale.offset))
	b = le.AppendUint64(b, math.Float64bits(m.scale.unit))
	b = le.AppendUint32(b, uint32(len(m.encoder.columns)))
	for _, c := range m.encoder.columns {
		b = le.AppendUint32(b, uint32(c.Levels))
	}
	b = le.AppendUint32(b, uint32(len(m.encoder.features)))
	for _, f := range m.encoder.features {
		b = append(b, byte(f.kind))
		b = le.AppendUint32(b, uint32(f.column))
		b = le.AppendUint32(b, uint32(f.level))
		for _, v := range f.means {
			b = le.AppendUint32(b, math.Float32bits(v))
		}
	}
	b = le.AppendUint32(b, uint32(m.Trees()))
	for t := range m.roots {
		b = le.AppendUint32(b, uint32(len(m.tree(t))))
	}
	for _, n := range m.nodes {
		b = le.AppendUint32(b, uint32(n.split))
		b = le.AppendUint32(b, math.Float32bits(n.value))
		b = le.AppendUint32(b, uint32(n.next))
	}
	return b, nil
}

// UnmarshalBinary replaces the model by the one that MarshalBinary returned as bytes. It
// rejects whatever MarshalBinary cannot have written, so a model that was loaded never
// panics or loops.
func (m *Model) UnmarshalBinary(data []byte) error {
	r := &modelReader{rest: data}
	if string(r.take(len(magic))) != magic {
		return errors.New("trees: this is not a saved model of trees")
	}
	if v := r.uint32(); r.err == nil && v != version {
		return fmt.Errorf("trees: the saved model has version %d; this program reads version %d", v, version)
	}
	read := Model{scale: standard{r.float64(), r.float64()}, encoder: &encoder{}}
	r.require(read.scale.unit > 0, "the unit of the labels is not positive")
	r.columns(read.encoder)
	r.features(read.encoder)
	r.trees(&read)
	r.require(len(r.rest) == 0, "there are more bytes than the model needs")
	if r.err != nil {
		return fmt.Errorf("trees: the saved model is damaged: %w", r.err)
	}
	*m = read
	return nil
}

// modelReader takes numbers off the front of some bytes. After the first error, which it keeps,
// it returns zeros.
type modelReader struct {
	rest []byte
	err  error
}

func (r *modelReader) require(ok bool, complaint string) {
	if r.err == nil && !ok {
		r.err = errors.New(complaint)
	}
}

func (r *modelReader) take(n int) []byte {
	r.require(len(r.rest) >= n, "it ends too early")
	if r.err != nil {
		return make([]byte, n)
	}
	taken := r.rest[:n]
	r.rest = r.rest[n:]
	return taken
}

func (r *modelReader) uint32() uint32 { return binary.LittleEndian.Uint32(r.take(4)) }

func (r *modelReader) float32() float32 {
	v := math.Float32frombits(r.uint32())
	r.require(!math.IsNaN(float64(v)) && !math.IsInf(float64(v), 0), "a number is not finite")
	return v
}

func (r *modelReader) float64() float64 {
	v := math.Float64frombits(binary.LittleEndian.Uint64(r.take(8)))
	r.require(!math.IsNaN(v) && !math.IsInf(v, 0), "a number is not finite")
	return v
}

// count reads the length of a list whose entries take at least size bytes each, so that a
// false length cannot ask for much memory.
func (r *modelReader) count(size int) int {
	n := int(r.uint32())
	r.require(n <= len(r.rest)/size, "a list is longer than the bytes that follow")
	if r.err != nil {
		return 0
	}
	return n
}

func (r *modelReader) columns(e *encoder) {
	e.columns = make([]Input, r.count(4))
	r.require(len(e.columns) > 0, "it has no columns")
	for j := range e.columns {
		levels := r.uint32()
		r.require(levels <= maxLevels, "a column has too many levels")
		e.columns[j].Levels = int(levels)
	}
}

func (r *modelReader) features(e *encoder) {
	e.features = make([]feature, r.count(9))
	for j := range e.features {
		e.features[j] = r.feature(e.columns)
	}
	e.plain = e.isPlain()
}

func (r *modelReader) feature(columns []Input) feature {
	f := feature{kind: reading(r.take(1)[0])}
	column, level := r.uint32(), r.uint32()
	r.require(f.kind < kinds && column < uint32(len(columns)), "a feature is of an unknown kind or column")
	if r.err != nil {
		return f
	}
	levels := columns[column].Levels
	f.column, f.level = int32(column), int32(level)
	switch f.kind {
	case number:
		r.require(levels == 0 && level == 0, "a categorical column is used as a number")
	case indicator:
		r.require(level < uint32(levels), "a feature is of an unknown level")
	case statistic:
		r.require(levels > 0 && level == 0 && levels <= len(r.rest)/4, "the levels of a feature are incomplete")
		if r.err == nil {
			f.means = make([]float32, levels)
		}
		for l := range f.means {
			f.means[l] = r.float32()
		}
	}
	return f
}

func (r *modelReader) trees(m *Model) {
	m.roots = make([]int, r.count(4))
	sum := 0
	for t := range m.roots {
		m.roots[t] = sum
		sum += int(r.uint32())
	}
	r.require(sum == len(r.rest)/12, "the number of nodes is wrong")
	if r.err != nil {
		return
	}
	m.nodes = make([]node, sum)
	for i := range m.nodes {
		m.nodes[i] = node{split: int32(r.uint32()), value: r.float32(), next: int32(r.uint32())}
	}
	for t := range m.roots {
		r.require(isTree(m.tree(t), len(m.encoder.features)), "its nodes are not trees")
	}
}

// isTree reports whether nodes are a tree in preorder over a number of features.
func isTree(tree []node, features int) bool {
	var pending []int32 // right children still to come
	var leaves int32
	for i, n := range tree {
		if n.split != isLeaf {
			if n.split < 0 || int(n.split>>1) >= features || int(n.next) <= i+1 {
				return false
			}
			pending = append(pending, n.next)
			continue
		}
		if n.next != leaves {
			return false
		}
		leaves++
		if len(pending) == 0 {
			return i == len(tree)-1
		}
		last := len(pending) - 1
		if int(pending[last]) != i+1 {
			return false
		}
		pending = pending[:last]
	}
	return false
}
