//go:build linux && (amd64 || arm64)

package cuda

// The CUDA driver, libcuda, loaded at run time. Only its C functions are called here; what
// they mean is in card.go.

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/nextbatch/nextbatch/internal/device"
	"github.com/nextbatch/nextbatch/internal/options"
)

// driverNames are the functions that this package calls.
var driverNames = [...]string{
	"cuInit", "cuDriverGetVersion", "cuDeviceGetCount", "cuDeviceGet", "cuDeviceGetName", "cuDeviceTotalMem_v2",
	"cuDeviceGetAttribute",
	"cuDevicePrimaryCtxSetFlags_v2", "cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRelease_v2",
	"cuCtxSetCurrent", "cuMemGetInfo_v2",
	"cuModuleLoadData", "cuModuleUnload", "cuModuleGetFunction", "cuFuncSetAttribute",
	"cuMemAlloc_v2", "cuMemFree_v2", "cuMemHostAlloc", "cuMemFreeHost",
	"cuDeviceGetDefaultMemPool", "cuMemPoolSetAttribute", "cuMemPoolTrimTo", "cuMemAllocAsync", "cuMemFreeAsync",
	"cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuMemsetD8Async",
	"cuStreamCreate", "cuStreamDestroy_v2", "cuStreamSynchronize", "cuLaunchKernel",
	"cuStreamBeginCapture_v2", "cuStreamEndCapture", "cuGraphInstantiateWithFlags", "cuGraphLaunch",
	"cuGraphExecDestroy", "cuGraphDestroy",
	"cuEventCreate", "cuEventRecord", "cuEventSynchronize", "cuEventDestroy_v2", "cuGetErrorName", "cuGetErrorString",
}

// driver holds the addresses of the functions.
type driver map[string]uintptr

// load loads the driver once. A machine without one is an error of type *NoDriverError, one
// that lacks functions of type *OldDriverError.
var load = sync.OnceValues(func() (driver, error) {
	handle, err := purego.Dlopen("libcuda.so.1", purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		return nil, &NoDriverError{Reason: err.Error()}
	}
	d, err := functions(func(name string) (uintptr, error) { return purego.Dlsym(handle, name) })
	if err != nil {
		return nil, err
	}
	return d, d.call("cuInit", 0)
})

// functions looks up all functions of the driver.
func functions(find func(name string) (uintptr, error)) (driver, error) {
	d := driver{}
	for _, name := range driverNames {
		var err error
		if d[name], err = find(name); err != nil {
			return nil, &OldDriverError{Missing: name}
		}
	}
	return d, nil
}

// call calls a function that returns a CUresult.
//
//go:uintptrescapes
func (d driver) call(name string, args ...uintptr) error {
	code, _, _ := purego.SyscallN(d[name], args...)
	if int32(code) == 0 {
		return nil
	}
	return d.failure(name, int(int32(code)))
}

// failure describes the number of an error.
func (d driver) failure(name string, code int) error {
	var symbol, text *byte
	purego.SyscallN(d["cuGetErrorName"], uintptr(code), uintptr(unsafe.Pointer(&symbol)))
	purego.SyscallN(d["cuGetErrorString"], uintptr(code), uintptr(unsafe.Pointer(&text)))
	return &Error{Call: name, Code: code, Symbol: stringAt(symbol), Text: stringAt(text)}
}

// stringAt copies a string of C.
func stringAt(p *byte) string {
	if p == nil {
		return ""
	}
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}

// NoDriverError means that there is no CUDA driver.
type NoDriverError struct{ Reason string }

func (e *NoDriverError) Error() string {
	return fmt.Sprintf("there is no CUDA driver on this machine (%s); install NVIDIA's driver", e.Reason)
}

// Hints are those of an error.
func (e *NoDriverError) Hints() []options.Hint { return []options.Hint{onCPU(", or say ")} }

// Is reports that this is device.ErrNone.
func (e *NoDriverError) Is(target error) bool { return target == device.ErrNone }

// OldDriverError means that the CUDA driver is older than this program needs.
type OldDriverError struct{ Missing string } // a function

func (e *OldDriverError) Error() string {
	return fmt.Sprintf("NVIDIA's driver is too old: libcuda.so.1 has no %s; install driver 580 or newer", e.Missing)
}

// Hints are those of an error.
func (e *OldDriverError) Hints() []options.Hint { return []options.Hint{onCPU(", or say ")} }

// Error is a failure that the driver reports.
type Error struct {
	Call   string
	Code   int
	Symbol string // such as "CUDA_ERROR_OUT_OF_MEMORY"
	Text   string
}

// Is reports that a card without memory is device.ErrMemory, and that no card is
// device.ErrNone.
func (e *Error) Is(target error) bool {
	return target == device.ErrMemory && e.Code == codeOutOfMemory || target == device.ErrNone && e.Code == codeNoDevice
}

func (e *Error) Error() string {
	advice, _ := e.advice()
	return fmt.Sprintf("the GPU failed: %s: %s (%s, error %d); %s", e.Call, e.Text, e.Symbol, e.Code, advice)
}

// Hints are those of an error.
func (e *Error) Hints() []options.Hint {
	_, hints := e.advice()
	return hints
}

// onCPU is the hint to compute without a GPU, and onAnother to use another one.
func onCPU(before string) options.Hint {
	return options.Hint{Before: before, Option: "Device", Value: []string{"cpu"}}
}

func onAnother(before string) options.Hint {
	return options.Hint{Before: before, Option: "Device", Value: []string{"cuda:N"}}
}

// Codes of the driver (CUresult).
const (
	codeOutOfMemory       = 2
	codeStubLibrary       = 34
	codeDeviceUnavailable = 46
	codeNoDevice          = 100
	codeInvalidImage      = 200
	codeNoBinary          = 209
	codeECC               = 214
	codeInvalidPTX        = 218
	codeNVLink            = 220
	codePTXTooNew         = 222
	codeIllegalAccess     = 700
	codeLaunchTimeout     = 702
	codeHardwareStack     = 714 // up to codeLaunchFailed: what a kernel did wrong
	codeLaunchFailed      = 719
	codeSystemNotReady    = 802
	codeDriverMismatch    = 803
	codeNotCompatible     = 804
	codeUnknown           = 999
)

func (e *Error) advice() (string, []options.Hint) {
	or := []options.Hint{onCPU(", or say ")}
	switch e.Code {
	case codeOutOfMemory:
		return "free memory of the card", append([]options.Hint{onAnother(", choose another card with ")}, or...)
	case codeNoDevice, codeSystemNotReady:
		return "nvidia-smi shows whether the driver sees the card", []options.Hint{{Before: "; ",
			Option: "Device", Value: []string{"cpu"}, After: " works without it"}}
	case codeDeviceUnavailable:
		return "another program has the card to itself, or the card is lost: nvidia-smi shows which",
			append([]options.Hint{onAnother("; choose another card with ")}, or...)
	case codeStubLibrary:
		return "this libcuda.so.1 is the stub of NVIDIA's toolkit, not a driver: " +
			"remove its folder from LD_LIBRARY_PATH", or
	case codeDriverMismatch:
		return "the parts of NVIDIA's driver are of different versions: restart the machine after an update", or
	case codeNotCompatible:
		return "NVIDIA's compatibility package does not support this card: install driver 580 or newer instead", or
	case codeInvalidImage, codeNoBinary, codeInvalidPTX, codePTXTooNew:
		return "the card or the driver is older than this program needs (compute capability 8.0, driver 580)",
			[]options.Hint{onCPU("; say ")}
	case codeECC, codeNVLink, codeIllegalAccess, codeLaunchTimeout, codeUnknown:
		return adviceOfLostCard, nil
	}
	if codeHardwareStack <= e.Code && e.Code <= codeLaunchFailed {
		return adviceOfLostCard, nil
	}
	return "run nextbatch-hpc doctor", or
}

const adviceOfLostCard = "the card has lost its state: run again, and if that fails, run nextbatch-hpc doctor and " +
	"nvidia-smi"

// MemoryError means that a card has less memory than the work needs.
type MemoryError struct {
	Need, Limit int64
	Less        string // what needs less memory; empty: fewer features
}

// Is reports that this is device.ErrMemory.
func (e *MemoryError) Is(target error) bool { return target == device.ErrMemory }

func (e *MemoryError) Error() string {
	const mib = 1 << 20
	return fmt.Sprintf("the GPU would need %d MiB of its memory, but may use %d MiB; %s",
		(e.Need+mib-1)/mib, e.Limit/mib, cmp.Or(e.Less, "use a sketch with fewer features"))
}

// Hints are those of an error.
func (e *MemoryError) Hints() []options.Hint {
	return []options.Hint{{Before: ", raise ", Option: "MaxMemory"}, onCPU(", or say ")}
}

// arguments are the arguments of a kernel in memory that the collector does not move.
type arguments struct {
	values   [32]uint64
	pointers [32]unsafe.Pointer
	structs  [2]sizes
	count    int
}

// reset prepares for other arguments.
func (a *arguments) reset() { a.count = 0 }

func (a *arguments) add(v any) {
	slot := &a.values[a.count]
	a.pointers[a.count] = unsafe.Pointer(slot)
	switch v := v.(type) {
	case pointer:
		*slot = uint64(v)
	case int:
		*slot = uint64(v)
	case int32:
		*slot = uint64(uint32(v))
	case float64:
		*slot = math.Float64bits(v)
	case float32:
		*slot = uint64(math.Float32bits(v))
	case sizes:
		a.structs[0] = v
		a.pointers[a.count] = unsafe.Pointer(&a.structs[0])
	case unsafe.Pointer: // to a struct
		a.pointers[a.count] = v
	default:
		panic(errors.New("cuda: a kernel takes no such argument"))
	}
	a.count++
}

// locked runs f on one thread of the operating system, with the context of the card.
func (c *Card) locked(f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := c.driver.call("cuCtxSetCurrent", c.context); err != nil {
		return err
	}
	return f()
}
