// Package device lists the devices that a program can compute on besides the CPU. A device
// is registered by a main, as database drivers are: package device/cuda does so when it is
// imported. Without a registered driver there is only the CPU.
package device

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/nextbatch/nextbatch/internal/place"
	"github.com/nextbatch/nextbatch/network"
)

// Device computes. It offers large operations, never single products: it trains
// networks (network.Device) and selects from features (place.Device). What it does not
// offer, the CPU does.
type Device interface {
	network.Device
	place.Device
	// Describe describes the device in one line.
	Describe() string
	// Room returns how many bytes of its memory may still be used.
	Room() int64
	// Close gives the device back.
	Close() error
}

// Driver finds the devices of one kind.
type Driver struct {
	Name string // such as "cuda"
	// Count returns how many devices there are. Without a driver on the machine, the error
	// is ErrNone.
	Count func() (int, error)
	// Open opens a device. limit bounds the memory that is used on it; zero means what
	// is free.
	Open func(number int, limit int64) (Device, error)
}

var (
	mu      sync.Mutex
	drivers []Driver
)

// Register makes a driver known. It panics if there is one of that name.
func Register(d Driver) {
	mu.Lock()
	defer mu.Unlock()
	if slices.ContainsFunc(drivers, func(other Driver) bool { return other.Name == d.Name }) {
		panic(fmt.Sprintf("device: %s is registered twice", d.Name))
	}
	drivers = append(drivers, d)
}

// Drivers returns the registered drivers.
func Drivers() []Driver {
	mu.Lock()
	defer mu.Unlock()
	return slices.Clone(drivers)
}

// ErrUnknown means that no driver of that name is registered.
var ErrUnknown = errors.New("this program has no such device")

// ErrNone means that a machine has no device of a kind, or no driver for one.
var ErrNone = errors.New("there is no such device on this machine")

// ErrMemory means that a device has too little memory. The error that wraps it says what
// would need less.
var ErrMemory = errors.New("the device has too little memory")

// Failed reports whether an error is a failure of a device, which is not the fault of the
// data or the request.
func Failed(err error) bool {
	return errors.Is(err, ErrMemory) || errors.As(err, new(*network.DeviceError)) ||
		errors.As(err, new(*place.DeviceError))
}

// Open opens a device by its name: "cpu", "auto", the name of a driver, or that and a
// number, such as "cuda:0". The CPU is a nil Device, and so is "auto" where no driver
// finds a device; if a driver failed, there is an error, too.
func Open(name string, limit int64) (Device, error) {
	switch name {
	case "cpu":
		return nil, nil
	case "", "auto":
		return openFirst(limit)
	}
	kind, number, err := parse(name)
	if err != nil {
		return nil, err
	}
	for _, d := range Drivers() {
		if d.Name == kind {
			return d.Open(number, limit)
		}
	}
	return nil, fmt.Errorf("%q: %w", name, ErrUnknown)
}

func parse(name string) (kind string, number int, err error) {
	kind, text, numbered := strings.Cut(name, ":")
	if !numbered {
		return kind, 0, nil
	}
	number, err = strconv.Atoi(text)
	if err != nil || number < 0 || kind == "cpu" || kind == "auto" {
		return "", 0, fmt.Errorf("%q is not a device: write auto, cpu, cuda or cuda:N", name)
	}
	return kind, number, nil
}

// openFirst opens the first device of the first driver that has one.
func openFirst(limit int64) (Device, error) {
	var failed error
	for _, d := range Drivers() {
		n, err := d.Count()
		if err == nil && n > 0 {
			return d.Open(0, limit)
		}
		if !errors.Is(err, ErrNone) {
			failed = errors.Join(failed, err)
		}
	}
	return nil, failed
}

// With returns a context under which this module computes on a device; nil means the CPU.
func With(ctx context.Context, d Device) context.Context {
	if d == nil {
		return ctx
	}
	return place.WithDevice(network.WithDevice(ctx, d), d)
}

// Of returns the device of a context; nil means the CPU.
func Of(ctx context.Context) Device {
	d, _ := network.DeviceOf(ctx).(Device)
	return d
}
