//go:build linux && (amd64 || arm64)

// Command nextbatch-hpc is nextbatch with GPUs and MPI: the same command line, with the devices
// registered that need the C library's loader.
package main

import (
	"os"

	"github.com/nextbatch/nextbatch/cmd/nextbatch/cli"
	_ "github.com/nextbatch/nextbatch/internal/device/cuda"
	_ "github.com/nextbatch/nextbatch/internal/device/mpi"
)

func main() { os.Exit(cli.Run(os.Args[1:], os.Stdout, os.Stderr)) }
