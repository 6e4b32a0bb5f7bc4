//go:build !noasm

package simd

// Each function here replaces the Go loops of a set by generated assembly.

func vectorAVX2F32(s *Set[float32]) {
	s.dot, s.sum, s.sumSquares = dotF32AVX2, sumF32AVX2, sumSquaresF32AVX2
	s.axpy, s.scaleAdd, s.mul, s.rotate = axpyF32AVX2, scaleAddF32AVX2, mulF32AVX2, rotateF32AVX2
	s.dotRows, s.sqDistRows = dotRowsF32AVX2, sqDistRowsF32AVX2
	s.dotListed, s.sqDistListed = dotListedF32AVX2, sqDistListedF32AVX2
	s.dotBytes, s.dotBytesPair, s.roundBytes, s.widen = dotBytesAVX2, dotBytesPairAVX2, roundBytesAVX2, widenAVX2
	s.min, s.argMax, s.minLabel = minF32AVX2, argMaxF32AVX2, minLabelF32AVX2
	s.relu, s.reluMask = reluF32AVX2, reluMaskF32AVX2
	s.silu, s.tanh, s.exp = siluF32AVX2, tanhF32AVX2, expF32AVX2
	s.adam = adamOf(adamF32AVX2)
}

func vectorAVX2F64(s *Set[float64]) {
	s.dot, s.sum, s.sumSquares = dotF64AVX2, sumF64AVX2, sumSquaresF64AVX2
	s.axpy, s.scaleAdd, s.mul, s.rotate = axpyF64AVX2, scaleAddF64AVX2, mulF64AVX2, rotateF64AVX2
	s.dotRows, s.sqDistRows = dotRowsF64AVX2, sqDistRowsF64AVX2
	s.dotListed, s.sqDistListed = dotListedF64AVX2, sqDistListedF64AVX2
	s.dotBytes, s.dotBytesPair, s.roundBytes, s.widen = dotBytesAVX2, dotBytesPairAVX2, roundBytesAVX2, widenAVX2
	s.min, s.argMax, s.minLabel = minF64AVX2, argMaxF64AVX2, minLabelF64AVX2
	s.relu, s.reluMask = reluF64AVX2, reluMaskF64AVX2
	s.silu, s.tanh, s.exp = siluF64AVX2, tanhF64AVX2, expF64AVX2
	s.adam = adamOf(adamF64AVX2)
}

func vectorAVX512F32(s *Set[float32]) {
	s.dot, s.sum, s.sumSquares = dotF32AVX512, sumF32AVX512, sumSquaresF32AVX512
	s.axpy, s.scaleAdd, s.mul, s.rotate = axpyF32AVX512, scaleAddF32AVX512, mulF32AVX512, rotateF32AVX512
	s.dotRows, s.sqDistRows = dotRowsF32AVX512, sqDistRowsF32AVX512
	s.dotListed, s.sqDistListed = dotListedF32AVX512, sqDistListedF32AVX512
	s.dotBytes, s.dotBytesPair, s.roundBytes, s.widen = dotBytesAVX512, dotBytesPairAVX512, roundBytesAVX512, widenAVX512
	s.min, s.argMax, s.minLabel, s.atMost = minF32AVX512, argMaxF32AVX512, minLabelF32AVX512, atMostF32AVX512
	s.relu, s.reluMask = reluF32AVX512, reluMaskF32AVX512
	s.silu, s.tanh, s.exp = siluF32AVX512, tanhF32AVX512, expF32AVX512
	s.adam = adamOf(adamF32AVX512)
}

func vectorAVX512F64(s *Set[float64]) {
	s.dot, s.sum, s.sumSquares = dotF64AVX512, sumF64AVX512, sumSquaresF64AVX512
	s.axpy, s.scaleAdd, s.mul, s.rotate = axpyF64AVX512, scaleAddF64AVX512, mulF64AVX512, rotateF64AVX512
	s.dotRows, s.sqDistRows = dotRowsF64AVX512, sqDistRowsF64AVX512
	s.dotListed, s.sqDistListed = dotListedF64AVX512, sqDistListedF64AVX512
	s.dotBytes, s.dotBytesPair, s.roundBytes, s.widen = dotBytesAVX512, dotBytesPairAVX512, roundBytesAVX512, widenAVX512
	s.min, s.argMax, s.minLabel, s.atMost = minF64AVX512, argMaxF64AVX512, minLabelF64AVX512, atMostF64AVX512
	s.relu, s.reluMask = reluF64AVX512, reluMaskF64AVX512
	s.silu, s.tanh, s.exp = siluF64AVX512, tanhF64AVX512, expF64AVX512
	s.adam = adamOf(adamF64AVX512)
}

// adamOf wraps an assembly loop, which reads AdamStep as an array of numbers.
func adamOf[T Float](loop func(w, m, v, g []T, step *T)) func(w, m, v, g []T, s *AdamStep[T]) {
	return func(w, m, v, g []T, s *AdamStep[T]) { loop(w, m, v, g, &s.Beta1) }
}
