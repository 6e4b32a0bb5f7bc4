//go:build linux && (amd64 || arm64)

// Package cuda computes on NVIDIA GPUs through the CUDA driver, which is loaded at run time
// (driver.go). The kernels are CUDA C++ in the folder kernels, compiled ahead by gen.
//
// Training. An epoch is one graph: five launches per step, the validation and the choice of the
// best epoch. The host draws the next orders of mini-batches meanwhile; nothing waits within an
// epoch. The gradient of the weights ends in the step of Adam, so gradients never reach memory.
// An element of a product is the same sum in the same order for every size of tile, so a network
// has the same bits alone and beside others.
//
// Features. The pool streams through the card in blocks of rows, and the next block is copied
// while the card computes. Features stay there for the selection. Labelled and target rows have
// theirs computed in the same place, so equal rows have equal features.
//
// Selection. A step is a graph: it takes the row that the step before has found, adds it and
// finds the next one. The card does several steps by itself (walk.go), and the driver of the
// selection takes the answers one by one. Where a budget or limits of groups may close other
// rows after each pick, each step is an exchange. Directions in 16 bits rule out most rows of a
// step (rough.go). Sums over features have a fixed order, and sizes of clusters are sums of
// integers, so a batch is the same on every run; between card and CPU only rounding differs.
//
// Every call to the driver is checked, and the first failure ends the work with advice. Memory
// is counted before it is allocated, and comes from the driver's pool in the order of a stream.
//
// Importing the package registers the cards with package device.
package cuda

import "github.com/nextbatch/nextbatch/internal/device"

func init() {
	device.Register(device.Driver{
		Name:  "cuda",
		Count: Count,
		Open:  func(number int, limit int64) (device.Device, error) { return Open(number, limit) },
	})
}
