package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/spf13/cobra"

	"github.com/nextbatch/nextbatch/internal/device"
	"github.com/nextbatch/nextbatch/internal/selftest"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
)

const deviceFlag = "device"

// onlyWith annotates the flag of commands that use a device only with another flag.
const onlyWith = "only-with"

// registerDevice registers the flag of commands that train, predict or select.
func registerDevice(c *cobra.Command) {
	c.Flags().String(deviceFlag, "auto",
		"where to compute: cpu, cuda or cuda:N (a GPU; needs nextbatch-hpc), or auto: a GPU if there is one")
}

// registerDeviceWith registers the flag of commands that compute only with another flag.
func registerDeviceWith(c *cobra.Command, other string) {
	registerDevice(c)
	flag := c.Flags().Lookup(deviceFlag)
	flag.Annotations = map[string][]string{onlyWith: {other}}
	flag.Usage = "with --" + other + ", " + flag.Usage
}

// needless reports whether a command has no use for a device.
func needless(c *cobra.Command) bool {
	flag := c.Flags().Lookup(deviceFlag)
	return flag == nil || flag.Annotations[onlyWith] != nil &&
		c.Flags().Lookup(flag.Annotations[onlyWith][0]).Value.String() == "false"
}

// openDevice opens the device that the flag of a command names, if the command has the
// flag. The CPU is nil. A device that auto finds and cannot use is a warning.
func openDevice(c *cobra.Command, log io.Writer) (device.Device, error) {
	if needless(c) {
		return nil, nil
	}
	flag := c.Flags().Lookup(deviceFlag)
	var limit memory
	if text := c.Flags().Lookup("max-memory"); text != nil {
		limit.text = text.Value.String()
	}
	if err := limit.check(); err != nil {
		return nil, err
	}
	name := flag.Value.String()
	d, err := device.Open(name, limit.bytes)
	switch {
	case err == nil:
		return d, nil
	case errors.Is(err, device.ErrUnknown) && len(device.Drivers()) == 0:
		return nil,
			usagef("--device %s: this program computes on the CPU only; nextbatch-hpc is the same program with GPUs", name)
	case errors.Is(err, device.ErrUnknown), flag.Changed && name != "auto":
		return nil, usagef("--device %s: %w", name, err)
	}
	//warning:no-gpu
	fmt.Fprintf(log, "warning: computing on the CPU: %s\n", shownError(err))
	return nil, nil
}

// withDevice opens the device of a command for its context, and returns what closes it.
func withDevice(c *cobra.Command, log io.Writer) (end func(), err error) {
	d, err := openDevice(c, log)
	if err != nil || d == nil {
		return func() {}, err
	}
	c.SetContext(device.With(c.Context(), d))
	return func() { d.Close() }, nil
}

// deviceHealth is what doctor reports about a device.
type deviceHealth struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Error       string `json:"error,omitempty"`
}

// examineDevices opens every device and has it train and select.
func examineDevices() (list []deviceHealth, tests []healthCheck) {
	for _, driver := range device.Drivers() {
		n, err := driver.Count()
		if err != nil {
			list = append(list, deviceHealth{Name: driver.Name, Error: shownError(err)})
		}
		for number := range n {
			name := fmt.Sprintf("%s:%d", driver.Name, number)
			d, err := driver.Open(number, 0)
			if err != nil {
				list = append(list, deviceHealth{Name: name, Error: shownError(err)})
				tests = append(tests, healthCheck{Name: "opening " + name, Error: 1, device: name})
				continue
			}
			list = append(list, deviceHealth{Name: name, Description: d.Describe()})
			on := device.With(context.Background(), d)
			for _, c := range []healthCheck{within("selection on "+name, selectionError(on), 0),
				within("training on "+name, trainingError(on), 1e-4)} {
				c.device = name
				tests = append(tests, c)
			}
			d.Close()
		}
	}
	return list, tests
}

// trainingError trains a network for a few steps and returns how far its predictions are
// from those of the CPU's, at most.
func trainingError(on context.Context) float64 {
	x, y := selftest.Drawn[float32]("training rows", 300, 5), selftest.Drawn[float32]("training labels", 300, 1)
	c, d := network.Config{Training: network.Training{Epochs: 2}}, network.Data{X: x, Y: y}
	got, histories, err := network.OnDevice{}.Train(on, c, 1, d, nil)
	want, _, failed := network.CPU{}.Train(context.Background(), c, 1, d, nil)
	if err != nil || failed != nil || histories[0].Device == "" {
		return math.Inf(1)
	}
	a, b := matrix.New[float32](1, x.Rows), matrix.New[float32](1, x.Rows)
	got.Predict(context.Background(), a, x)
	want.Predict(context.Background(), b, x)
	off := 0.0
	for i, v := range a.Data {
		off = math.Max(off, math.Abs(float64(v)-float64(b.Data[i])))
	}
	return off
}
