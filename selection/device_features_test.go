package selection_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/internal/place"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection"
)

// elsewhere are features of a device that the context does not have.
type elsewhere struct {
	rows matrix.Dense[float32]
	err  error
}

func (f elsewhere) On() place.Device    { return unable{} }
func (f elsewhere) Shape() matrix.Shape { return f.rows.Shape() }
func (f elsewhere) Norms([]float32) error {
	panic("norms of features that are not searched where they are")
}
func (f elsewhere) Close() {}

func (f elsewhere) Fetch(dst matrix.Dense[float32], first int) error {
	matrix.Copy(dst, f.rows.Slice(first, first+dst.Rows))
	return f.err
}

// TestPlacedFeaturesAreFetched selects from features on another device as from those in
// memory.
func TestPlacedFeaturesAreFetched(t *testing.T) {
	rows := matrix.FromRows([][]float32{{1, 2}, {3, 4}, {-5, 6}, {0.5, 0}, {2, -2}})
	p := selection.Problem[float32]{Pool: rows, Batch: 3}
	want, err := selection.Select(t.Context(), selection.LCMD{}, p)
	if err != nil {
		t.Fatal(err)
	}
	p.Pool, p.Placed = matrix.Dense[float32]{}, elsewhere{rows: rows}
	got, err := selection.Select(t.Context(), selection.LCMD{}, p)
	if err != nil || !reflect.DeepEqual(got.Picks, want.Picks) {
		t.Errorf("%+v, %v, in memory %+v", got, err, want)
	}
	lost := errors.New("the device is lost")
	p.Placed = elsewhere{rows, lost}
	if _, err := selection.Select(t.Context(), selection.LCMD{}, p); !errors.Is(err, lost) ||
		!errors.As(err, new(*place.DeviceError)) {
		t.Errorf("the error is %v", err)
	}
}

// unable is a device that computes nothing.
type unable struct{ place.Device }

func (unable) Name() string { return "unable" }

// TestEmbedWithoutAProgram has Embed leave kernels to the CPU, with a note if they have
// features that the device could have computed.
func TestEmbedWithoutAProgram(t *testing.T) {
	ctx := place.WithDevice(t.Context(), unable{})
	rows := matrix.FromRows([][]float32{{1, 2}, {3, 4}})
	doubled, err := kernel.NewFunc(2, 2, func(dst, rows matrix.Dense[float32]) error {
		matrix.Copy(dst, rows)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		kernel kernel.Kernel[float32]
		note   string
	}{{kernel.NewLinear[float32](2), ""}, {doubled, "the features were computed on the CPU, not on unable"}} {
		f, note, err := place.Embed(ctx, c.kernel, rows)
		if f != nil || err != nil || !strings.HasPrefix(note, c.note) || c.note == "" && note != "" {
			t.Errorf("%v, %q, %v", f, note, err)
		}
	}
}
