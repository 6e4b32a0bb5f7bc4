package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// byteRows generates the products of one vector and many rows of bytes.
func byteRows(c *build.Context, s isa, masks operand.Mem) {
	v := vectors{emitter{c, s, float{"int32", 4, ""}}, masks, nil}
	b := &byteBlock{rowBlock{vectors: v}}
	b.generate()
}

// byteBlock generates a loop over groups of four rows, as rowBlock does. The sums
// are integers.
type byteBlock struct{ rowBlock }

func (b *byteBlock) generate() {
	b.begin("dotBytes", "(dst []int32, q []int16, rows []int8)", "writes the products of q with the rows to dst.")
	b.allocate()
	b.Load(b.Param("q").Base(), b.q)
	b.stride = b.Load(b.Param("q").Len(), b.GP64()).(reg.GPVirtual)
	b.groups(func() {
		b.sumColumns()
		b.storeSums(b.foldRows())
	})
}

// sumColumns adds up all columns of the group, one register of bytes at a time:
// each half becomes a register of 16-bit numbers.
func (b *byteBlock) sumColumns() {
	b.Label("columns")
	for i, row := range b.row {
		b.PREFETCHT0(operand.Mem{Base: row, Index: b.ahead, Scale: 1})
		for s := range rowSums {
			x := b.reg()
			b.VPMOVSXBW(operand.Mem{Base: row, Index: b.at, Scale: 1, Disp: s * b.wide / 2}, x)
			b.VPMADDWD(operand.Mem{Base: b.q, Index: b.at, Scale: 2, Disp: s * b.wide}, x, x)
			b.VPADDD(x, b.acc[i][s], b.acc[i][s])
		}
	}
	b.ADDQ(operand.U32(uint32(b.wide)), b.ahead)
	b.ADDQ(operand.U32(uint32(b.wide)), b.at)
	b.CMPQ(b.at, b.stride)
	b.JL(operand.LabelRef("columns"))
}

// foldRows folds the running sums of the four rows into four lanes.
func (b *byteBlock) foldRows() reg.VecVirtual {
	var row [rowGroup]reg.VecVirtual
	for i, sums := range b.acc {
		row[i] = sums[0].AsY().(reg.VecVirtual)
		b.VPADDD(sums[1], sums[0], sums[0])
		if b.wide == 64 {
			b.VEXTRACTI64X4(operand.U8(1), sums[0], sums[1].AsY())
			b.VPADDD(sums[1].AsY(), row[i], row[i])
		}
	}
	b.VPHADDD(row[1], row[0], row[0])
	b.VPHADDD(row[3], row[2], row[2])
	b.VPHADDD(row[2], row[0], row[0])
	b.VEXTRACTI128(operand.U8(1), row[0], row[1].AsX())
	b.VPADDD(row[1].AsX(), row[0].AsX(), row[0].AsX())
	return row[0].AsX().(reg.VecVirtual)
}
