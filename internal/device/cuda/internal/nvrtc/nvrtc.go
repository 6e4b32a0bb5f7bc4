//go:build linux && (amd64 || arm64)

// Package nvrtc compiles CUDA C++ with NVIDIA's run-time compiler, for the generator of
// the kernels and its test. It needs neither a GPU nor a driver.
package nvrtc

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"
)

// ErrAbsent means that the compiler is not installed where Open looks for it.
var ErrAbsent = errors.New("libnvrtc is not installed; install the Python package nvidia-cuda-nvrtc==13.0.* and set " +
	"NEXTBATCH_NVRTC to its libnvrtc.so")

// Compiler is a loaded library.
type Compiler struct {
	handle  uintptr
	Version string // such as "13.0"
}

// Open loads the library that the variable NEXTBATCH_NVRTC names, or the one that the
// loader finds.
func Open() (*Compiler, error) {
	names := []string{"libnvrtc.so.13", "libnvrtc.so"}
	if named := os.Getenv("NEXTBATCH_NVRTC"); named != "" {
		names = []string{named}
		// The library loads its built-in headers by name, from where it lies.
		builtins, _ := filepath.Glob(filepath.Join(filepath.Dir(named), "libnvrtc-builtins.so.*"))
		for _, b := range builtins {
			purego.Dlopen(b, purego.RTLD_NOW|purego.RTLD_GLOBAL) //nolint: it may be found otherwise
		}
	}
	for _, name := range names {
		handle, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_GLOBAL)
		if err != nil {
			continue
		}
		c := &Compiler{handle: handle}
		var major, minor int32
		if err := c.call("nvrtcVersion", uintptr(unsafe.Pointer(&major)), uintptr(unsafe.Pointer(&minor))); err != nil {
			return nil, err
		}
		c.Version = fmt.Sprintf("%d.%d", major, minor)
		return c, nil
	}
	return nil, ErrAbsent
}

// call calls a function of the library, which returns zero or the number of an error.
//
//go:uintptrescapes
func (c *Compiler) call(name string, args ...uintptr) error {
	f, err := purego.Dlsym(c.handle, name)
	if err != nil {
		return err
	}
	if code, _, _ := purego.SyscallN(f, args...); int32(code) != 0 {
		return fmt.Errorf("%s: error %d", name, int32(code))
	}
	return nil
}

// Compile translates a source for an architecture such as "compute_80", to PTX, or
// "sm_90", to machine code.
func (c *Compiler) Compile(name string, source []byte, arch string) ([]byte, error) {
	var program uintptr
	text, title := terminated(string(source)), terminated(name)
	if err := c.call("nvrtcCreateProgram", uintptr(unsafe.Pointer(&program)), uintptr(unsafe.Pointer(text)),
		uintptr(unsafe.Pointer(title)), 0, 0, 0); err != nil {
		return nil, err
	}
	defer c.call("nvrtcDestroyProgram", uintptr(unsafe.Pointer(&program)))
	options := []*byte{terminated("--gpu-architecture=" + arch), terminated("--std=c++17"), terminated("--fmad=false")}
	err := c.call("nvrtcCompileProgram", program, uintptr(len(options)), uintptr(unsafe.Pointer(&options[0])))
	runtime.KeepAlive(options)
	if err != nil {
		log, _ := c.get(program, "ProgramLog")
		return nil, fmt.Errorf("%s for %s: %w\n%s", name, arch, err, log)
	}
	if arch[0] == 'c' {
		return c.get(program, "PTX")
	}
	return c.get(program, "CUBIN")
}

// get returns an output of a program.
func (c *Compiler) get(program uintptr, what string) ([]byte, error) {
	size := new(uintptr)
	if err := c.call("nvrtcGet"+what+"Size", program, uintptr(unsafe.Pointer(size))); err != nil {
		return nil, err
	}
	if *size == 0 {
		return nil, nil
	}
	out := make([]byte, *size)
	err := c.call("nvrtcGet"+what, program, uintptr(unsafe.Pointer(&out[0])))
	return out, err
}

func terminated(s string) *byte { return &append([]byte(s), 0)[0] }
