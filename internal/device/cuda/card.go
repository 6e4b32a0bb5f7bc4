//go:build linux && (amd64 || arm64)

package cuda

import (
	"compress/gzip"
	"embed"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"github.com/nextbatch/nextbatch/internal/options"
)

//go:generate go run ./gen

//go:embed kernels/*.gz
var compiled embed.FS

// Card is an opened GPU. Its methods may be called from several goroutines.
type Card struct {
	driver     driver
	number     int
	name       string
	major      int
	minor      int
	processors int
	shared     int   // bytes of shared memory that a block may ask for
	memory     int64 // in total
	limit      int64 // that may be used
	context    uintptr
	module     uintptr
	pool       memoryPool

	mu        sync.Mutex
	used      int64
	pinned    map[int][]unsafe.Pointer // memory that nobody uses, by class
	functions map[string]uintptr
	stages    []*stage
}

// Count returns the number of cards.
func Count() (int, error) {
	d, err := load()
	if err != nil {
		return 0, err
	}
	var n int32
	err = d.call("cuDeviceGetCount", uintptr(unsafe.Pointer(&n)))
	return int(n), err
}

// Open opens a card. limit bounds the memory that is used on it; zero means what is free.
func Open(number int, limit int64) (*Card, error) {
	n, err := Count()
	if err != nil {
		return nil, err
	}
	if number < 0 || number >= n {
		return nil, fmt.Errorf("there is no GPU cuda:%d: the driver shows %d", number, n)
	}
	d, _ := load()
	c := &Card{driver: d, number: number, functions: map[string]uintptr{}, pinned: map[int][]unsafe.Pointer{}}
	var device int32
	if err := d.call("cuDeviceGet", uintptr(unsafe.Pointer(&device)), uintptr(number)); err != nil {
		return nil, err
	}
	if err := c.describe(uintptr(device)); err != nil {
		return nil, err
	}
	if c.major < 8 {
		return nil, options.Advise(fmt.Errorf("%s has compute capability %d.%d, but 8.0 is needed",
			c.Name(), c.major, c.minor), onCPU("; say "))
	}
	// A thread that waits for the card lets others have its processor: runs beside each other
	// have more threads that wait than there are processors.
	const schedYield = 2
	if err := d.call("cuDevicePrimaryCtxSetFlags_v2", uintptr(device), schedYield); err != nil {
		return nil, err
	}
	if err := d.call("cuDevicePrimaryCtxRetain", uintptr(unsafe.Pointer(&c.context)), uintptr(device)); err != nil {
		return nil, err
	}
	err = c.locked(func() error {
		var free, total uintptr
		if err := d.call("cuMemGetInfo_v2", uintptr(unsafe.Pointer(&free)), uintptr(unsafe.Pointer(&total))); err != nil {
			return err
		}
		if c.limit = int64(free) / 16 * 15; limit > 0 {
			c.limit = min(c.limit, limit)
		}
		if err := c.openPool(uintptr(device)); err != nil {
			return err
		}
		return c.loadModule()
	})
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// describe asks for the properties of the card.
func (c *Card) describe(device uintptr) error {
	name := make([]byte, 128)
	var total uintptr
	attribute := func(to *int, which uintptr) error {
		var v int32
		err := c.driver.call("cuDeviceGetAttribute", uintptr(unsafe.Pointer(&v)), which, device)
		*to = int(v)
		return err
	}
	const multiprocessors, major, minor, sharedOptIn = 16, 75, 76, 97
	err := errors.Join(
		c.driver.call("cuDeviceGetName", uintptr(unsafe.Pointer(&name[0])), uintptr(len(name)), device),
		c.driver.call("cuDeviceTotalMem_v2", uintptr(unsafe.Pointer(&total)), device),
		attribute(&c.processors, multiprocessors), attribute(&c.major, major), attribute(&c.minor, minor),
		attribute(&c.shared, sharedOptIn))
	c.name, _, _ = strings.Cut(string(name), "\x00")
	c.memory = int64(total)
	return err
}

// loadModule loads machine code for the card or, where there is none, PTX, which the driver
// translates.
func (c *Card) loadModule() error {
	file := "kernels.ptx"
	switch {
	case c.major == 8:
		file = "kernels_sm80.cubin"
	case c.major == 9:
		file = "kernels_sm90.cubin"
	}
	image, err := unpacked(file)
	if err != nil {
		return err
	}
	image = append(image, 0) // PTX is a string of C
	err = c.driver.call("cuModuleLoadData", uintptr(unsafe.Pointer(&c.module)), uintptr(unsafe.Pointer(&image[0])))
	runtime.KeepAlive(image)
	return err
}

// unpacked returns a file of compiled kernels.
func unpacked(name string) ([]byte, error) {
	packed, err := compiled.Open("kernels/" + name + ".gz")
	if err != nil {
		return nil, err
	}
	defer packed.Close()
	content, err := gzip.NewReader(packed)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(content)
}

// Name names the card, such as "cuda:0 NVIDIA H200".
func (c *Card) Name() string { return fmt.Sprintf("cuda:%d %s", c.number, c.name) }

// Describe describes the card.
func (c *Card) Describe() string {
	var version int32
	c.driver.call("cuDriverGetVersion", uintptr(unsafe.Pointer(&version)))
	return fmt.Sprintf("%s, compute capability %d.%d, %d multiprocessors, %.1f GiB, driver for CUDA %d.%d",
		c.Name(), c.major, c.minor, c.processors, float64(c.memory)/(1<<30), version/1000, version%1000/10)
}

// Close gives the card back.
func (c *Card) Close() error {
	if c.context == 0 {
		return nil
	}
	for _, s := range c.stages {
		s.close()
	}
	c.stages = nil
	var unload error
	if c.module != 0 {
		unload = c.locked(func() error {
			c.freePinned()
			return c.driver.call("cuModuleUnload", c.module)
		})
	}
	c.context, c.module = 0, 0
	return errors.Join(unload, c.driver.call("cuDevicePrimaryCtxRelease_v2", uintptr(c.number)))
}

// function returns a kernel of the module.
func (c *Card) function(name string) (uintptr, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f, ok := c.functions[name]; ok {
		return f, nil
	}
	text := append([]byte(name), 0)
	var f uintptr
	if err := c.driver.call("cuModuleGetFunction", uintptr(unsafe.Pointer(&f)), c.module,
		uintptr(unsafe.Pointer(&text[0]))); err != nil {
		return 0, err
	}
	if bytes := sharedOf(name); bytes > 0 {
		const dynamicShared = 8
		if err := c.driver.call("cuFuncSetAttribute", f, dynamicShared, uintptr(bytes)); err != nil {
			return 0, err
		}
	}
	c.functions[name] = f
	return f, nil
}

// Room implements device.Device.
func (c *Card) Room() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.limit - c.used
}

// reserve counts memory of the card against its limit.
func (c *Card) reserve(bytes int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.used+bytes > c.limit {
		return &MemoryError{Need: c.used + bytes, Limit: c.limit}
	}
	c.used += bytes
	return nil
}
