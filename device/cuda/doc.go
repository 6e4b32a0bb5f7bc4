//go:build linux && (amd64 || arm64)

// Package cuda computes on NVIDIA GPUs through the CUDA driver, which is loaded at run time
// (driver.go). The kernels are CUDA C++ in the folder kernels, compiled ahead by gen.
//
// Importing the package registers the cards with package device.
package cuda

import "github.com/nextbatch/nextbatch/device"

func init() {
	device.Register(device.Driver{
		Name:  "cuda",
		Count: Count,
		Open:  func(number int, limit int64) (device.Device, error) { return Open(number, limit) },
	})
}
