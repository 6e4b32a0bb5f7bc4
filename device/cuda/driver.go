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

	"github.com/nextbatch/nextbatch/device"
)

// driverNames are the functions that this package calls.
var driverNames = [...]string{
	"cuInit", "cuDriverGetVersion", "cuDeviceGetCount", "cuDeviceGet", "cuDeviceGetName", "cuDeviceTotalMem_v2", "cuDeviceGetAttribute",
	"cuDevicePrimaryCtxSetFlags_v2", "cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRelease_v2", "cuCtxSetCurrent", "cuMemGetInfo_v2",
	"cuModuleLoadData", "cuModuleUnload", "cuModuleGetFunction", "cuFuncSetAttribute",
	"cuMemAlloc_v2", "cuMemFree_v2", "cuMemHostAlloc", "cuMemFreeHost",
	"cuDeviceGetDefaultMemPool", "cuMemPoolSetAttribute", "cuMemPoolTrimTo", "cuMemAllocAsync", "cuMemFreeAsync",
	"cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuMemsetD8Async",
	"cuStreamCreate", "cuStreamDestroy_v2", "cuStreamSynchronize", "cuLaunchKernel",
	"cuStreamBeginCapture_v2", "cuStreamEndCapture", "cuGraphInstantiateWithFlags", "cuGraphLaunch", "cuGraphExecDestroy", "cuGraphDestroy",
	"cuEventCreate", "cuEventRecord", "cuEventSynchronize", "cuEventDestroy_v2", "cuGetErrorName", "cuGetErrorString",
}

// driver holds the addresses of the functions.
type driver map[string]uintptr

// load loads the driver once. A machine without one is an error of type *NoDriverError.
var load = sync.OnceValues(func() (driver, error) {
	handle, err := purego.Dlopen("libcuda.so.1", purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		return nil, &NoDriverError{Reason: err.Error()}
	}
	d := driver{}
	for _, name := range driverNames {
		if d[name], err = purego.Dlsym(handle, name); err != nil {
			return nil, &NoDriverError{Reason: fmt.Sprintf("libcuda.so.1 is too old: it has no %s", name)}
		}
	}
	return d, d.call("cuInit", 0)
})

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

// NoDriverError says that there is no CUDA driver.
type NoDriverError struct{ Reason string }

func (e *NoDriverError) Error() string {
	return fmt.Sprintf("there is no CUDA driver on this machine (%s); install NVIDIA's driver, or say --device cpu", e.Reason)
}

// Error is a failure that the driver reports.
type Error struct {
	Call   string
	Code   int
	Symbol string // such as "CUDA_ERROR_OUT_OF_MEMORY"
	Text   string
}

// Is reports that a card without memory is device.ErrMemory.
func (e *Error) Is(target error) bool {
	return target == device.ErrMemory && e.Code == codeOutOfMemory
}

func (e *Error) Error() string {
	return fmt.Sprintf("the GPU failed: %s: %s (%s, error %d); %s", e.Call, e.Text, e.Symbol, e.Code, e.advice())
}

const (
	codeOutOfMemory   = 2
	codeNoDevice      = 100
	codeInvalidImage  = 200
	codeNoBinary      = 209
	codePTXTooNew     = 222
	codeECC           = 214
	codeIllegalAccess = 700
	codeLaunchTimeout = 702
	codeSystemNot     = 802
)

func (e *Error) advice() string {
	switch e.Code {
	case codeOutOfMemory:
		return "free memory of the card, choose another card with --device cuda:N, or say --device cpu"
	case codeNoDevice, codeSystemNot:
		return "nvidia-smi shows whether the driver sees the card; --device cpu works without it"
	case codeInvalidImage, codeNoBinary, codePTXTooNew:
		return "the card or the driver is older than this program needs (compute capability 8.0, driver 580); say --device cpu"
	case codeECC, codeIllegalAccess, codeLaunchTimeout:
		return "the card has lost its state: run again, and if that fails, run nextbatch-hpc doctor and nvidia-smi"
	}
	return "run nextbatch-hpc doctor, or say --device cpu"
}

// MemoryError says that a card has less memory than the work needs.
type MemoryError struct {
	Need, Limit int64
	Less        string // what needs less memory; empty: fewer features
}

// Is reports that this is device.ErrMemory.
func (e *MemoryError) Is(target error) bool { return target == device.ErrMemory }

func (e *MemoryError) Error() string {
	const mib = 1 << 20
	return fmt.Sprintf("the GPU would need %d MiB of its memory, but may use %d MiB; raise --max-memory, %s, or say --device cpu",
		(e.Need+mib-1)/mib, e.Limit/mib, cmp.Or(e.Less, "use a sketch with fewer features"))
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
