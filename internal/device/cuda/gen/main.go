//go:build linux && (amd64 || arm64)

// Command gen compiles the kernels of package cuda: to PTX for every GPU since compute
// capability 8.0, and to machine code for 8.x and 9.0, each packed by gzip. It needs NVIDIA's run-time
// compiler, but no GPU. A later compiler writes PTX that the oldest supported driver does not know:
//
//	python3 -m venv venv && venv/bin/pip install 'nvidia-cuda-nvrtc==13.0.*'
//	NEXTBATCH_NVRTC=$(ls $PWD/venv/lib/python3*/site-packages/nvidia/*/lib/libnvrtc.so.??) go generate ./device/cuda
package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"

	"github.com/nextbatch/nextbatch/internal/device/cuda/internal/nvrtc"
)

func main() {
	if err := generate(); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func generate() error {
	compiler, err := nvrtc.Open()
	if errors.Is(err, nvrtc.ErrAbsent) { // a test notices if the sources have changed since
		fmt.Fprintln(os.Stderr, "gen: the compiled kernels stay as they are:", err)
		return nil
	}
	if err != nil {
		return err
	}
	files, err := compiler.Kernels("kernels")
	if err != nil {
		return err
	}
	for name, content := range files {
		if name != nvrtc.Sums {
			name, content = name+".gz", packed(content)
		}
		if err := os.WriteFile("kernels/"+name, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func packed(content []byte) []byte {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		panic(err) // there is such a level
	}
	w.Write(content) // a buffer takes everything
	w.Close()
	return b.Bytes()
}
