package simd

import (
	"fmt"
	"syscall"
	"testing"
	"unsafe"
)

// BenchmarkStream measures the read bandwidth of memory: a sum over 1 GiB, and the
// row primitives over matrices that fit into no cache.
func BenchmarkStream(b *testing.B) {
	data := hugeSlice(b, 1<<28)
	for _, s := range Available[float32]() {
		b.Run("Sum/"+s.Name(), func(b *testing.B) {
			b.SetBytes(int64(len(data)) * 4)
			for b.Loop() {
				s.Sum(data)
			}
		})
		for _, width := range []int{16, 100, 512, 4096} {
			for name, f := range rowFuncs[float32]() {
				b.Run(fmt.Sprintf("%s/%d/%s", name, width, s.Name()), func(b *testing.B) {
					const total = 100000 * 512
					q, dst := make([]float32, width), make([]float32, total/width)
					b.SetBytes(total * 4)
					for b.Loop() {
						f(s, dst, q, data[:total], width)
					}
				})
			}
		}
	}
}

// hugeSlice returns n numbers on huge pages, which streaming needs for full speed.
func hugeSlice(b *testing.B, n int) []float32 {
	const adviceHuge = 14
	raw, err := syscall.Mmap(-1, 0, n*4, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		b.Skip(err)
	}
	b.Cleanup(func() { _ = syscall.Munmap(raw) })
	_ = syscall.Madvise(raw, adviceHuge)
	data := unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(raw))), n)
	for i := range data {
		data[i] = float32(i & 7)
	}
	return data
}
