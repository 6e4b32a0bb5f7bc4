package main

import (
	"encoding/binary"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// tiles emits the instructions of AMX as bytes: the assembler does not know them.
// Tiles are numbered 0 to 7. Only the first eight general registers can be used.
type tiles struct{ *build.Context }

// The prefix of three bytes: the second names the table of opcodes, the third
// holds one register, inverted, and distinguishes instructions of the same opcode.
const (
	prefix, table38 = 0xc4, 0xe2
	plain, pF3, pF2 = 0x78, 0x7a, 0x7b
)

// configure loads the shapes of the tiles; release resets them.
func (t tiles) configure(at reg.GPPhysical) {
	t.bytes([]operand.Op{at}, prefix, table38, plain, 0x49, code(at))
}

func (t tiles) release() { t.bytes(nil, prefix, table38, plain, 0x49, 0xc0) }

func (t tiles) zero(tile int) { t.bytes(nil, prefix, table38, pF2, 0x49, 0xc0|byte(tile)<<3) }

// multiply adds to tile sum the product of tiles a and b.
func (t tiles) multiply(sum, a, b int) {
	t.bytes(nil, prefix, table38, pF3&^(byte(b)<<3), 0x5c, 0xc0|byte(sum)<<3|byte(a))
}

// load reads a tile whose rows begin at base + disp and are stride apart.
func (t tiles) load(tile int, base, stride reg.GPPhysical, disp int) {
	t.memory(pF2, tile, base, stride, disp)
}

func (t tiles) store(tile int, base, stride reg.GPPhysical, disp int) {
	t.memory(pF3, tile, base, stride, disp)
}

func (t tiles) memory(kind byte, tile int, base, stride reg.GPPhysical, disp int) {
	list := []byte{prefix, table38, kind, 0x4b, 0x84 | byte(tile)<<3, code(stride)<<3 | code(base)}
	t.bytes([]operand.Op{base, stride}, binary.LittleEndian.AppendUint32(list, uint32(disp))...)
}

// bytes emits an instruction that reads the given registers.
func (t tiles) bytes(inputs []operand.Op, list ...byte) {
	for i, b := range list {
		in := inputs
		if i > 0 {
			in = nil
		}
		t.Instruction(&ir.Instruction{Opcode: "BYTE", Operands: []operand.Op{operand.U8(b)}, Inputs: in})
	}
}

// code is the number of one of the first eight registers.
func code(r reg.GPPhysical) byte {
	for i, known := range [...]reg.GPPhysical{reg.RAX, reg.RCX, reg.RDX, reg.RBX, reg.RSP, reg.RBP, reg.RSI, reg.RDI} {
		if r == known {
			return byte(i)
		}
	}
	panic("tiles: a register beyond the first eight")
}
