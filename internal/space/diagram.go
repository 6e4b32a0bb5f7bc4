package space

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"math/big"
	"slices"
	"sort"
)

// sum is a limit on the sum of what the variables of a group contribute: a multiple of their value, or 1 where a part
// of a mixture is present.
type sum struct {
	slope       []int64
	present     []bool
	least, most int64 // unlimited: -unlimited and unlimited
	round       int64 // states are multiples of it, rounded in favour of values; 0 if they are exact
}

const unlimited = math.MaxInt64 / 4

// contribution of the values of a block, by their index: constant + slope · index.
func (s *sum) contribution(v int, r progression) (constant, slope int64) {
	switch {
	case r.absent:
		return 0, 0
	case s.present[v] && r.first > 0:
		return 1, 0
	case s.present[v]:
		return 0, 0
	}
	return s.slope[v] * r.first, s.slope[v] * r.step
}

// of returns the contribution of a value.
func (s *sum) of(v int, value int64) int64 {
	c, _ := s.contribution(v, progression{first: value, step: 1, n: 1, absent: value == absent})
	return c
}

// logic says that if all conditions a hold, all of b hold, too; or that both are the same.
type logic struct {
	a, b  []condition
	never bool // b never holds
	same  bool
}

// States of a logic: which side is broken, or that it holds whatever follows.
const (
	aBroken = 1
	bBroken = 2
	holds   = 4
)

// group are variables that constraints link.
type group struct {
	variables []*variable // in the order of the diagram
	at        []int       // their numbers in the space
	sums      []*sum
	logics    []*logic
}

// errTooMany reports a diagram that would be too large.
var errTooMany = errors.New("too many states")

// mostEdges bounds the size of a diagram, and so time and memory.
const mostEdges = 1_000_000

// edge leads from a node to a node of the next variable by a block of values. weight is the sum over the edges of the
// node up to this one.
type edge struct {
	run     int32
	child   int32
	from, n int64
	weight  float64
}

// diagram has a layer of nodes for each variable; the nodes of a layer are ranges of its edges.
type diagram struct {
	group *group
	runs  [][]progression // of each variable, as conditions split them
	total []float64
	edges [][]edge  // of each variable
	ends  [][]int32 // of each variable and node: the end of its edges
	count *big.Int
}

// weight is that of all paths.
func (d *diagram) weight() float64 {
	if len(d.edges) == 0 {
		return 1
	}
	if n := d.ends[0][0]; n > 0 {
		return d.edges[0][n-1].weight
	}
	return 0
}

// build makes the diagram of a group.
func (g *group) build(ctx context.Context) (*diagram, error) {
	b := builder{diagram: &diagram{group: g}, ctx: ctx}
	b.prepare()
	layer := b.start()
	for v := range g.variables {
		next, err := b.layer(v, layer)
		if err != nil {
			return nil, err
		}
		layer = next
	}
	b.weigh()
	return b.diagram, nil
}

// builder makes a diagram.
type builder struct {
	*diagram
	ctx       context.Context
	match     [][][]uint8 // of variable, block and logic: the sides that the values break
	rest      [][][2]int64
	complete  [][]uint8 // of variable and logic: the sides that no later variable can break
	edgeCount int
}

// prepare splits the values and finds out what variables can still contribute.
func (b *builder) prepare() {
	g := b.group
	n := len(g.variables)
	b.runs, b.total = make([][]progression, n), make([]float64, n)
	b.match, b.complete = make([][][]uint8, n), make([][]uint8, n)
	for v, of := range g.variables {
		var conditions []condition
		for _, l := range g.logics {
			for _, c := range slices.Concat(l.a, l.b) {
				if c.variable == g.at[v] {
					conditions = append(conditions, c)
				}
			}
		}
		for _, s := range g.sums {
			if s.present[v] {
				conditions = append(conditions, condition{low: 0, high: 0})
			}
		}
		b.runs[v], b.total[v] = split(of.runs, conditions), of.total()
		b.complete[v] = make([]uint8, len(g.logics))
		for i, l := range g.logics {
			b.complete[v][i] = b.completeAfter(l, v)
		}
		for _, r := range b.runs[v] {
			row := make([]uint8, len(g.logics))
			for i, l := range g.logics {
				row[i] = broken(l, g.at[v], r)
			}
			b.match[v] = append(b.match[v], row)
		}
	}
	b.rest = make([][][2]int64, n+1)
	b.rest[n] = make([][2]int64, len(g.sums))
	for v := n - 1; v >= 0; v-- {
		b.rest[v] = slices.Clone(b.rest[v+1])
		for i, s := range g.sums {
			least, most := int64(math.MaxInt64), int64(math.MinInt64)
			for _, r := range b.runs[v] {
				c, slope := s.contribution(v, r)
				least, most = min(least, c, c+slope*(r.n-1)), max(most, c, c+slope*(r.n-1))
			}
			b.rest[v][i][0] += least
			b.rest[v][i][1] += most
		}
	}
}

// completeAfter returns the sides of a logic that have no condition on a variable after this one.
func (b *builder) completeAfter(l *logic, v int) (sides uint8) {
	later := func(list []condition) bool {
		return slices.ContainsFunc(list, func(c condition) bool { return slices.Contains(b.group.at[v+1:], c.variable) })
	}
	if !later(l.a) {
		sides |= aBroken
	}
	if !later(l.b) {
		sides |= bBroken
	}
	return sides
}

// broken returns the sides of a logic that the values of a block break.
func broken(l *logic, variable int, r progression) (sides uint8) {
	value := r.first
	if r.absent {
		value = absent
	}
	for side, list := range map[uint8][]condition{aBroken: l.a, bBroken: l.b} {
		for _, c := range list {
			if c.variable == variable && !c.holds(value) {
				sides |= side
			}
		}
	}
	return sides
}

// decided marks a sum in a state that holds whatever follows.
const decided = math.MinInt64

// start is the state before the first variable: sums, then logics.
func (b *builder) start() []int64 {
	state := make([]int64, len(b.group.sums), b.width())
	for _, l := range b.group.logics {
		side := int64(0)
		if l.never {
			side = bBroken
		}
		state = append(state, side)
	}
	return state
}

func (b *builder) width() int { return len(b.group.sums) + len(b.group.logics) }

// layer adds the edges of a variable for all states before it, and returns the states after it, one after the other.
func (b *builder) layer(v int, states []int64) (next []int64, err error) {
	width := b.width()
	known := map[string]int32{}
	key := make([]byte, 0, 10*width)
	after := make([]int64, width)
	nodes := 1
	if width > 0 {
		nodes = len(states) / width
	}
	var edges []edge
	ends := make([]int32, nodes)
	add := func(run int, from, n int64) error {
		if b.edgeCount++; b.edgeCount > mostEdges {
			return errTooMany
		}
		key = key[:0]
		for _, x := range after {
			key = binary.AppendVarint(key, x)
		}
		child, seen := known[string(key)]
		if !seen {
			child = int32(len(known))
			known[string(key)] = child
			next = append(next, after...)
		}
		edges = append(edges, edge{run: int32(run), child: child, from: from, n: n})
		return nil
	}
	for node := range nodes {
		if node%1024 == 0 && b.ctx.Err() != nil {
			return nil, b.ctx.Err()
		}
		state := states[node*width : (node+1)*width]
		for run := range b.runs[v] {
			if err := b.cross(v, run, state, after, add); err != nil {
				return nil, err
			}
		}
		ends[node] = int32(len(edges))
	}
	b.edges, b.ends = append(b.edges, edges), append(b.ends, ends)
	return next, nil
}

// cross adds the edges of a block of values from a state: one for the values after which all sums that depend on them
// are decided, and one for each other value that is allowed.
func (b *builder) cross(v, run int, state, after []int64, add func(run int, from, n int64) error) error {
	g, r := b.group, b.runs[v][run]
	if !b.think(v, run, state, after) {
		return nil
	}
	low, high := int64(0), r.n-1                // the values that are allowed
	blockLow, blockHigh := int64(0), int64(r.n) // those after which all is decided
	for i, s := range g.sums {
		if state[i] == decided {
			continue
		}
		c, slope := s.contribution(v, r)
		c += state[i]
		rest := b.rest[v+1][i]
		from, to := between(c, slope, r.n, s.least-rest[1], s.most-rest[0])
		low, high = max(low, from), min(high, to)
		if slope != 0 {
			from, to = between(c, slope, r.n, s.least-rest[0], s.most-rest[1])
			blockLow, blockHigh = max(blockLow, from), min(blockHigh, to)
		}
	}
	blockLow, blockHigh = max(blockLow, low), min(blockHigh, high)
	for at := low; at <= high; at++ {
		n := int64(1)
		if at == blockLow && blockLow <= blockHigh {
			n = blockHigh - blockLow + 1
		}
		b.sums(v, r, at, state, after)
		if err := add(run, at, n); err != nil {
			return err
		}
		at += n - 1
	}
	return nil
}

// between returns the indices from 0 to below n at which c + slope · index is between two limits.
func between(c, slope, n, least, most int64) (from, to int64) {
	switch {
	case slope == 0 && least <= c && c <= most:
		return 0, n - 1
	case slope == 0:
		return 0, -1
	case slope > 0:
		from, to = -floorDiv(c-least, slope), floorDiv(most-c, slope)
	default:
		from, to = -floorDiv(most-c, -slope), floorDiv(c-least, -slope)
	}
	return max(from, 0), min(to, n-1)
}

// think sets the state of the logics after a block of values, and reports whether they can still hold.
func (b *builder) think(v, run int, state, after []int64) bool {
	for i, l := range b.group.logics {
		at := len(b.group.sums) + i
		now := uint8(state[at])
		if now != holds {
			now |= b.match[v][run][i]
			complete := b.complete[v][i]
			a, ca, bb, cb := now&aBroken != 0, complete&aBroken != 0, now&bBroken != 0, complete&bBroken != 0
			switch {
			case l.same && a && bb, !l.same && a, ca && !a && cb && !bb, !l.same && cb && !bb:
				now = holds
			case ca && !a && bb, l.same && a && cb && !bb:
				return false
			}
		}
		after[at] = int64(now)
	}
	return true
}

// sums sets the sums after a value.
func (b *builder) sums(v int, r progression, at int64, state, after []int64) {
	for i, s := range b.group.sums {
		if after[i] = decided; state[i] == decided {
			continue
		}
		c, slope := s.contribution(v, r)
		now, rest := state[i]+c+slope*at, b.rest[v+1][i]
		if now+rest[0] >= s.least && now+rest[1] <= s.most {
			continue
		}
		if q := s.round; q > 0 {
			switch {
			case s.least == -unlimited:
				now = floorDiv(now, q) * q
			case s.most == unlimited:
				now = -floorDiv(-now, q) * q
			}
		}
		after[i] = now
	}
}

// weigh adds up weights and counts, from the last variable to the first.
func (b *builder) weigh() {
	d := b.diagram
	weights, counts := []float64{1}, []*big.Int{big.NewInt(1)}
	for v := len(d.edges) - 1; v >= 0; v-- {
		variable, from := d.group.variables[v], int32(0)
		sumsOf, countsOf := make([]float64, len(d.ends[v])), make([]*big.Int, len(d.ends[v]))
		product := new(big.Int)
		for node, end := range d.ends[v] {
			countsOf[node] = new(big.Int)
			for i := from; i < end; i++ {
				e := &d.edges[v][i]
				sumsOf[node] += variable.weight(d.runs[v][e.run], e.from, e.n, d.total[v]) * weights[e.child]
				e.weight = sumsOf[node]
				countsOf[node].Add(countsOf[node], product.Mul(counts[e.child], product.SetInt64(e.n)))
			}
			from = end
		}
		weights, counts = sumsOf, countsOf
	}
	d.count = counts[0]
}

// walk follows the edges by numbers between 0 and 1, one for each variable, to values. Paths that lead nowhere have no
// weight.
func (d *diagram) walk(u func(v int) float64, values []int64) {
	node := int32(0)
	for v, variable := range d.group.variables {
		edges := d.of(v, node)
		target := u(v) * edges[len(edges)-1].weight
		at := sort.Search(len(edges)-1, func(i int) bool { return edges[i].weight > target })
		before := 0.0
		if at > 0 {
			before = edges[at-1].weight
		}
		e := edges[at]
		values[v] = variable.pick(d.runs[v][e.run], e.from, e.n, (target-before)/(e.weight-before))
		node = e.child
	}
}

// of returns the edges of a node.
func (d *diagram) of(v int, node int32) []edge {
	from := int32(0)
	if node > 0 {
		from = d.ends[v][node-1]
	}
	return d.edges[v][from:d.ends[v][node]]
}

// each visits all paths, in the order of their values.
func (d *diagram) each(visit func(values []int64) error) error {
	values := make([]int64, len(d.group.variables))
	var visitNode func(v int, node int32) error
	visitNode = func(v int, node int32) error {
		if v == len(values) {
			return visit(values)
		}
		for _, e := range d.of(v, node) {
			for i := range e.n {
				r := d.runs[v][e.run]
				if values[v] = r.at(e.from + i); r.absent {
					values[v] = absent
				}
				if err := visitNode(v+1, e.child); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return visitNode(0, 0)
}

// allows reports whether values meet all sums, which a relaxed diagram does not promise.
func (g *group) allows(values []int64) bool {
	for _, s := range g.sums {
		total := int64(0)
		for v, value := range values {
			total += s.of(v, value)
		}
		if total < s.least || total > s.most {
			return false
		}
	}
	return true
}

// density is the share of the weight of all variables that one combination of values has, without constraints.
func (d *diagram) density(values []int64) float64 {
	product := 1.0
	for v, value := range values {
		r := progression{first: value, step: 1, n: 1, absent: value == absent}
		for _, own := range d.runs[v] {
			if !own.absent && own.first <= value && value <= own.last() {
				r.step = own.step
			}
		}
		product *= d.group.variables[v].weight(r, 0, 1, d.total[v])
	}
	return product
}
