package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const (
	rowGroup  = 4       // rows that share the loads of q
	rowSums   = 2       // running sums of a row
	prefetch  = 4 << 10 // bytes that are asked for ahead of their use, at least
	cacheLine = 64
)

// rowBlocks generates the products and distances of one vector and many rows.
func (v vectors) rowBlocks() {
	newRowBlock(v).generate("dotRows", "writes the products of q with the rows to dst.",
		func(row operand.Op, q, acc reg.VecVirtual) { v.fma231(row, q, acc) })
	newRowBlock(v).generate("sqDistRows", "writes the squared distances of q and the rows to dst.",
		func(row operand.Op, q, acc reg.VecVirtual) {
			d := v.reg()
			v.sub(row, q, d)
			v.fma231(d, d, acc)
		})
}

// rowBlock generates a loop over groups of four rows. A last group of fewer
// rows repeats its last row and drops the results: the rows of a group are
// summed in one way, so a result does not depend on the group of its row.
type rowBlock struct {
	vectors
	q, at, ahead reg.GPVirtual
	row          [rowGroup]reg.GPVirtual
	acc          [rowGroup][rowSums]reg.VecVirtual
	add          func(row operand.Op, q, acc reg.VecVirtual)
}

func newRowBlock(v vectors) *rowBlock { return &rowBlock{vectors: v} }

func (b *rowBlock) generate(name, doc string, add func(row operand.Op, q, acc reg.VecVirtual)) {
	b.add = add
	b.begin(name, "(dst, q, rows []T, stride int)", doc)
	dst := b.Load(b.Param("dst").Base(), b.GP64()).(reg.GPVirtual)
	n := b.Load(b.Param("dst").Len(), b.GP64()).(reg.GPVirtual)
	b.q = b.Load(b.Param("q").Base(), b.GP64()).(reg.GPVirtual)
	b.row[0] = b.Load(b.Param("rows").Base(), b.GP64()).(reg.GPVirtual)
	stride := bytesOf(b.emitter, "stride")
	distance := b.prefetchDistance(stride)
	b.allocate()

	b.TESTQ(n, n)
	b.JE(operand.LabelRef("done"))
	b.Label("group")
	b.startGroup(n, stride, distance)
	b.sumColumns()
	sums := b.foldRows()
	b.CMPQ(n, operand.U32(rowGroup))
	b.JL(operand.LabelRef("lastGroup"))
	b.storeSums(sums, dst, nil)
	b.ADDQ(operand.U32(uint32(rowGroup*b.size)), dst)
	b.LEAQ(operand.Mem{Base: b.row[rowGroup-1], Index: stride, Scale: 1}, b.row[0])
	b.SUBQ(operand.U32(rowGroup), n)
	b.JNE(operand.LabelRef("group"))
	b.JMP(operand.LabelRef("done"))
	b.Label("lastGroup")
	b.storeSums(sums, dst, &n)
	b.Label("done")
	b.end()
}

func (b *rowBlock) allocate() {
	b.at, b.ahead = b.GP64(), b.GP64()
	for i := range b.row {
		if i > 0 {
			b.row[i] = b.GP64()
		}
		for s := range b.acc[i] {
			b.acc[i][s] = b.reg()
		}
	}
}

// prefetchDistance is a whole number of groups, at least prefetch bytes: memory
// answers while the rows between are summed. The prefetchers of the CPU alone
// follow several streams that jump from row to row poorly.
func (b *rowBlock) prefetchDistance(stride reg.GPVirtual) reg.GPVirtual {
	d := b.GP64()
	b.MOVQ(stride, d)
	b.SHLQ(operand.U8(2), d)
	b.JE(operand.LabelRef("far")) // without columns the stride may be zero
	b.Label("near")
	b.CMPQ(d, operand.U32(prefetch))
	b.JGE(operand.LabelRef("far"))
	b.SHLQ(operand.U8(1), d)
	b.JMP(operand.LabelRef("near"))
	b.Label("far")
	return d
}

// startGroup sets the addresses of the rows after the first one and clears the
// sums.
func (b *rowBlock) startGroup(n, stride, distance reg.GPVirtual) {
	for i := 1; i < rowGroup; i++ {
		b.LEAQ(operand.Mem{Base: b.row[i-1], Index: stride, Scale: 1}, b.row[i])
		b.CMPQ(n, operand.U32(uint32(i)))
		b.CMOVQLE(b.row[i-1], b.row[i])
	}
	b.XORQ(b.at, b.at)
	b.MOVQ(distance, b.ahead)
	for _, sums := range b.acc {
		for _, a := range sums {
			b.zero(a)
		}
	}
}

// sumColumns adds up all columns of the group.
func (b *rowBlock) sumColumns() {
	w := &walk{vectors: b.vectors, at: b.at, left: b.GP64()}
	b.Load(b.Param("q").Len(), w.left)
	w.each("columns", rowSums, func(places []place) {
		b.prefetchLines(places)
		for s, p := range places {
			b.addColumns(p, s)
		}
	})
}

// prefetchLines asks for the cache lines of the places in a later group. The
// distance is kept from the start of the rows, so it moves along with at.
func (b *rowBlock) prefetchLines(places []place) {
	for at := 0; at < len(places)*b.wide; at += cacheLine {
		for _, row := range b.row {
			b.PREFETCHT0(operand.Mem{Base: row, Index: b.ahead, Scale: 1, Disp: at})
		}
	}
	b.ADDQ(operand.U32(uint32(len(places)*b.wide)), b.ahead)
}

// addColumns adds one vector of columns to running sum s of each row.
func (b *rowBlock) addColumns(p place, s int) {
	q := b.reg()
	b.loadLanes(p, b.column(b.q, p), q)
	for i, row := range b.row {
		var x operand.Op = b.column(row, p)
		if p.part {
			r := b.reg()
			b.loadLanes(p, b.column(row, p), r)
			x = r
		}
		b.add(x, q, b.acc[i][s])
	}
}

func (b *rowBlock) column(row reg.GPVirtual, p place) operand.Mem {
	return operand.Mem{Base: row, Index: b.at, Scale: uint8(b.size), Disp: p.disp * b.size}
}

// foldRows folds the running sums of the four rows into the lanes of one
// register, 128 bits for float32 and 256 for float64.
func (b *rowBlock) foldRows() reg.VecVirtual {
	var row [rowGroup]reg.VecVirtual
	for i, sums := range b.acc {
		row[i] = sums[0].AsY().(reg.VecVirtual)
		b.vectors.add(sums[1], sums[0], sums[0])
		if b.wide == 64 {
			b.VEXTRACTF64X4(operand.U8(1), sums[0], sums[1].AsY())
			b.vectors.add(sums[1].AsY(), row[i], row[i])
		}
	}
	if b.single() {
		return b.foldRows32(row)
	}
	return b.foldRows64(row)
}

func (b *rowBlock) foldRows32(row [rowGroup]reg.VecVirtual) reg.VecVirtual {
	b.VHADDPS(row[1], row[0], row[0])
	b.VHADDPS(row[3], row[2], row[2])
	b.VHADDPS(row[2], row[0], row[0])
	b.VEXTRACTF128(operand.U8(1), row[0], row[1].AsX())
	b.VADDPS(row[1].AsX(), row[0].AsX(), row[0].AsX())
	return row[0].AsX().(reg.VecVirtual)
}

func (b *rowBlock) foldRows64(row [rowGroup]reg.VecVirtual) reg.VecVirtual {
	b.VHADDPD(row[1], row[0], row[0])
	b.VHADDPD(row[3], row[2], row[2])
	b.VPERM2F128(operand.U8(0x20), row[2], row[0], row[1])
	b.VPERM2F128(operand.U8(0x31), row[2], row[0], row[3])
	b.VADDPD(row[3], row[1], row[1])
	return row[1]
}

// storeSums stores the sums of the group, only the first n if n is given.
func (b *rowBlock) storeSums(sums reg.VecVirtual, dst reg.GPVirtual, n *reg.GPVirtual) {
	to := operand.Mem{Base: dst}
	switch {
	case n == nil:
		b.emitter.store(sums, to)
	case b.wide == 64:
		b.storeWhere(b.firstLanes(*n), sums, to)
	default:
		mask := b.YMM()
		b.firstLaneVector(*n, mask)
		if b.single() {
			mask = mask.AsX().(reg.VecVirtual)
		}
		b.storeWhere(mask, sums, to)
	}
}
