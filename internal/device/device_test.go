package device_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/internal/device"
)

type none struct{ device.Device }

func TestOpen(t *testing.T) {
	present, opened := 0, -1
	var failed error
	broken := errors.New("the driver does not start")
	device.Register(device.Driver{Name: "test", Count: func() (int, error) { return present, failed },
		Open: func(number int, _ int64) (device.Device, error) { opened = number; return none{}, nil }})
	for name, want := range map[string]bool{"cpu": false, "auto": false, "": false, "test": true, "test:3": true} {
		d, err := device.Open(name, 0)
		if err != nil || (d != nil) != want {
			t.Errorf("%q: %v, %v", name, d, err)
		}
		if name == "test:3" && opened != 3 {
			t.Errorf("%q opens device %d", name, opened)
		}
	}
	present = 1
	if d, err := device.Open("auto", 0); d == nil || err != nil {
		t.Errorf("auto opens %v, %v", d, err)
	}
	for _, c := range []struct{ failed, want error }{{device.ErrNone, nil}, {broken, broken}} {
		failed = c.failed
		if d, err := device.Open("auto", 0); d != nil || !errors.Is(err, c.want) {
			t.Errorf("%v: auto opens %v, %v", c.failed, d, err)
		}
	}
	if _, err := device.Open("other:0", 0); !errors.Is(err, device.ErrUnknown) {
		t.Error(err)
	}
	for _, name := range []string{"test:x", "test:-1", "cpu:0", "auto:1"} {
		if _, err := device.Open(name, 0); err == nil || !strings.Contains(err.Error(), "not a device") {
			t.Errorf("%q: %v", name, err)
		}
	}
}
