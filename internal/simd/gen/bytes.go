package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// byteRows generates the products of one vector, or two, and many rows of bytes.
func byteRows(c *build.Context, s isa, masks operand.Mem) {
	v := vectors{emitter{c, s, float{"int32", 4, ""}}, masks, nil}
	one := &byteBlock{rowBlock: rowBlock{vectors: v}, queries: []string{"q"}}
	one.generate("dotBytes", "(dst []int32, q []int16, rows []int8)", "writes the products of q with the rows to dst.",
		"dst")
	two := &byteBlock{rowBlock: rowBlock{vectors: v}, queries: []string{"q", "p"}}
	two.generate("dotBytesPair", "(dstQ, dstP []int32, q, p []int16, rows []int8)",
		"writes the products of q and of p with the rows to dstQ and dstP.", "dstQ", "dstP")
}

// byteBlock generates a loop over groups of four rows, as rowBlock does. The sums
// are integers.
type byteBlock struct {
	rowBlock
	queries []string
	vector  []reg.Register // their addresses
}

func (b *byteBlock) generate(name, signature, doc string, dst ...string) {
	b.begin(name, signature, doc)
	b.allocate()
	for _, q := range b.queries {
		b.vector = append(b.vector, b.Load(b.Param(q).Base(), b.GP64()))
	}
	b.stride = b.Load(b.Param("q").Len(), b.GP64()).(reg.GPVirtual)
	b.groups(dst[0], func() {
		b.sumColumns()
		if len(dst) == 1 {
			b.addSums()
		}
		for i, name := range dst {
			b.storeSums(name, b.foldRows(i))
		}
	})
}

// sumColumns adds up all columns of the group, one register of bytes at a time:
// each half becomes a register of 16-bit numbers. With one vector each half has a
// running sum, with two each vector.
func (b *byteBlock) sumColumns() {
	b.Label("columns")
	for i, row := range b.row {
		b.PREFETCHT0(operand.Mem{Base: row, Index: b.ahead, Scale: 1})
		for half := range rowSums {
			x := b.reg()
			b.VPMOVSXBW(operand.Mem{Base: row, Index: b.at, Scale: 1, Disp: half * b.wide / 2}, x)
			for n, vector := range b.vector {
				product, sum := b.reg(), b.acc[i][n]
				if len(b.vector) == 1 {
					sum = b.acc[i][half]
				}
				b.VPMADDWD(operand.Mem{Base: vector, Index: b.at, Scale: 2, Disp: half * b.wide}, x, product)
				b.VPADDD(product, sum, sum)
			}
		}
	}
	b.ADDQ(operand.U32(uint32(b.wide)), b.ahead)
	b.ADDQ(operand.U32(uint32(b.wide)), b.at)
	b.CMPQ(b.at, b.stride)
	b.JL(operand.LabelRef("columns"))
}

// addSums adds the second running sum of each row to the first.
func (b *byteBlock) addSums() {
	for _, sums := range b.acc {
		b.VPADDD(sums[1], sums[0], sums[0])
	}
}

// foldRows folds running sum n of the four rows into four lanes.
func (b *byteBlock) foldRows(n int) reg.VecVirtual {
	var row [rowGroup]reg.VecVirtual
	for i, sums := range b.acc {
		row[i] = sums[n].AsY().(reg.VecVirtual)
		if b.wide == 64 {
			high := b.YMM()
			b.VEXTRACTI64X4(operand.U8(1), sums[n], high)
			b.VPADDD(high, row[i], row[i])
		}
	}
	b.VPHADDD(row[1], row[0], row[0])
	b.VPHADDD(row[3], row[2], row[2])
	b.VPHADDD(row[2], row[0], row[0])
	b.VEXTRACTI128(operand.U8(1), row[0], row[1].AsX())
	b.VPADDD(row[1].AsX(), row[0].AsX(), row[0].AsX())
	return row[0].AsX().(reg.VecVirtual)
}

// roundBytes generates the rounding of whole vectors to bytes.
func roundBytes(c *build.Context, s isa) {
	v := vectors{emitter: emitter{c, s, floats[1]}}
	name := "roundBytes" + s.name
	text(c, name, "func(k []int8, row []float64, perStep, step float64) float64")
	v.Doc(name + " rounds whole vectors of row·perStep to k and returns Σ (row − k·step)².")
	v.Pragma("noescape")
	w := v.over("row", "k")
	perStep, step, acc := v.scalar("perStep"), v.scalar("step"), v.regs(unrolled)
	for _, a := range acc {
		v.zero(a)
	}
	body := func(places []place) {
		for i, p := range places {
			rest, near := p.load("row"), v.reg()
			v.mulv(rest, perStep, near)
			to := p.of("k")
			to.Scale, to.Disp = 1, p.disp
			v.toBytes(near, to)
			v.fnma231(near, step, rest)
			v.fma231(rest, rest, acc[i])
		}
	}
	w.loop("block", unrolled, body)
	w.loop("vector", 1, body)
	for _, a := range acc[1:] {
		v.add(a, acc[0], acc[0])
	}
	v.fold(acc[0], v.add)
	v.returnLowest(acc[0])
}

// toBytes stores the lanes of r as bytes and rounds them to whole numbers.
func (v vectors) toBytes(r reg.VecVirtual, to operand.Mem) {
	if v.wide == 64 {
		whole := v.YMM()
		v.VCVTPD2DQ(r, whole)
		v.VCVTDQ2PD(whole, r)
		v.VPMOVDB(whole, to)
		return
	}
	whole := v.XMM()
	v.VCVTPD2DQY(r, whole)
	v.VCVTDQ2PD(whole, r)
	v.VPACKSSDW(whole, whole, whole)
	v.VPACKSSWB(whole, whole, whole)
	v.VMOVD(whole, to)
}
