package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const (
	rowGroup  = 4       // rows that share the loads of q
	rowSums   = 2       // running sums of a row
	prefetch  = 2 << 10 // at least this many bytes of a stream are prefetched ahead of their use
	cacheLine = 64
)

// rowBlocks generates the products and distances of one vector and many rows.
func (v vectors) rowBlocks() {
	dot := func(row operand.Op, q, acc reg.VecVirtual) { v.fma231(row, q, acc) }
	newRowBlock(v).generate("dotRows", "writes the products of q with the rows to dst.", dot)
	listedDot := newRowBlock(v)
	listedDot.listed = true
	listedDot.generate("dotListed", "writes the products of q with the listed rows to dst.", dot)
	sqDist := func(row operand.Op, q, acc reg.VecVirtual) {
		d := v.reg()
		v.sub(row, q, d)
		v.fma231(d, d, acc)
	}
	newRowBlock(v).generate("sqDistRows", "writes the squared distances of q and the rows to dst.", sqDist)
	listed := newRowBlock(v)
	listed.listed = true
	listed.generate("sqDistListed", "writes the squared distances of q and the listed rows to dst.", sqDist)
}

// rowBlock generates a loop over groups of four rows. These lie far apart, one
// in each quarter of the rows: memory delivers four distant streams faster than
// one. Indices beyond the last row become that of the last row, so that it is
// computed and stored more than once. The rows of a group are summed in one
// way, so a result does not depend on the other rows.
type rowBlock struct {
	vectors
	add    func(row operand.Op, q, acc reg.VecVirtual)
	listed bool // rows are those of a list, and nothing is prefetched

	q, stride     reg.GPVirtual
	step, at      reg.GPVirtual // row within its quarter, column
	ahead         reg.GPVirtual // bytes from the start of a row to what is prefetched
	row           [rowGroup]reg.GPVirtual
	acc           [rowGroup][rowSums]reg.VecVirtual
	quarter, last operand.Mem // rows of a quarter, index of the last row
	distance      operand.Mem // ahead at column 0
}

func newRowBlock(v vectors) *rowBlock { return &rowBlock{vectors: v} }

func (b *rowBlock) generate(name, doc string, add func(row operand.Op, q, acc reg.VecVirtual)) {
	b.add = add
	signature := "(dst, q, rows []T, stride int)"
	if b.listed {
		signature = "(dst, q, rows []T, stride int, list []int32)"
	}
	b.begin(name, signature, doc)
	b.allocate()
	b.Load(b.Param("q").Base(), b.q)
	b.stride = bytesOf(b.emitter, "stride")
	if b.listed {
		b.listedGroups()
		return
	}
	b.groups("dst", func() {
		b.sumColumns("columns")
		b.storeSums("dst", b.foldRows())
	})
}

// listedGroups emits the loop over groups of rows that are adjacent in the list, and ends the function. The last rows,
// if they are fewer than a group, are those of groups with quarters of one row.
func (b *rowBlock) listedGroups() {
	n, next := b.Load(b.Param("dst").Len(), b.GP64()).(reg.GPVirtual), b.GP64()
	b.XORQ(b.step, b.step)
	b.JMP(operand.LabelRef("check"))
	b.Label("group")
	list := b.Load(b.Param("list").Base(), b.GP64()).(reg.GPVirtual)
	for i, row := range b.row {
		b.MOVLQSX(operand.Mem{Base: list, Index: b.step, Scale: 4, Disp: 4 * i}, row)
		b.IMULQ(b.stride, row)
		b.ADDQ(addr(b.Param("rows").Base()), row)
	}
	b.clearSums()
	b.sumColumns("columns")
	dst := b.Load(b.Param("dst").Base(), b.GP64()).(reg.GPVirtual)
	b.store(b.foldRows(), operand.Mem{Base: dst, Index: b.step, Scale: uint8(b.size)})
	b.ADDQ(operand.U32(rowGroup), b.step)
	b.Label("check")
	b.LEAQ(operand.Mem{Base: b.step, Disp: rowGroup}, next)
	b.CMPQ(next, n)
	b.JLE(operand.LabelRef("group"))

	b.CMPQ(b.step, n)
	b.JGE(operand.LabelRef("done"))
	b.DECQ(n)
	b.MOVQ(n, b.last)
	b.MOVQ(operand.U32(1), b.quarter)
	b.startGroup()
	b.sumColumns("rest")
	b.storeSums("dst", b.foldRows())
	b.Label("done")
	b.end()
}

// groups emits the loop over groups of rows, as many as dst has elements, and ends
// the function.
func (b *rowBlock) groups(dst string, body func()) {
	b.prefetchDistance()
	b.quarterRows(dst)
	b.XORQ(b.step, b.step)
	b.JMP(operand.LabelRef("check"))
	b.Label("group")
	b.startGroup()
	body()
	b.INCQ(b.step)
	b.Label("check")
	b.CMPQ(b.step, b.quarter)
	b.JL(operand.LabelRef("group"))
	b.end()
}

func (b *rowBlock) allocate() {
	b.q, b.step, b.at, b.ahead = b.GP64(), b.GP64(), b.GP64(), b.GP64()
	b.quarter, b.last, b.distance = b.AllocLocal(8), b.AllocLocal(8), b.AllocLocal(8)
	for i := range b.row {
		b.row[i] = b.GP64()
		for s := range b.acc[i] {
			b.acc[i][s] = b.reg()
		}
	}
}

// prefetchDistance is a whole number of rows, at least prefetch bytes: memory
// answers while the rows between are summed.
func (b *rowBlock) prefetchDistance() {
	d := b.GP64()
	b.MOVQ(b.stride, d)
	b.TESTQ(d, d)
	b.JLE(operand.LabelRef("far")) // without rows the stride may be anything
	b.Label("near")
	b.CMPQ(d, operand.U32(prefetch))
	b.JGE(operand.LabelRef("far"))
	b.SHLQ(operand.U8(1), d)
	b.JMP(operand.LabelRef("near"))
	b.Label("far")
	b.MOVQ(d, b.distance)
}

// quarterRows divides the number of rows by four, rounding up.
func (b *rowBlock) quarterRows(dst string) {
	n := b.Load(b.Param(dst).Len(), b.GP64())
	b.DECQ(n)
	b.MOVQ(n, b.last)
	b.ADDQ(operand.U32(rowGroup), n)
	b.SHRQ(operand.U8(2), n)
	b.MOVQ(n, b.quarter)
}

// eachRow emits body for each row of the group, with its index.
func (b *rowBlock) eachRow(body func(i int, index reg.GPVirtual)) {
	free, index := b.GP64(), b.GP64()
	b.MOVQ(b.step, free)
	for i := range b.row {
		if i > 0 {
			b.ADDQ(b.quarter, free)
		}
		b.MOVQ(free, index)
		b.CMPQ(index, b.last)
		b.CMOVQGT(b.last, index)
		body(i, index)
	}
}

// startGroup sets the addresses of the rows and clears the sums.
func (b *rowBlock) startGroup() {
	b.eachRow(func(i int, index reg.GPVirtual) {
		if b.listed {
			list := b.Load(b.Param("list").Base(), b.GP64())
			b.MOVLQSX(operand.Mem{Base: list, Index: index, Scale: 4}, b.row[i])
		} else {
			b.MOVQ(index, b.row[i])
		}
		b.IMULQ(b.stride, b.row[i])
		b.ADDQ(addr(b.Param("rows").Base()), b.row[i])
	})
	if !b.listed {
		b.MOVQ(b.distance, b.ahead)
	}
	b.clearSums()
}

// clearSums starts with the first column.
func (b *rowBlock) clearSums() {
	b.XORQ(b.at, b.at)
	for _, sums := range b.acc {
		for _, a := range sums {
			b.zero(a)
		}
	}
}

// sumColumns adds up all columns of the group.
func (b *rowBlock) sumColumns(label string) {
	w := &walk{vectors: b.vectors, at: b.at, left: b.GP64()}
	b.Load(b.Param("q").Len(), w.left)
	w.each(label, rowSums, func(places []place) {
		if !b.listed {
			b.prefetchLines(places)
		}
		for s, p := range places {
			b.addColumns(p, s)
		}
	})
}

// prefetchLines prefetches the cache lines some rows later.
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

// storeSums stores the lanes of the register to where their rows belong.
func (b *rowBlock) storeSums(name string, sums reg.VecVirtual) {
	dst := b.Load(b.Param(name).Base(), b.GP64())
	high := b.XMM()
	if !b.single() {
		b.VEXTRACTF128(operand.U8(1), sums, high)
	}
	b.eachRow(func(i int, index reg.GPVirtual) {
		to := operand.Mem{Base: dst, Index: index, Scale: uint8(b.size)}
		switch {
		case b.single():
			b.VEXTRACTPS(operand.U8(uint8(i)), sums, to)
		case i == 0:
			b.VMOVLPD(sums.AsX(), to)
		case i == 1:
			b.VMOVHPD(sums.AsX(), to)
		case i == 2:
			b.VMOVLPD(high, to)
		case i == 3:
			b.VMOVHPD(high, to)
		}
	})
}
