package network

import (
	"testing"
	"unsafe"
)

const double = unsafe.Sizeof(Real(0)) == 8

// tolerance returns the tolerance for the precision of this build.
func tolerance(inFloat64, inFloat32 float64) float64 {
	if double {
		return inFloat64
	}
	return inFloat32
}

// needFloat32 skips a test that only float32 passes.
func needFloat32(t *testing.T, why string) {
	t.Helper()
	if double {
		t.Skip("only for float32: " + why)
	}
}
