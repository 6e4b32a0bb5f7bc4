//go:build linux && (amd64 || arm64)

package nvrtc

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// outputs are the files that Kernels makes, by architecture.
var outputs = []struct{ name, arch string }{
	{"kernels.ptx", "compute_80"},
	{"kernels_sm80.cubin", "sm_80"},
	{"kernels_sm90.cubin", "sm_90"},
}

// Sums is the name of the file that lists the checksums of sources and outputs.
const Sums = "kernels.sum"

// Source returns the sources of a folder, one after the other.
func Source(dir string) ([]byte, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.cu"))
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	var all []byte
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		all = append(all, text...)
	}
	return all, nil
}

// Kernels compiles the sources of a folder and returns the files to put beside them, before
// they are packed: checksums do not depend on how that is done.
func (c *Compiler) Kernels(dir string) (map[string][]byte, error) {
	source, err := Source(dir)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, out := range outputs {
		if files[out.name], err = c.Compile("kernels.cu", source, out.arch); err != nil {
			return nil, err
		}
	}
	files[Sums] = Checksums(c.Version, source, func(name string) []byte { return files[name] })
	return files, nil
}

// Checksums lists the version of the compiler and the checksums of sources and outputs.
func Checksums(version string, source []byte, file func(name string) []byte) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "nvrtc %s\n%x sources\n", version, sha256.Sum256(source))
	for _, out := range outputs {
		fmt.Fprintf(&b, "%x %s\n", sha256.Sum256(file(out.name)), out.name)
	}
	return b.Bytes()
}
