//go:build !(linux && (amd64 || arm64))

// Package cuda computes on NVIDIA GPUs, on Linux on amd64 and arm64 only.
package cuda
