//go:build !noasm

package simd

// sets returns the implementations that this CPU can run, the slowest first.
func sets() ([]*Set[float32], []*Set[float64]) {
	f32 := []*Set[float32]{goSet[float32]()}
	f64 := []*Set[float64]{goSet[float64]()}
	hasAVX2, hasAVX512 := features()
	if hasAVX2 {
		f32, f64 = append(f32, avx2F32()), append(f64, avx2F64())
	}
	if hasAVX512 {
		f32, f64 = append(f32, avx512F32()), append(f64, avx512F64())
	}
	if hasAVX512 && hasAMX() && requestTiles() {
		f32, f64 = append(f32, amxF32()), append(f64, amxF64())
	}
	return f32, f64
}

// features reports whether the CPU has all of AVX2, FMA and BMI2, and all parts of
// AVX-512 that the assembly uses (F, DQ, BW, VL), and whether the operating system
// saves their registers.
func features() (hasAVX2, hasAVX512 bool) {
	const (
		fma, osxsave, avx         = 1 << 12, 1 << 27, 1 << 28 // leaf 1, ecx
		avx2, bmi2                = 1 << 5, 1 << 8            // leaf 7, ebx
		f, dq, bw, vl             = 1 << 16, 1 << 17, 1 << 30, 1 << 31
		ymmState, zmmState uint32 = 0x06, 0xe6 // XCR0
	)
	top, _, _, _ := cpuid(0, 0)
	if top < 7 {
		return false, false
	}
	_, _, c1, _ := cpuid(1, 0)
	if c1&osxsave == 0 || c1&avx == 0 || c1&fma == 0 {
		return false, false
	}
	state, _ := xgetbv()
	_, b7, _, _ := cpuid(7, 0)
	const need256, need512 = avx2 | bmi2, f | dq | bw | vl
	hasAVX2 = state&ymmState == ymmState && b7&need256 == need256
	hasAVX512 = hasAVX2 && state&zmmState == zmmState && b7&need512 == need512
	return hasAVX2, hasAVX512
}

// hasAMX reports whether the CPU has tile registers and multiplies bfloat16 with
// them, and whether the operating system saves them.
func hasAMX() bool {
	const bf16, tile = 1 << 22, 1 << 24 // leaf 7, edx
	const tileState uint32 = 0x60000    // XCR0
	_, _, _, d7 := cpuid(7, 0)
	state, _ := xgetbv()
	return d7&bf16 != 0 && d7&tile != 0 && state&tileState == tileState
}

func avx2F32() *Set[float32] {
	s := goSet[float32]()
	s.name, s.mr, s.nr = "avx2", 6, 16
	s.tiles = []tileFunc[float32]{nil, tile1F32AVX2, tile2F32AVX2, tile3F32AVX2,
		tile4F32AVX2, tile5F32AVX2, tile6F32AVX2}
	s.packPanel, s.packPanelT, s.fmaLoop = packPanelF32AVX2, packPanelTF32AVX2, fmaLoopF32AVX2
	vectorAVX2F32(s)
	return s
}

func avx2F64() *Set[float64] {
	s := goSet[float64]()
	s.name, s.mr, s.nr = "avx2", 6, 8
	s.tiles = []tileFunc[float64]{nil, tile1F64AVX2, tile2F64AVX2, tile3F64AVX2,
		tile4F64AVX2, tile5F64AVX2, tile6F64AVX2}
	s.packPanel, s.packPanelT, s.fmaLoop = packPanelF64AVX2, packPanelTF64AVX2, fmaLoopF64AVX2
	vectorAVX2F64(s)
	return s
}

func avx512F32() *Set[float32] {
	s := goSet[float32]()
	s.name, s.mr, s.nr = "avx512", 14, 32
	s.tiles = []tileFunc[float32]{nil, tile1F32AVX512, tile2F32AVX512, tile3F32AVX512,
		tile4F32AVX512, tile5F32AVX512, tile6F32AVX512, tile7F32AVX512, tile8F32AVX512,
		tile9F32AVX512, tile10F32AVX512, tile11F32AVX512, tile12F32AVX512,
		tile13F32AVX512, tile14F32AVX512}
	s.packPanel, s.packPanelT, s.fmaLoop = packPanelF32AVX512, packPanelTF32AVX512, fmaLoopF32AVX512
	vectorAVX512F32(s)
	return s
}

func avx512F64() *Set[float64] {
	s := goSet[float64]()
	s.name, s.mr, s.nr = "avx512", 14, 16
	s.tiles = []tileFunc[float64]{nil, tile1F64AVX512, tile2F64AVX512, tile3F64AVX512,
		tile4F64AVX512, tile5F64AVX512, tile6F64AVX512, tile7F64AVX512, tile8F64AVX512,
		tile9F64AVX512, tile10F64AVX512, tile11F64AVX512, tile12F64AVX512,
		tile13F64AVX512, tile14F64AVX512}
	s.packPanel, s.packPanelT, s.fmaLoop = packPanelF64AVX512, packPanelTF64AVX512, fmaLoopF64AVX512
	vectorAVX512F64(s)
	return s
}

func amxF32() *Set[float32] {
	s := avx512F32()
	s.name = "amx"
	s.split = &splitLoops[float32]{rows: splitRows, cols: splitCols, turn: turnTiles, mul: mulBlocks}
	return s
}

func amxF64() *Set[float64] {
	s := avx512F64()
	s.name = "amx"
	return s
}

// Pause executes n spin-wait hints, each of which takes a few to a few dozen
// nanoseconds.
func Pause(n int) { pause(n) }
