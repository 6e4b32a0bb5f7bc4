//go:build !amd64 || noasm

package simd

func sets() ([]*Set[float32], []*Set[float64]) {
	return []*Set[float32]{goSet[float32]()}, []*Set[float64]{goSet[float64]()}
}

// Pause executes n spin-wait hints.
func Pause(n int) {
	for range n {
		noop()
	}
}

//go:noinline
func noop() {}
