//go:build !(linux && (amd64 || arm64))

// Command nextbatch-hpc is nextbatch with GPUs, for Linux on amd64 and arm64.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr,
		"nextbatch-hpc runs on Linux on amd64 and arm64 only; nextbatch is the same program without GPUs")
	os.Exit(1)
}
